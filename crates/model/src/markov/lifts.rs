//! How much the presence of one code raises the odds of others.

use serde::{Deserialize, Serialize};

/// For each code that may be present, the codes whose log-odds it changes, and by how much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Lifts {
    ends: Vec<u32>,
    targets: Vec<u32>,
    values: Vec<f32>,
}

impl Lifts {
    /// One list for each code, in order.
    pub fn new<'a>(lists: impl Iterator<Item = &'a [(u32, f32)]>) -> Self {
        let mut lifts = Self::default();
        for list in lists {
            lifts.targets.extend(list.iter().map(|&(target, _)| target));
            lifts.values.extend(list.iter().map(|&(_, value)| value));
            lifts.ends.push(lifts.targets.len() as u32);
        }
        lifts
    }

    /// Adds what the presence of a code says of others.
    #[inline]
    pub fn add(&self, source: u32, odds: &mut [f64]) {
        let source = source as usize;
        let start = if source == 0 { 0 } else { self.ends[source - 1] as usize };
        let range = start..self.ends[source] as usize;
        for (&target, &value) in self.targets[range.clone()].iter().zip(&self.values[range]) {
            odds[target as usize] += f64::from(value);
        }
    }

    /// Multiplies what is said of each code.
    pub fn scale(&mut self, weight: impl Fn(u32) -> f64) {
        for (&target, value) in self.targets.iter().zip(&mut self.values) {
            *value = (f64::from(*value) * weight(target)) as f32;
        }
    }

    /// Whether these are lifts between so many codes.
    pub fn fit(&self, codes: usize) -> bool {
        self.ends.len() == codes
            && self.ends.is_sorted()
            && self.ends.last().map_or(0, |&end| end as usize) == self.targets.len()
            && self.targets.len() == self.values.len()
            && self.targets.iter().all(|&target| (target as usize) < codes)
            && self.values.iter().all(|value| value.is_finite())
    }
}

/// The log-odds of a probability.
pub(super) fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}
