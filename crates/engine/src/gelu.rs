//! The GELU activation in its form with a hyperbolic tangent.

use rayon::prelude::*;

use crate::level::vectorised;
use crate::math::sigmoid;
use crate::rows::SPREAD;

/// Twice the square root of 2 / pi: `(1 + tanh(z)) / 2` is the sigmoid of `2 z`.
const SCALE: f32 = 1.595_769;
const CUBIC: f32 = 0.044_715;

/// `to = gelu(from)`.
///
/// ```
/// let mut to = [0.0; 2];
/// consequence_engine::gelu(&mut to, &[0.0, 10.0]);
/// assert_eq!(to, [0.0, 10.0]);
/// ```
pub fn gelu(to: &mut [f32], from: &[f32]) {
    let chunks = to.par_chunks_mut(SPREAD).zip(from.par_chunks(SPREAD));
    chunks.for_each(|(to, from)| gelu_of(to, from));
}

vectorised! {
    fn gelu_of(to: &mut [f32], from: &[f32]) {
        for (to, &x) in to.iter_mut().zip(from) {
            *to = x * sigmoid(SCALE * (x + CUBIC * x * x * x));
        }
    }
}

/// Turns the gradient of the result into that of the argument.
///
/// ```
/// let mut gradient = [3.0];
/// consequence_engine::gelu_backward(&mut gradient, &[0.0]);
/// assert_eq!(gradient, [1.5]);
/// ```
pub fn gelu_backward(gradient: &mut [f32], from: &[f32]) {
    let chunks = gradient.par_chunks_mut(SPREAD).zip(from.par_chunks(SPREAD));
    chunks.for_each(|(gradient, from)| gelu_backward_of(gradient, from));
}

vectorised! {
    fn gelu_backward_of(gradient: &mut [f32], from: &[f32]) {
        for (gradient, &x) in gradient.iter_mut().zip(from) {
            let s = sigmoid(SCALE * (x + CUBIC * x * x * x));
            let inner_gradient = SCALE * (1.0 + 3.0 * CUBIC * x * x);
            *gradient *= s + x * s * (1.0 - s) * inner_gradient;
        }
    }
}
