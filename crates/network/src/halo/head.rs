//! The head while training: two triangular layers over all codes at once.

use consequence_engine::{
    Dropout, Lists, Steps, View, ViewMut, add, add_gathered, column_sums, drop_out, product, relu,
    relu_backward, scale, scatter_rows,
};
use rayon::prelude::*;

use super::silent::Fired;
use super::{Shape, Weights};
use crate::batch::Outputs;
use crate::{Batch, Glance};

/// Outputs whose part of the second layer is multiplied at once. Products skip the empty half but
/// for the corners of such blocks.
pub(crate) const BLOCK: usize = 128;

/// The head at work on the rows of a batch whose outputs are about the same codes.
#[derive(Debug, Default)]
pub(crate) struct Head {
    hidden: Vec<f32>,
    targets: Lists,
    /// Units of the first layer after the activation; only those that some output sees.
    active: Vec<f32>,
    /// Logits, and then their gradient.
    pub logits: Vec<f32>,
    /// Those of glances, one visit after the other.
    pub ahead: Vec<f32>,
    /// For each glance, where its logit is among those of rows after the last of the group: one such
    /// row for every visit and number of codes known of it.
    glanced: Vec<usize>,
    /// The rows of the batch that those are of.
    glancing: Vec<u32>,
    active_gradient: Vec<f32>,
}

/// The part of the first layer's table that belongs to codes: the rows of codes count from the
/// units of their own on.
fn code_steps(shape: &Shape) -> Steps {
    Steps { width: shape.units(), first: shape.width, step: shape.head_units }
}

/// Units that the outputs of a group see.
fn units_seen(shape: &Shape, outputs: &Outputs) -> usize {
    shape.units_before(outputs.codes.end.saturating_sub(1))
}

impl Head {
    /// Computes the logits of a group, some units left out.
    pub fn forward(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        outputs: &Outputs,
        hidden: &[f32],
        dropout: Dropout,
    ) {
        let shape = weights.shape();
        let seen = units_seen(shape, outputs);
        self.targets.clear();
        for &row in &outputs.rows {
            self.targets.push(batch.target(row as usize).iter().copied());
        }
        self.ask_ahead(batch, outputs);
        let (width, rows) = (shape.width, self.rows(outputs));
        self.hidden.resize(rows * width, 0.0);
        let all = outputs.rows.iter().chain(&self.glancing);
        for (to, &row) in self.hidden.chunks_exact_mut(width).zip(all) {
            let row = row as usize;
            to.copy_from_slice(&hidden[row * width..(row + 1) * width]);
        }
        let ranges = &weights.ranges;
        let table = weights.at(&ranges.first[0]);
        let (history, codes) = table.split_at(width * shape.units());
        self.active.resize(rows * seen, 0.0);
        let bias = &weights.at(&ranges.first[1])[..seen];
        self.active.par_chunks_exact_mut(seen).for_each(|row| row.copy_from_slice(bias));
        let history = View::new(history, width, shape.units()).part(0..width, 0..seen);
        let from = View::new(&self.hidden, rows, width);
        product(ViewMut::new(&mut self.active, rows, seen), from, history, true);
        add_gathered(&mut self.active, seen, codes, &self.targets, code_steps(shape));
        relu(&mut self.active);
        drop_out(&mut self.active, dropout);

        let count = outputs.codes.len();
        self.logits.resize(rows * count, 0.0);
        let bias = &weights.at(&ranges.second[1])[outputs.codes.clone()];
        self.logits.par_chunks_exact_mut(count).for_each(|row| row.copy_from_slice(bias));
        let second = View::new(weights.at(&ranges.second[0]), shape.codes, shape.units());
        let active = View::new(&self.active, rows, seen);
        for first in outputs.codes.clone().step_by(BLOCK) {
            let last = outputs.codes.end.min(first + BLOCK);
            let inner = shape.units_before(last - 1);
            let at = first - outputs.codes.start..last - outputs.codes.start;
            let to = ViewMut::new(&mut self.logits, rows, count).part(0..rows, at);
            let weight = second.part(first..last, 0..inner).transposed();
            product(to, active.part(0..rows, 0..inner), weight, true);
        }
        let from = outputs.rows.len() * count;
        self.ahead.clear();
        self.ahead.extend(self.glanced.iter().map(|&at| self.logits[from + at]));
        self.logits[from..].fill(0.0);
    }

    /// Forgets all logits.
    pub fn clear(&mut self) {
        self.logits.clear();
        self.ahead.clear();
    }

    /// The logits of the group, and those of glances.
    pub fn said(&mut self, outputs: &Outputs) -> (&mut [f32], &mut [f32]) {
        let own = (outputs.rows.len() * outputs.codes.len()).min(self.logits.len());
        (&mut self.logits[..own], &mut self.ahead)
    }

    /// Rows of the group, and those that glances need.
    fn rows(&self, outputs: &Outputs) -> usize {
        outputs.rows.len() + self.glancing.len()
    }

    /// Makes ready for glances: a visit of which only some codes are known is a row of its own.
    fn ask_ahead(&mut self, batch: &Batch, outputs: &Outputs) {
        self.glanced.clear();
        self.glancing.clear();
        for &row in &outputs.rows {
            let mut last = None;
            for &Glance { known, code } in batch.glances(row as usize) {
                if last != Some(known) {
                    self.glancing.push(row);
                    let known = &batch.target(row as usize)[..known as usize];
                    self.targets.push(known.iter().copied());
                }
                last = Some(known);
                let at = code as usize - outputs.codes.start;
                self.glanced.push((self.glancing.len() - 1) * outputs.codes.len() + at);
            }
        }
    }

    /// Notes which units fired in the rows of the group computed last.
    pub fn note_fired(&self, shape: &Shape, outputs: &Outputs, fired: &mut Fired) {
        fired.note(shape, outputs, &self.active, units_seen(shape, outputs));
    }

    /// Adds the gradients of the head's parameters and of the rows of `hidden`, given that of the
    /// logits.
    pub fn backward(
        &mut self,
        weights: &Weights,
        outputs: &Outputs,
        dropout: Dropout,
        hidden_gradient: &mut [f32],
        gradient: &mut [f32],
    ) {
        let shape = weights.shape();
        let (width, rows, count) = (shape.width, self.rows(outputs), outputs.codes.len());
        let (seen, units) = (units_seen(shape, outputs), shape.units());
        let ranges = &weights.ranges;
        let from = outputs.rows.len() * count;
        for (&at, change) in self.glanced.iter().zip(&self.ahead) {
            self.logits[from + at] += change;
        }
        column_sums(
            &mut gradient[ranges.second[1].start + outputs.codes.start..][..count],
            &self.logits,
        );
        self.active_gradient.clear();
        self.active_gradient.resize(rows * seen, 0.0);
        let second = View::new(weights.at(&ranges.second[0]), shape.codes, units);
        let active = View::new(&self.active, rows, seen);
        let logits = View::new(&self.logits, rows, count);
        for first in outputs.codes.clone().step_by(BLOCK) {
            let last = outputs.codes.end.min(first + BLOCK);
            let inner = shape.units_before(last - 1);
            let dy = logits.part(0..rows, first - outputs.codes.start..last - outputs.codes.start);
            let into = ViewMut::new(&mut gradient[ranges.second[0].clone()], shape.codes, units)
                .part(first..last, 0..inner);
            product(into, dy.transposed(), active.part(0..rows, 0..inner), true);
            let to = ViewMut::new(&mut self.active_gradient, rows, seen).part(0..rows, 0..inner);
            product(to, dy, second.part(first..last, 0..inner), true);
        }
        // A unit that was left out is zero, as one that is not active.
        relu_backward(&mut self.active_gradient, &self.active);
        if dropout.rate > 0.0 {
            scale(&mut self.active_gradient, dropout.scale());
        }

        column_sums(&mut gradient[ranges.first[1].start..][..seen], &self.active_gradient);
        let into = &mut gradient[ranges.first[0].clone()];
        let (history, codes) = into.split_at_mut(width * units);
        scatter_rows(codes, &self.active_gradient, seen, &self.targets, code_steps(shape));
        let dy = View::new(&self.active_gradient, rows, seen);
        let from = View::new(&self.hidden, rows, width).transposed();
        let into = ViewMut::new(history, width, units).part(0..width, 0..seen);
        product(into, from, dy, true);
        let table = &weights.at(&ranges.first[0])[..width * units];
        let weight = View::new(table, width, units).part(0..width, 0..seen).transposed();
        product(ViewMut::new(&mut self.hidden, rows, width), dy, weight, false);
        let all = outputs.rows.iter().chain(&self.glancing);
        for (from, &row) in self.hidden.chunks_exact(width).zip(all) {
            let row = row as usize;
            add(&mut hidden_gradient[row * width..(row + 1) * width], from);
        }
    }
}
