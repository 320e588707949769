//! Sequences that are drawn by the recurrent network on a GPU, one in each slot of a deck.

use std::ops::Range;

use consequence_engine::cuda::{Deck, Factor, Gpu, GpuError, Memory, WalkRows, WalkSizes};

use super::pass::Net;
use crate::gpu::{RowsAtOnce, Slots};
use crate::recurrent::copies::TERMS;
use crate::recurrent::history::add_places;
use crate::recurrent::weights::Ranges;
use crate::recurrent::{Shape, Weights};

/// The network at work on slots, some at a time.
#[derive(Debug)]
pub(crate) struct RecurrentSlots {
    shape: Shape,
    ranges: Ranges,
    /// What the input has of the number of visits seen before.
    seen: Memory,
    buffers: Buffers,
}

/// Memory of rows, kept from one use to the next.
#[derive(Debug, Default)]
struct Buffers {
    input: Memory,
    normals: Memory,
    normed: Memory,
    mixed: Memory,
    averages: Memory,
    narrow: Memory,
    middle: Memory,
    wide: Memory,
    active: Memory,
    last: Memory,
    hidden: Memory,
    base: Memory,
    gates: Memory,
    states: Memory,
    refined: Memory,
    pressed: Memory,
    turned: Memory,
    widened: Memory,
    read: Memory,
    logits: Memory,
}

impl RecurrentSlots {
    /// The sizes of a deck that the network decides.
    pub fn sizes(weights: &Weights, sizes: WalkSizes) -> WalkSizes {
        let Shape { width, head, .. } = *weights.shape();
        WalkSizes { width, head, copies: true, ..sizes }
    }

    /// Ready for a deck of such sizes.
    pub fn new(gpu: &Gpu, weights: &Weights, sizes: &WalkSizes) -> Result<Self, GpuError> {
        let (shape, ranges) = (*weights.shape(), Ranges::new(weights.shape()));
        let seen = seen_before(gpu, &shape, weights, sizes.last_visit)?;
        Ok(Self { shape, ranges, seen, buffers: Buffers::default() })
    }
}

impl Slots for RecurrentSlots {
    /// A row costs about as much either way, and all slots have codes to decide while a few see a visit.
    fn rows_at_once(&self) -> RowsAtOnce {
        RowsAtOnce { seeing: 1_024, deciding: 4_096 }
    }

    /// Nothing is kept of slots but what is in the deck.
    fn resize(&mut self, _: &Gpu, _: usize) -> Result<(), GpuError> {
        Ok(())
    }

    fn see(
        &mut self,
        (gpu, values): (&Gpu, &Memory),
        deck: &mut Deck,
        rows: &WalkRows,
    ) -> Result<(), GpuError> {
        let net = Net { gpu, values, ranges: &self.ranges, shape: self.shape };
        self.buffers.see(&net, &self.seen, deck, rows)
    }

    fn round(
        &mut self,
        (gpu, values): (&Gpu, &Memory),
        deck: &mut Deck,
        rows: &WalkRows,
    ) -> Result<(), GpuError> {
        let net = Net { gpu, values, ranges: &self.ranges, shape: self.shape };
        self.buffers.round(&net, deck, rows)
    }
}

/// What the input of the history has of the number of visits seen before, a row for each number.
fn seen_before(
    gpu: &Gpu,
    shape: &Shape,
    weights: &Weights,
    last_visit: usize,
) -> Result<Memory, GpuError> {
    let table = &weights.values()[weights.ranges.places.clone()];
    let mut rows = vec![0.0; (last_visit + 1) * shape.width];
    for (visit, row) in rows.chunks_exact_mut(shape.width).enumerate() {
        add_places(row, table, visit);
    }
    let mut seen = Memory::default();
    seen.write(gpu, &rows)?;
    gpu.wait()?;
    Ok(seen)
}

impl Buffers {
    /// Shows the network visits that were closed, and begins the next ones.
    fn see(
        &mut self,
        net: &Net<'_>,
        seen: &Memory,
        deck: &mut Deck,
        rows: &WalkRows,
    ) -> Result<(), GpuError> {
        let (gpu, ranges, width, count) = (net.gpu, net.ranges, net.shape.width, rows.room());
        let at = |range: &Range<usize>| net.at(range);
        self.input.fit(gpu, count * width)?;
        gpu.take_in(deck, rows, self.input.all_mut(), at(&ranges.codes), seen.all())?;
        net.norm(&mut self.normed, &mut self.normals, &self.input, &ranges.norm_1, false)?;
        net.linear(&mut self.mixed, &self.normed, &ranges.mix)?;
        self.averages.fit(gpu, count * width)?;
        let mixed = (self.mixed.all(), at(&ranges.mix[1]));
        gpu.average_step(deck, rows, self.averages.all_mut(), mixed)?;
        net.linear(&mut self.narrow, &self.averages, &ranges.join)?;
        net.add_linear(&mut self.middle, &self.input, &self.narrow, &ranges.join[1])?;
        net.norm(&mut self.normed, &mut self.normals, &self.middle, &ranges.norm_2, false)?;
        net.linear(&mut self.wide, &self.normed, &ranges.up)?;
        net.gelu_linear(&mut self.active, &self.wide, &ranges.up[1])?;
        net.linear(&mut self.narrow, &self.active, &ranges.down)?;
        net.add_linear(&mut self.last, &self.middle, &self.narrow, &ranges.down[1])?;
        net.norm(&mut self.hidden, &mut self.normals, &self.last, &ranges.norm_3, false)?;
        net.linear(&mut self.base, &self.hidden, &ranges.start)?;
        self.gates.fit(gpu, count * TERMS)?;
        let gate = Factor::new(at(&ranges.copy_gate), TERMS, width).transposed();
        let hidden = Factor::new(self.hidden.all(), count, width);
        gpu.product(self.gates.all_mut(), hidden, gate, false)?;
        let base = (self.base.all(), at(&ranges.start[1]));
        gpu.begin_visits(deck, rows, base, (self.gates.all(), at(&ranges.copy_shared)))
    }

    /// Decides codes by the states as they are.
    fn round(&mut self, net: &Net<'_>, deck: &mut Deck, rows: &WalkRows) -> Result<(), GpuError> {
        let (gpu, ranges, WalkSizes { codes, head, stride, .. }, count) =
            (net.gpu, net.ranges, *deck.sizes(), rows.room());
        self.states.fit(gpu, count * head)?;
        gpu.take_states(deck, rows, self.states.all_mut())?;
        net.norm(&mut self.refined, &mut self.normals, &self.states, &ranges.norm, true)?;
        net.linear(&mut self.pressed, &self.refined, &ranges.narrow)?;
        net.gelu_linear(&mut self.turned, &self.pressed, &ranges.narrow[1])?;
        net.linear(&mut self.widened, &self.turned, &ranges.widen)?;
        net.add_linear(&mut self.read, &self.refined, &self.widened, &ranges.widen[1])?;
        self.logits.fit(gpu, count * stride)?;
        let read = Factor::new(self.read.all(), count, head);
        let table = Factor::new(net.at(&ranges.read), codes, head).transposed();
        gpu.product_within(self.logits.all_mut(), stride, read, table, false)?;
        let logits = (self.logits.all_mut(), net.at(&ranges.bias));
        gpu.walk(deck, rows, logits, net.at(&ranges.present), net.at(&ranges.copy_own))
    }
}
