//! The Adam optimiser.

use std::ops::Range;

use rayon::prelude::*;

use crate::level::vectorised;
use crate::rows::SPREAD;

/// The settings of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate.
    pub learning_rate: f32,
    /// The decay of the mean gradient.
    pub beta1: f32,
    /// The decay of the mean square of the gradient.
    pub beta2: f32,
    /// What keeps a division from being by zero.
    pub epsilon: f32,
    /// What the gradient is multiplied by first, to clip it.
    pub gradient_scale: f32,
    /// What part of a weight is kept before the step: one minus learning rate times weight decay.
    pub weight_kept: f32,
}

impl Default for Adam {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            gradient_scale: 1.0,
            weight_kept: 1.0,
        }
    }
}

impl Adam {
    /// The learning rate of a step, counted from 1, and what roots of mean squares are divided by: both
    /// make up for averages that began with zero.
    pub(crate) fn corrected(&self, number: u64) -> (f32, f32) {
        let exponent = i32::try_from(number).unwrap_or(i32::MAX);
        let correction = |keep: f32| 1.0 - f64::from(keep).powi(exponent);
        let rate = (f64::from(self.learning_rate) / correction(self.beta1)) as f32;
        (rate, correction(self.beta2).sqrt() as f32)
    }
}

/// One step; `number` counts steps from 1.
///
/// ```
/// use consequence_engine::{Adam, adam_step};
///
/// let (mut weight, mut mean, mut square) = ([1.0], [0.0], [0.0]);
/// adam_step(&mut weight, &[3.0], &mut mean, &mut square, &Adam::default(), 1);
/// assert!((weight[0] - 0.999f32).abs() < 1e-6);
/// ```
pub fn adam_step(
    weights: &mut [f32],
    gradient: &[f32],
    mean: &mut [f32],
    square: &mut [f32],
    adam: &Adam,
    number: u64,
) {
    let whole = 0..weights.len();
    adam_step_within(weights, gradient, mean, square, std::slice::from_ref(&whole), adam, number);
}

/// One step of the weights in some ranges, which must ascend and not overlap; `number` counts steps
/// from 1.
///
/// # Panics
///
/// If the ranges do not ascend, or reach beyond the weights.
pub fn adam_step_within(
    mut weights: &mut [f32],
    gradient: &[f32],
    mut mean: &mut [f32],
    mut square: &mut [f32],
    ranges: &[Range<usize>],
    adam: &Adam,
    number: u64,
) {
    let (rate, root) = adam.corrected(number);
    let mut parts = Vec::with_capacity(ranges.len());
    let mut passed = 0;
    for range in pieces(ranges) {
        let skip = range.start - passed;
        let count = range.len();
        parts.push((
            take(&mut weights, skip, count),
            take(&mut mean, skip, count),
            take(&mut square, skip, count),
            &gradient[range.clone()],
        ));
        passed = range.end;
    }
    parts.into_par_iter().with_min_len(4).for_each(|(weights, mean, square, gradient)| {
        step_of(weights, gradient, mean, square, *adam, rate, root);
    });
}

/// Moves averages towards the values in some ranges, which must ascend and not overlap:
/// `average = keep * average + (1 - keep) * value`.
///
/// ```
/// let mut average = [0.0, 4.0];
/// consequence_engine::average_within(&mut average, &[1.0, 8.0], &[1..2], 0.75);
/// assert_eq!(average, [0.0, 5.0]);
/// ```
///
/// # Panics
///
/// If the ranges do not ascend, or reach beyond the values.
pub fn average_within(mut average: &mut [f32], values: &[f32], ranges: &[Range<usize>], keep: f32) {
    let mut parts = Vec::with_capacity(ranges.len());
    let mut passed = 0;
    for range in pieces(ranges) {
        let part = take(&mut average, range.start - passed, range.len());
        parts.push((part, &values[range.clone()]));
        passed = range.end;
    }
    parts.into_par_iter().with_min_len(4).for_each(|(average, values)| {
        average_of(average, values, keep);
    });
}

vectorised! {
    fn average_of(average: &mut [f32], values: &[f32], keep: f32) {
        for (average, value) in average.iter_mut().zip(values) {
            *average += (1.0 - keep) * (value - *average);
        }
    }
}

/// Takes some elements from the beginning of a slice, after some that are passed over.
fn take<'a>(slice: &mut &'a mut [f32], skip: usize, count: usize) -> &'a mut [f32] {
    let (_, rest) = std::mem::take(slice).split_at_mut(skip);
    let (part, rest) = rest.split_at_mut(count);
    *slice = rest;
    part
}

/// Ranges cut into pieces that are worth a task.
fn pieces(ranges: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    ranges.iter().flat_map(|range| {
        let end = range.end;
        range.clone().step_by(SPREAD).map(move |start| start..end.min(start + SPREAD))
    })
}

vectorised! {
    fn step_of(
        weights: &mut [f32],
        gradient: &[f32],
        mean: &mut [f32],
        square: &mut [f32],
        adam: Adam,
        rate: f32,
        root: f32,
    ) {
        let values = weights.iter_mut().zip(gradient).zip(mean.iter_mut().zip(square));
        for ((weight, gradient), (mean, square)) in values {
            let gradient = gradient * adam.gradient_scale;
            *mean = adam.beta1 * *mean + (1.0 - adam.beta1) * gradient;
            *square = adam.beta2 * *square + (1.0 - adam.beta2) * gradient * gradient;
            *weight = adam.weight_kept * *weight - rate * *mean / (square.sqrt() / root + adam.epsilon);
        }
    }
}

/// The sum of squares, in an order that does not depend on threads.
///
/// ```
/// assert_eq!(consequence_engine::squared_norm(&[3.0, 4.0]), 25.0);
/// ```
pub fn squared_norm(values: &[f32]) -> f64 {
    let whole = 0..values.len();
    squared_norm_within(values, std::slice::from_ref(&whole))
}

/// The sum of squares of the values in some ranges, in an order that does not depend on threads.
pub fn squared_norm_within(values: &[f32], ranges: &[Range<usize>]) -> f64 {
    let pieces: Vec<Range<usize>> = pieces(ranges).collect();
    let square = |piece: &Range<usize>| squares(&values[piece.clone()]);
    let parts: Vec<f64> = pieces.par_iter().with_min_len(4).map(square).collect();
    parts.iter().sum()
}

vectorised! {
    fn squares(values: &[f32]) -> f64 {
        let mut lanes = [0f64; 16];
        for chunk in values.chunks(16) {
            for (lane, value) in lanes.iter_mut().zip(chunk) {
                *lane += f64::from(*value) * f64::from(*value);
            }
        }
        lanes.iter().sum()
    }
}
