//! One visit as a method sees it: what a network says, and what is true.

use std::ops::Range;

use crate::Coin;

/// The logits of the codes that a visit may hold, and the codes it holds.
///
/// Codes are counted from the first that the visit may hold, as in
/// `consequence_engine::BinaryRow`.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The logit of every code that the visit may hold.
    pub logits: &'a [f32],
    /// The codes it holds, ascending.
    pub present: &'a [u32],
}

impl Row<'_> {
    pub(crate) fn truth(&self) -> Vec<bool> {
        let mut truth = vec![false; self.logits.len()];
        for &code in self.present {
            truth[code as usize] = true;
        }
        truth
    }

    pub(crate) fn coin(&self, code: u32) -> Coin {
        Coin::from_logit(f64::from(self.logits[code as usize]))
    }

    /// A row of the wrong width would be read as other codes, so that nothing would be right.
    pub(crate) fn check(&self, range: &Range<u32>) {
        assert_eq!(self.logits.len(), range.len(), "one logit for every code of the visit");
    }
}

/// What a visit costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The cost in nats, without what is counted as broken.
    pub nats: f64,
    /// How many parts of the constraint this visit, or what came before it, breaks. Their cost is
    /// infinite. It is left out, and they teach nothing.
    pub broken: usize,
}

impl Cost {
    /// The cost in nats, infinite if anything is broken.
    pub fn whole(self) -> f64 {
        if self.broken == 0 { self.nats } else { f64::INFINITY }
    }
}

/// Where a gradient is added: multiplied by a factor, or not at all.
pub(crate) struct Gradient<'a> {
    pub scale: f64,
    pub into: &'a mut [f32],
}

impl Gradient<'_> {
    pub fn add(&mut self, code: u32, value: f64) {
        self.into[code as usize] += (self.scale * value) as f32;
    }
}
