//! Layer normalisation.

use rayon::prelude::*;

use crate::level::vectorised;
use crate::rows::{dot, sum};
use crate::rows::{each_row, each_strip};

/// What a normalised row was: its mean, and one over its standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Normal {
    /// The mean.
    pub mean: f32,
    /// One over the standard deviation.
    pub scale: f32,
}

/// `to = weight * (from - mean) / deviation + bias`, row by row; `normals` are kept for the
/// gradient.
///
/// ```
/// use consequence_engine::{Normal, layer_norm};
///
/// let (mut to, mut normals) = ([0.0; 2], [Normal::default()]);
/// layer_norm(&mut to, &mut normals, &[1.0, 3.0], &[1.0, 1.0], &[0.0, 5.0], 0.0);
/// assert_eq!(to, [-1.0, 6.0]);
/// ```
pub fn layer_norm(
    to: &mut [f32],
    normals: &mut [Normal],
    from: &[f32],
    weight: &[f32],
    bias: &[f32],
    epsilon: f32,
) {
    let width = weight.len();
    let rows = to.par_chunks_exact_mut(width).zip(normals).zip(from.par_chunks_exact(width));
    rows.with_min_len(16).for_each(|((to, normal), from)| {
        *normal = normalise(to, from, weight, bias, epsilon);
    });
}

vectorised! {
    fn normalise(to: &mut [f32], from: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) -> Normal {
        let count = from.len() as f32;
        let mean = sum(from) / count;
        for (to, from) in to.iter_mut().zip(from) {
            *to = from - mean;
        }
        let scale = 1.0 / (dot(to, to) / count + epsilon).sqrt();
        for ((to, weight), bias) in to.iter_mut().zip(weight).zip(bias) {
            *to = *to * scale * weight + bias;
        }
        Normal { mean, scale }
    }
}

/// The gradients of [`layer_norm`]: that of the argument is added to `to`, those of weight and bias
/// to theirs.
pub fn layer_norm_backward(
    to: &mut [f32],
    gradient: &[f32],
    from: &[f32],
    normals: &[Normal],
    weight: &[f32],
    weight_gradient: &mut [f32],
    bias_gradient: &mut [f32],
) {
    let width = weight.len();
    each_row(to, width, |row, to| {
        let at = row * width..(row + 1) * width;
        normalise_backward(to, &gradient[at.clone()], &from[at], normals[row], weight);
    });
    each_strip(weight_gradient, width, |first, mut sums| {
        let sums = sums.row(0);
        for (row, normal) in normals.iter().enumerate() {
            let at = row * width + first..row * width + first + sums.len();
            add_normalised(sums, &gradient[at.clone()], &from[at], *normal);
        }
    });
    crate::column_sums(bias_gradient, gradient);
}

vectorised! {
    fn normalise_backward(
        to: &mut [f32],
        gradient: &[f32],
        from: &[f32],
        normal: Normal,
        weight: &[f32],
    ) {
        let Normal { mean, scale } = normal;
        let count = from.len() as f32;
        let (mut plain, mut along) = ([0f32; 16], [0f32; 16]);
        for (at, ((gradient, from), weight)) in gradient.iter().zip(from).zip(weight).enumerate() {
            let inner = gradient * weight;
            plain[at % 16] += inner;
            along[at % 16] += inner * ((from - mean) * scale);
        }
        let (plain, along) = (sum(&plain) / count, sum(&along) / count);
        for (((to, gradient), from), weight) in to.iter_mut().zip(gradient).zip(from).zip(weight) {
            let normalised = (from - mean) * scale;
            *to += scale * (gradient * weight - plain - normalised * along);
        }
    }
}

vectorised! {
    fn add_normalised(sums: &mut [f32], gradient: &[f32], from: &[f32], normal: Normal) {
        for ((sum, gradient), from) in sums.iter_mut().zip(gradient).zip(from) {
            *sum += gradient * ((from - normal.mean) * normal.scale);
        }
    }
}
