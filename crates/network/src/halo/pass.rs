//! The loss of a batch, and its gradient.

use consequence_engine::Dropout;

use super::Weights;
use super::head::{BLOCK, Head};
use super::silent::Fired;
use super::trunk::Trunk;
use super::weights::empty_corners;
use crate::batch::Outputs;
use crate::objective::score;
use crate::side::Side;
use crate::{Batch, Objective, Said};

/// Passes of whole batches through the network, forward and back; keeps its memory from one batch
/// to the next.
///
/// ```
/// use consequence_network::halo::{Shape, TrainingPass, Weights};
/// use consequence_network::{Batch, Codewise};
///
/// let (codes, positions, width) = (6, 4, 8);
/// let shape = Shape { codes, positions, width, layers: 1, heads: 2, head_units: 2, side: 0 };
/// let weights = Weights::drawn(shape, 1)?;
/// let mut batch = Batch::new(5);
/// batch.begin();
/// batch.push(0..5, [0, 3], []);
/// let mut gradient = vec![0.0; weights.values().len()];
/// let mut pass = TrainingPass::default();
/// let nats = pass.train(&weights, &batch, &Codewise, 1.0, Default::default(), &mut gradient);
/// assert_eq!(nats, TrainingPass::default().nats(&weights, &batch, &Codewise));
/// assert!(nats[0] > 0.0 && gradient.iter().any(|value| *value != 0.0));
/// # Ok::<(), consequence_network::ShapeError>(())
/// ```
#[derive(Debug, Default)]
pub struct TrainingPass {
    trunk: Trunk,
    head: Head,
    side: Side,
    hidden_gradient: Vec<f32>,
}

impl TrainingPass {
    /// The loss of every row, in nats.
    pub fn nats(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        objective: &dyn Objective,
    ) -> Vec<f64> {
        self.trunk.forward(weights, batch);
        let (values, side) = (weights.values(), &weights.ranges.side);
        self.side.forward(values, side, &self.trunk.hidden, batch.rows());
        let mut nats = vec![0.0; batch.rows()];
        for outputs in batch.outputs() {
            self.score(weights, batch, outputs, objective, (1.0, Dropout::default()), &mut nats);
        }
        nats
    }

    /// The loss of every row, in nats; adds `scale` times the gradient of their sum to `gradient`,
    /// which is laid out as the weights are. `dropout` leaves out some units of the head.
    pub fn train(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        objective: &dyn Objective,
        scale: f32,
        dropout: Dropout,
        gradient: &mut [f32],
    ) -> Vec<f64> {
        self.trunk.forward(weights, batch);
        let (values, side) = (weights.values(), &weights.ranges.side);
        self.side.forward(values, side, &self.trunk.hidden, batch.rows());
        let mut nats = vec![0.0; batch.rows()];
        self.hidden_gradient.clear();
        self.hidden_gradient.resize(self.trunk.hidden.len(), 0.0);
        for (group, outputs) in batch.outputs().iter().enumerate() {
            let dropout = Dropout { key: dropout.key.wrapping_add(group as u64), ..dropout };
            self.score(weights, batch, outputs, objective, (scale, dropout), &mut nats);
            if objective.asks_head() {
                let gradients = &mut self.hidden_gradient;
                self.head.backward(weights, outputs, dropout, gradients, gradient);
            }
        }
        let hidden = &self.trunk.hidden;
        self.side.backward(values, side, hidden, &mut self.hidden_gradient, gradient);
        self.trunk.backward(weights, batch, &self.hidden_gradient, gradient);
        if objective.asks_head() {
            empty_corners(weights.shape(), &weights.ranges, gradient, BLOCK);
        }
        nats
    }

    /// Computes the outputs of a group, scores them, and replaces them by their gradients.
    fn score(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        outputs: &Outputs,
        objective: &dyn Objective,
        (factor, dropout): (f32, Dropout),
        nats: &mut [f64],
    ) {
        if objective.asks_head() {
            self.head.forward(weights, batch, outputs, &self.trunk.hidden, dropout);
        } else {
            self.head.clear();
        }
        let asked = (outputs, &outputs.rows[..]);
        let (logits, ahead) = self.head.said(outputs);
        let said = Said { logits, side: self.side.of(&outputs.rows), ahead };
        score(objective, batch, asked, factor, said, nats);
        self.side.put_back(&outputs.rows);
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

    /// The share of units of the head's first layer that are never above zero in these batches, of
    /// those that can tell an output something: units of the history, and those of a code in visits
    /// that may hold both it and a code after it.
    ///
    /// Without its units a code cannot tell its neighbour that it is there.
    pub fn silent_units(
        &mut self,
        weights: &Weights,
        batches: impl IntoIterator<Item = Batch>,
    ) -> f64 {
        let mut fired = Fired::new(weights.shape());
        for batch in batches {
            self.trunk.forward(weights, &batch);
            for outputs in batch.outputs() {
                let hidden = &self.trunk.hidden;
                self.head.forward(weights, &batch, outputs, hidden, Dropout::default());
                self.head.note_fired(weights.shape(), outputs, &mut fired);
            }
        }
        fired.silent()
    }

    /// What the blocks of attention made of every row of the last batch.
    pub fn hidden(&self) -> &[f32] {
        &self.trunk.hidden
    }
}
