//! What records say of claims, visit by visit.

use consequence_record::{RecordView, Split};
use consequence_tally::{Block, Counts as _, counts};

use crate::claim::{Claim, InVisit};
use crate::found::Tally;
use crate::records::{Columns, Walk, sweep};
use crate::times::{day_at, years_at};

/// What one split says about each claim.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    pub records: u64,
    pub tallies: Vec<Tally>,
    /// By claim: records with an occasion.
    pub records_with: Vec<u64>,
}

counts!(Tally { support, exceptions });
counts!(Verdicts { records, tallies, records_with });

/// Claims by the code that makes them matter.
struct Index {
    categories: Vec<Vec<(usize, bool)>>,
    /// Claims about families.
    families: Vec<(usize, usize, InVisit)>,
    /// Whether a claim asks how long ago a code was, in visits or days, or how old patients are.
    looks_back: bool,
    counts_days: bool,
    asks_ages: bool,
    columns: Vec<Vec<(usize, Claim)>>,
}

impl Index {
    fn new(claims: &[Claim], columns: &Columns) -> Self {
        let mut index = Self {
            categories: vec![Vec::new(); columns.categories.len()],
            families: Vec::new(),
            looks_back: claims.iter().any(|claim| matches!(claim, Claim::SoonAfter { .. })),
            counts_days: claims.iter().any(|claim| matches!(claim, Claim::Apart { .. })),
            asks_ages: claims.iter().any(|claim| matches!(claim, Claim::Aged { .. })),
            columns: vec![Vec::new(); columns.len()],
        };
        for (number, &claim) in claims.iter().enumerate() {
            let mut at = |column: usize| index.columns[column].push((number, claim));
            match claim {
                Claim::OneOf { category, exactly } => {
                    index.categories[category].push((number, exactly));
                }
                Claim::OneInVisit { family, count } => {
                    index.families.push((number, family, count));
                }
                Claim::Same { one, other } => {
                    at(one);
                    at(other);
                }
                Claim::NoneFor { set, .. } => {
                    columns.sets[set].columns.iter().for_each(|&column| at(column));
                }
                Claim::Together { code, .. }
                | Claim::Last { code }
                | Claim::NeverFor { code, .. }
                | Claim::OnlyAfter { code, .. }
                | Claim::SoonAfter { code, .. }
                | Claim::Stays { code }
                | Claim::Once { code }
                | Claim::Aged { code, .. }
                | Claim::Apart { code, .. } => at(code),
            }
        }
        index
    }
}

/// The verdicts of a run of records, and the visit and the record of each claim's last occasion.
struct Counts {
    verdicts: Verdicts,
    last_visit: Vec<u64>,
    last_record: Vec<u64>,
    visit: u64,
    record: u64,
}

impl Counts {
    fn new(claims: usize) -> Self {
        let verdicts = Verdicts {
            records: 0,
            tallies: vec![Tally::default(); claims],
            records_with: vec![0; claims],
        };
        let none = vec![0; claims];
        Self { verdicts, last_visit: none.clone(), last_record: none, visit: 0, record: 0 }
    }

    /// An occasion of a claim, one for each visit.
    fn occasion(&mut self, claim: usize, fails: bool) {
        if std::mem::replace(&mut self.last_visit[claim], self.visit) == self.visit {
            return;
        }
        let tally = &mut self.verdicts.tallies[claim];
        tally.support += 1;
        tally.exceptions += u64::from(fails);
        let before = std::mem::replace(&mut self.last_record[claim], self.record);
        self.verdicts.records_with[claim] += u64::from(before != self.record);
    }
}

struct Part {
    counts: Counts,
    walk: Walk,
    /// By column: the encounter of the record that last had the code.
    lately: Vec<(u64, usize)>,
    /// By column: the record that last had the code, and the day.
    last_day: Vec<(u64, i64)>,
    groups: Vec<usize>,
    of_category: Vec<u32>,
    of_family: Vec<u32>,
    now: Vec<u32>,
    next: Vec<u32>,
}

/// Holds the claims against the records of a split.
pub(crate) fn verify(
    block: &Block<'_>,
    split: Split,
    columns: &Columns,
    claims: &[Claim],
) -> Verdicts {
    let index = Index::new(claims, columns);
    let start = || Part {
        counts: Counts::new(claims.len()),
        walk: Walk::new(columns.len()),
        lately: vec![(0, 0); columns.len()],
        last_day: if index.counts_days { vec![(0, 0); columns.len()] } else { Vec::new() },
        groups: Vec::new(),
        of_category: vec![0; columns.categories.len()],
        of_family: vec![0; columns.families.len()],
        now: Vec::new(),
        next: Vec::new(),
    };
    let work = |part: &mut Part, number: usize| {
        if block.splits[block.records.index(number)] == split {
            part.record(block.records.record(number), columns, &index);
        }
    };
    let join = |mut one: Part, other: Part| {
        one.counts.verdicts.add(other.counts.verdicts);
        one
    };
    let workers = rayon::current_num_threads();
    sweep(block.records.len(), workers, start, work, join).counts.verdicts
}

impl Part {
    fn record(&mut self, record: RecordView<'_>, columns: &Columns, index: &Index) {
        let details = record.details();
        if record.len() == 0 {
            return;
        }
        self.counts.verdicts.records += 1;
        self.counts.record += 1;
        self.counts.visit += 1;
        columns.groups_of(&record, &mut self.groups);
        self.statics(columns, index);
        self.walk.begin_record();
        if record.len() > 1 {
            columns.encounter(&record, 1, &mut self.now);
        }
        for visit in 1..record.len() {
            let last = visit + 1 == record.len();
            self.next.clear();
            if !last {
                columns.encounter(&record, visit + 1, &mut self.next);
            }
            self.counts.visit += 1;
            if !index.families.is_empty() {
                self.families(columns, index, visit);
            }
            let Self { counts, walk, lately, last_day, groups, now, next, .. } = self;
            let age = index.asks_ages.then(|| years_at(&details, visit)).flatten();
            let day = index.counts_days.then(|| day_at(&details, visit)).flatten();
            walk.begin_visit(now);
            let has = |list: &[u32], code: usize| list.binary_search(&(code as u32)).is_ok();
            for &column in now.iter() {
                for &(number, claim) in &index.columns[column as usize] {
                    let fails = match claim {
                        Claim::OneOf { .. } | Claim::OneInVisit { .. } => continue,
                        Claim::Together { with, .. } => !has(now, with),
                        Claim::Same { one, other } => !has(now, one) || !has(now, other),
                        Claim::Last { .. } => !has(now, columns.end()),
                        Claim::NeverFor { group, .. } | Claim::NoneFor { group, .. } => {
                            groups.contains(&group)
                        }
                        Claim::OnlyAfter { other, .. } => !walk.in_past(other as u32),
                        Claim::SoonAfter { other, visits, .. } => {
                            let (of_record, at) = lately[other];
                            of_record != counts.record || at + usize::from(visits) < visit
                        }
                        Claim::Stays { .. } if last => continue,
                        Claim::Stays { code } => !has(next, code),
                        Claim::Once { code } => walk.in_past(code as u32),
                        Claim::Aged { years, from, .. } => match age {
                            Some(age) => (age < years) == from,
                            None => continue,
                        },
                        Claim::Apart { code, days } => {
                            let Some(day) = day else { continue };
                            let (of_record, before) = last_day[code];
                            of_record == counts.record && day - before < days.into()
                        }
                    };
                    counts.occasion(number, fails);
                }
            }
            if index.looks_back {
                for &column in now.iter() {
                    lately[column as usize] = (counts.record, visit);
                }
            }
            if let Some(day) = day {
                for &column in now.iter() {
                    last_day[column as usize] = (counts.record, day);
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
            for &(number, exactly) in &index.categories[category] {
                if exactly || count > 0 {
                    self.counts.occasion(number, count > 1 || count == 0);
                }
            }
        }
    }

    fn families(&mut self, columns: &Columns, index: &Index, visit: usize) {
        for &column in &self.now {
            if let Some(family) = columns.family_of[column as usize] {
                self.of_family[family] += 1;
            }
        }
        for &(number, family, kind) in &index.families {
            let count = self.of_family[family];
            let counts = match kind {
                InVisit::AtMostOne => count > 0,
                InVisit::ExactlyOne => true,
                InVisit::ExactlyOneAfterFirst { .. } => visit > 1,
            };
            if counts {
                self.counts.occasion(number, count != 1);
            }
        }
        for &column in &self.now {
            if let Some(family) = columns.family_of[column as usize] {
                self.of_family[family] = 0;
            }
        }
    }
}
