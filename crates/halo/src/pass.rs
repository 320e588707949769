//! The loss of a batch, and its gradient.

use consequence_engine::Dropout;

use crate::head::{BLOCK, Head};
use crate::trunk::Trunk;
use crate::weights::empty_corners;
use crate::{Batch, Weights};

/// The network at work on batches; keeps its memory from one to the next.
///
/// ```
/// use consequence_halo::{Batch, Pass, Shape, Weights};
///
/// let shape = Shape { codes: 6, positions: 4, width: 8, layers: 1, heads: 2, head_units: 2 };
/// let weights = Weights::drawn(shape, 1)?;
/// let mut batch = Batch::new(5);
/// batch.begin();
/// batch.push(0..5, [0, 3], []);
/// let mut gradient = vec![0.0; weights.values().len()];
/// let nats = Pass::default().learn(&weights, &batch, 1.0, Default::default(), &mut gradient);
/// assert_eq!(nats, Pass::default().nats(&weights, &batch));
/// assert!(nats[0] > 0.0 && gradient.iter().any(|slope| *slope != 0.0));
/// # Ok::<(), consequence_halo::ShapeError>(())
/// ```
#[derive(Debug, Default)]
pub struct Pass {
    trunk: Trunk,
    head: Head,
    hidden_gradient: Vec<f32>,
}

impl Pass {
    /// The loss of every row, in nats.
    pub fn nats(&mut self, weights: &Weights, batch: &Batch) -> Vec<f64> {
        self.trunk.forward(weights, batch);
        let mut nats = vec![0.0; batch.rows()];
        for outputs in batch.outputs() {
            self.head.forward(weights, batch, outputs, &self.trunk.hidden, Dropout::default());
            let found = self.head.loss(batch, outputs, 1.0);
            for (&row, found) in outputs.rows.iter().zip(found) {
                nats[row as usize] = found;
            }
        }
        nats
    }

    /// The loss of every row, in nats; adds `scale` times the gradient of their sum to `gradient`,
    /// which has the places of the weights. `dropout` leaves out some units of the head.
    pub fn learn(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        scale: f32,
        dropout: Dropout,
        gradient: &mut [f32],
    ) -> Vec<f64> {
        self.trunk.forward(weights, batch);
        let mut nats = vec![0.0; batch.rows()];
        self.hidden_gradient.clear();
        self.hidden_gradient.resize(self.trunk.hidden.len(), 0.0);
        for (group, outputs) in batch.outputs().iter().enumerate() {
            let dropout = Dropout { key: dropout.key.wrapping_add(group as u64), ..dropout };
            self.head.forward(weights, batch, outputs, &self.trunk.hidden, dropout);
            let found = self.head.loss(batch, outputs, scale);
            for (&row, found) in outputs.rows.iter().zip(found) {
                nats[row as usize] = found;
            }
            self.head.backward(weights, outputs, dropout, &mut self.hidden_gradient, gradient);
        }
        self.trunk.backward(weights, batch, &self.hidden_gradient, gradient);
        empty_corners(weights.shape(), &weights.places, gradient, BLOCK);
        nats
    }

    /// The logits of every row, for all the codes its visit may hold.
    pub fn logits(&mut self, weights: &Weights, batch: &Batch) -> Vec<Vec<f32>> {
        self.trunk.forward(weights, batch);
        let mut logits = vec![Vec::new(); batch.rows()];
        for outputs in batch.outputs() {
            self.head.forward(weights, batch, outputs, &self.trunk.hidden, Dropout::default());
            let found = self.head.logits.chunks_exact(outputs.codes.len());
            for (&row, found) in outputs.rows.iter().zip(found) {
                logits[row as usize] = found.to_vec();
            }
        }
        logits
    }

    /// What the blocks of attention made of every row of the last batch.
    pub fn hidden(&self) -> &[f32] {
        &self.trunk.hidden
    }
}
