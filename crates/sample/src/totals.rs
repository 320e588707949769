//! What was written, in numbers.

use consequence_record::Record;
use serde::Serialize;

/// What was written, in numbers. They depend on the records alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Encounters.
    pub encounters: u64,
    /// Codes in encounters.
    pub codes: u64,
    /// Records begun, those that were not kept included.
    pub attempts: u64,
    /// Attempts that broke a rule and were drawn again.
    pub rejected: u64,
    /// Codes of kept records that rules decided otherwise than they were drawn.
    pub turned: u64,
    /// Kept records that were at the last visit the model has, and would have gone on.
    pub full: u64,
    /// The sum over records of the number of proposals that their weights are worth.
    pub effective: f64,
    /// The sum of the weights of all proposals.
    pub weight: f64,
    /// Proposals that were weighed.
    pub weighed: u64,
}

impl Totals {
    /// Codes in an encounter, on average.
    pub fn codes_per_visit(&self) -> f64 {
        self.codes as f64 / self.encounters.max(1) as f64
    }

    /// The proposals for a record that are worth something, on average; none where none were
    /// weighed.
    pub fn effective_proposals(&self) -> Option<f64> {
        (self.weighed > 0).then(|| self.effective / self.records.max(1) as f64)
    }

    /// The probability that a record that the model writes without rules obeys them, as far as the weights
    /// of proposals tell; none where none were weighed.
    pub fn obeying(&self) -> Option<f64> {
        (self.weighed > 0).then(|| self.weight / self.weighed as f64)
    }

    pub(crate) fn count(&mut self, record: &Record) {
        self.records += 1;
        self.encounters += record.visits.len() as u64 - 1;
        self.codes += record.visits[1..].iter().map(|visit| visit.len() as u64).sum::<u64>();
    }

    /// Counts the weights of all proposals for a record.
    pub(crate) fn weigh(&mut self, logarithms: &[f64]) {
        let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.weighed += logarithms.len() as u64;
        if largest > f64::NEG_INFINITY {
            let weights = logarithms.iter().map(|logarithm| (logarithm - largest).exp());
            let (sum, squares) =
                weights.fold((0.0, 0.0), |(sum, squares), one| (sum + one, squares + one * one));
            self.effective += sum * sum / squares;
            self.weight += sum * largest.exp();
        }
    }
}
