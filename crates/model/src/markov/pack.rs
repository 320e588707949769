//! Records as positions, end to end.

use std::ops::Range;

use consequence_record::{Lists, Selection};
use consequence_rules::Order;

/// The records to train on: visits end to end, each as ascending positions, `END` among them.
pub(super) struct Pack {
    visits: Lists<u32>,
    records: Vec<Range<usize>>,
    /// Whether a visit is the last of its record.
    last: Vec<bool>,
}

impl Pack {
    pub fn new(codes: &Order, records: Selection<'_>) -> Self {
        let mut pack = Self { visits: Lists::default(), records: Vec::new(), last: Vec::new() };
        for record in records.records() {
            let first = pack.last.len();
            for visit in 0..record.len() {
                pack.visits.push(codes.positions(record, visit));
                pack.last.push(visit + 1 == record.len());
            }
            pack.records.push(first..pack.last.len());
        }
        pack
    }

    /// The visits of each record, the static visit first.
    pub fn records(&self) -> &[Range<usize>] {
        &self.records
    }

    /// The codes of a visit.
    pub fn visit(&self, visit: usize) -> &[u32] {
        self.visits.list(visit)
    }

    /// The visit that follows in the same record.
    pub fn after(&self, visit: usize) -> Option<usize> {
        (!self.last[visit]).then_some(visit + 1)
    }

    /// For each of so many codes, the visits that hold it.
    pub fn holders(&self, codes: usize) -> Vec<Vec<u32>> {
        let mut holders = vec![Vec::new(); codes];
        for visit in 0..self.last.len() {
            self.visit(visit).iter().for_each(|&code| holders[code as usize].push(visit as u32));
        }
        holders
    }
}
