//! A gated running average over the rows of a sequence: one step of memory that takes any number of
//! visits.
//!
//! With `g` and `c` the two halves of a row of `mixed`, and `m` zero before the first row:
//!
//! ```text
//! z = sigmoid(g - 1)        m <- m + z (c - m)
//! ```
//!
//! Gates and candidates look at their own row alone, so the average is all that passes from one row
//! to the next, and the sums of a row are the same in any batch.

use rayon::prelude::*;

use crate::Sequences;
use crate::level::vectorised;
use crate::math::sigmoid;

/// What gates begin lower by: an average at first keeps most of what it has.
const LESS: f32 = 1.0;

vectorised! {
    /// Takes one row into the average.
    ///
    /// ```
    /// let mut average = [0.0];
    /// consequence_engine::gated_step(&mut average, &[1.0, 4.0]);
    /// assert_eq!(average, [2.0]);
    /// ```
    pub fn gated_step(average: &mut [f32], mixed: &[f32]) {
        let (gates, candidates) = mixed.split_at(average.len());
        for ((average, gate), candidate) in average.iter_mut().zip(gates).zip(candidates) {
            *average += sigmoid(gate - LESS) * (candidate - *average);
        }
    }
}

/// The average after every row, for sequences that lie end to end.
pub fn gated_average(averages: &mut [f32], mixed: &[f32], sequences: &Sequences, width: usize) {
    let parts = sequences.cut_mut(averages, |length| length * width);
    let given = sequences.cut(mixed, 2 * width);
    parts.into_par_iter().zip(given).with_min_len(8).for_each(|(averages, mixed)| {
        let mut before = vec![0f32; width];
        for (average, mixed) in averages.chunks_exact_mut(width).zip(mixed.chunks_exact(2 * width))
        {
            gated_step(&mut before, mixed);
            average.copy_from_slice(&before);
        }
    });
}

/// The gradient of [`gated_average`]: that of `mixed` replaces what is in `to`, given that of the
/// averages, and the averages themselves.
pub fn gated_average_backward(
    to: &mut [f32],
    gradient: &[f32],
    averages: &[f32],
    mixed: &[f32],
    sequences: &Sequences,
    width: usize,
) {
    let parts = sequences.cut_mut(to, |length| length * 2 * width);
    let given = sequences.cut(gradient, width).into_par_iter();
    let known = sequences.cut(averages, width).into_par_iter();
    let mixed = sequences.cut(mixed, 2 * width).into_par_iter();
    let all = parts.into_par_iter().zip(given).zip(known.zip(mixed));
    all.with_min_len(8).for_each(|((to, gradient), (averages, mixed))| {
        let mut carried = vec![0f32; width];
        let none = vec![0f32; width];
        for row in (0..gradient.len() / width).rev() {
            let before = match row {
                0 => &none[..],
                row => &averages[(row - 1) * width..row * width],
            };
            let (own, both) = (row * width..(row + 1) * width, 2 * row * width);
            step_backward(
                &mut to[both..both + 2 * width],
                &mut carried,
                &gradient[own],
                before,
                &mixed[both..both + 2 * width],
            );
        }
    });
}

vectorised! {
    /// The gradient of one row; `carried` is that of the average, from the rows after it.
    fn step_backward(
        to: &mut [f32],
        carried: &mut [f32],
        gradient: &[f32],
        before: &[f32],
        mixed: &[f32],
    ) {
        let width = carried.len();
        let (gates, candidates) = mixed.split_at(width);
        let (to_gates, to_candidates) = to.split_at_mut(width);
        for at in 0..width {
            let total = carried[at] + gradient[at];
            let gate = sigmoid(gates[at] - LESS);
            to_gates[at] = total * (candidates[at] - before[at]) * gate * (1.0 - gate);
            to_candidates[at] = total * gate;
            carried[at] = total * (1.0 - gate);
        }
    }
}
