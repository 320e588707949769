//! The head while training: the states of all visits at once, and the codes that read them.
//!
//! What holds throughout:
//! - A visit with `n` codes present has `n + 1` states, or `n` if the last code it may hold is one
//!   of them: state `k` speaks for the codes after the `k`-th present code, up to the next one and
//!   that one among them. Together they speak for every code once.
//! - Codes are read in blocks. A block is multiplied by the states that speak for some of its codes,
//!   and of each product only those codes are kept: `(codes + BLOCK n) x head` multiplications a
//!   visit, not `codes x n x head`.
//! - Visits are spread over threads where their own rows are written, blocks where the rows of codes
//!   are: no sum depends on how many threads there are.

use std::ops::Range;

use consequence_engine::{
    Lists, Normal, Packed, Steps, View, ViewMut, add, add_fused, column_sums, gelu, gelu_backward,
    product_here, product_packed_here, scatter_rows,
};
use rayon::prelude::*;

use super::Weights;
use super::copies::Copies;
use crate::layers::{fit, linear, linear_backward, norm, norm_backward};
use crate::{Batch, Glance};

/// Codes that are read at once.
const BLOCK: usize = 64;

/// Visits that one task reads.
const VISITS: usize = 16;

/// The states of some visits, one visit after the other.
#[derive(Debug, Default)]
struct States {
    /// Where those of each visit begin, and where the last end.
    starts: Vec<usize>,
    /// The codes that each speaks for, counted from the first that the visit may hold.
    speaks: Vec<Range<usize>>,
    /// The code that each came to be by: none for the first of a visit.
    came: Lists,
}

impl States {
    fn fill(&mut self, batch: &Batch, codes: &Range<usize>, rows: &[u32]) {
        self.starts.clear();
        self.speaks.clear();
        self.came.clear();
        for &row in rows {
            self.starts.push(self.speaks.len());
            let mut from = 0;
            let mut came = None;
            for &code in batch.target(row as usize) {
                let at = code as usize - codes.start;
                self.speaks.push(from..at + 1);
                self.came.push(came);
                (from, came) = (at + 1, Some(code));
            }
            if from < codes.len() {
                self.speaks.push(from..codes.len());
                self.came.push(came);
            }
        }
        self.starts.push(self.speaks.len());
    }

    fn len(&self) -> usize {
        self.speaks.len()
    }

    fn of(&self, visit: usize) -> Range<usize> {
        self.starts[visit]..self.starts[visit + 1]
    }

    /// The states of some visits that speak for codes of a block, ascending, each with its visit. `next`
    /// holds for each of these visits the first state that is not done with; blocks come in order.
    fn of_block(
        &self,
        visits: Range<usize>,
        block: &Range<usize>,
        next: &mut [usize],
        found: &mut Vec<(usize, usize)>,
    ) {
        found.clear();
        for (visit, next) in visits.zip(next) {
            let end = self.starts[visit + 1];
            while *next < end && self.speaks[*next].start < block.end {
                found.push((visit, *next));
                if self.speaks[*next].end > block.end {
                    break;
                }
                *next += 1;
            }
        }
    }
}

/// A part of one range that lies in another.
fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// Memory of one task.
#[derive(Default)]
struct Task {
    next: Vec<usize>,
    found: Vec<(usize, usize)>,
    states: Vec<f32>,
    codes: Vec<f32>,
}

impl Task {
    /// Begins with the first block of some visits.
    fn begin(&mut self, states: &States, visits: Range<usize>) {
        self.next.clear();
        self.next.extend(visits.map(|visit| states.starts[visit]));
    }

    /// The gradients of the logits that each state found speaks for, and zeros for the others.
    fn gather_gradients(
        &mut self,
        states: &States,
        block: &Range<usize>,
        logits: &[f32],
        count: usize,
    ) {
        self.codes.clear();
        self.codes.resize(self.found.len() * block.len(), 0.0);
        for (&(visit, state), to) in self.found.iter().zip(self.codes.chunks_exact_mut(block.len()))
        {
            let own = common(&states.speaks[state], block);
            to[own.start - block.start..own.end - block.start]
                .copy_from_slice(&logits[visit * count..][own]);
        }
    }

    /// What each state found says.
    fn gather_states(&mut self, read: &[f32], width: usize) {
        self.states.clear();
        for &(_, state) in &self.found {
            self.states.extend_from_slice(&read[state * width..(state + 1) * width]);
        }
    }
}

/// The head at work on the rows of a batch whose outputs are about the same codes.
#[derive(Debug, Default)]
pub(super) struct Head {
    states: States,
    hidden: Vec<f32>,
    base: Vec<f32>,
    sums: Vec<f32>,
    normals: Vec<Normal>,
    normed: Vec<f32>,
    active: Vec<f32>,
    narrow: Vec<f32>,
    narrow_active: Vec<f32>,
    /// What codes read of each state.
    read: Vec<f32>,
    /// Logits, and then their gradient.
    pub logits: Vec<f32>,
    /// Those of glances, one visit after the other.
    pub ahead: Vec<f32>,
    read_gradient: Vec<f32>,
    narrow_gradient: Vec<f32>,
    sums_gradient: Vec<f32>,
    /// The blocks of what codes read, laid out for products with states and with gradients.
    blocks: Vec<Packed>,
    turned_blocks: Vec<Packed>,
}

impl Head {
    /// Computes the logits of some rows.
    pub fn forward(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        copies: &Copies,
        (codes, rows): (&Range<usize>, &[u32]),
        hidden: &[f32],
    ) {
        let (ranges, values, shape) = (&weights.ranges, weights.values(), weights.shape());
        let (width, wide, count) = (shape.width, shape.head, codes.len());
        self.states.fill(batch, codes, rows);
        self.hidden.resize(rows.len() * width, 0.0);
        for (to, &row) in self.hidden.chunks_exact_mut(width).zip(rows) {
            to.copy_from_slice(&hidden[row as usize * width..(row as usize + 1) * width]);
        }
        fit(&mut self.base, rows.len() * wide);
        linear(values, &ranges.start, &mut self.base, &self.hidden);
        let states = self.states.len();
        for buffer in [&mut self.sums, &mut self.normed, &mut self.active, &mut self.read] {
            fit(buffer, states * wide);
        }
        fit(&mut self.normals, states);
        fit(&mut self.narrow, states * shape.bottleneck);
        fit(&mut self.narrow_active, states * shape.bottleneck);
        let present = weights.at(&ranges.present);
        let (known, base) = (&self.states, &self.base);
        by_visits(&mut self.sums, known, wide).for_each(|(visits, sums)| {
            let mut sums = sums.chunks_exact_mut(wide);
            for visit in visits {
                let mut before: &[f32] = &base[visit * wide..(visit + 1) * wide];
                for (state, sum) in known.of(visit).zip(&mut sums) {
                    sum.copy_from_slice(before);
                    for &code in known.came.of(state) {
                        let code = code as usize;
                        add(sum, &present[code * wide..(code + 1) * wide]);
                    }
                    before = sum;
                }
            }
        });
        norm(values, &ranges.norm, &mut self.normed, &mut self.normals, &self.sums);
        gelu(&mut self.active, &self.normed);
        linear(values, &ranges.narrow, &mut self.narrow, &self.active);
        gelu(&mut self.narrow_active, &self.narrow);
        linear(values, &ranges.widen, &mut self.read, &self.narrow_active);
        add_to_all(&mut self.read, &self.active);

        let table = View::new(weights.at(&ranges.read), shape.codes, wide);
        let starts: Vec<usize> = (0..count).step_by(BLOCK).collect();
        let block_at = |start: usize| start..count.min(start + BLOCK);
        self.blocks.resize_with(self.blocks.len().max(starts.len()), Packed::default);
        self.blocks.par_iter_mut().zip(&starts).for_each(|(packed, &start)| {
            let block = block_at(start);
            let part = table.part(codes.start + block.start..codes.start + block.end, 0..wide);
            packed.fill(part.transposed());
        });
        self.logits.resize(rows.len() * count, 0.0);
        let bias = &weights.at(&ranges.bias)[codes.clone()];
        let (known, read, blocks) = (&self.states, &self.read, &self.blocks);
        let tasks = self.logits.par_chunks_mut(VISITS * count).enumerate();
        tasks.for_each_init(Task::default, |task, (chunk, logits)| {
            let first = chunk * VISITS;
            let visits = first..first + logits.len() / count;
            for (visit, logits) in visits.clone().zip(logits.chunks_exact_mut(count)) {
                logits.copy_from_slice(bias);
                copies.add(weights, rows[visit] as usize, codes, logits);
            }
            task.begin(known, visits.clone());
            for (&start, packed) in starts.iter().zip(blocks) {
                let block = block_at(start);
                known.of_block(visits.clone(), &block, &mut task.next, &mut task.found);
                task.gather_states(read, wide);
                let found = task.found.len();
                task.codes.resize(found * block.len(), 0.0);
                let from = View::new(&task.states, found, wide);
                let to = ViewMut::new(&mut task.codes, found, block.len());
                product_packed_here(to, from, packed, 0, false);
                for (&(visit, state), from) in
                    task.found.iter().zip(task.codes.chunks_exact(block.len()))
                {
                    let own = common(&known.speaks[state], &block);
                    let from = &from[own.start - block.start..own.end - block.start];
                    add(&mut logits[(visit - first) * count..][own], from);
                }
            }
        });
        self.look_ahead(weights, batch, copies, (codes, rows));
    }

    /// Forgets all logits.
    pub fn clear(&mut self) {
        self.logits.clear();
        self.ahead.clear();
    }

    /// Computes the logits of glances: each reads a state that may speak for other codes.
    fn look_ahead(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        copies: &Copies,
        (codes, rows): (&Range<usize>, &[u32]),
    ) {
        let wide = weights.shape().head;
        let bias = weights.at(&weights.ranges.bias);
        let (known, read, blocks) = (&self.states, &self.read, &self.blocks);
        let said = rows.par_iter().enumerate().flat_map_iter(|(visit, &row)| {
            let mut panel = Vec::new();
            let mut there = None;
            let glances = batch.glances(row as usize).iter();
            let logits: Vec<f32> = glances
                .map(|&Glance { known: first, code }| {
                    let (state, code) = (known.starts[visit] + first as usize, code as usize);
                    let at = code - codes.start;
                    let packed = &blocks[at / BLOCK];
                    let columns = packed.panel_columns();
                    let start = at / columns * columns;
                    // Glances for a clause come in order, so those of a panel come together.
                    if there != Some((state, start)) {
                        let block = at / BLOCK * BLOCK;
                        let count = columns.min(codes.len().min(block + BLOCK) - start);
                        panel.resize(count, 0.0);
                        let from = View::new(&read[state * wide..(state + 1) * wide], 1, wide);
                        let to = ViewMut::new(&mut panel, 1, count);
                        product_packed_here(to, from, packed, start - block, false);
                        there = Some((state, start));
                    }
                    let mut beside = [bias[code]];
                    copies.add(weights, row as usize, &(code..code + 1), &mut beside);
                    beside[0] + panel[at - start]
                })
                .collect();
            logits
        });
        self.ahead.clear();
        self.ahead.par_extend(said);
    }

    /// Takes the gradients of glances to what codes read and to the states that were read, and then to
    /// the logits of the same visit: what a logit has beside its state is the same whoever glances.
    fn glances_backward(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        (codes, rows): (&Range<usize>, &[u32]),
        gradient: &mut [f32],
    ) {
        let (wide, count) = (weights.shape().head, codes.len());
        let table = weights.at(&weights.ranges.read);
        let into = &mut gradient[weights.ranges.read.clone()];
        let mut changes = self.ahead.iter();
        for (visit, &row) in rows.iter().enumerate() {
            for (&Glance { known, code }, &change) in
                batch.glances(row as usize).iter().zip(&mut changes)
            {
                let state = self.states.starts[visit] + known as usize;
                let (state, own) = (state * wide..(state + 1) * wide, code as usize * wide);
                let own = own..own + wide;
                add_fused(&mut self.read_gradient[state.clone()], change, &table[own.clone()]);
                add_fused(&mut into[own], change, &self.read[state]);
                self.logits[visit * count + code as usize - codes.start] += change;
            }
        }
    }

    /// Adds the gradients of the head's parameters and of the rows of `hidden`, given that of the
    /// logits.
    pub fn backward(
        &mut self,
        weights: &Weights,
        batch: &Batch,
        copies: &mut Copies,
        (codes, rows): (&Range<usize>, &[u32]),
        hidden_gradient: &mut [f32],
        gradient: &mut [f32],
    ) {
        let (ranges, values, shape) = (&weights.ranges, weights.values(), weights.shape());
        let (width, wide, count) = (shape.width, shape.head, codes.len());
        self.read_backward(weights, codes, gradient);
        self.glances_backward(weights, batch, (codes, rows), gradient);
        for (&row, logits) in rows.iter().zip(self.logits.chunks_exact(count)) {
            copies.take(weights, row as usize, codes, logits, gradient);
        }
        column_sums(&mut gradient[ranges.bias.clone()][codes.clone()], &self.logits);

        let states = self.states.len();
        fit(&mut self.narrow_gradient, states * shape.bottleneck);
        let (narrow, read) = (&mut self.narrow_gradient, &mut self.read_gradient);
        linear_backward(values, &ranges.widen, narrow, read, &self.narrow_active, gradient);
        gelu_backward(narrow, &self.narrow);
        let sums = &mut self.sums_gradient;
        fit(sums, states * wide);
        linear_backward(values, &ranges.narrow, sums, narrow, &self.active, gradient);
        add_to_all(read, sums);
        gelu_backward(read, &self.normed);
        sums.fill(0.0);
        let kept = (&self.sums[..], &self.normals[..]);
        norm_backward(values, &ranges.norm, sums, read, kept, gradient);
        // A code that came on is in all later states of its visit.
        let known = &self.states;
        by_visits(sums, known, wide).for_each(|(visits, sums)| {
            let first = known.starts[visits.start];
            for visit in visits {
                let own = known.of(visit);
                for state in own.clone().skip(1).rev() {
                    let (before, after) = sums.split_at_mut((state - first) * wide);
                    let at = before.len() - wide;
                    add(&mut before[at..], &after[..wide]);
                }
            }
        });
        let present = &mut gradient[ranges.present.clone()];
        scatter_rows(present, sums, wide, &known.came, Steps::whole(wide));
        for (visit, to) in self.base.chunks_exact_mut(wide).enumerate() {
            let state = known.starts[visit];
            to.copy_from_slice(&sums[state * wide..(state + 1) * wide]);
        }
        let from = self.hidden.clone();
        linear_backward(values, &ranges.start, &mut self.hidden, &self.base, &from, gradient);
        for (from, &row) in self.hidden.chunks_exact(width).zip(rows) {
            let row = row as usize;
            hidden_gradient[row * width..(row + 1) * width].copy_from_slice(from);
        }
    }

    /// The gradients of what codes read, and of what each state said.
    fn read_backward(&mut self, weights: &Weights, codes: &Range<usize>, gradient: &mut [f32]) {
        let (ranges, shape) = (&weights.ranges, weights.shape());
        let (wide, count) = (shape.head, codes.len());
        let starts: Vec<usize> = (0..count).step_by(BLOCK).collect();
        let block_at = |start: usize| start..count.min(start + BLOCK);
        let table = View::new(weights.at(&ranges.read), shape.codes, wide);
        self.turned_blocks.resize_with(self.turned_blocks.len().max(starts.len()), Packed::default);
        self.turned_blocks.par_iter_mut().zip(&starts).for_each(|(packed, &start)| {
            let block = block_at(start);
            packed.fill(table.part(codes.start + block.start..codes.start + block.end, 0..wide));
        });
        self.read_gradient.clear();
        self.read_gradient.resize(self.states.len() * wide, 0.0);
        let (known, logits, blocks) = (&self.states, &self.logits, &self.turned_blocks);
        let tasks = by_visits(&mut self.read_gradient, known, wide);
        tasks.for_each_init(Task::default, |task, (visits, to)| {
            let first = known.starts[visits.start];
            task.begin(known, visits.clone());
            for (&start, packed) in starts.iter().zip(blocks) {
                let block = block_at(start);
                known.of_block(visits.clone(), &block, &mut task.next, &mut task.found);
                task.gather_gradients(known, &block, logits, count);
                let found = task.found.len();
                task.states.resize(found * wide, 0.0);
                let from = View::new(&task.codes, found, block.len());
                let sums = ViewMut::new(&mut task.states, found, wide);
                product_packed_here(sums, from, packed, 0, false);
                for (&(_, state), from) in task.found.iter().zip(task.states.chunks_exact(wide)) {
                    add(&mut to[(state - first) * wide..][..wide], from);
                }
            }
        });
        let read = &self.read;
        let visits = self.states.starts.len() - 1;
        let into = &mut gradient[ranges.read.clone()][codes.start * wide..codes.end * wide];
        let tasks = into.par_chunks_mut(BLOCK * wide).zip(&starts);
        tasks.for_each_init(Task::default, |task, (into, &start)| {
            let block = block_at(start);
            let speaks = |visit: usize| {
                let own = &known.speaks[known.of(visit)];
                known.starts[visit] + own.partition_point(|state| state.end <= block.start)
            };
            task.next.clear();
            task.next.extend((0..visits).map(speaks));
            known.of_block(0..visits, &block, &mut task.next, &mut task.found);
            task.gather_gradients(known, &block, logits, count);
            task.gather_states(read, wide);
            let found = task.found.len();
            let from = View::new(&task.codes, found, block.len()).transposed();
            let states = View::new(&task.states, found, wide);
            product_here(ViewMut::new(into, block.len(), wide), from, states, true);
        });
    }
}

/// Cuts the rows of states into those of a few visits each.
fn by_visits<'a>(
    rows: &'a mut [f32],
    states: &States,
    width: usize,
) -> impl IndexedParallelIterator<Item = (Range<usize>, &'a mut [f32])> {
    let visits = states.starts.len() - 1;
    let mut parts = Vec::with_capacity(visits.div_ceil(VISITS));
    let mut rest = rows;
    for first in (0..visits).step_by(VISITS) {
        let own = first..visits.min(first + VISITS);
        let count = states.starts[own.end] - states.starts[own.start];
        let (part, others) = rest.split_at_mut(count * width);
        parts.push((own, part));
        rest = others;
    }
    parts.into_par_iter()
}

/// Adds one matrix to another, on all threads.
fn add_to_all(to: &mut [f32], from: &[f32]) {
    const CHUNK: usize = 1 << 14;
    to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK)).for_each(|(to, from)| add(to, from));
}
