//! Outputs beside the head: one linear layer over the history.

use consequence_engine::{View, ViewMut, column_sums, product};

use crate::{Outputs, Weights};

/// The outputs beside the head at work on a batch.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Outputs of every row, and then their gradient.
    all: Vec<f32>,
    /// Those of the rows of a group.
    group: Vec<f32>,
}

impl Side {
    /// Computes the outputs of every row of `hidden`.
    pub fn forward(&mut self, weights: &Weights, hidden: &[f32]) {
        let (width, count) = (weights.shape().width, weights.shape().side);
        let rows = hidden.len() / width;
        self.all.resize(rows * count, 0.0);
        if count == 0 {
            return;
        }
        let bias = weights.at(&weights.ranges.side[1]);
        self.all.chunks_exact_mut(count).for_each(|row| row.copy_from_slice(bias));
        let weight = View::new(weights.at(&weights.ranges.side[0]), width, count);
        let to = ViewMut::new(&mut self.all, rows, count);
        product(to, View::new(hidden, rows, width), weight, true);
    }

    /// The outputs of the rows of a group.
    pub fn of(&mut self, weights: &Weights, outputs: &Outputs) -> &mut [f32] {
        let count = weights.shape().side;
        self.group.clear();
        for &row in &outputs.rows {
            let start = row as usize * count;
            self.group.extend_from_slice(&self.all[start..start + count]);
        }
        &mut self.group
    }

    /// Takes the gradient of a group's outputs, which has replaced them.
    pub fn put_back(&mut self, weights: &Weights, outputs: &Outputs) {
        let count = weights.shape().side;
        for (at, &row) in outputs.rows.iter().enumerate() {
            let from = &self.group[at * count..(at + 1) * count];
            self.all[row as usize * count..][..count].copy_from_slice(from);
        }
    }

    /// Adds the gradients of the parameters and of the rows of `hidden`, given that of the outputs.
    pub fn backward(
        &mut self,
        weights: &Weights,
        hidden: &[f32],
        hidden_gradient: &mut [f32],
        gradient: &mut [f32],
    ) {
        let (width, count) = (weights.shape().width, weights.shape().side);
        if count == 0 {
            return;
        }
        let rows = hidden.len() / width;
        let ranges = &weights.ranges.side;
        column_sums(&mut gradient[ranges[1].clone()], &self.all);
        let gradients = View::new(&self.all, rows, count);
        let into = ViewMut::new(&mut gradient[ranges[0].clone()], width, count);
        product(into, View::new(hidden, rows, width).transposed(), gradients, true);
        let weight = View::new(weights.at(&ranges[0]), width, count).transposed();
        product(ViewMut::new(hidden_gradient, rows, width), gradients, weight, true);
    }
}
