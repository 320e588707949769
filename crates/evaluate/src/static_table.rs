//! Static visits as one table: the best that counts can say of them.

use consequence_record::{Code, Cohort, Vocabulary};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::check::{BadRecord, check};

/// What static visits cost when each whole visit has the share it had in the records trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StaticTable {
    /// Nats of all static visits that were seen before.
    pub nats: f64,
    /// Records whose static visit was never seen: their cost is infinite.
    pub unseen: u64,
}

/// Learns the table from some records of a cohort, by their places, and measures others with it.
pub fn static_table(
    cohort: &Cohort,
    vocabulary: &Vocabulary,
    trained: &[usize],
    measured: &[usize],
) -> Result<StaticTable, BadRecord> {
    check(cohort, trained.iter().chain(measured).copied(), vocabulary)?;
    let mut counts: FxHashMap<&[Code], u64> = FxHashMap::default();
    for &place in trained {
        *counts.entry(cohort.record(place).visit(0)).or_default() += 1;
    }
    let mut table = StaticTable::default();
    for &place in measured {
        match counts.get(cohort.record(place).visit(0)) {
            Some(&count) => table.nats -= (count as f64 / trained.len() as f64).ln(),
            None => table.unseen += 1,
        }
    }
    Ok(table)
}
