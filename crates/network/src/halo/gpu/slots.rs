//! Sequences that are drawn by HALO on a GPU, one in each slot of a deck.
//!
//! Keys and values of every block stay on the GPU, for each slot. A slot's state is what the first layer of the
//! head comes to before its activation: a code that comes on adds its row. The second layer is multiplied block by block, each
//! block of codes by the units that it is told of.

use consequence_engine::cuda::{Deck, Factor, Gpu, GpuError, Memory, WalkRows, WalkSizes};

use super::head::{blocks, second, seen};
use super::pass::Net;
use super::trunk::Trunk;
use crate::gpu::{RowsAtOnce, Slots};
use crate::halo::weights::Ranges;
use crate::halo::{Shape, Weights};

/// The network at work on slots, some at a time.
#[derive(Debug)]
pub(crate) struct HaloSlots {
    shape: Shape,
    ranges: Ranges,
    trunk: Trunk,
    /// Keys and values of each block: a row of both for each visit of each slot.
    caches: Vec<Memory>,
    /// Rows that each slot has room for: it sees the mark that begins a sequence, and all visits but the last.
    room: usize,
    base: Memory,
    states: Memory,
    active: Memory,
    logits: Memory,
}

impl HaloSlots {
    /// The sizes of a deck that the network decides.
    pub fn sizes(weights: &Weights, sizes: WalkSizes) -> WalkSizes {
        let shape = weights.shape();
        let (width, head) = (shape.width, shape.units());
        WalkSizes { width, head, copies: false, ..sizes }
    }

    /// Ready for a deck of such sizes.
    pub fn new(gpu: &Gpu, weights: &Weights, sizes: &WalkSizes) -> Result<Self, GpuError> {
        let (shape, room) = (*weights.shape(), sizes.last_visit + 1);
        let caches = caches(gpu, &shape, sizes.slots * room)?;
        let (ranges, trunk) = (Ranges::new(&shape), Trunk::default());
        let [base, states, active, logits] = Default::default();
        Ok(Self { shape, ranges, trunk, caches, room, base, states, active, logits })
    }
}

/// Keys and values of so many visits, for each block.
fn caches(gpu: &Gpu, shape: &Shape, visits: usize) -> Result<Vec<Memory>, GpuError> {
    let cache = |_| {
        let mut cache = Memory::default();
        cache.fit(gpu, visits * 2 * shape.width)?;
        Ok(cache)
    };
    (0..shape.layers).map(cache).collect()
}

impl Slots for HaloSlots {
    /// Every row goes through all blocks: enough of them to keep a GPU busy, and no more.
    fn rows_at_once(&self) -> RowsAtOnce {
        RowsAtOnce { seeing: 1_024, deciding: 2_048 }
    }

    fn resize(&mut self, gpu: &Gpu, slots: usize) -> Result<(), GpuError> {
        self.caches.clear();
        self.caches = caches(gpu, &self.shape, slots * self.room)?;
        Ok(())
    }

    fn see(
        &mut self,
        (gpu, values): (&Gpu, &Memory),
        deck: &mut Deck,
        rows: &WalkRows,
    ) -> Result<(), GpuError> {
        let Self { shape, ranges, trunk, caches, room, base, .. } = self;
        let net = Net { gpu, values, ranges, shape: *shape };
        let (WalkSizes { head, width, .. }, count) = (*deck.sizes(), rows.room());
        let input = trunk.input(&net, count)?.all_mut();
        gpu.take_in(deck, rows, input, net.at(&ranges.codes), net.at(&ranges.positions))?;
        let taken_in = deck.taken_in(rows);
        trunk.run(&net, count, false, |number, kept| {
            let cache = (caches[number].all_mut(), *room);
            let mixed = (kept.mixed.all(), net.at(&ranges.blocks[number].qkv[1]));
            gpu.attend_step(kept.attended.all_mut(), cache, mixed, &taken_in, shape.heads)
        })?;
        let [first, bias] = &ranges.first;
        let hidden = Factor::new(trunk.hidden.all(), count, width);
        base.fit(gpu, count * head)?;
        gpu.product(base.all_mut(), hidden, Factor::new(net.at(first), width, head), false)?;
        let nothing = values.part(0..0);
        gpu.begin_visits(deck, rows, (base.all(), net.at(bias)), (nothing, nothing))
    }

    fn round(
        &mut self,
        (gpu, values): (&Gpu, &Memory),
        deck: &mut Deck,
        rows: &WalkRows,
    ) -> Result<(), GpuError> {
        let Self { shape, ranges, states, active, logits, .. } = self;
        let net = Net { gpu, values, ranges, shape: *shape };
        let (WalkSizes { codes, head, width, stride, .. }, count) = (*deck.sizes(), rows.room());
        let (seen, apart) = seen(&net, &(0..codes));
        states.fit(gpu, count * head)?;
        gpu.take_states(deck, rows, states.all_mut())?;
        active.fit(gpu, count * apart)?;
        gpu.fire_sums((active.all_mut(), apart), (states.all(), head), seen)?;
        logits.fit(gpu, count * stride)?;
        let len = logits.len();
        for (codes, inner) in blocks(&net, &(0..codes)) {
            let weight = second(&net, &codes, inner).transposed();
            let active = Factor::within(active.all(), count, inner, apart);
            gpu.product_within(logits.part_mut(codes.start..len), stride, active, weight, false)?;
        }
        let present = ranges.first[0].start + width * head;
        let present = values.part(present..present + codes * head);
        let bias = ranges.second[1].start;
        let bias = values.part(bias..bias + codes);
        gpu.walk(deck, rows, (logits.all_mut(), bias), present, values.part(0..0))
    }
}
