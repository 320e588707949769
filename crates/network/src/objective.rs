//! What a network is trained for.

use consequence_engine::{BinaryRow, Settled, binary_cross_entropy};

use crate::Batch;
use crate::batch::Outputs;

/// The truth about one row of outputs: the visit that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its row in the batch.
    pub row: usize,
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

    /// What of the network's outputs it needs; where it is not all of them, a GPU can train for it.
    fn scoring(&self) -> Scoring<'_> {
        Scoring::Outputs
    }

    /// The loss of every row, in nats. What the network says is replaced by `factor` times the gradient
    /// of the loss.
    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64>;
}

/// What an objective needs of the outputs of a network.
#[derive(Clone, Copy)]
pub enum Scoring<'a> {
    /// All of them.
    Outputs,
    /// It is the likelihood code by code.
    Codewise,
    /// It is the likelihood code by code, and something beyond that of a few logits.
    Beyond(&'a dyn Beyond),
}

/// What an objective has beyond the likelihood of codes that are not settled: a function of some logits.
pub trait Beyond: Sync {
    /// The logits that it reads for a row of the batch.
    fn readings(&self, row: usize) -> Vec<Reading>;

    /// The nats of a row, by the logits that are read for it; `changes` takes their gradient.
    fn score(&self, row: usize, read: &[f64], changes: &mut [f64]) -> f64;
}

/// A logit of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The code.
    pub code: u32,
    /// How many of the visit's first codes are known; none: all that come before the code.
    pub known: Option<u32>,
}

/// What a network says of some rows, one row after the other.
#[derive(Debug)]
pub struct Said<'a> {
    /// The logits of the codes that each visit may hold.
    pub logits: &'a mut [f32],
    /// The outputs beside the head.
    pub side: &'a mut [f32],
    /// Logits of codes by less than is known of the visit
    /// ([`Batch::look_ahead`](crate::Batch::look_ahead)), in the order they were asked for.
    pub ahead: &'a mut [f32],
}

/// The likelihood of a visit, code by code: binary cross entropy of every code that is not settled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codewise;

impl Objective for Codewise {
    fn scoring(&self) -> Scoring<'_> {
        Scoring::Codewise
    }

    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        let Said { logits, side, ahead } = said;
        side.fill(0.0);
        ahead.fill(0.0);
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
    said: Said<'_>,
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
            row: row as usize,
            first,
            present,
            settled: batch.settled(row as usize),
            facts: batch.facts(row as usize),
        })
        .collect();
    let found = objective.score(&asked, factor, said);
    for (&row, found) in rows.iter().zip(found) {
        nats[row as usize] = found;
    }
}
