//! The parameters of a network, in one slice.

use std::ops::Range;

use rayon::prelude::*;

use super::Shape;
use crate::ShapeError;
use crate::first_values::FirstValues;
use crate::layers::Layer;

/// The first values of a code's units in the head: what is added to the weights from the code
/// itself, what those from the history are multiplied by, and the bias.
const FROM_OWN_CODE: f32 = 1.0;
const FROM_HISTORY: f32 = 0.1;
const UNIT_BIAS: f32 = 0.1;

/// Where the parameters of one block are.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub norm_1: Layer,
    /// Queries, keys and values at once.
    pub qkv: Layer,
    pub projection: Layer,
    pub norm_2: Layer,
    pub up: Layer,
    pub down: Layer,
}

/// Where the parameters of a network are, each weight before its bias.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    /// `[codes, width]`.
    pub codes: Range<usize>,
    /// `[positions, width]`.
    pub positions: Range<usize>,
    /// Weights `[in, out]`.
    pub blocks: Vec<Block>,
    pub norm: Layer,
    /// The head's first layer, `[width + codes, units]`: input before output, so that the weights
    /// of a code lie side by side.
    pub first: Layer,
    /// The head's second layer, `[codes, units]`.
    pub second: Layer,
    /// The outputs beside the head, `[width, side]`.
    pub side: Layer,
    pub total: usize,
}

impl Ranges {
    pub fn new(shape: &Shape) -> Self {
        let mut total = 0;
        let mut take = |count: usize| {
            total += count;
            total - count..total
        };
        let width = shape.width;
        let codes = take(shape.codes * width);
        let positions = take(shape.positions * width);
        let mut linear = |inputs: usize, outputs: usize| [take(inputs * outputs), take(outputs)];
        let blocks = (0..shape.layers)
            .map(|_| Block {
                norm_1: linear(1, width),
                qkv: linear(width, 3 * width),
                projection: linear(width, width),
                norm_2: linear(1, width),
                up: linear(width, 4 * width),
                down: linear(4 * width, width),
            })
            .collect();
        let norm = linear(1, width);
        let first = linear(width + shape.codes, shape.units());
        let second = [take(shape.codes * shape.units()), take(shape.codes)];
        let side = [take(width * shape.side), take(shape.side)];
        Self { codes, positions, blocks, norm, first, second, side, total }
    }
}

/// The parameters of a network.
///
/// ```
/// use consequence_network::halo::{Shape, Weights};
///
/// let (codes, positions, width) = (9, 5, 8);
/// let shape = Shape { codes, positions, width, layers: 2, heads: 2, head_units: 1, side: 0 };
/// let weights = Weights::drawn(shape, 7)?;
/// assert_eq!(weights.values().len() as u128, shape.parameters());
/// assert_eq!(weights.values(), Weights::drawn(shape, 7)?.values());
/// # Ok::<(), consequence_network::ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    shape: Shape,
    pub(crate) ranges: Ranges,
    values: Vec<f32>,
}

impl Weights {
    /// All zero.
    pub fn zero(shape: Shape) -> Result<Self, ShapeError> {
        shape.check()?;
        let ranges = Ranges::new(&shape);
        Ok(Self { shape, values: vec![0.0; ranges.total], ranges })
    }

    /// The first values of a network before training: normal with a deviation of 0.02, smaller
    /// where a block adds to what passes through; the head's as large as its inputs allow, and such
    /// that the units of a code say whether it is there.
    pub fn drawn(shape: Shape, seed: u64) -> Result<Self, ShapeError> {
        let mut weights = Self::zero(shape)?;
        let ranges = weights.ranges.clone();
        let joined = 0.02 / (2.0 * shape.layers as f64).sqrt();
        let mut first = FirstValues::new(seed);
        let mut fill = |values: &mut [f32], deviation: f64| first.fill(values, deviation);
        let values = &mut weights.values;
        fill(&mut values[ranges.codes.clone()], 0.02);
        fill(&mut values[ranges.positions.clone()], 0.02);
        for block in &ranges.blocks {
            values[block.norm_1[0].clone()].fill(1.0);
            values[block.norm_2[0].clone()].fill(1.0);
            fill(&mut values[block.qkv[0].clone()], 0.02);
            fill(&mut values[block.projection[0].clone()], joined);
            fill(&mut values[block.up[0].clone()], 0.02);
            fill(&mut values[block.down[0].clone()], joined);
        }
        values[ranges.norm[0].clone()].fill(1.0);
        fill(&mut values[ranges.first[0].clone()], (1.0 / (3.0 * shape.width as f64)).sqrt());
        fill(&mut values[ranges.second[0].clone()], (1.0 / (3.0 * shape.units() as f64)).sqrt());
        fill(&mut values[ranges.side[0].clone()], (1.0 / (3.0 * shape.width as f64)).sqrt());
        weights.wake_units();
        weights.empty_halves();
        Ok(weights)
    }

    /// The sizes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// All parameters.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All parameters, to be changed. What lies in the empty halves of triangles must stay zero;
    /// gradients are zero there.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Sets the biases of the last layer, one for each code: the logits the network begins with.
    pub fn set_output_bias(&mut self, biases: &[f32]) {
        let range = self.ranges.second[1].clone();
        self.values[range].copy_from_slice(biases);
    }

    /// The biases of the last layer, one for each code.
    pub fn output_bias(&self) -> &[f32] {
        self.at(&self.ranges.second[1])
    }

    /// Sets the biases of the outputs beside the head.
    pub fn set_side_bias(&mut self, biases: &[f32]) {
        let range = self.ranges.side[1].clone();
        self.values[range].copy_from_slice(biases);
    }

    /// The ranges of the parameters of a network whose head is not asked: what makes the history,
    /// and the outputs beside the head.
    pub fn live_without_head(&self) -> Vec<Range<usize>> {
        let ranges = &self.ranges;
        vec![0..ranges.first[0].start, ranges.side[0].start..ranges.side[1].end]
    }

    /// The ranges of all parameters that can make a difference, in ascending order: everything but
    /// the empty halves of triangles. Weights of the head's second layer, for codes from one on, are
    /// marked: they are many, and most are seldom used. Those of the first layer are not, for it is
    /// by them that units fire.
    pub fn live(&self, from: usize) -> Vec<(Range<usize>, bool)> {
        let (shape, ranges) = (&self.shape, &self.ranges);
        let (width, units) = (shape.width, shape.units());
        let mut live = vec![(0..ranges.first[0].start, false)];
        for input in 0..width + shape.codes {
            let start = ranges.first[0].start + input * units;
            let seen_from = if input < width { input } else { shape.units_before(input - width) };
            live.push((start + seen_from..start + units, false));
        }
        live.push((ranges.first[1].clone(), false));
        for code in 0..shape.codes {
            let start = ranges.second[0].start + code * units;
            live.push((start..start + shape.units_before(code), code >= from));
        }
        live.push((ranges.second[1].start..ranges.side[1].end, false));
        live
    }

    pub(crate) fn at(&self, range: &Range<usize>) -> &[f32] {
        &self.values[range.clone()]
    }

    /// Has each code's own units of the head say, to begin with, whether the code is there.
    ///
    /// They alone can tell the next code. A unit that is never above zero has no gradient and stays
    /// so; in the static visit, whose history is the same for all, half of them would begin like that.
    fn wake_units(&mut self) {
        let Shape { width, head_units, .. } = self.shape;
        let [table, bias] = self.ranges.first.clone();
        let units = self.shape.units();
        let (history, codes) = self.values[table].split_at_mut(width * units);
        for row in history.chunks_exact_mut(units) {
            row[width..].iter_mut().for_each(|weight| *weight *= FROM_HISTORY);
        }
        for (code, row) in codes.chunks_exact_mut(units).enumerate() {
            let own = &mut row[self.shape.units_before(code)..][..head_units];
            own.iter_mut().for_each(|weight| *weight += FROM_OWN_CODE);
        }
        self.values[bias][width..].fill(UNIT_BIAS);
    }

    /// Clears what the triangular layers must not use.
    pub(crate) fn empty_halves(&mut self) {
        empty_halves(&self.shape, &self.ranges, &mut self.values);
    }
}

/// Clears the empty halves of the triangular layers.
///
/// A hidden unit of the history sees the numbers of the history up to its own; one of a code sees
/// all of the history and the codes up to its own. An output sees the units before its code.
fn empty_halves(shape: &Shape, ranges: &Ranges, values: &mut [f32]) {
    let (width, units) = (shape.width, shape.units());
    let first = &mut values[ranges.first[0].clone()];
    first.par_chunks_exact_mut(units).enumerate().for_each(|(input, outputs)| {
        let seen_from = if input < width { input } else { shape.units_before(input - width) };
        outputs[..seen_from].fill(0.0);
    });
    let second = &mut values[ranges.second[0].clone()];
    second.par_chunks_exact_mut(units).enumerate().for_each(|(code, inputs)| {
        inputs[shape.units_before(code)..].fill(0.0);
    });
}

/// Clears what products of whole blocks, of so many outputs, put into the empty halves of a
/// gradient.
pub(crate) fn empty_corners(shape: &Shape, ranges: &Ranges, gradient: &mut [f32], block: usize) {
    let (width, units) = (shape.width, shape.units());
    let history = &mut gradient[ranges.first[0].clone()][..width * units];
    for (input, outputs) in history.chunks_exact_mut(units).enumerate() {
        outputs[..input].fill(0.0);
    }
    let second = &mut gradient[ranges.second[0].clone()];
    second.par_chunks_exact_mut(units).enumerate().for_each(|(code, inputs)| {
        // A block may begin anywhere, so it ends within so many codes.
        let end = shape.units_before((code + block).min(shape.codes));
        inputs[shape.units_before(code)..end].fill(0.0);
    });
}
