//! A network that draws sequences on a GPU.
//!
//! All slots of a deck go on together. A cycle shows the network the visits that were closed, then decides codes in a few
//! rounds, each by one product of all states with what codes read of them. The products have the same sizes
//! whatever is in the slots, so that a sequence does not depend on what is drawn beside it.

use std::ops::Range;
use std::time::Duration;

use consequence_engine::cuda::{
    Deck, Factor, Gpu, GpuError, Memory, WalkDraws, WalkEnd, WalkRoom, WalkRules, WalkSizes, Walked,
};

use super::pass::Net;
use crate::recurrent::copies::TERMS;
use crate::recurrent::history::add_places;
use crate::recurrent::weights::Ranges;
use crate::recurrent::{Shape, Weights};

/// Rounds of a cycle: a slot that has closed a visit waits for the next.
const ROUNDS: usize = 4;

/// Cycles between two looks at what is done.
const CYCLES: usize = 4;

/// How long is waited for numbers that will come.
const SHORT: Duration = Duration::from_micros(200);

/// Slots of a deck, where memory allows.
const SLOTS: usize = 8_192;

/// Slots at the least.
const FEWEST: usize = 256;

/// What sequences are drawn by, beside a network.
#[derive(Clone, Debug)]
pub struct WalkSettings {
    /// How many codes belong to the first visit alone; they come first.
    pub statics: usize,
    /// The code that ends a sequence.
    pub end: usize,
    /// The visit that is the last in any case.
    pub last_visit: usize,
    /// How the end moves.
    pub ends: WalkEnd,
    /// What draws are keyed by.
    pub draws: WalkDraws,
    /// What forces codes.
    pub rules: WalkRules,
}

/// How many slots a deck has, and what each has room for.
#[derive(Clone, Copy, Debug)]
pub struct DeckSize {
    /// The slots.
    pub slots: usize,
    /// The room of each.
    pub room: WalkRoom,
}

impl Default for DeckSize {
    fn default() -> Self {
        Self { slots: SLOTS, room: WalkRoom::default() }
    }
}

/// What is to be drawn next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// The sequence with this number.
    Number(u64),
    /// More will come, but not yet.
    Later,
    /// Nothing any more.
    Over,
}

/// A network that draws sequences on a GPU.
#[derive(Debug)]
pub struct GpuSampler {
    gpu: Gpu,
    shape: Shape,
    ranges: Ranges,
    values: Memory,
    /// What the input has of the number of visits seen before.
    seen: Memory,
    deck: Deck,
    buffers: Buffers,
}

/// Memory of a cycle, kept from one to the next.
#[derive(Debug, Default)]
struct Buffers {
    input: Memory,
    normals: Memory,
    normed: Memory,
    mixed: Memory,
    narrow: Memory,
    middle: Memory,
    wide: Memory,
    active: Memory,
    last: Memory,
    hidden: Memory,
    base: Memory,
    gates: Memory,
    refined: Memory,
    pressed: Memory,
    turned: Memory,
    widened: Memory,
    read: Memory,
    logits: Memory,
}

impl GpuSampler {
    /// A network that is ready to draw. With less memory than it wants it has fewer slots, down to some
    /// hundreds.
    ///
    /// # Panics
    ///
    /// If the rules are about other codes.
    pub fn new(
        gpu: Gpu,
        weights: &Weights,
        settings: &WalkSettings,
        size: DeckSize,
    ) -> Result<Self, GpuError> {
        gpu.bind()?;
        let (shape, ranges) = (*weights.shape(), Ranges::new(weights.shape()));
        let mut values = Memory::default();
        values.write(&gpu, weights.values())?;
        let seen = seen_before(&gpu, &shape, weights, settings.last_visit)?;
        let mut slots = size.slots;
        loop {
            let sizes = WalkSizes {
                slots,
                codes: shape.codes,
                statics: settings.statics,
                end: settings.end,
                last_visit: settings.last_visit,
                width: shape.width,
                head: shape.head,
                // Rows that begin at multiples of 64 are faster to multiply.
                stride: shape.codes.next_multiple_of(64),
                copies: true,
            };
            let ends = (&settings.ends, settings.draws);
            let made = Deck::new(&gpu, sizes, size.room, &settings.rules, ends)
                .and_then(|deck| Ok((deck, Buffers::new(&gpu, &shape, &sizes)?)));
            match made {
                Ok((deck, buffers)) => {
                    return Ok(Self { gpu, shape, ranges, values, seen, deck, buffers });
                }
                Err(GpuError::OutOfMemory) if slots > FEWEST => slots /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Sequences that are drawn at once.
    pub fn slots(&self) -> usize {
        self.deck.sizes().slots
    }

    /// Draws sequences, at most 2^31, and hands on those that are done, in any order. `supply` is asked for the next
    /// number; `take` ends it by giving false.
    pub fn draw(
        &mut self,
        mut supply: impl FnMut() -> Supply,
        mut take: impl FnMut(Vec<Walked>) -> bool,
    ) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.deck.begin(&self.gpu)?;
        let (mut loaded, mut taken, mut done, mut over) = (0, 0, 0, false);
        let mut numbers = Vec::new();
        loop {
            numbers.clear();
            let free = self.deck.free(taken);
            while !over && numbers.len() < free {
                match supply() {
                    Supply::Number(number) => numbers.push(number),
                    Supply::Later => break,
                    Supply::Over => over = true,
                }
            }
            self.deck.load(&self.gpu, taken, &numbers)?;
            loaded += numbers.len();
            if done == loaded {
                if over || free == 0 {
                    return Ok(());
                }
                std::thread::sleep(SHORT);
                continue;
            }
            for _ in 0..CYCLES {
                self.cycle()?;
            }
            self.gpu.hand_on(&mut self.deck)?;
            let walked;
            (taken, walked) = self.deck.drain(&self.gpu)?;
            done += walked.len();
            if !walked.is_empty() && !take(walked) {
                return Ok(());
            }
        }
    }

    /// Queues a cycle: visits that were closed are seen, and codes decided for some rounds.
    fn cycle(&mut self) -> Result<(), GpuError> {
        let Self { gpu, shape, ranges, values, seen, deck, buffers } = self;
        let net = Net { gpu, values, ranges, shape: *shape };
        gpu.hand_on(deck)?;
        buffers.see(&net, seen, deck)?;
        for _ in 0..ROUNDS {
            buffers.round(&net, deck)?;
        }
        Ok(())
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
    /// Memory of all sizes, zero.
    fn new(gpu: &Gpu, shape: &Shape, sizes: &WalkSizes) -> Result<Self, GpuError> {
        let mut buffers = Self::default();
        for (memory, count) in [
            (&mut buffers.input, shape.width),
            (&mut buffers.gates, TERMS),
            (&mut buffers.logits, sizes.stride),
        ] {
            memory.fit(gpu, sizes.slots * count)?;
            memory.clear(gpu)?;
        }
        Ok(buffers)
    }

    /// Shows the network the visits that were closed, and begins the next ones.
    fn see(&mut self, net: &Net<'_>, seen: &Memory, deck: &mut Deck) -> Result<(), GpuError> {
        let (gpu, ranges, slots) = (net.gpu, net.ranges, deck.sizes().slots);
        let at = |range: &Range<usize>| net.at(range);
        gpu.take_in(deck, self.input.all_mut(), at(&ranges.codes), seen.all())?;
        net.norm(&mut self.normed, &mut self.normals, &self.input, &ranges.norm_1, false)?;
        net.linear(&mut self.mixed, &self.normed, &ranges.mix)?;
        gpu.average_step(deck, (self.mixed.all(), at(&ranges.mix[1])))?;
        net.linear(&mut self.narrow, deck.averages(), &ranges.join)?;
        net.add_linear(&mut self.middle, &self.input, &self.narrow, &ranges.join[1])?;
        net.norm(&mut self.normed, &mut self.normals, &self.middle, &ranges.norm_2, false)?;
        net.linear(&mut self.wide, &self.normed, &ranges.up)?;
        net.gelu_linear(&mut self.active, &self.wide, &ranges.up[1])?;
        net.linear(&mut self.narrow, &self.active, &ranges.down)?;
        net.add_linear(&mut self.last, &self.middle, &self.narrow, &ranges.down[1])?;
        net.norm(&mut self.hidden, &mut self.normals, &self.last, &ranges.norm_3, false)?;
        net.linear(&mut self.base, &self.hidden, &ranges.start)?;
        let gate = Factor::new(at(&ranges.copy_gate), TERMS, net.shape.width).transposed();
        let hidden = Factor::new(self.hidden.all(), slots, net.shape.width);
        gpu.product(self.gates.all_mut(), hidden, gate, false)?;
        let base = (self.base.all(), at(&ranges.start[1]));
        gpu.begin_visits(deck, base, (self.gates.all(), at(&ranges.copy_shared)))
    }

    /// Decides codes by the states as they are.
    fn round(&mut self, net: &Net<'_>, deck: &mut Deck) -> Result<(), GpuError> {
        let (gpu, ranges, WalkSizes { slots, codes, head, stride, .. }) =
            (net.gpu, net.ranges, *deck.sizes());
        net.norm(&mut self.refined, &mut self.normals, deck.sums(), &ranges.norm, true)?;
        net.linear(&mut self.pressed, &self.refined, &ranges.narrow)?;
        net.gelu_linear(&mut self.turned, &self.pressed, &ranges.narrow[1])?;
        net.linear(&mut self.widened, &self.turned, &ranges.widen)?;
        net.add_linear(&mut self.read, &self.refined, &self.widened, &ranges.widen[1])?;
        let read = Factor::new(self.read.all(), slots, head);
        let table = Factor::new(net.at(&ranges.read), codes, head).transposed();
        gpu.product_within(self.logits.all_mut(), stride, read, table, false)?;
        let logits = (self.logits.all_mut(), net.at(&ranges.bias));
        gpu.walk(deck, logits, net.at(&ranges.present), net.at(&ranges.copy_own))
    }
}
