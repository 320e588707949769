//! What a network is trained for: the loss of a batch, and its gradient.

use consequence_engine::{BinaryRow, Dropout, Settled, binary_cross_entropy};

use crate::batch::Outputs;
use crate::head::{BLOCK, Head, Side};
use crate::trunk::Trunk;
use crate::weights::empty_corners;
use crate::{Batch, Weights};

/// The truth about one row of outputs: the visit that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The first code that the visit may hold.
    pub first: usize,
    /// The codes it holds, ascending, counted from the first that it may hold.
    pub present: &'a [u32],
    /// Outputs that something else decides.
    pub settled: &'a [Settled],
    /// Facts noted about the visit ([`Batch::note`](crate::Batch::note)).
    pub facts: &'a [u32],
}

/// Turns outputs into a loss and its gradient.
///
/// [`Codewise`], the likelihood of a visit code by code, is what HALO trains; methods that
/// constrain a network while it trains put something of their own in its place.
pub trait Objective: Sync {
    /// Whether the head is asked; if not there are no logits of codes, only the outputs beside it.
    fn asks_head(&self) -> bool {
        true
    }

    /// The loss of every row, in nats. `logits` has the codes that a visit may hold, row by row,
    /// and `side` the outputs beside the head; both are replaced by `factor` times the gradient of
    /// the loss.
    fn score(
        &self,
        rows: &[Asked<'_>],
        factor: f32,
        logits: &mut [f32],
        side: &mut [f32],
    ) -> Vec<f64>;
}

/// The likelihood of a visit, code by code: binary cross entropy of every code that is not settled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codewise;

impl Objective for Codewise {
    fn score(
        &self,
        rows: &[Asked<'_>],
        factor: f32,
        logits: &mut [f32],
        side: &mut [f32],
    ) -> Vec<f64> {
        side.fill(0.0);
        let width = logits.len() / rows.len().max(1);
        let truth: Vec<BinaryRow<'_>> = rows
            .iter()
            .map(|row| BinaryRow { present: row.present, settled: row.settled })
            .collect();
        binary_cross_entropy(logits, width, &truth, factor)
    }
}

/// Passes of whole batches through the network, forward and back; keeps its memory from one batch
/// to the next.
///
/// ```
/// use consequence_halo::{Batch, Codewise, TrainingPass, Shape, Weights};
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
/// # Ok::<(), consequence_halo::ShapeError>(())
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
        self.side.forward(weights, &self.trunk.hidden);
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
        self.side.forward(weights, &self.trunk.hidden);
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
        self.side.backward(weights, &self.trunk.hidden, &mut self.hidden_gradient, gradient);
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
            self.head.logits.clear();
        }
        let first = outputs.codes.start;
        let present: Vec<Vec<u32>> = outputs
            .rows
            .iter()
            .map(|&row| batch.target(row as usize).iter().map(|code| code - first as u32).collect())
            .collect();
        let rows: Vec<Asked<'_>> = present
            .iter()
            .zip(&outputs.rows)
            .map(|(present, &row)| Asked {
                first,
                present,
                settled: batch.settled(row as usize),
                facts: batch.facts(row as usize),
            })
            .collect();
        let side = self.side.of(weights, outputs);
        let found = objective.score(&rows, factor, &mut self.head.logits, side);
        self.side.put_back(weights, outputs);
        for (&row, found) in outputs.rows.iter().zip(found) {
            nats[row as usize] = found;
        }
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
