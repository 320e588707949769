//! Outputs beside the head: one linear layer over the history.

use consequence_engine::{View, ViewMut, column_sums, product};

use crate::layers::{Layer, linear};

/// The outputs beside the head at work on a batch.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Outputs of a row.
    count: usize,
    /// Outputs of every row, and then their gradient.
    all: Vec<f32>,
    /// Those of some rows.
    group: Vec<f32>,
}

impl Side {
    /// Computes the outputs of so many rows of `hidden`.
    pub fn forward(&mut self, values: &[f32], layer: &Layer, hidden: &[f32], rows: usize) {
        self.count = layer[1].len();
        self.all.resize(rows * self.count, 0.0);
        if self.count > 0 {
            linear(values, layer, &mut self.all, hidden);
        }
    }

    /// Takes the outputs of every row, of so many each.
    pub fn take(&mut self, all: Vec<f32>, count: usize) {
        (self.all, self.count) = (all, count);
    }

    /// Those of every row, or their gradient.
    pub fn all(&self) -> &[f32] {
        &self.all
    }

    /// The outputs of some rows.
    pub fn of(&mut self, rows: &[u32]) -> &mut [f32] {
        self.group.clear();
        for &row in rows {
            let start = row as usize * self.count;
            self.group.extend_from_slice(&self.all[start..start + self.count]);
        }
        &mut self.group
    }

    /// Takes the gradient of the outputs of some rows, which has replaced them.
    pub fn put_back(&mut self, rows: &[u32]) {
        for (at, &row) in rows.iter().enumerate() {
            let from = &self.group[at * self.count..(at + 1) * self.count];
            self.all[row as usize * self.count..][..self.count].copy_from_slice(from);
        }
    }

    /// Adds the gradients of the parameters and of the rows of `hidden`, given that of the outputs.
    pub fn backward(
        &mut self,
        values: &[f32],
        layer: &Layer,
        hidden: &[f32],
        hidden_gradient: &mut [f32],
        gradient: &mut [f32],
    ) {
        let count = self.count;
        if count == 0 {
            return;
        }
        let width = layer[0].len() / count;
        let rows = hidden.len() / width;
        column_sums(&mut gradient[layer[1].clone()], &self.all);
        let gradients = View::new(&self.all, rows, count);
        let into = ViewMut::new(&mut gradient[layer[0].clone()], width, count);
        product(into, View::new(hidden, rows, width).transposed(), gradients, true);
        let weight = View::new(&values[layer[0].clone()], width, count).transposed();
        product(ViewMut::new(hidden_gradient, rows, width), gradients, weight, true);
    }
}
