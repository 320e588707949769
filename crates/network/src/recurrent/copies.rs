//! Codes that a record has held before: each is the likelier for it, by a weight that codes share, one
//! of its own, and what the history adds.

use std::ops::Range;

use consequence_engine::{Lists, View, ViewMut, column_sums, product};

use super::Weights;
use crate::Batch;

/// The part of an ascending list that lies in a range of codes.
pub(super) fn within<'a>(list: &'a [u32], codes: &Range<usize>) -> &'a [u32] {
    let below = |end: usize| list.partition_point(|&code| (code as usize) < end);
    &list[below(codes.start)..below(codes.end)]
}

/// Takes the codes of a visit, ascending, into those that a record has held.
pub(super) fn hold(held: &mut Vec<u32>, visit: &[u32]) {
    let before = held.len();
    for code in visit {
        if held[..before].binary_search(code).is_err() {
            held.push(*code);
        }
    }
    if held.len() > before {
        held.sort_unstable();
    }
}

/// Adds to the logits of a row, which begin with the first of `codes`, what it adds to a code that
/// it was in the visit before (`gates[0]`), or in any visit before (`gates[1]`). `own` has what each
/// code has of its own.
pub(super) fn add_copies(
    logits: &mut [f32],
    codes: &Range<usize>,
    gates: [f32; 2],
    lists: [&[u32]; 2],
    own: &[f32],
) {
    let own = own.split_at(own.len() / 2);
    for ((gate, list), own) in gates.into_iter().zip(lists).zip([own.0, own.1]) {
        for &code in within(list, codes) {
            logits[code as usize - codes.start] += gate + own[code as usize];
        }
    }
}

/// The codes that the records of a batch have held before each row, and what the history says of
/// them.
#[derive(Debug, Default)]
pub(super) struct Copies {
    held: Lists,
    /// Two for each row.
    gates: Vec<f32>,
    gate_gradients: Vec<f32>,
}

impl Copies {
    pub fn forward(&mut self, weights: &Weights, batch: &Batch, hidden: &[f32]) {
        self.held.clear();
        let (mut held, mut row) = (Vec::new(), 0);
        for &length in batch.sequences().lengths() {
            held.clear();
            for _ in 0..length {
                self.held.push(held.iter().copied());
                hold(&mut held, batch.target(row));
                row += 1;
            }
        }
        let (width, rows) = (weights.shape().width, batch.rows());
        let [shared, gate] =
            [&weights.ranges.copy_shared, &weights.ranges.copy_gate].map(|range| weights.at(range));
        self.gates.resize(2 * rows, 0.0);
        self.gate_gradients.clear();
        self.gate_gradients.resize(2 * rows, 0.0);
        let gate = View::new(gate, 2, width).transposed();
        let to = ViewMut::new(&mut self.gates, rows, 2);
        product(to, View::new(hidden, rows, width), gate, false);
        for gates in self.gates.chunks_exact_mut(2) {
            gates.iter_mut().zip(shared).for_each(|(gate, shared)| *gate += shared);
        }
    }

    fn lists<'a>(&'a self, batch: &'a Batch, row: usize) -> [&'a [u32]; 2] {
        // The mark that begins a record is no code.
        [batch.inputs().of(row), self.held.of(row)]
    }

    /// Adds what they say to the logits of a row.
    pub fn add(
        &self,
        weights: &Weights,
        batch: &Batch,
        row: usize,
        codes: &Range<usize>,
        logits: &mut [f32],
    ) {
        let gates = [self.gates[2 * row], self.gates[2 * row + 1]];
        let own = weights.at(&weights.ranges.copy_own);
        add_copies(logits, codes, gates, self.lists(batch, row), own);
    }

    /// Takes the gradient of the logits of a row.
    pub fn take(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        row: usize,
        codes: &Range<usize>,
        logits: &[f32],
        gradient: &mut [f32],
    ) {
        let own = &mut gradient[weights.ranges.copy_own.clone()];
        let (last, ever) = own.split_at_mut(weights.shape().codes);
        let lists = self.lists(batch, row);
        let mut totals = [0f32; 2];
        for ((list, own), total) in lists.into_iter().zip([last, ever]).zip(&mut totals) {
            for &code in within(list, codes) {
                let change = logits[code as usize - codes.start];
                own[code as usize] += change;
                *total += change;
            }
        }
        self.gate_gradients[2 * row..2 * row + 2].copy_from_slice(&totals);
    }

    /// Adds the gradients of what codes share, and of the rows of `hidden`, once all rows were
    /// taken.
    pub fn backward(
        &mut self,
        weights: &Weights,
        hidden: &[f32],
        hidden_gradient: &mut [f32],
        gradient: &mut [f32],
    ) {
        let width = weights.shape().width;
        let rows = hidden.len() / width;
        column_sums(&mut gradient[weights.ranges.copy_shared.clone()], &self.gate_gradients);
        let gates = View::new(&self.gate_gradients, rows, 2);
        let range = &weights.ranges.copy_gate;
        let into = ViewMut::new(&mut gradient[range.clone()], 2, width);
        product(into, gates.transposed(), View::new(hidden, rows, width), true);
        let gate = View::new(weights.at(range), 2, width);
        product(ViewMut::new(hidden_gradient, rows, width), gates, gate, true);
    }
}
