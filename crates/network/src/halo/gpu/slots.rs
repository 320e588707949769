//! Sequences that are drawn by HALO on a GPU, one in each slot of a deck.
//!
//! Keys and values of every block stay on the GPU, rows for each slot. A slot's state is what the first layer of the
//! head comes to before its activation: a code that comes on adds its row. The second layer is multiplied block by block, each
//! block of codes by the units that it is told of.

use consequence_engine::cuda::{Deck, Factor, Gpu, GpuError, Memory, WalkSizes};

use super::head::{blocks, second, seen};
use super::pass::Net;
use super::trunk::Trunk;
use crate::gpu::Slots;
use crate::halo::weights::Ranges;
use crate::halo::{Shape, Weights};

/// The network at work on all slots at once.
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
        let mut caches = Vec::new();
        for _ in 0..shape.layers {
            let mut cache = Memory::default();
            cache.fit(gpu, sizes.slots * room * 2 * shape.width)?;
            caches.push(cache);
        }
        let (ranges, trunk) = (Ranges::new(&shape), Trunk::default());
        let [base, active, logits] = [Memory::default(), Memory::default(), Memory::default()];
        Ok(Self { shape, ranges, trunk, caches, room, base, active, logits })
    }
}

impl Slots for HaloSlots {
    /// About as many as multiply as much as the blocks do; in more, most visits would wait.
    fn rounds(&self) -> usize {
        let Shape { width, layers, codes, .. } = self.shape;
        let (blocks, round) = (12 * layers * width * width, codes * self.shape.units());
        (blocks / round).clamp(4, 16)
    }

    fn see(&mut self, (gpu, values): (&Gpu, &Memory), deck: &mut Deck) -> Result<(), GpuError> {
        let Self { shape, ranges, trunk, caches, room, base, .. } = self;
        let net = Net { gpu, values, ranges, shape: *shape };
        let WalkSizes { slots, head, width, .. } = *deck.sizes();
        let input = trunk.input(&net, slots)?.all_mut();
        gpu.take_in(deck, input, net.at(&ranges.codes), net.at(&ranges.positions))?;
        trunk.run(&net, slots, false, |number, kept| {
            let cache = (caches[number].all_mut(), *room);
            let mixed = (kept.mixed.all(), net.at(&ranges.blocks[number].qkv[1]));
            gpu.attend_step(kept.attended.all_mut(), cache, mixed, deck.seen(), shape.heads)
        })?;
        let [first, bias] = &ranges.first;
        let hidden = Factor::new(trunk.hidden.all(), slots, width);
        base.fit(gpu, slots * head)?;
        gpu.product(base.all_mut(), hidden, Factor::new(net.at(first), width, head), false)?;
        let nothing = values.part(0..0);
        gpu.begin_visits(deck, (base.all(), net.at(bias)), (nothing, nothing))
    }

    fn round(&mut self, (gpu, values): (&Gpu, &Memory), deck: &mut Deck) -> Result<(), GpuError> {
        let Self { shape, ranges, active, logits, .. } = self;
        let net = Net { gpu, values, ranges, shape: *shape };
        let WalkSizes { slots, codes, head, width, stride, .. } = *deck.sizes();
        let (seen, apart) = seen(&net, &(0..codes));
        active.fit(gpu, slots * apart)?;
        gpu.fire_sums((active.all_mut(), apart), (deck.sums().all(), head), seen)?;
        logits.fit(gpu, slots * stride)?;
        let len = logits.len();
        for (codes, inner) in blocks(&net, &(0..codes)) {
            let weight = second(&net, &codes, inner).transposed();
            let active = Factor::within(active.all(), slots, inner, apart);
            gpu.product_within(logits.part_mut(codes.start..len), stride, active, weight, false)?;
        }
        let present = ranges.first[0].start + width * head;
        let present = values.part(present..present + codes * head);
        let bias = ranges.second[1].start;
        let bias = values.part(bias..bias + codes);
        gpu.walk(deck, (logits.all_mut(), bias), present, values.part(0..0))
    }
}
