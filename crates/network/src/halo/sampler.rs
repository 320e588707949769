//! One visit at a time: attention over a cache, and a head that walks the codes once.
//!
//! What holds throughout:
//! - All is done on the thread that calls: threads take records of their own through visits.
//! - The walk decides codes in order. When it reaches a code, the pre-activations of the first
//!   layer hold the history and every code that came on before; a code that comes on adds its row
//!   to them at once.
//! - A unit of the second layer is read only by codes after its own, so the units of a code are
//!   final when the walk has passed it. Codes of earlier blocks reach a block by one product, codes
//!   inside it one by one: each weight of the triangle is used once a visit.
//! - Sums are made in one order whatever the batch is, so that a row has the same bits in any
//!   company.

use std::ops::Range;

use consequence_engine::{
    Normal, Packed, View, ViewMut, add, add_fused, attend_cached, gelu, layer_norm,
    product_packed_here,
};

use super::{Shape, Weights};
use crate::Ahead;
use crate::layers::{EPSILON, Layer, PackedLayer};

/// Codes that the walk of the head takes together: what came before is multiplied at once, what is
/// inside is added as it is decided.
const BLOCK: usize = 64;

struct Block {
    norm_1: [Vec<f32>; 2],
    qkv: PackedLayer,
    projection: PackedLayer,
    norm_2: [Vec<f32>; 2],
    up: PackedLayer,
    down: PackedLayer,
}

/// A part of the second layer, for a few codes.
struct Corner {
    codes: Range<usize>,
    /// The weights of units before the first of these codes.
    before: Packed,
    /// The weights of the units of these codes, unit by unit, for all of these codes.
    inside: Vec<f32>,
}

/// A network made ready to write records: weights laid out once, shared by all threads.
///
/// Each row has the same bits whatever other rows are in the batch.
pub struct Sampler {
    shape: Shape,
    codes: Vec<f32>,
    positions: Vec<f32>,
    blocks: Vec<Block>,
    norm: [Vec<f32>; 2],
    /// The first layer: the part of the history, the bias, and a row for each code.
    history: Packed,
    unit_bias: Vec<f32>,
    unit_codes: Vec<f32>,
    corners: Vec<Corner>,
    output_bias: Vec<f32>,
    /// The outputs beside the head, if there are any.
    side: Option<PackedLayer>,
}

/// What the network remembers of one record: keys and values of every block.
#[derive(Clone, Debug, Default)]
pub struct Past {
    blocks: Vec<Vec<f32>>,
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

    /// Forgets the record, keeping the memory.
    pub fn clear(&mut self) {
        self.blocks.iter_mut().for_each(Vec::clear);
        self.length = 0;
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
    units: Vec<f32>,
    sums: Vec<f32>,
    scores: Vec<f32>,
    ahead: AheadBuffers,
}

impl Sampler {
    /// Lays out the weights.
    pub fn new(weights: &Weights) -> Self {
        let (shape, ranges) = (*weights.shape(), &weights.ranges);
        let (width, units) = (shape.width, shape.units());
        let owned = |range: &Range<usize>| weights.at(range).to_vec();
        let linear = |layer: &Layer| PackedLayer::new(weights.values(), layer);
        let blocks = ranges
            .blocks
            .iter()
            .map(|block| Block {
                norm_1: block.norm_1.each_ref().map(owned),
                qkv: linear(&block.qkv),
                projection: linear(&block.projection),
                norm_2: block.norm_2.each_ref().map(owned),
                up: linear(&block.up),
                down: linear(&block.down),
            })
            .collect();
        let (history, codes) = weights.at(&ranges.first[0]).split_at(width * units);
        let second = View::new(weights.at(&ranges.second[0]), shape.codes, units);
        let corner = |first: usize| {
            let codes = first..shape.codes.min(first + BLOCK);
            let (from, to) = (shape.units_before(first), shape.units_before(codes.end));
            let before = Packed::new(second.part(codes.clone(), 0..from).transposed());
            let all = weights.at(&ranges.second[0]);
            let inside = (from..to)
                .flat_map(|unit| codes.clone().map(move |code| all[code * units + unit]))
                .collect();
            Corner { codes, before, inside }
        };
        Self {
            shape,
            codes: owned(&ranges.codes),
            positions: owned(&ranges.positions),
            blocks,
            norm: ranges.norm.each_ref().map(owned),
            history: Packed::new(View::new(history, width, units)),
            unit_bias: owned(&ranges.first[1]),
            unit_codes: codes.to_vec(),
            corners: (0..shape.codes).step_by(BLOCK).map(corner).collect(),
            output_bias: owned(&ranges.second[1]),
            side: (shape.side > 0).then(|| linear(&ranges.side)),
        }
    }

    /// The sizes of the network.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Shows the network the next visit of each record, and gives what it makes of each: a row of
    /// the network's width for every record.
    ///
    /// # Panics
    ///
    /// If a record has more visits than the network has positions.
    pub fn see(
        &self,
        records: &mut [(&mut Past, &[u32])],
        hidden: &mut Vec<f32>,
        buffers: &mut StepBuffers,
    ) {
        let (width, heads, rows) = (self.shape.width, self.shape.heads, records.len());
        let StepBuffers { rows: x, normed, normals, mixed, wide, active, scores, .. } = buffers;
        x.resize(rows * width, 0.0);
        normed.resize(rows * width, 0.0);
        normals.resize(rows, Normal::default());
        mixed.resize(rows * 3 * width, 0.0);
        wide.resize(rows * 4 * width, 0.0);
        active.resize(rows * 4 * width, 0.0);
        for (x, (past, visit)) in x.chunks_exact_mut(width).zip(records.iter_mut()) {
            assert!(
                past.length < self.shape.positions,
                "the network has a position for each visit"
            );
            past.blocks.resize_with(self.shape.layers, Vec::new);
            x.copy_from_slice(&self.positions[past.length * width..(past.length + 1) * width]);
            for &code in *visit {
                let code = code as usize;
                add(x, &self.codes[code * width..(code + 1) * width]);
            }
            past.length += 1;
        }
        for (number, block) in self.blocks.iter().enumerate() {
            layer_norm(normed, normals, x, &block.norm_1[0], &block.norm_1[1], EPSILON);
            block.qkv.apply_here(mixed, normed, rows);
            let attending = normed.chunks_exact_mut(width).zip(mixed.chunks_exact(3 * width));
            for ((to, mixed), (past, _)) in attending.zip(records.iter_mut()) {
                let cache = &mut past.blocks[number];
                cache.extend_from_slice(&mixed[width..]);
                attend_cached(to, scores, &mixed[..width], cache, past.length, heads);
            }
            // The queries are done with: their memory takes what attention is joined to.
            let joined = &mut mixed[..rows * width];
            block.projection.apply_here(joined, normed, rows);
            add(x, joined);
            layer_norm(normed, normals, x, &block.norm_2[0], &block.norm_2[1], EPSILON);
            block.up.apply_here(wide, normed, rows);
            gelu(active, wide);
            block.down.apply_here(normed, active, rows);
            add(x, normed);
        }
        hidden.resize(rows * width, 0.0);
        layer_norm(hidden, normals, x, &self.norm[0], &self.norm[1], EPSILON);
    }

    /// The outputs beside the head of every row of `hidden`; nothing if the network has none.
    pub fn side(&self, hidden: &[f32], outputs: &mut Vec<f32>) {
        let rows = hidden.len() / self.shape.width;
        outputs.resize(rows * self.shape.side, 0.0);
        if let Some(side) = &self.side {
            side.apply_here(outputs, hidden, rows);
        }
    }

    /// Decides, for every row of `hidden`, which of `codes` the next visit holds. Each row's
    /// `decide` is called with every code in order and with the logit the network gives it, knowing
    /// what was decided before; it may look ahead, which costs about as much as a visit.
    ///
    /// # Panics
    ///
    /// If there are not as many rows as there are who decide.
    pub fn decide<D: FnMut(u32, f32, &mut dyn Ahead) -> bool>(
        &self,
        hidden: &[f32],
        codes: Range<usize>,
        deciders: &mut [D],
        buffers: &mut StepBuffers,
    ) {
        let (shape, rows) = (&self.shape, deciders.len());
        let (width, each) = (shape.width, shape.head_units);
        assert_eq!(hidden.len(), rows * width, "every row has someone to decide");
        if codes.is_empty() {
            return;
        }
        let seen = shape.units_before(codes.end - 1);
        let StepBuffers { units, active, sums, ahead, .. } = buffers;
        units.resize(rows * shape.units(), 0.0);
        units.chunks_exact_mut(shape.units()).for_each(|row| row.copy_from_slice(&self.unit_bias));
        let from = View::new(hidden, rows, width);
        let to = ViewMut::new(units, rows, shape.units());
        product_packed_here(to, from, &self.history, 0, true);
        // Units of the history, and of codes that this visit cannot hold, are final.
        active.resize(rows * seen.max(1), 0.0);
        let settled = shape.units_before(codes.start);
        let seen_rows = active.chunks_exact_mut(seen.max(1)).zip(units.chunks_exact(shape.units()));
        for (active, units) in seen_rows {
            for (active, unit) in active[..settled].iter_mut().zip(units) {
                *active = unit.max(0.0);
            }
        }
        for corner in &self.corners {
            let block = corner.codes.start.max(codes.start)..corner.codes.end.min(codes.end);
            if block.is_empty() {
                continue;
            }
            let wide = corner.codes.len();
            sums.resize(rows * wide, 0.0);
            sums.chunks_exact_mut(wide).for_each(|row| {
                row.copy_from_slice(&self.output_bias[corner.codes.clone()]);
            });
            let before = shape.units_before(corner.codes.start);
            let known = View::new(&active[..rows * seen], rows, seen).part(0..rows, 0..before);
            product_packed_here(ViewMut::new(sums, rows, wide), known, &corner.before, 0, true);
            let walks = deciders
                .iter_mut()
                .zip(active.chunks_exact_mut(seen.max(1)))
                .zip(units.chunks_exact_mut(shape.units()))
                .zip(sums.chunks_exact_mut(wide));
            for (((decide, active), units), sums) in walks {
                let mut walk = Walk { sampler: self, code: 0, active, units, ahead };
                self.walk(corner, &block, each, decide, &mut walk, sums);
            }
        }
    }

    /// Walks the codes of one block for one row.
    fn walk(
        &self,
        corner: &Corner,
        block: &Range<usize>,
        each: usize,
        decide: &mut impl FnMut(u32, f32, &mut dyn Ahead) -> bool,
        walk: &mut Walk<'_>,
        sums: &mut [f32],
    ) {
        let shape = &self.shape;
        let first = corner.codes.start;
        let wide = corner.codes.len();
        // Codes of the block that this visit cannot hold still have units.
        for code in first..block.start {
            self.pass_on(corner, code, each, walk.active, walk.units, sums);
        }
        for code in block.clone() {
            walk.code = code;
            if decide(code as u32, sums[code - first], walk) {
                let from = shape.units_before(code);
                let row = &self.unit_codes[code * shape.units()..(code + 1) * shape.units()];
                add(&mut walk.units[from..], &row[from..]);
            }
            if code + 1 - first < wide {
                self.pass_on(corner, code, each, walk.active, walk.units, sums);
            } else {
                self.settle(code, each, walk.active, walk.units);
            }
        }
    }

    /// Once a code is decided its units are final: keeps them.
    fn settle(&self, code: usize, each: usize, active: &mut [f32], units: &[f32]) {
        let from = self.shape.units_before(code);
        // The units of the last code are read by no output, so none are stored.
        for (active, unit) in active.iter_mut().zip(units).skip(from).take(each) {
            *active = unit.max(0.0);
        }
    }

    /// Keeps the units of a code that is decided, and adds what they say of later codes of the
    /// block.
    fn pass_on(
        &self,
        corner: &Corner,
        code: usize,
        each: usize,
        active: &mut [f32],
        units: &[f32],
        sums: &mut [f32],
    ) {
        self.settle(code, each, active, units);
        let from = self.shape.units_before(code);
        let (at, wide) = (code - corner.codes.start, corner.codes.len());
        for unit in 0..each {
            let value = units[from + unit].max(0.0);
            if value > 0.0 {
                let row = &corner.inside[(at * each + unit) * wide..][..wide];
                add_fused(&mut sums[at + 1..], value, &row[at + 1..]);
            }
        }
    }
}

/// Memory for a look ahead.
#[derive(Debug, Default)]
struct AheadBuffers {
    units: Vec<f32>,
    active: Vec<f32>,
    sums: Vec<f32>,
    logits: Vec<f32>,
}

/// The walk over the codes of one visit.
struct Walk<'a> {
    sampler: &'a Sampler,
    /// The code at hand.
    code: usize,
    active: &'a mut [f32],
    units: &'a mut [f32],
    ahead: &'a mut AheadBuffers,
}

impl Ahead for Walk<'_> {
    fn logits(&mut self, present: bool, codes: &[u32]) -> &[f32] {
        let (sampler, shape) = (self.sampler, &self.sampler.shape);
        let AheadBuffers { units, active, sums, logits } = &mut *self.ahead;
        units.clear();
        units.extend_from_slice(self.units);
        if present {
            let (from, all) = (shape.units_before(self.code), shape.units());
            let row = &sampler.unit_codes[self.code * all..(self.code + 1) * all];
            add(&mut units[from..], &row[from..]);
        }
        // What is decided is as it was; of the rest, no code comes on.
        active.clear();
        active.extend(units.iter().map(|unit| unit.max(0.0)));
        logits.resize(codes.len(), 0.0);
        let mut there = None;
        for (&code, logit) in codes.iter().zip(logits.iter_mut()) {
            let code = code as usize;
            let number = code / BLOCK;
            let corner = &sampler.corners[number];
            let (first, wide) = (corner.codes.start, corner.codes.len());
            if there != Some(number) {
                sums.clear();
                sums.extend_from_slice(&sampler.output_bias[corner.codes.clone()]);
                let before = shape.units_before(first);
                let known = View::new(&active[..before], 1, before);
                product_packed_here(ViewMut::new(sums, 1, wide), known, &corner.before, 0, true);
                for code in first..corner.codes.end - 1 {
                    sampler.pass_on(corner, code, shape.head_units, active, units, sums);
                }
                there = Some(number);
            }
            *logit = sums[code - first];
        }
        logits
    }
}
