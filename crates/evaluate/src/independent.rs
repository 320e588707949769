//! A model that knows how frequent each code is, and nothing else.

use consequence_model::{Generator, Turn};
use consequence_record::Selection;
use consequence_rules::Order;

use crate::check::{BadRecord, check};

/// Independent codes, each as frequent as it was in the records trained on: the least a model
/// should beat. Not smoothed, so a code that was never seen has no probability.
#[derive(Clone, Debug)]
pub struct Independent {
    codes: Order,
    max_visits: usize,
    probabilities: Vec<f64>,
}

impl Independent {
    /// Counts the codes of records.
    pub fn fit(codes: Order, records: Selection<'_>, max_visits: usize) -> Result<Self, BadRecord> {
        check(records, codes.vocabulary())?;
        let mut counts = vec![0u64; codes.len()];
        let mut encounters = 0;
        for record in records.records() {
            encounters += record.len() - 1;
            for visit in 0..record.len() {
                for position in codes.positions(record, visit) {
                    counts[position as usize] += 1;
                }
            }
        }
        let probability = |(position, count): (usize, u64)| {
            let visits = if position < codes.statics() { records.len() } else { encounters };
            count as f64 / visits.max(1) as f64
        };
        let probabilities = counts.into_iter().enumerate().map(probability).collect();
        Ok(Self { codes, max_visits, probabilities })
    }
}

impl Generator for Independent {
    /// The number of visits so far.
    type Past = usize;
    type Scratch = ();

    fn codes(&self) -> &Order {
        &self.codes
    }

    fn max_visits(&self) -> usize {
        self.max_visits
    }

    fn begin(&self) -> usize {
        0
    }

    fn next(&self, turns: &mut [Turn<'_, usize>], _: &mut ()) {
        for turn in turns {
            for position in self.codes.range(*turn.past) {
                turn.decider.decide(position, self.probabilities[position as usize]);
            }
            *turn.past += 1;
        }
    }
}
