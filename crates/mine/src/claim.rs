//! What a rule claims, and how it is written.

use consequence_record::{Code, Vocabulary};
use consequence_rules::language::RuleItem;
use consequence_rules::{Formula, Window};

use crate::columns::Columns;
use crate::found::Template;

/// A claim about columns and groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Claim {
    /// At most one of a category.
    OneOf { category: usize },
    /// The code never comes without the other.
    Together { code: usize, with: usize },
    /// Neither comes without the other.
    Same { one: usize, other: usize },
    /// The group never has the code.
    NeverFor { code: usize, group: usize },
    /// The code only comes after the other.
    OnlyAfter { code: usize, other: usize },
    /// The code stays once it is there.
    Stays { code: usize },
}

impl Claim {
    pub fn template(self) -> Template {
        match self {
            Self::OneOf { .. } => Template::OneOf,
            Self::Together { .. } | Self::Same { .. } => Template::Together,
            Self::NeverFor { .. } => Template::NeverFor,
            Self::OnlyAfter { .. } => Template::OnlyAfter,
            Self::Stays { .. } => Template::Stays,
        }
    }

    /// The codes it speaks of, the one it is about first.
    pub fn codes(self, columns: &Columns) -> Vec<Code> {
        let column = |column: usize| columns.codes[column];
        match self {
            Self::OneOf { category } => {
                columns.categories[category].iter().map(|&group| columns.groups[group]).collect()
            }
            Self::Together { code, with } => vec![column(code), column(with)],
            Self::Same { one, other } => vec![column(one), column(other)],
            Self::NeverFor { code, group } => vec![column(code), columns.groups[group]],
            Self::OnlyAfter { code, other } => vec![column(code), column(other)],
            Self::Stays { code } => vec![column(code)],
        }
    }

    /// The code that a soft rule of this claim decides; none if a soft rule cannot say it.
    pub fn output(self) -> Option<usize> {
        match self {
            Self::OneOf { .. } | Self::Same { .. } => None,
            Self::Together { with, .. } => Some(with),
            Self::NeverFor { code, .. } | Self::OnlyAfter { code, .. } | Self::Stays { code } => {
                Some(code)
            }
        }
    }

    /// The claim as a rule without exceptions, or as a soft rule: a soft rule states how often the
    /// code is there, so what never happens becomes what happens rarely.
    pub fn formula(self, columns: &Columns, soft: bool) -> Formula {
        let now = |column: usize| Formula::Now(columns.codes[column]);
        let never = |formula: Formula| if soft { formula } else { formula.not() };
        match self {
            Self::OneOf { .. } => {
                Formula::AtMostOne(self.codes(columns).into_iter().map(Formula::Now).collect())
            }
            Self::Together { code, with } => now(code).implies(now(with)),
            Self::Same { one, other } => Formula::Iff(Box::new(now(one)), Box::new(now(other))),
            Self::NeverFor { code, group } => {
                Formula::In(columns.groups[group], Window::static_visit()).implies(never(now(code)))
            }
            Self::OnlyAfter { code, other } => {
                let past = Formula::In(columns.codes[other], Window::past());
                past.not().implies(never(now(code)))
            }
            Self::Stays { code } => {
                Formula::In(columns.codes[code], Window::previous()).implies(now(code))
            }
        }
    }

    /// A name for the rule: words and codes, nothing that needs quotes, not too long.
    pub fn name(self, columns: &Columns, vocabulary: &Vocabulary, soft: bool) -> String {
        const LONGEST: usize = 60;
        let plain = |name: &str| -> String {
            let plain = |character: char| match character {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '.' | '_' | '-' => character,
                _ => '-',
            };
            name.chars().take(LONGEST).map(plain).collect()
        };
        let codes: Vec<&str> =
            self.codes(columns).into_iter().map(|code| vocabulary.name(code)).collect();
        let (first, second) = (plain(codes[0]), codes.get(1).map(|name| plain(name)));
        let second = second.unwrap_or_default();
        match self {
            Self::OneOf { .. } => {
                format!("one-{}", first.rsplit_once("//").map_or(first.as_str(), |parts| parts.0))
            }
            Self::Together { .. } if soft => format!("{first}-mostly-with-{second}"),
            Self::Together { .. } => format!("{first}-with-{second}"),
            Self::Same { .. } => format!("{first}-and-{second}"),
            Self::NeverFor { .. } if soft => format!("{first}-rarely-for-{second}"),
            Self::NeverFor { .. } => format!("{first}-never-for-{second}"),
            Self::OnlyAfter { .. } if soft => format!("{first}-mostly-after-{second}"),
            Self::OnlyAfter { .. } => format!("{first}-only-after-{second}"),
            Self::Stays { .. } if soft => format!("{first}-mostly-stays"),
            Self::Stays { .. } => format!("{first}-stays"),
        }
    }
}

/// A statement of the rule language.
pub(crate) fn statement(
    name: &str,
    formula: &Formula,
    probability: Option<f64>,
    vocabulary: &Vocabulary,
) -> String {
    let mut item = RuleItem::new(name, formula.expression(vocabulary));
    item.probability = probability;
    item.to_string()
}
