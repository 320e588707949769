//! The blocks of attention, forward and backward.

use std::mem::take;

use consequence_engine::cuda::{Attention, GpuError, Indices, ListEnds, Memory, Words};

use super::GpuBatch;
use super::pass::Net;
use crate::gpu::Gradients;

/// What a block computed, kept for its gradient.
#[derive(Debug, Default)]
pub(super) struct Kept {
    normals_1: Memory,
    normed_1: Memory,
    /// Queries, keys and values without their bias.
    pub mixed: Memory,
    peaks: Memory,
    pub attended: Memory,
    middle: Memory,
    normals_2: Memory,
    normed_2: Memory,
    wide: Memory,
    active: Memory,
}

/// The blocks at work on a batch.
#[derive(Debug, Default)]
pub(super) struct Trunk {
    /// What each block is given, and what the last one gives.
    inputs: Vec<Memory>,
    kept: Vec<Kept>,
    normals: Memory,
    /// What the blocks make of every row.
    pub hidden: Memory,
    product: Memory,
    dx: Memory,
    deltas: Memory,
    mixed_gradient: Memory,
    wide_gradient: Memory,
    pub hidden_gradient: Memory,
}

impl Trunk {
    /// Without a gradient to come, blocks use the same memory in turn.
    pub fn forward(
        &mut self,
        net: &Net<'_>,
        (batch, words): (&GpuBatch, &Words),
        keeps: bool,
    ) -> Result<(), GpuError> {
        let (gpu, rows) = (net.gpu, batch.rows);
        let visits = (words.list(&batch.visits.0), words.ends(&batch.visits.1));
        let inputs = (words.list(&batch.inputs.0), words.ends(&batch.inputs.1));
        self.embed(net, rows, visits, inputs)?;
        self.run(net, rows, keeps, |number, kept| {
            kept.peaks.fit(gpu, rows * net.shape.heads)?;
            let attention = attention(net, (batch, words), &kept.mixed, number);
            gpu.attend(kept.attended.all_mut(), kept.peaks.all_mut(), &attention)
        })
    }

    /// Room for what the blocks are given, so many rows.
    pub fn input(&mut self, net: &Net<'_>, rows: usize) -> Result<&mut Memory, GpuError> {
        self.inputs.resize_with(self.inputs.len().max(1), Memory::default);
        let input = &mut self.inputs[0];
        input.fit(net.gpu, rows * net.shape.width)?;
        Ok(input)
    }

    /// What the blocks are given: for each row its position, and the codes of its visit.
    fn embed(
        &mut self,
        net: &Net<'_>,
        rows: usize,
        positions: (Indices<'_>, ListEnds<'_>),
        codes: (Indices<'_>, ListEnds<'_>),
    ) -> Result<(), GpuError> {
        let (gpu, ranges, width) = (net.gpu, net.ranges, net.shape.width);
        let input = self.input(net, rows)?;
        input.clear(gpu)?;
        gpu.add_gathered(input.all_mut(), net.at(&ranges.positions), positions, width)?;
        gpu.add_gathered(input.all_mut(), net.at(&ranges.codes), codes, width)
    }

    /// Takes what was embedded through all blocks; `attend` does so for the block of a number.
    pub fn run(
        &mut self,
        net: &Net<'_>,
        rows: usize,
        keeps: bool,
        mut attend: impl FnMut(usize, &mut Kept) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let (ranges, layers) = (net.ranges, net.shape.layers);
        let (inputs_kept, blocks_kept) = if keeps { (layers + 1, layers) } else { (2, 1) };
        self.inputs.resize_with(self.inputs.len().max(inputs_kept), Memory::default);
        self.kept.resize_with(self.kept.len().max(blocks_kept), Kept::default);
        for (number, block) in ranges.blocks.iter().enumerate() {
            let kept = &mut self.kept[number % blocks_kept];
            let mut next = take(&mut self.inputs[(number + 1) % inputs_kept]);
            let input = &self.inputs[number % inputs_kept];
            net.norm(&mut kept.normed_1, &mut kept.normals_1, input, &block.norm_1, false)?;
            net.linear(&mut kept.mixed, &kept.normed_1, &block.qkv)?;
            kept.attended.fit(net.gpu, rows * net.shape.width)?;
            attend(number, kept)?;
            net.linear(&mut self.product, &kept.attended, &block.projection)?;
            net.add_linear(&mut kept.middle, input, &self.product, &block.projection[1])?;
            let (normed, normals) = (&mut kept.normed_2, &mut kept.normals_2);
            net.norm(normed, normals, &kept.middle, &block.norm_2, false)?;
            net.linear(&mut kept.wide, &kept.normed_2, &block.up)?;
            net.gelu_linear(&mut kept.active, &kept.wide, &block.up[1])?;
            net.linear(&mut self.product, &kept.active, &block.down)?;
            net.add_linear(&mut next, &kept.middle, &self.product, &block.down[1])?;
            self.inputs[(number + 1) % inputs_kept] = next;
        }
        let last = &self.inputs[layers % inputs_kept];
        net.norm(&mut self.hidden, &mut self.normals, last, &ranges.norm, false)
    }

    /// The gradients of all parameters of the blocks, given that of `hidden`.
    pub fn backward(
        &mut self,
        net: &Net<'_>,
        (batch, words): (&GpuBatch, &Words),
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        let (gpu, ranges, width) = (net.gpu, net.ranges, net.shape.width);
        let (rows, layers) = (batch.rows, net.shape.layers);
        let (dx, product) = (&mut self.dx, &mut self.product);
        dx.fit(gpu, rows * width)?;
        dx.clear(gpu)?;
        let kept = (&self.inputs[layers], &self.normals);
        net.norm_backward(dx, &mut self.hidden_gradient, kept, (&ranges.norm, false), into)?;
        for (number, block) in ranges.blocks.iter().enumerate().rev() {
            let (kept, wide) = (&self.kept[number], &mut self.wide_gradient);
            net.linear_backward(wide, dx, &kept.active, &block.down, into)?;
            gpu.gelu_linear_backward(wide.all_mut(), kept.wide.all(), net.at(&block.up[1]))?;
            net.linear_backward(product, wide, &kept.normed_2, &block.up, into)?;
            let kept_2 = (&kept.middle, &kept.normals_2);
            net.norm_backward(dx, product, kept_2, (&block.norm_2, false), into)?;
            net.linear_backward(product, dx, &kept.attended, &block.projection, into)?;
            let mixed = &mut self.mixed_gradient;
            mixed.fit(gpu, rows * 3 * width)?;
            self.deltas.fit(gpu, rows * net.shape.heads)?;
            gpu.attend_backward(
                mixed.all_mut(),
                self.deltas.all_mut(),
                (product.all(), kept.attended.all()),
                kept.peaks.all(),
                &attention(net, (batch, words), &kept.mixed, number),
            )?;
            net.linear_backward(product, mixed, &kept.normed_1, &block.qkv, into)?;
            let kept_1 = (&self.inputs[number], &kept.normals_1);
            net.norm_backward(dx, product, kept_1, (&block.norm_1, false), into)?;
        }
        let inputs = (words.list(&batch.inputs.0), words.ends(&batch.inputs.1));
        gpu.scatter_rows(into.sums, ranges.codes.clone(), dx.all(), inputs, width)?;
        let visits = (words.list(&batch.visits.0), words.ends(&batch.visits.1));
        gpu.scatter_rows(into.sums, ranges.positions.clone(), dx.all(), visits, width)
    }
}

/// What a block of some number attends to.
fn attention<'a>(
    net: &'a Net<'_>,
    (batch, words): (&GpuBatch, &'a Words),
    mixed: &'a Memory,
    number: usize,
) -> Attention<'a> {
    Attention {
        mixed: mixed.all(),
        bias: net.at(&net.ranges.blocks[number].qkv[1]),
        sequences: words.ends(&batch.records.0),
        owners: words.list(&batch.records.1),
        heads: net.shape.heads,
    }
}
