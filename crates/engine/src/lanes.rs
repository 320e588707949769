//! Sums and scaled sums of whole slices.

use crate::level::vectorised;

/// Partial sums that are kept side by side. Their number and the order in which they are added up
/// are fixed, so that a sum has the same bits everywhere.
const LANES: usize = 16;

/// The sum of the products of two slices of equal length.
///
/// ```
/// use consequence_engine::dot;
///
/// assert_eq!(dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
/// ```
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[lane] += a * b;
    }
    fold(lanes)
}

/// The sum of a slice.
#[inline(always)]
pub(crate) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] += chunk[lane];
        }
    }
    for (lane, value) in rest.iter().enumerate() {
        lanes[lane] += value;
    }
    fold(lanes)
}

#[inline(always)]
fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
    }
    lanes[0]
}

vectorised! {
    /// Adds one slice to another.
    ///
    /// ```
    /// let mut to = [1.0, 2.0];
    /// consequence_engine::add(&mut to, &[10.0, 20.0]);
    /// assert_eq!(to, [11.0, 22.0]);
    /// ```
    pub fn add(to: &mut [f32], from: &[f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to += from;
        }
    }
}

vectorised! {
    /// Adds one slice, times a factor, to another.
    ///
    /// ```
    /// let mut to = [1.0, 2.0];
    /// consequence_engine::add_scaled(&mut to, 0.5, &[10.0, 20.0]);
    /// assert_eq!(to, [6.0, 12.0]);
    /// ```
    pub fn add_scaled(to: &mut [f32], factor: f32, from: &[f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to += factor * from;
        }
    }
}
