//! One visit at a time: the average goes on, and the head walks the codes once.
//!
//! What holds throughout:
//! - All is done on the thread that calls: threads take records of their own through visits.
//! - The walk decides codes in order and a block at a time. The logits of a block are those of the
//!   state at its beginning; when a code comes on, the state changes and the rest of the block is
//!   read anew. An absent code changes nothing.
//! - A logit has the bits that it has in training, whatever other records are in the batch.

use std::ops::Range;

use consequence_engine::{
    Normal, Packed, View, ViewMut, add, gated_step, gelu, layer_norm, product_packed_here,
};

use super::copies::{Held, TERMS, add_copies, hold};
use super::history::add_places;
use super::{Shape, Weights};
use crate::Ahead;
use crate::layers::{EPSILON, Layer, PackedLayer};

/// Codes that are read at once: a multiple of what a panel of a packed matrix has.
const BLOCK: usize = 64;

/// A network made ready to write records: weights laid out once, shared by all threads.
///
/// Each row has the same bits whatever other rows are in the batch.
pub struct Sampler {
    shape: Shape,
    codes: Vec<f32>,
    places: Vec<f32>,
    norm_1: [Vec<f32>; 2],
    mix: PackedLayer,
    join: PackedLayer,
    norm_2: [Vec<f32>; 2],
    up: PackedLayer,
    down: PackedLayer,
    norm_3: [Vec<f32>; 2],
    start: PackedLayer,
    present: Vec<f32>,
    norm: [Vec<f32>; 2],
    narrow: PackedLayer,
    widen: PackedLayer,
    read: Packed,
    bias: Vec<f32>,
    copy_own: Vec<f32>,
    copy_gate: PackedLayer,
    side: Option<PackedLayer>,
}

/// What the network remembers of one record: the average, and the codes that it has held.
#[derive(Clone, Debug, Default)]
pub struct Past {
    average: Vec<f32>,
    held: Vec<Held>,
    length: usize,
}

impl Past {
    /// Visits seen so far, the mark that begins the record among them.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing was seen yet.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Memory for a step, kept from one to the next.
#[derive(Debug, Default)]
pub struct StepBuffers {
    rows: Vec<f32>,
    normed: Vec<f32>,
    normals: Vec<Normal>,
    mixed: Vec<f32>,
    wide: Vec<f32>,
    active: Vec<f32>,
    sums: Vec<f32>,
    read: Vec<f32>,
    gates: Vec<f32>,
    logits: Vec<f32>,
    /// Of one row and block: what a logit has beside what it reads of the state.
    beside: Vec<f32>,
    ahead: AheadBuffers,
}

/// Makes room for so many numbers; what is there does not matter.
fn room(buffer: &mut Vec<f32>, count: usize) -> &mut [f32] {
    if buffer.len() < count {
        buffer.resize(count, 0.0);
    }
    &mut buffer[..count]
}

impl Sampler {
    /// Lays out the weights.
    pub fn new(weights: &Weights) -> Self {
        let (shape, ranges, values) = (*weights.shape(), &weights.ranges, weights.values());
        let owned = |range: &Range<usize>| weights.at(range).to_vec();
        let norm = |layer: &Layer| layer.each_ref().map(owned);
        let linear = |layer: &Layer| PackedLayer::new(values, layer);
        let read = View::new(weights.at(&ranges.read), shape.codes, shape.head);
        let gate = View::new(weights.at(&ranges.copy_gate), TERMS, shape.width);
        Self {
            shape,
            codes: owned(&ranges.codes),
            places: owned(&ranges.places),
            norm_1: norm(&ranges.norm_1),
            mix: linear(&ranges.mix),
            join: linear(&ranges.join),
            norm_2: norm(&ranges.norm_2),
            up: linear(&ranges.up),
            down: linear(&ranges.down),
            norm_3: norm(&ranges.norm_3),
            start: linear(&ranges.start),
            present: owned(&ranges.present),
            norm: norm(&ranges.norm),
            narrow: linear(&ranges.narrow),
            widen: linear(&ranges.widen),
            read: Packed::new(read.transposed()),
            bias: owned(&ranges.bias),
            copy_own: owned(&ranges.copy_own),
            copy_gate: PackedLayer {
                weight: Packed::new(gate.transposed()),
                bias: owned(&ranges.copy_shared),
            },
            side: (shape.side > 0).then(|| linear(&ranges.side)),
        }
    }

    /// The sizes of the network.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Shows the network the next visit of each record, and gives what it makes of each: a row of
    /// the network's width for every record.
    pub fn see(
        &self,
        records: &mut [(&mut Past, &[u32])],
        hidden: &mut Vec<f32>,
        buffers: &mut StepBuffers,
    ) {
        let (width, rows) = (self.shape.width, records.len());
        hidden.resize(rows * width, 0.0);
        let x = room(&mut buffers.rows, rows * width);
        let normed = room(&mut buffers.normed, rows * width);
        let mixed = room(&mut buffers.mixed, rows * 2 * width);
        let wide = room(&mut buffers.wide, rows * 4 * width);
        let active = room(&mut buffers.active, rows * 4 * width);
        buffers.normals.resize(rows, Normal::default());
        let normals = &mut buffers.normals;
        for (x, (past, visit)) in x.chunks_exact_mut(width).zip(records.iter_mut()) {
            x.fill(0.0);
            add_places(x, &self.places, past.length);
            for &code in *visit {
                add(x, &self.codes[code as usize * width..(code as usize + 1) * width]);
            }
            if past.length > 0 {
                hold(&mut past.held, past.length as u32 - 1, visit);
            }
            past.length += 1;
        }
        layer_norm(normed, normals, x, &self.norm_1[0], &self.norm_1[1], EPSILON);
        self.mix.apply_here(mixed, normed, rows);
        let averaged = normed.chunks_exact_mut(width).zip(mixed.chunks_exact(2 * width));
        for ((to, mixed), (past, _)) in averaged.zip(records.iter_mut()) {
            past.average.resize(width, 0.0);
            gated_step(&mut past.average, mixed);
            to.copy_from_slice(&past.average);
        }
        let joined = &mut mixed[..rows * width];
        self.join.apply_here(joined, normed, rows);
        add(x, joined);
        layer_norm(normed, normals, x, &self.norm_2[0], &self.norm_2[1], EPSILON);
        self.up.apply_here(wide, normed, rows);
        gelu(active, wide);
        self.down.apply_here(normed, active, rows);
        add(x, normed);
        layer_norm(hidden, normals, x, &self.norm_3[0], &self.norm_3[1], EPSILON);
    }

    /// The outputs beside the head of every row of `hidden`; nothing if the network has none.
    pub fn side(&self, hidden: &[f32], outputs: &mut Vec<f32>) {
        let rows = hidden.len() / self.shape.width;
        outputs.resize(rows * self.shape.side, 0.0);
        if let Some(side) = &self.side {
            side.apply_here(outputs, hidden, rows);
        }
    }

    /// Decides, for every row of `hidden`, which of `codes` the next visit of its record holds. Each
    /// row's `decide` is called with every code in order and with the logit the network gives it,
    /// knowing what was decided before; it may look ahead.
    ///
    /// # Panics
    ///
    /// If there are not as many rows and records as there are who decide.
    pub fn decide<D: FnMut(u32, f32, &mut dyn Ahead) -> bool>(
        &self,
        hidden: &[f32],
        pasts: &[&Past],
        codes: Range<usize>,
        deciders: &mut [D],
        buffers: &mut StepBuffers,
    ) {
        let (wide, rows) = (self.shape.head, deciders.len());
        assert_eq!(hidden.len(), rows * self.shape.width, "every row has someone to decide");
        assert_eq!(pasts.len(), rows, "every row is of a record");
        let sums = room(&mut buffers.sums, rows * wide);
        self.start.apply_here(sums, hidden, rows);
        let read = room(&mut buffers.read, rows * wide);
        let mut scratch = Refined {
            normed: &mut buffers.normed,
            normals: &mut buffers.normals,
            narrow: &mut buffers.wide,
            active: &mut buffers.active,
        };
        self.refine(read, sums, &mut scratch);
        let gates = room(&mut buffers.gates, rows * TERMS);
        self.copy_gate.apply_here(gates, hidden, rows);
        let logits = room(&mut buffers.logits, rows * BLOCK);
        let beside = room(&mut buffers.beside, BLOCK);
        for start in (codes.start / BLOCK * BLOCK..codes.end).step_by(BLOCK) {
            let block = start..codes.end.min(start + BLOCK);
            let count = block.len();
            let logits = &mut logits[..rows * count];
            let to = ViewMut::new(logits, rows, count);
            product_packed_here(to, View::new(read, rows, wide), &self.read, start, false);
            for (row, decide) in deciders.iter_mut().enumerate() {
                let logits = &mut logits[row * count..(row + 1) * count];
                let beside = &mut beside[..count];
                beside.copy_from_slice(&self.bias[block.clone()]);
                let past = pasts[row];
                let gates = &gates[TERMS * row..TERMS * (row + 1)];
                // The mark that begins a record was seen, too.
                let visit = past.length as u32 - 1;
                add_copies(beside, &block, visit, gates, &past.held, &self.copy_own);
                let own = row * wide..(row + 1) * wide;
                let mut walk = Walk {
                    sampler: self,
                    past,
                    gates,
                    code: 0,
                    sums: &mut sums[own.clone()],
                    read: &mut read[own],
                    scratch: &mut scratch,
                    ahead: &mut buffers.ahead,
                };
                for code in block.start.max(codes.start)..block.end {
                    let at = code - start;
                    walk.code = code;
                    if !decide(code as u32, beside[at] + logits[at], &mut walk) {
                        continue;
                    }
                    add(walk.sums, &self.present[code * wide..(code + 1) * wide]);
                    self.refine(walk.read, walk.sums, walk.scratch);
                    // The rest of the block is read anew, whole panels at a time.
                    let from = (at + 1) / self.read.panel_columns() * self.read.panel_columns();
                    if at + 1 < count {
                        let to = ViewMut::new(&mut logits[from..], 1, count - from);
                        let state = View::new(walk.read, 1, wide);
                        product_packed_here(to, state, &self.read, start + from, false);
                    }
                }
            }
        }
    }

    /// What codes read of some states.
    fn refine(&self, read: &mut [f32], sums: &[f32], scratch: &mut Refined<'_>) {
        let (wide, narrow) = (self.shape.head, self.shape.bottleneck);
        let rows = sums.len() / wide;
        let normed = room(scratch.normed, rows * wide);
        let active = room(scratch.active, rows * wide);
        let (pressed, turned) = room(scratch.narrow, 2 * rows * narrow).split_at_mut(rows * narrow);
        scratch.normals.resize(rows, Normal::default());
        layer_norm(normed, scratch.normals, sums, &self.norm[0], &self.norm[1], EPSILON);
        gelu(active, normed);
        self.narrow.apply_here(pressed, active, rows);
        gelu(turned, pressed);
        self.widen.apply_here(read, turned, rows);
        add(read, active);
    }
}

/// Memory for [`Sampler::refine`].
struct Refined<'a> {
    normed: &'a mut Vec<f32>,
    normals: &'a mut Vec<Normal>,
    narrow: &'a mut Vec<f32>,
    active: &'a mut Vec<f32>,
}

/// Memory for a look ahead.
#[derive(Debug, Default)]
struct AheadBuffers {
    /// A state with the code at hand in it.
    state: Vec<f32>,
    panel: Vec<f32>,
    logits: Vec<f32>,
}

/// The walk over the codes of one visit.
struct Walk<'a, 'b> {
    sampler: &'a Sampler,
    past: &'a Past,
    gates: &'a [f32],
    /// The code at hand.
    code: usize,
    sums: &'a mut [f32],
    read: &'a mut [f32],
    scratch: &'a mut Refined<'b>,
    ahead: &'a mut AheadBuffers,
}

impl Ahead for Walk<'_, '_> {
    fn logits(&mut self, present: bool, codes: &[u32]) -> &[f32] {
        let (sampler, wide) = (self.sampler, self.sums.len());
        let AheadBuffers { state, panel, logits } = &mut *self.ahead;
        let read: &[f32] = if present {
            let (sums, read) = room(state, 2 * wide).split_at_mut(wide);
            sums.copy_from_slice(self.sums);
            add(sums, &sampler.present[self.code * wide..(self.code + 1) * wide]);
            sampler.refine(read, sums, self.scratch);
            read
        } else {
            self.read
        };
        let columns = sampler.read.panel_columns();
        let panel = room(panel, columns);
        let logits = room(logits, codes.len());
        // Codes of a clause come in order, so those of a panel come together.
        let mut there = usize::MAX;
        for (&code, logit) in codes.iter().zip(logits.iter_mut()) {
            let code = code as usize;
            let start = code / columns * columns;
            if start != there {
                let count = columns.min(sampler.shape.codes - start);
                let to = ViewMut::new(&mut panel[..count], 1, count);
                product_packed_here(to, View::new(read, 1, wide), &sampler.read, start, false);
                there = start;
            }
            let mut beside = [sampler.bias[code]];
            let (own, visit) = (&sampler.copy_own, self.past.length as u32 - 1);
            add_copies(&mut beside, &(code..code + 1), visit, self.gates, &self.past.held, own);
            *logit = beside[0] + panel[code - start];
        }
        logits
    }
}
