//! The blocks of attention, forward and backward.

use consequence_engine::{
    Normal, Sequences, Steps, add, add_gathered, attend, attend_backward, attention_probabilities,
    gelu, gelu_backward, scatter_rows,
};

use super::Weights;
use crate::Batch;
use crate::layers::{fit, linear, linear_backward, norm, norm_backward};

/// What a block computed, kept for its gradient.
#[derive(Debug, Default)]
struct Kept {
    input: Vec<f32>,
    normals_1: Vec<Normal>,
    normed_1: Vec<f32>,
    mixed: Vec<f32>,
    probabilities: Vec<f32>,
    attended: Vec<f32>,
    middle: Vec<f32>,
    normals_2: Vec<Normal>,
    normed_2: Vec<f32>,
    wide: Vec<f32>,
    active: Vec<f32>,
}

/// The blocks at work on a batch.
#[derive(Debug, Default)]
pub(crate) struct Trunk {
    kept: Vec<Kept>,
    sequences: Sequences,
    last: Vec<f32>,
    normals: Vec<Normal>,
    /// What the blocks make of every row.
    pub hidden: Vec<f32>,
    down: Vec<f32>,
    mixed_gradient: Vec<f32>,
    wide_gradient: Vec<f32>,
}

impl Trunk {
    pub fn forward(&mut self, weights: &Weights, batch: &Batch) {
        let shape = weights.shape();
        let (width, rows) = (shape.width, batch.rows());
        let (ranges, values) = (&weights.ranges, weights.values());
        self.sequences = batch.sequences();
        self.kept.resize_with(shape.layers, Kept::default);
        fit(&mut self.last, rows * width);
        let x = &mut self.last;
        let positions = weights.at(&ranges.positions);
        let mut row = 0;
        for &length in self.sequences.lengths() {
            x[row * width..(row + length) * width].copy_from_slice(&positions[..length * width]);
            row += length;
        }
        add_gathered(x, width, weights.at(&ranges.codes), batch.inputs(), Steps::whole(width));
        for (block, kept) in ranges.blocks.iter().zip(&mut self.kept) {
            fit(&mut kept.input, rows * width);
            kept.input.copy_from_slice(x);
            fit(&mut kept.normed_1, rows * width);
            fit(&mut kept.normals_1, rows);
            norm(values, &block.norm_1, &mut kept.normed_1, &mut kept.normals_1, x);
            fit(&mut kept.mixed, rows * 3 * width);
            linear(values, &block.qkv, &mut kept.mixed, &kept.normed_1);
            fit(&mut kept.attended, rows * width);
            let count = attention_probabilities(&self.sequences, shape.heads);
            fit(&mut kept.probabilities, count);
            attend(
                &mut kept.attended,
                &mut kept.probabilities,
                &kept.mixed,
                &self.sequences,
                width,
                shape.heads,
            );
            fit(&mut self.down, rows * width);
            linear(values, &block.projection, &mut self.down, &kept.attended);
            add(x, &self.down);
            fit(&mut kept.middle, rows * width);
            kept.middle.copy_from_slice(x);
            fit(&mut kept.normed_2, rows * width);
            fit(&mut kept.normals_2, rows);
            norm(values, &block.norm_2, &mut kept.normed_2, &mut kept.normals_2, x);
            fit(&mut kept.wide, rows * 4 * width);
            linear(values, &block.up, &mut kept.wide, &kept.normed_2);
            fit(&mut kept.active, rows * 4 * width);
            gelu(&mut kept.active, &kept.wide);
            linear(values, &block.down, &mut self.down, &kept.active);
            add(x, &self.down);
        }
        fit(&mut self.hidden, rows * width);
        fit(&mut self.normals, rows);
        norm(values, &ranges.norm, &mut self.hidden, &mut self.normals, x);
    }

    /// Adds the gradients of all parameters of the blocks, given that of `hidden`.
    pub fn backward(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        hidden_gradient: &[f32],
        gradient: &mut [f32],
    ) {
        let shape = weights.shape();
        let (width, rows) = (shape.width, batch.rows());
        let (ranges, values) = (&weights.ranges, weights.values());
        let mut dx = vec![0f32; rows * width];
        norm_backward(
            values,
            &ranges.norm,
            &mut dx,
            hidden_gradient,
            (&self.last, &self.normals),
            gradient,
        );
        for (block, kept) in ranges.blocks.iter().zip(&self.kept).rev() {
            let wide = &mut self.wide_gradient;
            fit(wide, rows * 4 * width);
            linear_backward(values, &block.down, wide, &dx, &kept.active, gradient);
            gelu_backward(wide, &kept.wide);
            let down = &mut self.down;
            linear_backward(values, &block.up, down, wide, &kept.normed_2, gradient);
            let kept_2 = (&kept.middle[..], &kept.normals_2[..]);
            norm_backward(values, &block.norm_2, &mut dx, down, kept_2, gradient);
            linear_backward(values, &block.projection, down, &dx, &kept.attended, gradient);
            let mixed = &mut self.mixed_gradient;
            fit(mixed, rows * 3 * width);
            attend_backward(
                mixed,
                down,
                &kept.probabilities,
                &kept.mixed,
                &self.sequences,
                width,
                shape.heads,
            );
            linear_backward(values, &block.qkv, down, mixed, &kept.normed_1, gradient);
            let kept_1 = (&kept.input[..], &kept.normals_1[..]);
            norm_backward(values, &block.norm_1, &mut dx, down, kept_1, gradient);
        }
        scatter_rows(
            &mut gradient[ranges.codes.clone()],
            &dx,
            width,
            batch.inputs(),
            Steps::whole(width),
        );
        let positions = &mut gradient[ranges.positions.clone()];
        let mut row = 0;
        for &length in self.sequences.lengths() {
            add(&mut positions[..length * width], &dx[row * width..(row + length) * width]);
            row += length;
        }
    }
}
