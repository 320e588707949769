//! The parameters of a network, in one slice.

use std::ops::Range;

use super::Shape;
use super::copies::TERMS;
use super::shape::PLACES;
use crate::ShapeError;
use crate::first_values::FirstValues;
use crate::layers::Layer;

/// Where the parameters of a network are, each weight before its bias.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    /// `[codes + 1, width]`: the last row is that of the mark a record begins with.
    pub codes: Range<usize>,
    /// `[PLACES, width]`.
    pub places: Range<usize>,
    pub norm_1: Layer,
    /// Gates and candidates at once.
    pub mix: Layer,
    pub join: Layer,
    pub norm_2: Layer,
    pub up: Layer,
    pub down: Layer,
    pub norm_3: Layer,
    /// From the history to the first state of a visit.
    pub start: Layer,
    /// What a code that is present adds to the state, `[codes, head]`.
    pub present: Range<usize>,
    pub norm: Layer,
    pub narrow: Layer,
    pub widen: Layer,
    /// What a code reads of the state, `[codes, head]`.
    pub read: Range<usize>,
    pub bias: Range<usize>,
    /// For each term of codes held before: what each code has of its own, `[TERMS, codes]`, what all
    /// of them share, `[TERMS]`, and what the history adds to that, `[TERMS, width]`.
    pub copy_own: Range<usize>,
    pub copy_shared: Range<usize>,
    pub copy_gate: Range<usize>,
    /// The outputs beside the head.
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
        let Shape { codes, width, head, bottleneck, side } = *shape;
        let table = take((codes + 1) * width);
        let places = take(PLACES * width);
        let mut linear = |inputs: usize, outputs: usize| [take(inputs * outputs), take(outputs)];
        let norm_1 = linear(1, width);
        let mix = linear(width, 2 * width);
        let join = linear(width, width);
        let norm_2 = linear(1, width);
        let up = linear(width, 4 * width);
        let down = linear(4 * width, width);
        let norm_3 = linear(1, width);
        let start = linear(width, head);
        let norm = linear(1, head);
        let narrow = linear(head, bottleneck);
        let widen = linear(bottleneck, head);
        let present = take(codes * head);
        let read = take(codes * head);
        let bias = take(codes);
        let copy_own = take(TERMS * codes);
        let copy_shared = take(TERMS);
        let copy_gate = take(TERMS * width);
        let side = [take(width * side), take(side)];
        Self {
            codes: table,
            places,
            norm_1,
            mix,
            join,
            norm_2,
            up,
            down,
            norm_3,
            start,
            present,
            norm,
            narrow,
            widen,
            read,
            bias,
            copy_own,
            copy_shared,
            copy_gate,
            side,
            total,
        }
    }
}

/// The parameters of a network.
///
/// ```
/// use consequence_network::recurrent::{Shape, Weights};
///
/// let shape = Shape { codes: 9, width: 8, head: 16, bottleneck: 4, side: 0 };
/// let weights = Weights::drawn(shape, 7)?;
/// assert_eq!(weights.values().len() as u128, shape.parameters());
/// assert_eq!(weights.values(), Weights::drawn(shape, 7)?.values());
/// # Ok::<(), consequence_network::ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    shape: Shape,
    pub(super) ranges: Ranges,
    values: Vec<f32>,
}

impl Weights {
    /// All zero.
    pub fn zero(shape: Shape) -> Result<Self, ShapeError> {
        shape.check()?;
        let ranges = Ranges::new(&shape);
        Ok(Self { shape, values: vec![0.0; ranges.total], ranges })
    }

    /// The first values of a network before training. What codes read is small, so that at first
    /// only biases speak; what present codes add is large, so that states differ.
    pub fn drawn(shape: Shape, seed: u64) -> Result<Self, ShapeError> {
        let mut weights = Self::zero(shape)?;
        let mut first = FirstValues::new(seed);
        let Self { ranges, values, .. } = &mut weights;
        let even = |inputs: usize| (1.0 / (3.0 * inputs as f64)).sqrt();
        let joined = 0.02 / 2f64.sqrt();
        for (range, deviation) in [
            (&ranges.codes, 0.02),
            (&ranges.places, 0.1),
            (&ranges.mix[0], even(shape.width)),
            (&ranges.join[0], joined),
            (&ranges.up[0], 0.02),
            (&ranges.down[0], joined),
            (&ranges.start[0], even(shape.width)),
            (&ranges.present, 0.1),
            (&ranges.narrow[0], (1.0 / shape.head as f64).sqrt()),
            (&ranges.widen[0], 0.02),
            (&ranges.read, 0.01),
            (&ranges.side[0], even(shape.width)),
        ] {
            first.fill(&mut values[range.clone()], deviation);
        }
        for norm in [&ranges.norm_1, &ranges.norm_2, &ranges.norm_3, &ranges.norm] {
            values[norm[0].clone()].fill(1.0);
        }
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

    /// All parameters, to be changed.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Sets the bias of each code: the logits the network begins with.
    pub fn set_output_bias(&mut self, biases: &[f32]) {
        let range = self.ranges.bias.clone();
        self.values[range].copy_from_slice(biases);
    }

    /// The bias of each code.
    pub fn output_bias(&self) -> &[f32] {
        self.at(&self.ranges.bias)
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
        vec![0..ranges.start[0].start, ranges.side[0].start..ranges.side[1].end]
    }

    /// The ranges of all parameters, in ascending order. Those that belong to one code each, for
    /// codes from one on, are marked: they are many, and most are seldom used.
    pub fn live(&self, from: usize) -> Vec<(Range<usize>, bool)> {
        let (ranges, Shape { width, head, .. }) = (&self.ranges, self.shape);
        let marked = [
            ranges.codes.start + from * width..ranges.codes.end - width,
            ranges.present.start + from * head..ranges.present.end,
            ranges.read.start + from * head..ranges.read.end,
        ];
        let (mut live, mut at) = (Vec::new(), 0);
        for range in marked {
            live.push((at..range.start, false));
            at = range.end;
            live.push((range, true));
        }
        live.push((at..ranges.total, false));
        live
    }

    pub(super) fn at(&self, range: &Range<usize>) -> &[f32] {
        &self.values[range.clone()]
    }
}
