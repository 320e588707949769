//! What is counted of single codes, and of pairs of codes.

use std::ops::Range;

use consequence_record::{Cohort, Split};
use consequence_tally::{Block, Counts, counts};

use crate::records::{Columns, STAGES, Walk, last_of, stage, sweep};

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

counts!(Profile {
    records,
    visits,
    codes,
    visits_with,
    records_with,
    company,
    moves,
    stays,
    first_moves,
    first_stays,
    first_at,
    past_at,
    visits_at,
    group_records,
    group_visits,
    group_codes,
    group_visits_with,
    group_records_with,
    category_overlaps,
});

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
    pub fn of(block: &Block<'_>, columns: &Columns) -> Self {
        let start = || Part {
            profile: Self::empty(columns),
            walk: Walk::new(columns.len()),
            groups: Vec::new(),
            now: Vec::new(),
            next: Vec::new(),
        };
        let cohort = block.records.cohort();
        let work = |part: &mut Part, number: usize| {
            let record = block.records.index(number);
            if block.splits[record] == Split::Train {
                part.record(cohort, columns, record);
            }
        };
        let join = |mut one: Part, other: Part| {
            one.profile.add(other.profile);
            one
        };
        sweep(block.records.len(), rayon::current_num_threads(), start, work, join).profile
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
    /// Visits with both.
    together: Vec<u32>,
    /// Records in which the other is in the row's first visit.
    at_first: Vec<u32>,
    /// Records that have the other in an encounter before the row's first one.
    before: Vec<u32>,
}

counts!(Pairs { together, at_first, before });

impl Pairs {
    /// Bytes for each row.
    pub fn row_bytes(columns: usize) -> usize {
        columns.saturating_mul(3 * size_of::<u32>())
    }

    fn new(rows: usize, columns: usize) -> Self {
        let cells = vec![0; rows * columns];
        Self { together: cells.clone(), at_first: cells.clone(), before: cells }
    }

    /// Counts the given rows, as many at a time as `memory` allows all threads together. `orders` tells of which of
    /// them what came before is counted too.
    pub fn of(
        block: &Block<'_>,
        columns: &Columns,
        rows: &[usize],
        orders: &[bool],
        memory: usize,
    ) -> Self {
        let row_bytes = Self::row_bytes(columns.len()).max(1);
        let all_bytes = row_bytes.saturating_mul(rows.len()).max(1);
        let workers = rayon::current_num_threads().min((memory / all_bytes).max(1));
        let at_a_time = (memory / row_bytes / workers).max(1);
        let mut pairs = Self::new(0, columns.len());
        for (rows, orders) in rows.chunks(at_a_time).zip(orders.chunks(at_a_time)) {
            let counted = Self::of_rows(block, columns, rows, orders, workers);
            pairs.together.extend(counted.together);
            pairs.at_first.extend(counted.at_first);
            pairs.before.extend(counted.before);
        }
        pairs
    }

    fn of_rows(
        block: &Block<'_>,
        columns: &Columns,
        rows: &[usize],
        orders: &[bool],
        workers: usize,
    ) -> Self {
        let cohort = block.records.cohort();
        let mut row_of = vec![NONE; columns.len()];
        for (row, &column) in rows.iter().enumerate() {
            row_of[column] = row as u32;
        }
        let start = || (Self::new(rows.len(), columns.len()), Walk::new(columns.len()), Vec::new());
        let work = |(pairs, walk, now): &mut (Self, Walk, Vec<u32>), number: usize| {
            let index = block.records.index(number);
            let record = cohort.record(index);
            if block.splits[index] != Split::Train {
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
                    let cells = cells(row as usize, columns.len());
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
            one.0.add(other.0);
            one
        };
        sweep(block.records.len(), workers, start, work, join).0
    }

    /// The counts of a row.
    pub fn row(&self, row: usize, columns: usize) -> PairRow<'_> {
        let cells = || cells(row, columns);
        PairRow {
            together: &self.together[cells()],
            at_first: &self.at_first[cells()],
            before: &self.before[cells()],
        }
    }
}

fn cells(row: usize, columns: usize) -> Range<usize> {
    row * columns..(row + 1) * columns
}

/// Counts for one code against all codes, by column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairRow<'a> {
    /// Visits with the row's code and the column's.
    pub together: &'a [u32],
    /// Records that have the column's code in the first visit with the row's.
    pub at_first: &'a [u32],
    /// Records that have the column's code strictly before the row's first visit.
    pub before: &'a [u32],
}
