//! What a network is trained for.

use consequence_engine::{BinaryRow, Settled, binary_cross_entropy};

use crate::Batch;
use crate::batch::Outputs;

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

/// The truth about the rows of a group, scored: outputs are replaced by their gradients. `nats` has
/// an element for each row of the batch.
pub(crate) fn score(
    objective: &dyn Objective,
    batch: &Batch,
    (outputs, rows): (&Outputs, &[u32]),
    factor: f32,
    (logits, side): (&mut [f32], &mut [f32]),
    nats: &mut [f64],
) {
    let first = outputs.codes.start;
    let present: Vec<Vec<u32>> = rows
        .iter()
        .map(|&row| batch.target(row as usize).iter().map(|code| code - first as u32).collect())
        .collect();
    let asked: Vec<Asked<'_>> = present
        .iter()
        .zip(rows)
        .map(|(present, &row)| Asked {
            first,
            present,
            settled: batch.settled(row as usize),
            facts: batch.facts(row as usize),
        })
        .collect();
    let found = objective.score(&asked, factor, logits, side);
    for (&row, found) in rows.iter().zip(found) {
        nats[row as usize] = found;
    }
}
