//! The loss of a batch, and its gradient.

use std::ops::Range;

use super::Weights;
use super::copies::Copies;
use super::head::Head;
use super::history::History;
use crate::batch::Outputs;
use crate::objective::score;
use crate::side::Side;
use crate::{Batch, Objective, Said};

/// Logits that are computed at once, at most: what bounds the memory of a batch.
const LOGITS: usize = 1 << 22;

/// Passes of whole batches through the network, forward and back; keeps its memory from one batch
/// to the next.
///
/// ```
/// use consequence_network::recurrent::{Shape, TrainingPass, Weights};
/// use consequence_network::{Batch, Codewise};
///
/// let shape = Shape { codes: 5, width: 8, head: 16, bottleneck: 4, side: 0 };
/// let weights = Weights::drawn(shape, 1)?;
/// let mut batch = Batch::new(5);
/// batch.begin();
/// batch.push(0..5, [0, 3], []);
/// let mut gradient = vec![0.0; weights.values().len()];
/// let mut pass = TrainingPass::default();
/// let nats = pass.train(&weights, &batch, &Codewise, 1.0, &mut gradient);
/// assert_eq!(nats, TrainingPass::default().nats(&weights, &batch, &Codewise));
/// assert!(nats[0] > 0.0 && gradient.iter().any(|value| *value != 0.0));
/// # Ok::<(), consequence_network::ShapeError>(())
/// ```
#[derive(Debug, Default)]
pub struct TrainingPass {
    history: History,
    copies: Copies,
    head: Head,
    side: Side,
    hidden_gradient: Vec<f32>,
}

/// The rows of a group, a few at a time.
fn pieces(outputs: &Outputs) -> impl Iterator<Item = (&Range<usize>, &[u32])> {
    let rows = (LOGITS / outputs.codes.len().max(1)).max(1);
    outputs.rows.chunks(rows).map(|rows| (&outputs.codes, rows))
}

impl TrainingPass {
    /// The loss of every row, in nats.
    pub fn nats(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        objective: &dyn Objective,
    ) -> Vec<f64> {
        self.forward(weights, batch);
        let mut nats = vec![0.0; batch.rows()];
        for outputs in batch.outputs() {
            for (_, rows) in pieces(outputs) {
                self.score(weights, batch, (outputs, rows), objective, 1.0, &mut nats);
            }
        }
        nats
    }

    /// The loss of every row, in nats; adds `scale` times the gradient of their sum to `gradient`,
    /// which is laid out as the weights are.
    pub fn train(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        objective: &dyn Objective,
        scale: f32,
        gradient: &mut [f32],
    ) -> Vec<f64> {
        self.forward(weights, batch);
        let mut nats = vec![0.0; batch.rows()];
        self.hidden_gradient.clear();
        self.hidden_gradient.resize(self.history.hidden.len(), 0.0);
        for outputs in batch.outputs() {
            for piece in pieces(outputs) {
                self.score(weights, batch, (outputs, piece.1), objective, scale, &mut nats);
                if objective.asks_head() {
                    let (hidden, copies) = (&mut self.hidden_gradient, &mut self.copies);
                    self.head.backward(weights, batch, copies, piece, hidden, gradient);
                }
            }
        }
        let (hidden, into) = (&self.history.hidden, &mut self.hidden_gradient);
        if objective.asks_head() {
            self.copies.backward(weights, hidden, into, gradient);
        }
        self.side.backward(weights.values(), &weights.ranges.side, hidden, into, gradient);
        self.history.backward(weights, batch, &self.hidden_gradient, gradient);
        nats
    }

    fn forward(&mut self, weights: &Weights, batch: &Batch) {
        self.history.forward(weights, batch);
        let hidden = &self.history.hidden;
        self.copies.forward(weights, batch, hidden);
        self.side.forward(weights.values(), &weights.ranges.side, hidden, batch.rows());
    }

    /// Computes the outputs of some rows, scores them, and replaces them by their gradients.
    fn score(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        (outputs, rows): (&Outputs, &[u32]),
        objective: &dyn Objective,
        factor: f32,
        nats: &mut [f64],
    ) {
        if objective.asks_head() {
            let (piece, hidden) = ((&outputs.codes, rows), &self.history.hidden);
            self.head.forward(weights, batch, &self.copies, piece, hidden);
        } else {
            self.head.clear();
        }
        let Head { logits, ahead, .. } = &mut self.head;
        let said = Said { logits, side: self.side.of(rows), ahead };
        score(objective, batch, (outputs, rows), factor, said, nats);
        self.side.put_back(rows);
    }

    /// The logits of every row, for all the codes its visit may hold.
    pub fn logits(&mut self, weights: &Weights, batch: &Batch) -> Vec<Vec<f32>> {
        self.forward(weights, batch);
        let mut logits = vec![Vec::new(); batch.rows()];
        for outputs in batch.outputs() {
            for piece in pieces(outputs) {
                self.head.forward(weights, batch, &self.copies, piece, &self.history.hidden);
                let found = self.head.logits.chunks_exact(outputs.codes.len());
                for (&row, found) in piece.1.iter().zip(found) {
                    logits[row as usize] = found.to_vec();
                }
            }
        }
        logits
    }
}
