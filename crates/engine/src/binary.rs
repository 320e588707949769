//! Binary cross entropy of many yes-or-no outputs, fused with the sigmoid.

use rayon::prelude::*;

use crate::level::vectorised;
use crate::math::{sigmoid, softplus};

/// The truth about one row of outputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct BinaryRow<'a> {
    /// The outputs that should be 1, each once.
    pub present: &'a [u32],
    /// Outputs that something else decides: their logits do not matter.
    pub settled: &'a [Settled],
}

/// An output that something else decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Which output.
    pub output: u32,
    /// What it adds to the loss.
    pub nats: f32,
}

/// Replaces logits by `scale` times the gradient of the loss, and gives each row's loss in nats.
///
/// ```
/// use consequence_engine::{BinaryRow, Settled, binary_cross_entropy};
///
/// let mut logits = [0.0, 0.0, 9.0];
/// let settled = [Settled { output: 2, nats: 0.5 }];
/// let rows = [BinaryRow { present: &[1], settled: &settled }];
/// let nats = binary_cross_entropy(&mut logits, 3, &rows, 2.0);
/// assert_eq!(logits, [1.0, -1.0, 0.0]);
/// assert!((nats[0] - (2.0 * 2f64.ln() + 0.5)).abs() < 1e-6);
/// ```
pub fn binary_cross_entropy(
    logits: &mut [f32],
    width: usize,
    rows: &[BinaryRow<'_>],
    scale: f32,
) -> Vec<f64> {
    let all = logits.par_chunks_exact_mut(width).zip(rows).with_min_len(4);
    all.map(|(logits, row)| one_row(logits, row, scale)).collect()
}

fn one_row(logits: &mut [f32], row: &BinaryRow<'_>, scale: f32) -> f64 {
    let mut nats = 0f64;
    for settled in row.settled {
        // Far below zero an output costs nothing and learns nothing.
        logits[settled.output as usize] = f32::NEG_INFINITY;
        nats += f64::from(settled.nats);
    }
    let is_settled = |output: u32| logits[output as usize] == f32::NEG_INFINITY;
    let trained: Vec<u32> =
        row.present.iter().copied().filter(|&output| !is_settled(output)).collect();
    for &output in &trained {
        nats -= f64::from(logits[output as usize]);
    }
    nats += absent(logits, scale);
    for &output in &trained {
        logits[output as usize] -= scale;
    }
    for settled in row.settled {
        logits[settled.output as usize] = 0.0;
    }
    nats
}

vectorised! {
    /// Replaces logits by the gradient if all outputs should be 0, and gives that loss.
    fn absent(logits: &mut [f32], scale: f32) -> f64 {
        let mut lanes = [0f64; 16];
        let (chunks, rest) = logits.as_chunks_mut::<16>();
        for chunk in chunks {
            for lane in 0..16 {
                let logit = chunk[lane];
                // The exponential is bounded below, so that minus infinity would cost a little.
                let cost = if logit > -80.0 { softplus(logit) } else { 0.0 };
                lanes[lane] += f64::from(cost);
                chunk[lane] = scale * sigmoid(logit);
            }
        }
        for (lane, logit) in rest.iter_mut().enumerate() {
            let cost = if *logit > -80.0 { softplus(*logit) } else { 0.0 };
            lanes[lane] += f64::from(cost);
            *logit = scale * sigmoid(*logit);
        }
        lanes.iter().sum()
    }
}
