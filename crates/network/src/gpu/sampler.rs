//! A network that draws sequences on a GPU.
//!
//! A cycle shows the network visits that were closed, then decides codes in a few rounds, each by a product of states with
//! what codes read of them. Slots that have nothing to do take no part. Products have the same number of
//! rows however many slots there are to work on, so that a sequence does not depend on what is drawn beside it.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use consequence_engine::cuda::{
    Deck, DeckCounts, Gpu, GpuError, Handed, Memory, WalkDraws, WalkEnd, WalkRoom, WalkRows,
    WalkRules, WalkSizes,
};

use super::takes;
use crate::Weights;
use crate::halo::gpu::HaloSlots;
use crate::recurrent::gpu::RecurrentSlots;

/// Rounds of a cycle. A slot that closes its visit waits for the next cycle.
const ROUNDS: usize = 4;

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
    /// Slots that are worked on at a time, where the network does not ask for fewer. Sequences that were drawn with another
    /// number may differ in the last bits of their probabilities.
    pub rows: usize,
}

impl DeckSize {
    /// For so many sequences: there is no use for more slots than that.
    pub fn of(sequences: u64) -> Self {
        let slots = usize::try_from(sequences).unwrap_or(SLOTS).clamp(1, SLOTS);
        Self { slots, ..Self::default() }
    }
}

impl Default for DeckSize {
    fn default() -> Self {
        Self { slots: SLOTS, room: WalkRoom::default(), rows: SLOTS }
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
    values: Memory,
    network: Box<dyn Slots>,
    at_once: RowsAtOnce,
    deck: Deck,
    settings: WalkSettings,
    rested: Duration,
}

/// How many rows products have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowsAtOnce {
    /// Where visits are seen.
    pub seeing: usize,
    /// Where codes are decided.
    pub deciding: usize,
}

/// What a network does for slots of a deck, given its parameters on the GPU.
pub(crate) trait Slots: Debug + Send {
    /// How many it works on at a time, where there are as many.
    fn rows_at_once(&self) -> RowsAtOnce;

    /// Shows it visits that were closed, and begins the next ones.
    fn see(
        &mut self,
        on: (&Gpu, &Memory),
        deck: &mut Deck,
        rows: &WalkRows,
    ) -> Result<(), GpuError>;

    /// Decides codes by the states as they are.
    fn round(
        &mut self,
        on: (&Gpu, &Memory),
        deck: &mut Deck,
        rows: &WalkRows,
    ) -> Result<(), GpuError>;

    /// Makes it ready for another number of slots; what it knew of them is lost.
    fn resize(&mut self, gpu: &Gpu, slots: usize) -> Result<(), GpuError>;
}

impl GpuSampler {
    /// A network that is ready to draw. With less memory than it wants it has fewer slots, down to some
    /// hundreds.
    ///
    /// # Panics
    ///
    /// If no GPU [takes](super::takes) networks of this shape, or the rules are about other codes.
    pub fn new(
        gpu: Gpu,
        weights: &Weights,
        settings: &WalkSettings,
        size: DeckSize,
    ) -> Result<Self, GpuError> {
        assert!(takes(&weights.shape()), "a GPU takes networks of this shape");
        gpu.bind()?;
        let mut values = Memory::default();
        values.write(&gpu, weights.values())?;
        // What was sent may be given up once this returns.
        gpu.wait()?;
        let mut slots = size.slots;
        loop {
            let size = DeckSize { slots, ..size };
            match ready((&gpu, &values), weights, settings, size) {
                Ok((deck, network, at_once)) => {
                    let (settings, rested) = (settings.clone(), Duration::ZERO);
                    return Ok(Self { gpu, values, network, at_once, deck, settings, rested });
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

    /// Has half as many slots from now on, or less, for want of memory; what was under way is lost. A sequence is the same whatever
    /// the number of slots. False if there is but one.
    pub fn shrink(&mut self) -> Result<bool, GpuError> {
        self.gpu.bind()?;
        let mut slots = self.slots();
        // Work that was queued may be at memory that is given back.
        self.gpu.wait()?;
        while slots > 1 {
            slots /= 2;
            // What there is goes first.
            match self.resize(1).and_then(|()| self.resize(slots)) {
                Ok(()) => return Ok(true),
                Err(GpuError::OutOfMemory) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn resize(&mut self, slots: usize) -> Result<(), GpuError> {
        let sizes = WalkSizes { slots, ..*self.deck.sizes() };
        let WalkSettings { ends, draws, rules, .. } = &self.settings;
        self.network.resize(&self.gpu, slots)?;
        self.deck = Deck::new(&self.gpu, sizes, *self.deck.room(), rules, (ends, *draws))?;
        Ok(())
    }

    /// Gives the GPU back.
    pub fn into_gpu(self) -> Gpu {
        self.gpu
    }

    /// For how long there was nothing to draw, when it [drew](Self::draw) last: more numbers were to come.
    pub fn rested(&self) -> Duration {
        self.rested
    }

    /// Draws sequences, at most 2^31, and hands on those that are done, in any order. `supply` is asked for the next
    /// number; `take` ends it by giving false.
    pub fn draw(
        &mut self,
        mut supply: impl FnMut() -> Supply,
        mut take: impl FnMut(Handed) -> bool,
    ) -> Result<(), GpuError> {
        self.rested = Duration::ZERO;
        self.gpu.bind()?;
        self.deck.begin(&self.gpu)?;
        let (mut loaded, mut done, mut over) = (0, 0, false);
        let mut numbers = Vec::new();
        loop {
            // The GPU goes on meanwhile.
            numbers.clear();
            let free = self.deck.free();
            while !over && numbers.len() < free {
                match supply() {
                    Supply::Number(number) => numbers.push(number),
                    Supply::Later => break,
                    Supply::Over => over = true,
                }
            }
            self.deck.load(&self.gpu, &numbers)?;
            loaded += numbers.len();
            self.gpu.hand_on(&mut self.deck)?;
            self.gpu.list_slots(&mut self.deck)?;
            let counts = self.deck.count(&self.gpu)?;
            let rests = counts.closed + counts.going == 0;
            let handed = match rests || counts.is_full || counts.handed > self.slots() / 4 {
                true => self.deck.drain(&self.gpu)?,
                false => Handed::default(),
            };
            self.cycle(counts)?;
            done += handed.len();
            if !handed.is_empty() && !take(handed) {
                return Ok(());
            }
            if rests && done == loaded {
                if over || free == 0 {
                    return Ok(());
                }
                let began = Instant::now();
                std::thread::sleep(SHORT);
                self.rested += began.elapsed();
            }
        }
    }

    /// Queues a cycle: visits that were closed are seen, and codes decided for some rounds.
    fn cycle(&mut self, counts: DeckCounts) -> Result<(), GpuError> {
        let Self { gpu, values, network, at_once, deck, .. } = self;
        let on = (&*gpu, &*values);
        // What would be a part of a product waits for others, while there is enough else to do.
        let rest = match counts.going > at_once.seeing {
            true => counts.closed % at_once.seeing,
            false => 0,
        };
        let closed = counts.closed - rest;
        for rows in deck.closed(closed, at_once.seeing) {
            network.see(on, deck, &rows)?;
        }
        for rows in deck.going(closed, at_once.deciding) {
            for _ in 0..ROUNDS {
                network.round(on, deck, &rows)?;
            }
        }
        Ok(())
    }
}

/// A deck, and a network that has all the memory that it ever asks for.
fn ready(
    on: (&Gpu, &Memory),
    weights: &Weights,
    settings: &WalkSettings,
    DeckSize { slots, room, rows }: DeckSize,
) -> Result<(Deck, Box<dyn Slots>, RowsAtOnce), GpuError> {
    let (gpu, codes) = (on.0, weights.shape().codes());
    let sizes = WalkSizes {
        slots,
        codes,
        statics: settings.statics,
        end: settings.end,
        last_visit: settings.last_visit,
        // Rows that begin at multiples of 64 are faster to multiply.
        stride: codes.next_multiple_of(64),
        // These are the network's.
        width: 0,
        head: 0,
        copies: false,
    };
    let sizes = match weights {
        Weights::Recurrent(weights) => RecurrentSlots::sizes(weights, sizes),
        Weights::Halo(weights) => HaloSlots::sizes(weights, sizes),
    };
    let ends = (&settings.ends, settings.draws);
    let mut deck = Deck::new(gpu, sizes, room, &settings.rules, ends)?;
    let mut network: Box<dyn Slots> = match weights {
        Weights::Recurrent(weights) => Box::new(RecurrentSlots::new(gpu, weights, &sizes)?),
        Weights::Halo(weights) => Box::new(HaloSlots::new(gpu, weights, &sizes)?),
    };
    // Memory is taken when it is needed first: better now, while there may be fewer slots, than between sequences.
    let RowsAtOnce { seeing, deciding } = network.rows_at_once();
    let [seeing, deciding] = [seeing, deciding].map(|asked| asked.min(rows));
    let nobody = [seeing, deciding].map(|room| deck.no_rows(room));
    network.see(on, &mut deck, &nobody[0])?;
    network.round(on, &mut deck, &nobody[1])?;
    Ok((deck, network, RowsAtOnce { seeing, deciding }))
}
