//! The values that parameters have before training.

use consequence_prng::{Draws, Purpose};
use rayon::prelude::*;

/// Fills tensors one after the other with normal variates: which ones follows from the seed and from
/// how many tensors came before.
pub(crate) struct FirstValues {
    draws: Draws,
    tensor: u64,
}

impl FirstValues {
    pub fn new(seed: u64) -> Self {
        Self { draws: Draws::new(seed), tensor: 0 }
    }

    /// Fills the next tensor, with a mean of zero.
    pub fn fill(&mut self, values: &mut [f32], deviation: f64) {
        self.tensor += 1;
        let (draws, tensor) = (&self.draws, self.tensor);
        values.par_chunks_mut(1 << 14).enumerate().for_each(|(chunk, values)| {
            let mut draw = draws.visit(tensor << 24 | chunk as u64, 0, 0, Purpose::Weight);
            for (at, value) in values.iter_mut().enumerate() {
                let at = 2 * at as u32;
                let radius = (-2.0 * draw.uniform(at).ln()).sqrt();
                let turn = std::f64::consts::TAU * draw.uniform(at + 1);
                *value = (deviation * radius * turn.cos()) as f32;
            }
        });
    }
}
