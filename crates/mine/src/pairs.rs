//! What is counted of pairs of codes.

use std::ops::Range;

use consequence_record::{Cohort, Split};

use crate::columns::Columns;
use crate::sweep::{add, sweep};
use crate::walk::Walk;

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
