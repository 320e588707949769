//! What a rule claims, how it is written, and what records say of it, visit by visit.

use consequence_record::{Code, Cohort, Split, Vocabulary};
use consequence_rules::language::RuleItem;
use consequence_rules::{Formula, Window};

use crate::found::{Tally, Template};
use crate::records::{Columns, Walk, sweep};

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

/// What one split says about each claim.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    pub records: u64,
    pub tallies: Vec<Tally>,
}

/// Claims by the code that makes them matter.
struct Index {
    categories: Vec<Vec<usize>>,
    columns: Vec<Vec<(usize, Claim)>>,
}

impl Index {
    fn new(claims: &[Claim], columns: &Columns) -> Self {
        let mut index = Self {
            categories: vec![Vec::new(); columns.categories.len()],
            columns: vec![Vec::new(); columns.len()],
        };
        for (number, &claim) in claims.iter().enumerate() {
            let mut at = |column: usize| index.columns[column].push((number, claim));
            match claim {
                Claim::OneOf { category } => index.categories[category].push(number),
                Claim::Same { one, other } => {
                    at(one);
                    at(other);
                }
                Claim::Together { code, .. }
                | Claim::NeverFor { code, .. }
                | Claim::OnlyAfter { code, .. }
                | Claim::Stays { code } => at(code),
            }
        }
        index
    }
}

struct Part {
    verdicts: Verdicts,
    walk: Walk,
    groups: Vec<usize>,
    of_category: Vec<u32>,
    now: Vec<u32>,
    next: Vec<u32>,
}

/// Holds the claims against the records of a split.
pub(crate) fn verify(
    cohort: &Cohort,
    splits: &[Split],
    split: Split,
    columns: &Columns,
    claims: &[Claim],
    workers: usize,
) -> Verdicts {
    let index = Index::new(claims, columns);
    let start = || Part {
        verdicts: Verdicts { records: 0, tallies: vec![Tally::default(); claims.len()] },
        walk: Walk::new(columns.len()),
        groups: Vec::new(),
        of_category: vec![0; columns.categories.len()],
        now: Vec::new(),
        next: Vec::new(),
    };
    let work = |part: &mut Part, record: usize| {
        if splits[record] == split {
            part.record(cohort, columns, &index, record);
        }
    };
    let join = |mut one: Part, other: Part| {
        one.verdicts.records += other.verdicts.records;
        for (sum, tally) in one.verdicts.tallies.iter_mut().zip(&other.verdicts.tallies) {
            sum.support += tally.support;
            sum.exceptions += tally.exceptions;
        }
        one
    };
    sweep(cohort.len(), workers, start, work, join).verdicts
}

impl Part {
    fn record(&mut self, cohort: &Cohort, columns: &Columns, index: &Index, number: usize) {
        let record = cohort.record(number);
        if record.len() == 0 {
            return;
        }
        self.verdicts.records += 1;
        columns.groups_of(&record, &mut self.groups);
        self.statics(columns, index);
        let Self { verdicts, walk, groups, now, next, .. } = self;
        walk.begin_record();
        if record.len() > 1 {
            columns.encounter(&record, 1, now);
        }
        for visit in 1..record.len() {
            let last = visit + 1 == record.len();
            next.clear();
            if !last {
                columns.encounter(&record, visit + 1, next);
            }
            walk.begin_visit(now);
            let has = |list: &[u32], code: usize| list.binary_search(&(code as u32)).is_ok();
            for &column in now.iter() {
                for &(number, claim) in &index.columns[column as usize] {
                    let (counts, fails) = match claim {
                        Claim::OneOf { .. } => (false, false),
                        Claim::Together { with, .. } => (true, !has(now, with)),
                        // A visit with both counts once, for the first of them.
                        Claim::Same { one, other } => {
                            if one == column as usize {
                                (true, !has(now, other))
                            } else {
                                (!has(now, one), !has(now, one))
                            }
                        }
                        Claim::NeverFor { group, .. } => (true, groups.contains(&group)),
                        Claim::OnlyAfter { other, .. } => (true, !walk.in_past(other as u32)),
                        Claim::Stays { code } => (!last, !last && !has(next, code)),
                    };
                    verdicts.tallies[number].support += u64::from(counts);
                    verdicts.tallies[number].exceptions += u64::from(fails);
                }
            }
            std::mem::swap(now, next);
        }
    }

    fn statics(&mut self, columns: &Columns, index: &Index) {
        self.of_category.fill(0);
        for &group in &self.groups {
            if let Some(category) = columns.category_of[group] {
                self.of_category[category] += 1;
            }
        }
        for (category, &count) in self.of_category.iter().enumerate() {
            for &number in &index.categories[category] {
                self.verdicts.tallies[number].support += u64::from(count > 0);
                self.verdicts.tallies[number].exceptions += u64::from(count > 1);
            }
        }
    }
}
