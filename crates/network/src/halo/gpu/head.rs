//! The head: two triangular layers over all codes at once.

use std::ops::Range;

use consequence_engine::Dropout;
use consequence_engine::cuda::{Factor, GpuError, Memory, Sums, Triangle, TriangleRows, Words};

use super::batch::{ALIGNED, HeadPiece};
use super::pass::Net;
use crate::gpu::{Asking, Gradients};

/// Outputs whose part of the second layer is multiplied at once. Products skip the empty half but for the
/// corners of such blocks, which are larger than on the CPU: a GPU needs that much to do at once.
const BLOCK: usize = 512;

/// The head at work on a piece of a batch.
#[derive(Debug, Default)]
pub(super) struct Head {
    hidden: Memory,
    /// Units of the first layer after the activation; only those that some output sees.
    active: Memory,
    active_gradient: Memory,
    /// Logits without their bias, and then their gradient.
    pub logits: Memory,
    pub asking: Asking,
}

/// The codes of a piece, block by block, each with its part of the logits and the units it is told of.
pub(super) fn blocks(
    net: &Net<'_>,
    codes: &Range<usize>,
) -> impl DoubleEndedIterator<Item = (Range<usize>, usize)> {
    let (shape, all) = (net.shape, codes.clone());
    all.clone().step_by(BLOCK).map(move |first| {
        let last = all.end.min(first + BLOCK);
        (first..last, shape.units_before(last - 1))
    })
}

/// How many units the outputs of a piece see, and how far apart those of two rows are.
pub(super) fn seen(net: &Net<'_>, codes: &Range<usize>) -> (usize, usize) {
    let seen = net.shape.units_before(codes.end - 1);
    (seen, seen.next_multiple_of(ALIGNED))
}

/// The second layer for some codes, and the units that they are told of.
pub(super) fn second<'a>(net: &'a Net<'_>, codes: &Range<usize>, inner: usize) -> Factor<'a> {
    let (start, all) = (net.ranges.second[0].start, net.shape.units());
    let part = net.values.part(start + codes.start * all..start + codes.end * all);
    Factor::within(part, codes.len(), inner, all)
}

fn triangle(net: &Net<'_>) -> Triangle {
    let shape = net.shape;
    Triangle { width: shape.width, codes: shape.codes, each: shape.head_units }
}

impl Head {
    /// Computes the logits of a piece, some units left out.
    pub fn forward(
        &mut self,
        net: &Net<'_>,
        (piece, rows): (&HeadPiece, &TriangleRows<'_>),
        history: &Memory,
        dropout: Dropout,
    ) -> Result<(), GpuError> {
        self.fire(net, (piece, rows), history, dropout)?;
        let piece = &piece.read.piece;
        let (count, stride) = (piece.states.len(), seen(net, &piece.codes).1);
        self.logits.fit(net.gpu, piece.logits())?;
        for (codes, inner) in blocks(net, &piece.codes) {
            let weight = second(net, &codes, inner).transposed();
            let active = Factor::within(self.active.all(), count, inner, stride);
            let to = codes.start - piece.codes.start..self.logits.len();
            let to = self.logits.part_mut(to);
            net.gpu.product_within(to, piece.stride, active, weight, false)?;
        }
        Ok(())
    }

    /// Computes the units of the first layer, some of them left out.
    fn fire(
        &mut self,
        net: &Net<'_>,
        (piece, rows): (&HeadPiece, &TriangleRows<'_>),
        history: &Memory,
        dropout: Dropout,
    ) -> Result<(), GpuError> {
        let (gpu, ranges, width, all) = (net.gpu, net.ranges, net.shape.width, net.shape.units());
        let piece = &piece.read.piece;
        let count = piece.states.len();
        let (seen, stride) = seen(net, &piece.codes);
        self.hidden.fit(gpu, count * width)?;
        gpu.take_rows(self.hidden.all_mut(), history.all(), rows, width)?;
        self.active.fit(gpu, count * stride)?;
        let [first, bias] = &ranges.first;
        let from = Factor::new(self.hidden.all(), count, width);
        let table = Factor::within(net.at(first), width, seen, all);
        gpu.product_within(self.active.all_mut(), stride, from, table, false)?;
        let table = net.at(&(first.start + width * all..first.end));
        let bias = net.at(&(bias.start..bias.start + seen));
        let active = (self.active.all_mut(), stride);
        gpu.fire_units(active, (bias, table), rows, &triangle(net), dropout)
    }

    /// Marks which units fire in the rows of a piece.
    pub fn note_fired(
        &mut self,
        net: &Net<'_>,
        (piece, rows): (&HeadPiece, &TriangleRows<'_>),
        history: &Memory,
        fired: &mut Memory<u32>,
    ) -> Result<(), GpuError> {
        self.fire(net, (piece, rows), history, Dropout::default())?;
        let codes = &piece.read.piece.codes;
        let ((seen, stride), from) = (seen(net, codes), net.shape.units_before(codes.start));
        net.gpu.note_fired(fired, (&self.active, stride, seen), (net.shape.width, from))
    }

    pub fn bias_gradient(
        &self,
        net: &Net<'_>,
        piece: &HeadPiece,
        sums: &mut Sums,
    ) -> Result<(), GpuError> {
        let (piece, start) = (&piece.read.piece, net.ranges.second[1].start);
        let own = start + piece.codes.start..start + piece.codes.end;
        net.gpu.column_sums(sums, own, self.logits.all(), piece.stride)
    }

    /// The gradients of the head's parameters, given that of the logits; those of the history are added to
    /// its rows.
    pub fn backward(
        &mut self,
        net: &Net<'_>,
        (piece, words): (&HeadPiece, &Words),
        (dropout, history_gradient): (Dropout, &mut Memory),
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        self.bias_gradient(net, piece, into.sums)?;
        let (gpu, ranges, width, all) = (net.gpu, net.ranges, net.shape.width, net.shape.units());
        let (rows, piece) = (piece.rows(words), &piece.read.piece);
        let count = piece.states.len();
        let (seen, stride) = seen(net, &piece.codes);
        self.active_gradient.fit(gpu, count * stride)?;
        // The last block is told of all units that are seen, so that it comes first.
        for (number, (codes, inner)) in blocks(net, &piece.codes).rev().enumerate() {
            let from = codes.start - piece.codes.start..self.logits.len();
            let logits = self.logits.part(from);
            let logits = Factor::within(logits, count, codes.len(), piece.stride);
            let active = Factor::within(self.active.all(), count, inner, stride);
            let start = ranges.second[0].start;
            let into = into.products.part_mut(start + codes.start * all..start + codes.end * all);
            gpu.product_within(into, all, logits.transposed(), active, true)?;
            let (to, second) = (self.active_gradient.all_mut(), second(net, &codes, inner));
            gpu.product_within(to, stride, logits, second, number > 0)?;
        }
        gpu.fire_units_backward(&mut self.active_gradient, &self.active, dropout)?;
        let gradient = &self.active_gradient;
        let [first, bias] = &ranges.first;
        gpu.column_sums(into.sums, bias.start..bias.start + seen, gradient.all(), stride)?;
        let table = first.start + width * all..first.end;
        let sums = (&mut *into.sums, table);
        gpu.scatter_units(sums, (gradient, stride, seen), &rows, &triangle(net))?;
        let gradient = Factor::within(gradient.all(), count, seen, stride);
        let from = Factor::new(self.hidden.all(), count, width).transposed();
        let to = into.products.part_mut(first.start..first.start + width * all);
        gpu.product_within(to, all, from, gradient, true)?;
        let table = Factor::within(net.at(first), width, seen, all).transposed();
        gpu.product(self.hidden.all_mut(), gradient, table, false)?;
        gpu.give_rows(history_gradient.all_mut(), self.hidden.all(), &rows, width)
    }

    /// Clears what blocks put into the empty halves of the layers' gradients.
    pub fn empty_halves(net: &Net<'_>, into: &mut Gradients<'_>) -> Result<(), GpuError> {
        let (ranges, all) = (net.ranges, net.shape.units());
        let first = ranges.first[0].start;
        let halves = [first..first + net.shape.width * all, ranges.second[0].clone()];
        net.gpu.empty_halves(into.products, halves, &triangle(net), BLOCK)
    }
}
