//! What a rule claims, and how it is written.

use consequence_record::{Code, Vocabulary};
use consequence_rules::language::RuleItem;
use consequence_rules::{Days, Fact, Formula, Window};

use crate::found::Template;
use crate::records::Columns;

/// Stands for `END` among the codes that soft rules decide, whatever its column is.
pub(crate) const END: usize = usize::MAX;

/// A claim about columns and groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Claim {
    /// At most one of a category, or exactly one.
    OneOf { category: usize, exactly: bool },
    /// A visit has at most one of a family, or exactly one.
    OneInVisit { family: usize, count: InVisit },
    /// The code never comes without the other.
    Together { code: usize, with: usize },
    /// Neither comes without the other.
    Same { one: usize, other: usize },
    /// Nothing comes after the code.
    Last { code: usize },
    /// The group never has the code.
    NeverFor { code: usize, group: usize },
    /// The group never has a code of the set.
    NoneFor { set: usize, group: usize },
    /// The code only comes after the other.
    OnlyAfter { code: usize, other: usize },
    /// The code only comes within so many visits after the other.
    SoonAfter { code: usize, other: usize, visits: u16 },
    /// The code stays once it is there.
    Stays { code: usize },
    /// No record has the code twice.
    Once { code: usize },
    /// The code only comes from an age on, or only before it.
    Aged { code: usize, years: u16, from: bool },
    /// The code comes again only after so many days.
    Apart { code: usize, days: u32 },
}

/// How many codes of a family a visit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum InVisit {
    AtMostOne,
    ExactlyOne,
    /// Exactly one in every encounter but a record's first, which is told by the static category
    /// that every record has: it is in the visit before.
    ExactlyOneAfterFirst {
        category: usize,
    },
}

impl Claim {
    pub fn template(self) -> Template {
        match self {
            Self::OneOf { .. } => Template::OneOf,
            Self::OneInVisit { .. } => Template::OneInVisit,
            Self::Together { .. } | Self::Same { .. } => Template::Together,
            Self::Last { .. } => Template::Last,
            Self::NeverFor { .. } | Self::NoneFor { .. } => Template::NeverFor,
            Self::OnlyAfter { .. } => Template::OnlyAfter,
            Self::SoonAfter { .. } => Template::SoonAfter,
            Self::Stays { .. } => Template::Stays,
            Self::Once { .. } => Template::Once,
            Self::Aged { .. } => Template::Ages,
            Self::Apart { .. } => Template::Apart,
        }
    }

    /// The codes it speaks of, the one it is about first.
    pub fn codes(self, columns: &Columns) -> Vec<Code> {
        let column = |&column: &usize| columns.codes[column];
        let all = |list: &[usize]| -> Vec<Code> { list.iter().map(column).collect() };
        match self {
            Self::OneOf { category, .. } => columns.of_category(category),
            Self::OneInVisit { family, .. } => all(&columns.families[family]),
            Self::Together { code, with } => all(&[code, with]),
            Self::Same { one, other } => all(&[one, other]),
            Self::NeverFor { code, group } => vec![column(&code), columns.groups[group]],
            Self::NoneFor { set, group } => {
                let mut codes = all(&columns.sets[set].columns);
                codes.push(columns.groups[group]);
                codes
            }
            Self::OnlyAfter { code, other } | Self::SoonAfter { code, other, .. } => {
                all(&[code, other])
            }
            Self::Last { code }
            | Self::Stays { code }
            | Self::Once { code }
            | Self::Aged { code, .. }
            | Self::Apart { code, .. } => all(&[code]),
        }
    }

    /// What the codes of a claim about several of them have in common; of a claim about ages or days, which.
    pub fn label(self, columns: &Columns, vocabulary: &Vocabulary) -> Option<String> {
        let before_last = |code: Code| {
            let name = vocabulary.name(code);
            name.rsplit_once("//").map_or(name, |parts| parts.0).to_owned()
        };
        match self {
            Self::OneOf { .. } | Self::OneInVisit { .. } => {
                self.codes(columns).first().map(|&code| before_last(code))
            }
            Self::NoneFor { set, .. } => Some(columns.sets[set].label.clone()),
            Self::Aged { years, from: true, .. } => Some(format!("from the age of {years} on")),
            Self::Aged { years, from: false, .. } => Some(format!("before the age of {years}")),
            Self::Apart { days, .. } => Some(format!("after {days} days")),
            _ => None,
        }
    }

    /// The code that a soft rule of this claim decides; none if a soft rule cannot say it.
    pub fn output(self) -> Option<usize> {
        match self {
            Self::OneOf { .. }
            | Self::OneInVisit { .. }
            | Self::Same { .. }
            | Self::NoneFor { .. }
            | Self::Aged { .. }
            | Self::Apart { .. } => None,
            Self::Together { with, .. } => Some(with),
            Self::Last { .. } => Some(END),
            Self::NeverFor { code, .. }
            | Self::OnlyAfter { code, .. }
            | Self::SoonAfter { code, .. }
            | Self::Stays { code }
            | Self::Once { code } => Some(code),
        }
    }

    /// The claim as a rule without exceptions, or as a soft rule: a soft rule states how often the
    /// code is there, so what never happens becomes what happens rarely.
    pub fn formula(self, columns: &Columns, soft: bool) -> Formula {
        let now = |column: usize| Formula::Now(columns.codes[column]);
        let never = |formula: Formula| if soft { formula } else { formula.not() };
        let each =
            |codes: Vec<Code>| -> Vec<Formula> { codes.into_iter().map(Formula::Now).collect() };
        let in_static = |group: usize| Formula::In(columns.groups[group], Window::static_visit());
        match self {
            Self::OneOf { exactly: false, .. }
            | Self::OneInVisit { count: InVisit::AtMostOne, .. } => {
                Formula::AtMostOne(each(self.codes(columns)))
            }
            Self::OneOf { exactly: true, .. }
            | Self::OneInVisit { count: InVisit::ExactlyOne, .. } => {
                Formula::ExactlyOne(each(self.codes(columns)))
            }
            Self::OneInVisit { count: InVisit::ExactlyOneAfterFirst { category }, .. } => {
                let of_category = columns.of_category(category).into_iter();
                let first = of_category.map(|code| Formula::In(code, Window::previous()));
                let exactly = Formula::ExactlyOne(each(self.codes(columns)));
                Formula::Or(first.collect()).not().implies(exactly)
            }
            Self::Together { code, with } => now(code).implies(now(with)),
            Self::Same { one, other } => Formula::Iff(Box::new(now(one)), Box::new(now(other))),
            Self::Last { code } => now(code).implies(now(columns.end())),
            Self::NeverFor { code, group } => in_static(group).implies(never(now(code))),
            Self::NoneFor { set, group } => {
                let members = columns.sets[set].columns.iter().map(|&column| now(column));
                in_static(group).implies(Formula::Or(members.collect()).not())
            }
            Self::OnlyAfter { code, other } => {
                let past = Formula::In(columns.codes[other], Window::past());
                past.not().implies(never(now(code)))
            }
            Self::SoonAfter { code, other, visits } => {
                let lately = Formula::In(columns.codes[other], Window::last(visits));
                lately.not().implies(never(now(code)))
            }
            Self::Stays { code } => {
                Formula::In(columns.codes[code], Window::previous()).implies(now(code))
            }
            Self::Once { code } => {
                Formula::In(columns.codes[code], Window::past()).implies(never(now(code)))
            }
            Self::Aged { code, years, from } => {
                let old = Formula::Fact(Fact::Age { least: years });
                let known = Formula::Fact(Fact::Age { least: 0 });
                let outside = if from { Formula::And(vec![known, old.not()]) } else { old };
                outside.implies(never(now(code)))
            }
            Self::Apart { code, days } => {
                let lately = Fact::within(columns.codes[code], Days::last(days - 1));
                Formula::Fact(lately).implies(never(now(code)))
            }
        }
    }

    /// A name for the rule: words and codes, nothing that needs quotes, not too long.
    pub fn name(self, columns: &Columns, vocabulary: &Vocabulary, soft: bool) -> String {
        let codes = self.codes(columns);
        let shown = |code: Option<&Code>| {
            code.map_or_else(String::new, |&code| plain(vocabulary.name(code)))
        };
        let (first, second) = (shown(codes.first()), shown(codes.get(1)));
        let label = plain(&self.label(columns, vocabulary).unwrap_or_default());
        match self {
            Self::OneOf { .. } => format!("one-{label}"),
            Self::OneInVisit { .. } => format!("one-{label}-in-a-visit"),
            Self::Together { .. } if soft => format!("{first}-mostly-with-{second}"),
            Self::Together { .. } => format!("{first}-with-{second}"),
            Self::Same { .. } => format!("{first}-and-{second}"),
            Self::Last { .. } if soft => format!("{first}-mostly-last"),
            Self::Last { .. } => format!("nothing-after-{first}"),
            Self::NeverFor { .. } if soft => format!("{first}-rarely-for-{second}"),
            Self::NeverFor { .. } => format!("{first}-never-for-{second}"),
            Self::NoneFor { .. } => format!("no-{label}-for-{}", shown(codes.last())),
            Self::OnlyAfter { .. } if soft => format!("{first}-mostly-after-{second}"),
            Self::OnlyAfter { .. } => format!("{first}-only-after-{second}"),
            Self::SoonAfter { .. } if soft => format!("{first}-mostly-soon-after-{second}"),
            Self::SoonAfter { .. } => format!("{first}-soon-after-{second}"),
            Self::Stays { .. } if soft => format!("{first}-mostly-stays"),
            Self::Stays { .. } => format!("{first}-stays"),
            Self::Once { .. } if soft => format!("{first}-mostly-once"),
            Self::Once { .. } => format!("{first}-once"),
            Self::Aged { years, from: true, .. } => format!("{first}-from-age-{years}"),
            Self::Aged { years, from: false, .. } => format!("{first}-before-age-{years}"),
            Self::Apart { days, .. } => format!("{first}-{days}-days-apart"),
        }
    }
}

/// A name without anything that needs quotes, and not too long.
pub(crate) fn plain(name: &str) -> String {
    const LONGEST: usize = 60;
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '.' | '_' | '-' => character,
        _ => '-',
    };
    name.chars().take(LONGEST).map(plain).collect()
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
