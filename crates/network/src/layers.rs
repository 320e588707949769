//! Linear layers and layer normalisation over parameters in one slice, forward and backward.

use std::ops::Range;

use consequence_engine::{
    Normal, Packed, View, ViewMut, add, add_bias, column_sums, layer_norm, layer_norm_backward,
    product, product_packed_here,
};

pub(crate) const EPSILON: f32 = 1e-5;

/// Where the weight of a layer is, `[in, out]`, and its bias right after it.
pub(crate) type Layer = [Range<usize>; 2];

/// Makes a buffer of a length; what it holds does not matter.
pub(crate) fn fit<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) {
    buffer.resize(length, T::default());
}

/// `to = from * weight + bias`.
pub(crate) fn linear(values: &[f32], layer: &Layer, to: &mut [f32], from: &[f32]) {
    let [weight, bias] = layer.each_ref().map(|range| &values[range.clone()]);
    let outputs = bias.len();
    let (rows, inputs) = (to.len() / outputs, weight.len() / outputs);
    let weight = View::new(weight, inputs, outputs);
    product(ViewMut::new(to, rows, outputs), View::new(from, rows, inputs), weight, false);
    add_bias(to, bias);
}

/// The gradients of [`linear`]: that of its argument replaces what is in `to`, those of weight and
/// bias are added.
pub(crate) fn linear_backward(
    values: &[f32],
    [weight, bias]: &Layer,
    to: &mut [f32],
    dy: &[f32],
    from: &[f32],
    gradient: &mut [f32],
) {
    let outputs = bias.len();
    let (rows, inputs) = (dy.len() / outputs, weight.len() / outputs);
    column_sums(&mut gradient[bias.clone()], dy);
    let dy = View::new(dy, rows, outputs);
    let from = View::new(from, rows, inputs).transposed();
    product(ViewMut::new(&mut gradient[weight.clone()], inputs, outputs), from, dy, true);
    let weight = View::new(&values[weight.clone()], inputs, outputs).transposed();
    product(ViewMut::new(to, rows, inputs), dy, weight, false);
}

/// Layer normalisation of every row, by the weight and the bias of a layer.
pub(crate) fn norm(
    values: &[f32],
    layer: &Layer,
    to: &mut [f32],
    normals: &mut [Normal],
    from: &[f32],
) {
    let [weight, bias] = layer.each_ref().map(|range| &values[range.clone()]);
    layer_norm(to, normals, from, weight, bias, EPSILON);
}

/// The gradients of [`norm`]: all are added.
pub(crate) fn norm_backward(
    values: &[f32],
    [weight, bias]: &Layer,
    to: &mut [f32],
    dy: &[f32],
    (input, normals): (&[f32], &[Normal]),
    gradient: &mut [f32],
) {
    // The bias lies right after the weight.
    let (for_weight, for_bias) =
        gradient[weight.start..bias.end].split_at_mut(bias.start - weight.start);
    layer_norm_backward(to, dy, input, normals, &values[weight.clone()], for_weight, for_bias);
}

/// A linear layer laid out once, for many products.
pub(crate) struct PackedLayer {
    pub weight: Packed,
    pub bias: Vec<f32>,
}

impl PackedLayer {
    pub fn new(values: &[f32], [weight, bias]: &Layer) -> Self {
        let inputs = weight.len() / bias.len();
        let matrix = View::new(&values[weight.clone()], inputs, bias.len());
        Self { weight: Packed::new(matrix), bias: values[bias.clone()].to_vec() }
    }

    /// `to = from * weight + bias`, on this thread alone.
    pub fn apply_here(&self, to: &mut [f32], from: &[f32], rows: usize) {
        let from = View::new(from, rows, self.weight.depth());
        let outputs = self.bias.len();
        product_packed_here(ViewMut::new(to, rows, outputs), from, &self.weight, 0, false);
        to.chunks_exact_mut(outputs).for_each(|row| add(row, &self.bias));
    }
}
