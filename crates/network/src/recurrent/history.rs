//! The history of records while training: a gated running average over their visits.

use consequence_engine::{
    Normal, Sequences, Steps, add, add_fused, add_gathered, gated_average, gated_average_backward,
    gelu, gelu_backward, scatter_rows,
};
use rayon::prelude::*;

use super::Weights;
use super::shape::places;
use crate::Batch;
use crate::layers::{fit, linear, linear_backward, norm, norm_backward};

/// The history of a batch, and what was computed on the way, kept for its gradient.
#[derive(Debug, Default)]
pub(super) struct History {
    sequences: Sequences,
    input: Vec<f32>,
    normals_1: Vec<Normal>,
    normed_1: Vec<f32>,
    mixed: Vec<f32>,
    averages: Vec<f32>,
    middle: Vec<f32>,
    normals_2: Vec<Normal>,
    normed_2: Vec<f32>,
    wide: Vec<f32>,
    active: Vec<f32>,
    last: Vec<f32>,
    normals_3: Vec<Normal>,
    /// What the network makes of every row.
    pub hidden: Vec<f32>,
    narrow: Vec<f32>,
    mixed_gradient: Vec<f32>,
    wide_gradient: Vec<f32>,
}

/// Adds what the number of a visit says.
pub(super) fn add_places(to: &mut [f32], table: &[f32], visit: usize) {
    for (place, row) in places(visit).into_iter().zip(table.chunks_exact(to.len())) {
        add_fused(to, place, row);
    }
}

impl History {
    pub fn forward(&mut self, weights: &Weights, batch: &Batch) {
        let (width, rows) = (weights.shape().width, batch.rows());
        let (ranges, values) = (&weights.ranges, weights.values());
        self.sequences = batch.sequences();
        for (buffer, columns) in [
            (&mut self.input, 1),
            (&mut self.normed_1, 1),
            (&mut self.mixed, 2),
            (&mut self.averages, 1),
            (&mut self.narrow, 1),
            (&mut self.normed_2, 1),
            (&mut self.wide, 4),
            (&mut self.active, 4),
            (&mut self.hidden, 1),
        ] {
            fit(buffer, rows * columns * width);
        }
        for normals in [&mut self.normals_1, &mut self.normals_2, &mut self.normals_3] {
            fit(normals, rows);
        }
        let visits: Vec<usize> =
            self.sequences.lengths().iter().flat_map(|&length| 0..length).collect();
        let table = weights.at(&ranges.places);
        let begun = self.input.par_chunks_exact_mut(width).zip(visits).with_min_len(32);
        begun.for_each(|(row, visit)| {
            row.fill(0.0);
            add_places(row, table, visit);
        });
        let codes = weights.at(&ranges.codes);
        add_gathered(&mut self.input, width, codes, batch.inputs(), Steps::whole(width));
        norm(values, &ranges.norm_1, &mut self.normed_1, &mut self.normals_1, &self.input);
        linear(values, &ranges.mix, &mut self.mixed, &self.normed_1);
        gated_average(&mut self.averages, &self.mixed, &self.sequences, width);
        linear(values, &ranges.join, &mut self.narrow, &self.averages);
        self.middle.clone_from(&self.input);
        add(&mut self.middle, &self.narrow);
        norm(values, &ranges.norm_2, &mut self.normed_2, &mut self.normals_2, &self.middle);
        linear(values, &ranges.up, &mut self.wide, &self.normed_2);
        gelu(&mut self.active, &self.wide);
        linear(values, &ranges.down, &mut self.narrow, &self.active);
        self.last.clone_from(&self.middle);
        add(&mut self.last, &self.narrow);
        norm(values, &ranges.norm_3, &mut self.hidden, &mut self.normals_3, &self.last);
    }

    /// Adds the gradients of all parameters of the history, given that of `hidden`.
    pub fn backward(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        hidden_gradient: &[f32],
        gradient: &mut [f32],
    ) {
        let (width, rows) = (weights.shape().width, batch.rows());
        let (ranges, values) = (&weights.ranges, weights.values());
        let mut dx = vec![0f32; rows * width];
        let kept = (&self.last[..], &self.normals_3[..]);
        norm_backward(values, &ranges.norm_3, &mut dx, hidden_gradient, kept, gradient);
        fit(&mut self.wide_gradient, rows * 4 * width);
        let (wide, narrow) = (&mut self.wide_gradient, &mut self.narrow);
        linear_backward(values, &ranges.down, wide, &dx, &self.active, gradient);
        gelu_backward(wide, &self.wide);
        linear_backward(values, &ranges.up, narrow, wide, &self.normed_2, gradient);
        let kept = (&self.middle[..], &self.normals_2[..]);
        norm_backward(values, &ranges.norm_2, &mut dx, narrow, kept, gradient);
        linear_backward(values, &ranges.join, narrow, &dx, &self.averages, gradient);
        fit(&mut self.mixed_gradient, rows * 2 * width);
        let mixed = &mut self.mixed_gradient;
        let sequences = &self.sequences;
        gated_average_backward(mixed, narrow, &self.averages, &self.mixed, sequences, width);
        linear_backward(values, &ranges.mix, narrow, mixed, &self.normed_1, gradient);
        let kept = (&self.input[..], &self.normals_1[..]);
        norm_backward(values, &ranges.norm_1, &mut dx, narrow, kept, gradient);
        let codes = &mut gradient[ranges.codes.clone()];
        scatter_rows(codes, &dx, width, batch.inputs(), Steps::whole(width));
        let table = &mut gradient[ranges.places.clone()];
        let visits = self.sequences.lengths().iter().flat_map(|&length| 0..length);
        for (dx, visit) in dx.chunks_exact(width).zip(visits) {
            for (place, row) in places(visit).into_iter().zip(table.chunks_exact_mut(width)) {
                add_fused(row, place, dx);
            }
        }
    }
}
