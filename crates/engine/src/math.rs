//! Exponentials, sigmoids and logarithms, written so that loops over them become vector
//! instructions, and the GELU activation in its form with a hyperbolic tangent.

use rayon::prelude::*;

use crate::level::vectorised;
use crate::rows::SPREAD;

/// The exponential, right to about two units in the last place between -87 and 88; below that 0,
/// above it the largest value the range gives.
///
/// ```
/// use consequence_engine::exp;
///
/// assert!((exp(1.0) - std::f32::consts::E).abs() < 5e-7);
/// assert!(exp(-200.0) < 1e-37);
/// ```
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // The largest magnitudes at which 2^n is a normal number.
    let x = x.clamp(-87.3, 88.3);
    // x = n ln 2 + r, with ln 2 in two parts so that r keeps its bits.
    let n = (x * std::f32::consts::LOG2_E).round_ties_even();
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    let value = p * r * r + r + 1.0;
    value * f32::from_bits(((n as i32 + 127) as u32) << 23)
}

/// `1 / (1 + exp(-x))`.
///
/// ```
/// use consequence_engine::sigmoid;
///
/// assert_eq!(sigmoid(0.0), 0.5);
/// ```
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `ln(1 + exp(x))`, right also where it is tiny or where the exponential would overflow.
#[inline(always)]
pub(crate) fn softplus(x: f32) -> f32 {
    x.max(0.0) + ln_1p_of_fraction(exp(-x.abs()))
}

/// `ln(1 + t)` for `t` from 0 to 1, as twice the area hyperbolic tangent of `t / (2 + t)`.
#[inline(always)]
fn ln_1p_of_fraction(t: f32) -> f32 {
    let s = t / (2.0 + t);
    let q = s * s;
    let mut p = 1.0 / 15.0;
    p = p * q + 1.0 / 13.0;
    p = p * q + 1.0 / 11.0;
    p = p * q + 1.0 / 9.0;
    p = p * q + 1.0 / 7.0;
    p = p * q + 1.0 / 5.0;
    p = p * q + 1.0 / 3.0;
    p = p * q + 1.0;
    2.0 * s * p
}

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

#[cfg(test)]
mod tests {
    use super::{exp, sigmoid, softplus};

    #[test]
    fn agree_with_double_precision() {
        for step in -87_000..88_000 {
            let x = step as f32 / 1000.0;
            let right = f64::from(x).exp();
            assert!((f64::from(exp(x)) / right - 1.0).abs() < 3e-7, "exp({x})");
            let right = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(sigmoid(x)) / right - 1.0).abs() < 5e-7, "sigmoid({x})");
            let right = f64::from(x).exp().ln_1p();
            assert!((f64::from(softplus(x)) / right - 1.0).abs() < 5e-7, "softplus({x})");
        }
    }
}
