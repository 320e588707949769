//! Causal attention over sequences that lie end to end, and over a cache.
//!
//! What holds throughout:
//! - A row attends to the rows of its own sequence up to itself, and to nothing else: sequences
//!   need no padding and no mask.
//! - Probabilities of a row are the softmax of its scores less their maximum, so no exponential
//!   overflows.
//! - Sums run over earlier rows in their order, with a cache as without one, so that a record
//!   written visit by visit has the bits of one that is read at once.

use rayon::prelude::*;

use crate::level::vectorised;
use crate::math::exp;
use crate::rows::dot;

/// Where sequences begin and end among the rows of a matrix.
///
/// ```
/// use consequence_engine::Sequences;
///
/// let sequences = Sequences::of([2, 3]);
/// assert_eq!((sequences.rows(), sequences.longest(), sequences.len()), (5, 3, 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequences {
    lengths: Vec<usize>,
}

impl Sequences {
    /// Sequences of these lengths, one after the other.
    pub fn of(lengths: impl IntoIterator<Item = usize>) -> Self {
        Self { lengths: lengths.into_iter().collect() }
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The rows of all of them.
    pub fn rows(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// The length of the longest.
    pub fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// Their lengths.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Cuts a matrix into the rows of each sequence.
    pub(crate) fn cut<'a>(&self, mut rows: &'a [f32], width: usize) -> Vec<&'a [f32]> {
        let mut next = |&length: &usize| {
            let (part, rest) = rows.split_at(length * width);
            rows = rest;
            part
        };
        self.lengths.iter().map(&mut next).collect()
    }

    pub(crate) fn cut_mut<'a>(
        &self,
        mut rows: &'a mut [f32],
        size: impl Fn(usize) -> usize,
    ) -> Vec<&'a mut [f32]> {
        let mut parts = Vec::with_capacity(self.lengths.len());
        for &length in &self.lengths {
            let (part, rest) = rows.split_at_mut(size(length));
            parts.push(part);
            rows = rest;
        }
        parts
    }
}

/// How many probabilities [`attend`] keeps for its gradient.
pub fn attention_probabilities(sequences: &Sequences, heads: usize) -> usize {
    sequences.lengths.iter().map(|length| length * length * heads).sum()
}

/// Every row attends to itself and to the rows of its sequence before it.
///
/// `mixed` has rows of queries, keys and values, each of `width`, side by side. `probabilities` has
/// [`attention_probabilities`] elements, kept for the gradient.
pub fn attend(
    to: &mut [f32],
    probabilities: &mut [f32],
    mixed: &[f32],
    sequences: &Sequences,
    width: usize,
    heads: usize,
) {
    let to = sequences.cut_mut(to, |length| length * width);
    let probabilities = sequences.cut_mut(probabilities, |length| length * length * heads);
    let mixed = sequences.cut(mixed, 3 * width);
    let work = to.into_par_iter().zip(probabilities).zip(mixed);
    work.for_each(|((to, probabilities), mixed)| {
        let length = to.len() / width;
        for row in 0..length {
            let kept = &mut probabilities[row * length * heads..(row + 1) * length * heads];
            attend_row(
                &mut to[row * width..(row + 1) * width],
                kept,
                length,
                &mixed[row * 3 * width..row * 3 * width + width],
                &mixed[width..],
                3 * width,
                row + 1,
                heads,
            );
        }
    });
}

/// One row attends to `count` rows of a cache, itself the last of them. A row of the cache has keys
/// and values, each of the width of the query, side by side. The bits are those of [`attend`].
pub fn attend_cached(
    to: &mut [f32],
    scratch: &mut Vec<f32>,
    query: &[f32],
    cache: &[f32],
    count: usize,
    heads: usize,
) {
    scratch.resize(count * heads, 0.0);
    attend_row(to, scratch, count, query, cache, 2 * query.len(), count, heads);
}

vectorised! {
    /// One query over `count` rows of keys and values, `stride` apart. Each head has `room`
    /// slots for probabilities.
    #[allow(clippy::too_many_arguments)]
    fn attend_row(
        to: &mut [f32],
        probabilities: &mut [f32],
        room: usize,
        query: &[f32],
        past: &[f32],
        stride: usize,
        count: usize,
        heads: usize,
    ) {
        let width = query.len();
        let size = width / heads;
        let scale = 1.0 / (size as f32).sqrt();
        for head in 0..heads {
            let (first, last) = (head * size, (head + 1) * size);
            let kept = &mut probabilities[head * room..head * room + count];
            let mut highest = f32::NEG_INFINITY;
            for (row, kept) in kept.iter_mut().enumerate() {
                let key = &past[row * stride + first..row * stride + last];
                *kept = dot(&query[first..last], key) * scale;
                highest = highest.max(*kept);
            }
            let mut total = 0.0;
            for kept in kept.iter_mut() {
                *kept = exp(*kept - highest);
                total += *kept;
            }
            let to = &mut to[first..last];
            to.fill(0.0);
            for (row, kept) in kept.iter_mut().enumerate() {
                *kept /= total;
                let start = row * stride + width;
                let value = &past[start + first..start + last];
                for (to, value) in to.iter_mut().zip(value) {
                    *to += *kept * value;
                }
            }
        }
    }
}

/// The gradient of [`attend`] with respect to `mixed`, which replaces what is in `to`.
pub fn attend_backward(
    to: &mut [f32],
    gradient: &[f32],
    probabilities: &[f32],
    mixed: &[f32],
    sequences: &Sequences,
    width: usize,
    heads: usize,
) {
    let mut probabilities = probabilities;
    let mut kept = Vec::with_capacity(sequences.len());
    for &length in sequences.lengths() {
        let (part, rest) = probabilities.split_at(length * length * heads);
        kept.push(part);
        probabilities = rest;
    }
    let to = sequences.cut_mut(to, |length| length * 3 * width);
    let work = to.into_par_iter().zip(sequences.cut(gradient, width));
    let work = work.zip(kept.into_par_iter().zip(sequences.cut(mixed, 3 * width)));
    work.for_each(|((to, gradient), (probabilities, mixed))| {
        sequence_backward(to, gradient, probabilities, mixed, width, heads);
    });
}

vectorised! {
    fn sequence_backward(
        to: &mut [f32],
        gradient: &[f32],
        probabilities: &[f32],
        mixed: &[f32],
        width: usize,
        heads: usize,
    ) {
        let (size, length) = (width / heads, gradient.len() / width);
        let scale = 1.0 / (size as f32).sqrt();
        let mut pulls = vec![0f32; length];
        to.fill(0.0);
        for row in 0..length {
            for head in 0..heads {
                let at = (row * heads + head) * length;
                let kept = &probabilities[at..at + row + 1];
                let part = |row: usize, third: usize| {
                    let start = row * 3 * width + third * width + head * size;
                    start..start + size
                };
                let here = &gradient[row * width + head * size..row * width + (head + 1) * size];
                let mut mean = 0.0;
                for (other, (pull, kept)) in pulls.iter_mut().zip(kept).enumerate() {
                    *pull = dot(here, &mixed[part(other, 2)]);
                    mean += *pull * kept;
                }
                for (other, (pull, &kept)) in pulls.iter().zip(kept).enumerate() {
                    let pull = kept * (pull - mean) * scale;
                    for (to, key) in to[part(row, 0)].iter_mut().zip(&mixed[part(other, 1)]) {
                        *to += pull * key;
                    }
                    for (to, query) in to[part(other, 1)].iter_mut().zip(&mixed[part(row, 0)]) {
                        *to += pull * query;
                    }
                    for (to, here) in to[part(other, 2)].iter_mut().zip(here) {
                        *to += kept * here;
                    }
                }
            }
        }
    }
}
