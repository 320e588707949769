//! Codes that a record has held before: each is the likelier for it, or the less likely, by weights that
//! codes share, by some of its own, and by what the history adds to them.

use std::ops::Range;

use consequence_engine::{View, ViewMut, column_sums, product};

use super::Weights;
use crate::Batch;

/// What counts of a code that a record has held.
pub(super) const TERMS: usize = 4;

/// A code that a record has held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub code: u32,
    /// Visits that had it.
    pub times: u32,
    /// The last of them.
    pub last: u32,
}

impl Held {
    /// That it was in the visit before, that it was in any, how often, and how lately.
    fn terms(&self, visit: u32) -> [f32; TERMS] {
        let since = (visit - self.last) as f32;
        let is_last = f32::from(u8::from(visit == self.last + 1));
        [is_last, 1.0, (self.times as f32).ln_1p(), 1.0 / since]
    }
}

/// The part of an ascending list that lies in a range of codes.
pub(super) fn within<'a>(held: &'a [Held], codes: &Range<usize>) -> &'a [Held] {
    let below = |end: usize| held.partition_point(|one| (one.code as usize) < end);
    &held[below(codes.start)..below(codes.end)]
}

/// Takes the codes of a visit, ascending, into those that a record has held.
pub(super) fn hold(held: &mut Vec<Held>, visit: u32, codes: &[u32]) {
    let before = held.len();
    for &code in codes {
        match held[..before].binary_search_by_key(&code, |one| one.code) {
            Ok(at) => (held[at].times, held[at].last) = (held[at].times + 1, visit),
            Err(_) => held.push(Held { code, times: 1, last: visit }),
        }
    }
    if held.len() > before {
        held.sort_unstable_by_key(|one| one.code);
    }
}

/// Adds to the logits of a visit, which begin with the first of `codes`, what it means that its record
/// has held some of them. `gates` has the weight of each term in this visit, `own` what each code has of
/// its own, one term after the other.
pub(super) fn add_copies(
    logits: &mut [f32],
    codes: &Range<usize>,
    visit: u32,
    gates: &[f32],
    held: &[Held],
    own: &[f32],
) {
    let count = own.len() / TERMS;
    for one in within(held, codes) {
        let code = one.code as usize;
        let mut sum = 0.0;
        for (term, value) in one.terms(visit).into_iter().enumerate() {
            sum += value * (gates[term] + own[term * count + code]);
        }
        logits[code - codes.start] += sum;
    }
}

/// The codes that the records of a batch have held before each row, and what the history says of
/// them.
#[derive(Debug, Default)]
pub(super) struct Copies {
    held: Vec<Held>,
    ends: Vec<usize>,
    /// The number of each row's visit.
    visits: Vec<u32>,
    /// The weights of the terms in each row.
    gates: Vec<f32>,
    gate_gradients: Vec<f32>,
}

impl Copies {
    pub fn forward(&mut self, weights: &Weights, batch: &Batch, hidden: &[f32]) {
        self.held.clear();
        self.ends.clear();
        self.visits.clear();
        let mut held = Vec::new();
        for &length in batch.sequences().lengths() {
            held.clear();
            for visit in 0..length as u32 {
                let row = self.visits.len();
                self.visits.push(visit);
                self.held.extend_from_slice(&held);
                self.ends.push(self.held.len());
                hold(&mut held, visit, batch.target(row));
            }
        }
        let (width, rows) = (weights.shape().width, batch.rows());
        let [shared, gate] =
            [&weights.ranges.copy_shared, &weights.ranges.copy_gate].map(|range| weights.at(range));
        self.gates.resize(TERMS * rows, 0.0);
        self.gate_gradients.clear();
        self.gate_gradients.resize(TERMS * rows, 0.0);
        let gate = View::new(gate, TERMS, width).transposed();
        let to = ViewMut::new(&mut self.gates, rows, TERMS);
        product(to, View::new(hidden, rows, width), gate, false);
        for gates in self.gates.chunks_exact_mut(TERMS) {
            gates.iter_mut().zip(shared).for_each(|(gate, shared)| *gate += shared);
        }
    }

    fn held(&self, row: usize) -> &[Held] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.held[start..self.ends[row]]
    }

    /// Adds what they say to the logits of a row.
    pub fn add(&self, weights: &Weights, row: usize, codes: &Range<usize>, logits: &mut [f32]) {
        let gates = &self.gates[TERMS * row..TERMS * (row + 1)];
        let own = weights.at(&weights.ranges.copy_own);
        add_copies(logits, codes, self.visits[row], gates, self.held(row), own);
    }

    /// Takes the gradient of the logits of a row.
    pub fn take(
        &mut self,
        weights: &Weights,
        row: usize,
        codes: &Range<usize>,
        logits: &[f32],
        gradient: &mut [f32],
    ) {
        let own = &mut gradient[weights.ranges.copy_own.clone()];
        let count = weights.shape().codes;
        let mut totals = [0f32; TERMS];
        for one in within(self.held(row), codes) {
            let code = one.code as usize;
            let change = logits[code - codes.start];
            for (term, value) in one.terms(self.visits[row]).into_iter().enumerate() {
                own[term * count + code] += change * value;
                totals[term] += change * value;
            }
        }
        self.gate_gradients[TERMS * row..TERMS * (row + 1)].copy_from_slice(&totals);
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
        let gates = View::new(&self.gate_gradients, rows, TERMS);
        let range = &weights.ranges.copy_gate;
        let into = ViewMut::new(&mut gradient[range.clone()], TERMS, width);
        product(into, gates.transposed(), View::new(hidden, rows, width), true);
        let gate = View::new(weights.at(range), TERMS, width);
        product(ViewMut::new(hidden_gradient, rows, width), gates, gate, true);
    }
}
