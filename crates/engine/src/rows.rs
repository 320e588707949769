//! What is done to every row of a matrix, sums over all of them, and sums of whole slices.

use rayon::prelude::*;

use crate::level::vectorised;
use crate::product::ViewMut;

/// Elements below which a loop is not worth spreading over threads.
pub(crate) const SPREAD: usize = 1 << 14;

/// Columns that one task sums.
const STRIP: usize = 128;

/// Adds a bias to every row.
///
/// ```
/// let mut rows = [1.0, 2.0, 3.0, 4.0];
/// consequence_engine::add_bias(&mut rows, &[10.0, 20.0]);
/// assert_eq!(rows, [11.0, 22.0, 13.0, 24.0]);
/// ```
pub fn add_bias(rows: &mut [f32], bias: &[f32]) {
    each_row(rows, bias.len(), |_, row| crate::add(row, bias));
}

/// Calls a function with the number of every row and the row, on all threads.
pub(crate) fn each_row(
    rows: &mut [f32],
    width: usize,
    work: impl Fn(usize, &mut [f32]) + Sync + Send,
) {
    let together = (SPREAD / width.max(1)).max(1);
    rows.par_chunks_mut(width * together).enumerate().for_each(|(chunk, rows)| {
        for (row, values) in rows.chunks_exact_mut(width).enumerate() {
            work(chunk * together + row, values);
        }
    });
}

/// Adds the sum of all rows to `sums`, from the first row to the last.
///
/// ```
/// let mut sums = [0.0, 1.0];
/// consequence_engine::column_sums(&mut sums, &[1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(sums, [4.0, 7.0]);
/// ```
pub fn column_sums(sums: &mut [f32], rows: &[f32]) {
    let width = sums.len();
    sums.par_chunks_mut(STRIP).enumerate().for_each(|(strip, sums)| {
        let first = strip * STRIP;
        for row in rows.chunks_exact(width) {
            crate::add(sums, &row[first..first + sums.len()]);
        }
    });
}

/// Cuts a matrix of so many columns into strips and works on all of them; each is told its first
/// column.
pub(crate) fn each_strip(
    matrix: &mut [f32],
    width: usize,
    work: impl Fn(usize, ViewMut<'_>) + Sync + Send,
) {
    let rows = matrix.len() / width.max(1);
    let strips = ViewMut::new(matrix, rows, width).column_parts(STRIP);
    strips.into_par_iter().enumerate().for_each(|(index, strip)| work(index * STRIP, strip));
}

/// Sets everything below zero to zero.
///
/// ```
/// let mut values = [-1.0, 2.0];
/// consequence_engine::relu(&mut values);
/// assert_eq!(values, [0.0, 2.0]);
/// ```
pub fn relu(values: &mut [f32]) {
    values.par_chunks_mut(SPREAD).for_each(relu_of);
}

vectorised! {
    fn relu_of(values: &mut [f32]) {
        for value in values.iter_mut() {
            *value = value.max(0.0);
        }
    }
}

/// Turns the gradient of the result of [`relu`] into that of its argument.
///
/// ```
/// let mut gradient = [5.0, 6.0];
/// consequence_engine::relu_backward(&mut gradient, &[0.0, 2.0]);
/// assert_eq!(gradient, [0.0, 6.0]);
/// ```
pub fn relu_backward(gradient: &mut [f32], result: &[f32]) {
    let chunks = gradient.par_chunks_mut(SPREAD).zip(result.par_chunks(SPREAD));
    chunks.for_each(|(gradient, result)| relu_backward_of(gradient, result));
}

vectorised! {
    fn relu_backward_of(gradient: &mut [f32], result: &[f32]) {
        for (gradient, result) in gradient.iter_mut().zip(result) {
            *gradient = if *result > 0.0 { *gradient } else { 0.0 };
        }
    }
}

/// Multiplies everything by a factor.
///
/// ```
/// let mut values = [1.0, 2.0];
/// consequence_engine::scale(&mut values, 3.0);
/// assert_eq!(values, [3.0, 6.0]);
/// ```
pub fn scale(values: &mut [f32], factor: f32) {
    values.par_chunks_mut(SPREAD).for_each(|values| scale_of(values, factor));
}

vectorised! {
    fn scale_of(values: &mut [f32], factor: f32) {
        for value in values.iter_mut() {
            *value *= factor;
        }
    }
}

/// Partial sums that are kept side by side. Their number and the order in which they are added up
/// are fixed, so that a sum has the same bits everywhere.
const LANES: usize = 16;

/// The sum of the products of two slices of equal length.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
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
    pub(crate) fn add_scaled(to: &mut [f32], factor: f32, from: &[f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to += factor * from;
        }
    }
}
