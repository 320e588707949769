//! What is counted of single codes, and of pairs of codes.

use std::ops::Range;

use consequence_record::{Cohort, Split};

use crate::records::{Columns, STAGES, Walk, add, last_of, stage, sweep};

/// Counts over the records of the train split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub records: u64,
    pub visits: u64,
    /// Codes in all visits together.
    pub codes: u64,
    /// By column: visits with the code.
    pub visits_with: Vec<u64>,
    /// By column: records with the code.
    pub records_with: Vec<u64>,
    /// By column: the codes of all visits with the code together.
    pub company: Vec<u64>,
    /// By column: visits with the code that another follows, and those of them it stays in.
    pub moves: Vec<u64>,
    pub stays: Vec<u64>,
    /// The same for the first such visit of each record.
    pub first_moves: Vec<u64>,
    pub first_stays: Vec<u64>,
    /// By column and stage: records that have the code first there.
    pub first_at: Vec<u64>,
    /// By column and stage: visits that have the code in their past.
    pub past_at: Vec<u64>,
    /// By stage: visits.
    pub visits_at: Vec<u64>,
    /// By group: records, visits, and codes of all its visits together.
    pub group_records: Vec<u64>,
    pub group_visits: Vec<u64>,
    pub group_codes: Vec<u64>,
    /// By group and column: visits and records with the code.
    pub group_visits_with: Vec<u64>,
    pub group_records_with: Vec<u64>,
    /// By category: records with two codes or more of it.
    pub category_overlaps: Vec<u64>,
}

struct Part {
    profile: Profile,
    walk: Walk,
    groups: Vec<usize>,
    now: Vec<u32>,
    next: Vec<u32>,
}

impl Profile {
    fn empty(columns: &Columns) -> Self {
        let (codes, groups) = (columns.len(), columns.groups.len());
        Self {
            visits_with: vec![0; codes],
            records_with: vec![0; codes],
            company: vec![0; codes],
            moves: vec![0; codes],
            stays: vec![0; codes],
            first_moves: vec![0; codes],
            first_stays: vec![0; codes],
            first_at: vec![0; codes * STAGES],
            past_at: vec![0; codes * STAGES],
            visits_at: vec![0; STAGES],
            group_records: vec![0; groups],
            group_visits: vec![0; groups],
            group_codes: vec![0; groups],
            group_visits_with: vec![0; groups * codes],
            group_records_with: vec![0; groups * codes],
            category_overlaps: vec![0; columns.categories.len()],
            ..Self::default()
        }
    }

    /// Walks the records of the train split once.
    pub fn of(cohort: &Cohort, splits: &[Split], columns: &Columns, workers: usize) -> Self {
        let start = || Part {
            profile: Self::empty(columns),
            walk: Walk::new(columns.len()),
            groups: Vec::new(),
            now: Vec::new(),
            next: Vec::new(),
        };
        let work = |part: &mut Part, record: usize| {
            if splits[record] == Split::Train {
                part.record(cohort, columns, record);
            }
        };
        let join = |mut one: Part, other: Part| {
            one.profile.add(&other.profile);
            one
        };
        sweep(cohort.len(), workers, start, work, join).profile
    }

    fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.visits += other.visits;
        self.codes += other.codes;
        for (into, from) in [
            (&mut self.visits_with, &other.visits_with),
            (&mut self.records_with, &other.records_with),
            (&mut self.company, &other.company),
            (&mut self.moves, &other.moves),
            (&mut self.stays, &other.stays),
            (&mut self.first_moves, &other.first_moves),
            (&mut self.first_stays, &other.first_stays),
            (&mut self.first_at, &other.first_at),
            (&mut self.past_at, &other.past_at),
            (&mut self.visits_at, &other.visits_at),
            (&mut self.group_records, &other.group_records),
            (&mut self.group_visits, &other.group_visits),
            (&mut self.group_codes, &other.group_codes),
            (&mut self.group_visits_with, &other.group_visits_with),
            (&mut self.group_records_with, &other.group_records_with),
            (&mut self.category_overlaps, &other.category_overlaps),
        ] {
            add(into, from);
        }
    }

    /// Visits that do not have the code in their past.
    pub fn visits_before(&self, column: usize) -> u64 {
        self.visits - self.visits_after(column)
    }

    /// Visits that have the code in their past.
    pub fn visits_after(&self, column: usize) -> u64 {
        self.past_at[column * STAGES..(column + 1) * STAGES].iter().sum()
    }
}

impl Part {
    fn record(&mut self, cohort: &Cohort, columns: &Columns, index: usize) {
        let record = cohort.record(index);
        if record.len() == 0 {
            return;
        }
        let Self { profile, walk, groups, now, next } = self;
        let encounters = record.len() - 1;
        profile.records += 1;
        profile.visits += encounters as u64;
        columns.groups_of(&record, groups);
        profile.statics(columns, groups, encounters);
        walk.begin_record();
        if encounters > 0 {
            columns.encounter(&record, 1, now);
        }
        for visit in 1..=encounters {
            let last = visit == encounters;
            next.clear();
            if !last {
                columns.encounter(&record, visit + 1, next);
            }
            profile.codes += now.len() as u64;
            profile.visits_at[stage(visit)] += 1;
            for &group in groups.iter() {
                profile.group_codes[group] += now.len() as u64;
            }
            walk.begin_visit(now);
            for &code in now.iter() {
                let column = code as usize;
                let first = walk.is_first(code);
                profile.visits_with[column] += 1;
                profile.company[column] += now.len() as u64;
                profile.records_with[column] += u64::from(first);
                profile.first_at[column * STAGES + stage(visit)] += u64::from(first);
                for &group in groups.iter() {
                    let cell = group * columns.len() + column;
                    profile.group_visits_with[cell] += 1;
                    profile.group_records_with[cell] += u64::from(first);
                }
                if !last {
                    let stays = u64::from(next.binary_search(&code).is_ok());
                    profile.moves[column] += 1;
                    profile.stays[column] += stays;
                    profile.first_moves[column] += u64::from(first);
                    profile.first_stays[column] += u64::from(first) * stays;
                }
            }
            std::mem::swap(now, next);
        }
        for &code in walk.seen() {
            let stages = &mut profile.past_at[code as usize * STAGES..][..STAGES];
            let mut from = walk.first_encounter(code);
            while from < encounters {
                let own = stage(from + 1);
                let to = last_of(own).min(encounters);
                stages[own] += (to - from) as u64;
                from = to;
            }
        }
    }
}

impl Profile {
    fn statics(&mut self, columns: &Columns, groups: &[usize], encounters: usize) {
        for (index, &group) in groups.iter().enumerate() {
            self.group_records[group] += 1;
            self.group_visits[group] += encounters as u64;
            let Some(category) = columns.category_of[group] else { continue };
            let mut earlier = groups[..index].iter();
            let of_category = |&&other: &&usize| columns.category_of[other] == Some(category);
            // The second code of a category tells; a third must not count again.
            if earlier.by_ref().filter(of_category).count() == 1 {
                self.category_overlaps[category] += 1;
            }
        }
    }
}

const NONE: u32 = u32::MAX;

/// Counts for some codes, the rows, against all codes, the columns; over the train split.
#[derive(Debug)]
pub(crate) struct Pairs {
    columns: usize,
    /// Visits with both.
    together: Vec<u32>,
    /// Records in which the other is in the row's first visit.
    at_first: Vec<u32>,
    /// Records that have the other in an encounter before the row's first one.
    before: Vec<u32>,
}

impl Pairs {
    /// Bytes for each row.
    pub fn row_bytes(columns: usize) -> usize {
        columns.saturating_mul(3 * size_of::<u32>())
    }

    fn new(rows: usize, columns: usize) -> Self {
        let cells = vec![0; rows * columns];
        Self { columns, together: cells.clone(), at_first: cells.clone(), before: cells }
    }

    /// Counts the given rows. `orders` tells of which of them what came before is counted too.
    pub fn of(
        cohort: &Cohort,
        splits: &[Split],
        columns: &Columns,
        rows: &[usize],
        orders: &[bool],
        workers: usize,
    ) -> Self {
        let mut row_of = vec![NONE; columns.len()];
        for (row, &column) in rows.iter().enumerate() {
            row_of[column] = row as u32;
        }
        let start = || (Self::new(rows.len(), columns.len()), Walk::new(columns.len()), Vec::new());
        let work = |(pairs, walk, now): &mut (Self, Walk, Vec<u32>), index: usize| {
            let record = cohort.record(index);
            if splits[index] != Split::Train {
                return;
            }
            walk.begin_record();
            for visit in 1..record.len() {
                columns.encounter(&record, visit, now);
                walk.begin_visit(now);
                for &code in now.iter() {
                    let row = row_of[code as usize];
                    if row == NONE {
                        continue;
                    }
                    let cells = pairs.cells(row as usize);
                    let first = walk.is_first(code);
                    for &other in now.iter() {
                        pairs.together[cells.start + other as usize] += 1;
                    }
                    if first {
                        for &other in now.iter() {
                            pairs.at_first[cells.start + other as usize] += 1;
                        }
                    }
                    if first && orders[row as usize] {
                        for &other in walk.past() {
                            pairs.before[cells.start + other as usize] += 1;
                        }
                    }
                }
            }
        };
        let join = |mut one: (Self, Walk, Vec<u32>), other: (Self, Walk, Vec<u32>)| {
            add(&mut one.0.together, &other.0.together);
            add(&mut one.0.at_first, &other.0.at_first);
            add(&mut one.0.before, &other.0.before);
            one
        };
        sweep(cohort.len(), workers, start, work, join).0
    }

    fn cells(&self, row: usize) -> Range<usize> {
        row * self.columns..(row + 1) * self.columns
    }

    /// By column: visits with the row's code and the column's.
    pub fn together(&self, row: usize) -> &[u32] {
        &self.together[self.cells(row)]
    }

    /// By column: records that have the column's code in the first visit with the row's.
    pub fn at_first(&self, row: usize) -> &[u32] {
        &self.at_first[self.cells(row)]
    }

    /// By column: records that have the column's code strictly before the row's first visit.
    pub fn before(&self, row: usize) -> &[u32] {
        &self.before[self.cells(row)]
    }
}
