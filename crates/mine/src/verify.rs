//! Claims held against records, visit by visit.

use consequence_record::{Cohort, Split};

use crate::claim::Claim;
use crate::columns::Columns;
use crate::found::Tally;
use crate::sweep::sweep;
use crate::walk::Walk;

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
