//! Units of the head's first layer that never fire.

use std::ops::Range;

use super::Shape;
use crate::batch::Outputs;

/// Which units of the head's first layer can tell an output something, and which of them have fired.
///
/// A unit of the history counts in every visit, and one of a code in the visits that may hold the
/// code, unless no output comes after it there. (In other visits it is one more unit of the history.)
#[derive(Debug)]
pub(crate) struct Fired {
    read: Vec<bool>,
    fired: Vec<bool>,
}

impl Fired {
    pub fn new(shape: &Shape) -> Self {
        Self { read: vec![false; shape.units()], fired: vec![false; shape.units()] }
    }

    /// The units that count in visits that may hold some codes: those of the history, and of these codes.
    pub fn read(&mut self, shape: &Shape, codes: &Range<usize>) -> [Range<usize>; 2] {
        let seen = shape.units_before(codes.end.saturating_sub(1));
        let both = [0..shape.width, shape.units_before(codes.start)..seen];
        for units in &both {
            self.read[units.clone()].fill(true);
        }
        both
    }

    /// Takes in what was found elsewhere: a one for each unit that fires.
    pub fn found(&mut self, fired: &[u32]) {
        let found = self.fired.iter_mut().zip(fired);
        found.for_each(|(fired, &found)| *fired |= found == 1);
    }

    /// Takes in the rows of a group, so many units each, after the activation.
    pub fn note(&mut self, shape: &Shape, outputs: &Outputs, active: &[f32], seen: usize) {
        for units in self.read(shape, &outputs.codes) {
            for row in active.chunks_exact(seen) {
                let found = self.fired[units.clone()].iter_mut().zip(&row[units.clone()]);
                found.for_each(|(fired, &active)| *fired |= active > 0.0);
            }
        }
    }

    /// The share of units that have never fired, of those that count.
    pub fn silent(&self) -> f64 {
        let read = self.read.iter().filter(|read| **read).count();
        let silent = self.read.iter().zip(&self.fired).filter(|(read, fired)| **read && !**fired);
        silent.count() as f64 / read.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use crate::Batch;
    use crate::halo::{Shape, TrainingPass, Weights};

    const STATICS: usize = 2;
    const CODES: usize = 5;

    /// No unit fires by itself but the second of the history. Codes 0 and 2 make their own units
    /// fire, and code 2 that of code 3 as well. Code 1 is the last static code, and code 4 the last
    /// of encounters: their units always fire, and count in no visit.
    fn network() -> Weights {
        let (codes, width) = (CODES + 1, 2);
        let shape =
            Shape { codes, positions: 3, width, layers: 1, heads: 1, head_units: 1, side: 0 };
        let mut weights = Weights::zero(shape).unwrap();
        let [first, bias] = weights.ranges.first.clone();
        let values = weights.values_mut();
        values[bias.clone()].copy_from_slice(&[-1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0]);
        for (code, unit) in [(0, 0), (2, 2), (2, 3)] {
            values[first.start + (width + code) * shape.units() + width + unit] = 2.0;
        }
        weights
    }

    fn batch(statics: &[u32], encounter: &[u32]) -> Batch {
        let mut batch = Batch::new(CODES as u32);
        batch.begin();
        batch.push(0..STATICS, statics.iter().copied(), []);
        batch.push(STATICS..CODES, encounter.iter().copied(), []);
        batch
    }

    #[test]
    fn units_that_some_output_reads_are_counted_and_no_others() {
        let weights = network();
        let silent = |batches: &[Batch]| {
            TrainingPass::default().silent_units(&weights, batches.iter().cloned())
        };
        // Two units of the history, and those of codes 0, 2 and 3.
        assert_eq!(silent(&[batch(&[1], &[3, 4])]), 4.0 / 5.0);
        assert_eq!(silent(&[batch(&[0], &[3])]), 3.0 / 5.0);
        assert_eq!(silent(&[batch(&[1], &[2])]), 2.0 / 5.0);
        assert_eq!(silent(&[batch(&[0], &[]), batch(&[], &[2])]), 1.0 / 5.0);
        assert_eq!(silent(&[]), 0.0);
    }
}
