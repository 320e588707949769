//! How often codes and pairs of codes occur in encounters.

use consequence_record::{Code, RecordView, Selection};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Counts of two codes together, by both; sparse, since most pairs never occur.
pub(crate) type PairCounts = FxHashMap<(Code, Code), u64>;

/// How often codes and pairs of codes occur. No static codes, and no `END`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub encounters: u64,
    /// Encounters that another follows.
    pub transitions: u64,
    pub codes: Vec<u64>,
    /// Two codes of one encounter, the lower number first.
    pub pairs: PairCounts,
    /// A code of one encounter, and a code of the next.
    pub sequences: PairCounts,
}

impl Counts {
    /// Counts records on all threads.
    pub fn new(records: Selection<'_>, codes: usize) -> Self {
        // One part a thread: parts hold the same pairs again and again.
        let size = records.len().div_ceil(rayon::current_num_threads()).max(1);
        let none = || Self { codes: vec![0; codes], ..Self::default() };
        let parts = records.chunks(size).into_par_iter().map(|records| {
            let mut counts = none();
            records.records().for_each(|record| counts.add_record(record));
            counts
        });
        parts.reduce(none, Self::joined)
    }

    fn add_record(&mut self, record: RecordView<'_>) {
        let mut before: Option<&[Code]> = None;
        for visit in record.visits().skip(1) {
            self.encounters += 1;
            for (index, &code) in visit.iter().enumerate() {
                self.codes[code.index()] += 1;
                for &other in &visit[index + 1..] {
                    *self.pairs.entry((code, other)).or_default() += 1;
                }
            }
            if let Some(before) = before {
                self.transitions += 1;
                for &code in before {
                    for &next in visit {
                        *self.sequences.entry((code, next)).or_default() += 1;
                    }
                }
            }
            before = Some(visit);
        }
    }

    fn joined(mut self, other: Self) -> Self {
        self.encounters += other.encounters;
        self.transitions += other.transitions;
        self.codes.iter_mut().zip(other.codes).for_each(|(count, more)| *count += more);
        self.pairs = joined(self.pairs, other.pairs);
        self.sequences = joined(self.sequences, other.sequences);
        self
    }
}

fn joined(one: PairCounts, other: PairCounts) -> PairCounts {
    let (mut large, small) = if one.len() < other.len() { (other, one) } else { (one, other) };
    for (pair, count) in small {
        *large.entry(pair).or_default() += count;
    }
    large
}
