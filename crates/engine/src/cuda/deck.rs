//! What a GPU knows of sequences that are drawn, one in each slot of a deck.
//!
//! Of every slot it is known what it has been through, and which codes of its visit are decided. Slots with work to do are
//! listed ([`Gpu::list_slots`]), so that no other has rows among those that are multiplied. What is done with
//! rows is in `walk.rs`.

use super::gpu::{Gpu, GpuError, int};
use super::memory::{Memory, Part};
use super::walk_rules::{Conjunctions, WalkRules};

/// What counts of a code that a sequence has held.
pub(super) const TERMS: usize = 4;

/// Words of a header: where its words are, its visits, codes that were overruled, marks, and its number.
const HEADER: usize = 6;

/// Numbers of eight bytes that a slot has.
const SLOT: usize = 12;

/// Words for each code that a slot has held.
const HELD: usize = 3;

/// Words for each clause that codes of a slot may meet.
const DUE: usize = 4;

/// The sizes of what is drawn.
#[derive(Clone, Copy, Debug)]
pub struct WalkSizes {
    /// Sequences that are drawn at once.
    pub slots: usize,
    /// Codes, in the order that they are decided.
    pub codes: usize,
    /// How many of them belong to the first visit, and to no other: they come first.
    pub statics: usize,
    /// The code that ends a sequence.
    pub end: usize,
    /// The visit that is the last in any case.
    pub last_visit: usize,
    /// Numbers that the history of a sequence is kept in.
    pub width: usize,
    /// Numbers that a state has.
    pub head: usize,
    /// How far apart the logits of two slots are.
    pub stride: usize,
    /// Whether codes held before have a say of their own in the logits.
    pub copies: bool,
}

/// The most that a slot has room for; a sequence that needs more is handed back undrawn.
#[derive(Clone, Copy, Debug)]
pub struct WalkRoom {
    /// Codes of a sequence.
    pub codes: usize,
    /// Its visits.
    pub visits: usize,
    /// Codes that differ.
    pub held: usize,
    /// Demands to be looked at in a visit.
    pub pending: usize,
    /// Clauses that codes of a visit may meet.
    pub due: usize,
}

impl Default for WalkRoom {
    fn default() -> Self {
        Self { codes: 4_096, visits: 512, held: 1_024, pending: 512, due: 64 }
    }
}

/// How the end of a sequence moves with the days that have passed.
#[derive(Clone, Debug, Default)]
pub struct WalkEnd {
    /// The days that each code stands for; below zero for none.
    pub days: Vec<f64>,
    /// The fewest days of each cell, what is added to the logit there, and what for each unit of the pace.
    pub cells: Vec<[f64; 3]>,
}

/// What draws are keyed by.
#[derive(Clone, Copy, Debug)]
pub struct WalkDraws {
    /// The key.
    pub key: [u32; 2],
    /// What logits are divided by.
    pub temperature: f64,
}

/// How it stands with a deck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeckCounts {
    /// Numbers that were taken up, of those that were loaded.
    pub taken: usize,
    /// Sequences that were handed back and wait to be [drained](Deck::drain).
    pub handed: usize,
    /// Whether there is no room to hand more back before.
    pub is_full: bool,
    /// Slots that have closed a visit, or begin a sequence.
    pub closed: usize,
    /// Slots whose visit goes on.
    pub going: usize,
}

/// Some of the slots that are listed: rows that are worked on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkRows {
    first: usize,
    pub(super) count: usize,
    pub(super) room: usize,
}

impl WalkRows {
    /// How many rows there are, some of which may be no slot's.
    pub fn room(&self) -> usize {
        self.room
    }
}

/// Rows of visits that were taken in.
#[derive(Clone, Copy, Debug)]
pub struct TakenIn<'a> {
    pub(super) slots: Part<'a, u32>,
    pub(super) seen: Part<'a, u32>,
    pub(super) of: usize,
    pub(super) room: usize,
}

impl<'a> TakenIn<'a> {
    /// The slot of each row, of so many slots, and how many visits that had seen before; there are so many rows, the last of
    /// which may be no slot's.
    ///
    /// # Panics
    ///
    /// If there are fewer rows.
    pub fn new((slots, of): (Part<'a, u32>, usize), seen: Part<'a, u32>, room: usize) -> Self {
        assert!(slots.len == seen.len && slots.len <= room);
        Self { slots, seen, of, room }
    }
}

/// Sequences that were handed back, as they lay on the GPU.
#[derive(Clone, Debug, Default)]
pub struct Handed {
    headers: Vec<u32>,
    words: Vec<u32>,
}

impl Handed {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.headers.len() / HEADER
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// The number of one of them.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn number(&self, index: usize) -> u64 {
        let [.., low, high] = self.headers.as_chunks::<HEADER>().0[index];
        u64::from(high) << 32 | u64::from(low)
    }

    /// One of them.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn walked(&self, index: usize) -> Walked {
        let [from, visits, overruled, marks, ..] = self.headers.as_chunks::<HEADER>().0[index];
        let (ends, codes) = self.words[from as usize..].split_at(visits as usize);
        let mut start = 0;
        let visits = ends.iter().map(|&end| {
            let visit = codes[start as usize..end as usize].to_vec();
            start = end;
            visit
        });
        Walked {
            number: self.number(index),
            visits: (marks & (mark::NO_ROOM | mark::NO_PROBABILITY) == 0).then(|| visits.collect()),
            overruled,
            truncated: marks & mark::TRUNCATED != 0,
            no_probability: marks & mark::NO_PROBABILITY != 0,
        }
    }
}

/// A sequence that was handed back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Its number.
    pub number: u64,
    /// Its visits; none if there was no room for it.
    pub visits: Option<Vec<Vec<u32>>>,
    /// Codes that were decided otherwise than they were drawn.
    pub overruled: u32,
    /// Whether it would have gone on after the last visit.
    pub truncated: bool,
    /// Whether a probability was none.
    pub no_probability: bool,
}

/// Sequences under way, one in each slot.
#[derive(Debug)]
pub struct Deck {
    pub(super) sizes: WalkSizes,
    room: WalkRoom,
    out_room: usize,
    /// What kernels find all else by.
    pub(super) layout: Memory<u64>,
    /// The numbers to be drawn stand in a ring.
    numbers: Memory<u64>,
    counters: Memory<u32>,
    headers: Memory<u32>,
    out: Memory<u32>,
    listed: Memory<u32>,
    seen: Memory<u32>,
    /// Numbers that were loaded so far.
    loaded: usize,
    /// What was counted last.
    counts: DeckCounts,
    /// The slot that the next list begins with.
    pub(super) from: usize,
    /// What is only reached by the layout.
    _words: Vec<Memory<u32>>,
    _floats: Vec<Memory>,
    _doubles: Vec<Memory<f64>>,
    slots: Memory<u64>,
}

/// What is counted of a deck, as in the source of the kernels.
mod counter {
    pub const TAKEN: usize = 0;
    pub const LOADED: usize = 1;
    pub const HEADERS: usize = 2;
    pub const WORDS: usize = 3;
    pub const CLOSED: usize = 4;
    pub const GOING: usize = 5;
    pub const COUNT: usize = 6;
}

/// Marks of a sequence, as in the source of the kernels.
mod mark {
    pub const TRUNCATED: u32 = 2;
    pub const NO_ROOM: u32 = 4;
    pub const NO_PROBABILITY: u32 = 8;
}

/// The layout of a deck while it is made.
struct Layout<'a> {
    gpu: &'a Gpu,
    fields: Vec<u64>,
    words: Vec<Memory<u32>>,
    doubles: Vec<Memory<f64>>,
}

impl Layout<'_> {
    fn sizes(&mut self, sizes: &[usize]) {
        self.fields.extend(sizes.iter().map(|&size| size as u64));
    }

    fn room(&mut self, count: usize) -> Result<(), GpuError> {
        let mut memory = Memory::default();
        // A pointer to nothing would be one to no memory.
        memory.fit(self.gpu, count.max(1))?;
        memory.clear(self.gpu)?;
        self.fields.push(memory.all().pointer);
        self.words.push(memory);
        Ok(())
    }

    fn words(&mut self, words: &[u32]) -> Result<(), GpuError> {
        let mut memory = Memory::default();
        memory.write(self.gpu, if words.is_empty() { &[0] } else { words })?;
        self.fields.push(memory.all().pointer);
        self.words.push(memory);
        Ok(())
    }

    fn doubles(&mut self, numbers: &[f64]) -> Result<(), GpuError> {
        let mut memory = Memory::default();
        memory.write(self.gpu, if numbers.is_empty() { &[0.0] } else { numbers })?;
        self.fields.push(memory.all().pointer);
        self.doubles.push(memory);
        Ok(())
    }

    fn conjunctions(&mut self, conjunctions: &Conjunctions) -> Result<(), GpuError> {
        let Conjunctions { starts, conditions, visits, ends, items } = conjunctions;
        for words in [starts, conditions, visits, ends, items] {
            self.words(words)?;
        }
        Ok(())
    }
}

impl Deck {
    /// A deck whose slots are empty.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn new(
        gpu: &Gpu,
        sizes: WalkSizes,
        room: WalkRoom,
        rules: &WalkRules,
        (ends, draws): (&WalkEnd, WalkDraws),
    ) -> Result<Self, GpuError> {
        rules.check(sizes.codes);
        assert!(sizes.statics <= sizes.codes && sizes.end < sizes.codes && sizes.slots > 0);
        assert!(sizes.stride >= sizes.codes && sizes.last_visit > 0);
        assert!(ends.cells.is_empty() || ends.days.len() == sizes.codes);
        // Any sequence that a slot has room for can be handed back.
        let slots = sizes.slots;
        let out_room = (slots * 128).max(room.codes + room.visits);
        let [mut numbers, mut slot] = [Memory::default(), Memory::default()];
        numbers.fit(gpu, 4 * slots)?;
        slot.fit(gpu, slots * SLOT)?;
        slot.clear(gpu)?;
        let [mut counters, mut headers, mut out] = Default::default();
        Memory::write(&mut counters, gpu, &[0; counter::COUNT])?;
        headers.fit(gpu, 2 * slots * HEADER)?;
        out.fit(gpu, out_room)?;
        let float = |count: usize| {
            let mut memory: Memory = Memory::default();
            memory.fit(gpu, slots * count)?;
            memory.clear(gpu)?;
            Ok::<_, GpuError>(memory)
        };
        let [mut listed, mut seen] = [Memory::default(), Memory::default()];
        for (memory, count) in [(&mut listed, 2 * slots), (&mut seen, slots)] {
            memory.fit(gpu, count)?;
            memory.clear(gpu)?;
        }
        // Averages, states, states as they were before a code is tried, and gates.
        let floats = [sizes.width, sizes.head, sizes.head, TERMS].map(float);
        let floats = floats.into_iter().collect::<Result<Vec<_>, _>>()?;
        let bit_words = rules.bits() / 32;
        let (fields, words, doubles) = (Vec::new(), Vec::new(), Vec::new());
        let mut layout = Layout { gpu, fields, words, doubles };
        layout.sizes(&[
            slots,
            sizes.codes,
            sizes.width,
            sizes.head,
            sizes.stride,
            sizes.statics,
            sizes.end,
            sizes.last_visit,
            usize::from(sizes.copies),
            rules.row_bits,
            bit_words,
            rules.windows.len(),
            ends.cells.len(),
            draws.key[0] as usize,
            draws.key[1] as usize,
            room.codes,
            room.visits,
            room.held,
            room.pending,
            room.due,
            2 * slots,
            out_room,
            4 * slots,
        ]);
        layout.fields.push(draws.temperature.to_bits());
        layout.fields.push(slot.all().pointer);
        let held = if sizes.copies { room.held * HELD } else { 0 };
        for each in [bit_words, room.codes, room.visits, held, room.pending, room.due * DUE] {
            layout.room(slots * each)?;
        }
        layout.fields.extend(floats.iter().map(|memory| memory.all().pointer));
        layout.fields.extend([&listed, &seen].map(|memory| memory.all().pointer));
        layout.fields.push(numbers.all().pointer);
        let handed = [&counters, &headers, &out];
        layout.fields.extend(handed.map(|memory| memory.all().pointer));
        for conjunctions in [&rules.demands, &rules.bars, &rules.waits.0, &rules.tests.0] {
            layout.conjunctions(conjunctions)?;
        }
        layout.words(&rules.outputs)?;
        layout.words(&rules.softs)?;
        layout.words(&rules.soft.iter().map(|&(rule, _)| rule).collect::<Vec<_>>())?;
        layout
            .doubles(&rules.soft.iter().map(|&(_, probability)| probability).collect::<Vec<_>>())?;
        for lists in [&rules.waits.1, &rules.tests.1] {
            layout.words(&lists.ends)?;
            layout.words(&lists.codes)?;
        }
        layout.words(&rules.standing.concat())?;
        layout.words(&rules.standing_waits.concat())?;
        let standing = [&rules.standing, &rules.standing_waits];
        let ends_of = |[first, others]: &[Vec<u32>; 2]| {
            [first.len() as u32, (first.len() + others.len()) as u32]
        };
        layout.words(standing.map(ends_of).as_flattened())?;
        layout.words(&rules.asked)?;
        let (mut window_ends, mut visits) = (Vec::new(), Vec::new());
        for window in &rules.windows {
            let start = visits.len() as u32;
            visits.extend(&window.visits);
            let middle = visits.len() as u32;
            visits.extend(&window.distances);
            window_ends.extend([start, middle, visits.len() as u32, u32::from(window.past)]);
        }
        layout.words(&window_ends)?;
        layout.words(&visits)?;
        layout.doubles(&ends.days)?;
        for part in 0..3 {
            layout.doubles(&ends.cells.iter().map(|cell| cell[part]).collect::<Vec<_>>())?;
        }
        let Layout { fields, words, doubles, .. } = layout;
        let mut layout = Memory::default();
        layout.write(gpu, &fields)?;
        // What was sent lies in memory of the host that is given up now.
        gpu.wait()?;
        Ok(Self {
            sizes,
            room,
            out_room,
            layout,
            numbers,
            counters,
            headers,
            out,
            listed,
            seen,
            loaded: 0,
            counts: DeckCounts::default(),
            from: 0,
            _words: words,
            _floats: floats,
            _doubles: doubles,
            slots: slot,
        })
    }

    /// The sizes.
    pub fn sizes(&self) -> &WalkSizes {
        &self.sizes
    }

    /// The rows that were [taken in](Gpu::take_in) last.
    pub fn taken_in(&self, rows: &WalkRows) -> TakenIn<'_> {
        let slots = self.listed.part(rows.first..rows.first + rows.count);
        TakenIn::new((slots, self.sizes.slots), self.seen.part(0..rows.count), rows.room)
    }

    /// Begins anew: every slot is empty, and nothing was loaded.
    pub fn begin(&mut self, gpu: &Gpu) -> Result<(), GpuError> {
        (self.loaded, self.counts) = (0, DeckCounts::default());
        self.slots.clear(gpu)?;
        self.counters.clear(gpu)
    }

    /// How many numbers can be loaded now; 2^31 in all since it was begun.
    pub fn free(&self) -> usize {
        let waiting = self.loaded - self.counts.taken;
        self.numbers.len().saturating_sub(waiting).min((1 << 31) - self.loaded)
    }

    /// Gives numbers to be drawn.
    ///
    /// # Panics
    ///
    /// If there are more than are [`free`](Self::free).
    pub fn load(&mut self, gpu: &Gpu, numbers: &[u64]) -> Result<(), GpuError> {
        assert!(numbers.len() <= self.free(), "numbers have room in the ring");
        let (ring, mut rest) = (self.numbers.len(), numbers);
        while !rest.is_empty() {
            let at = self.loaded % ring;
            let (now, later) = rest.split_at(rest.len().min(ring - at));
            self.numbers.write_part(gpu, at, now)?;
            self.loaded += now.len();
            rest = later;
        }
        if !numbers.is_empty() {
            self.counters.write_part(gpu, counter::LOADED, &[self.loaded as u32])?;
        }
        Ok(())
    }

    /// Counts what was [listed](Gpu::list_slots) last. Waits until all that was queued is done.
    pub fn count(&mut self, gpu: &Gpu) -> Result<DeckCounts, GpuError> {
        let mut counters = [0; counter::COUNT];
        self.counters.read(gpu, &mut counters)?;
        let counted = |which: usize| counters[which] as usize;
        let (handed, most) = (counted(counter::HEADERS), self.headers.len() / HEADER);
        self.counts = DeckCounts {
            taken: counted(counter::TAKEN),
            handed: handed.min(most),
            is_full: handed > most || counted(counter::WORDS) > self.out_room,
            closed: counted(counter::CLOSED),
            going: counted(counter::GOING),
        };
        Ok(self.counts)
    }

    /// The sequences that were handed back when it was [counted](Deck::count), and since this was asked last. Waits until all
    /// that was queued is done.
    pub fn drain(&mut self, gpu: &Gpu) -> Result<Handed, GpuError> {
        let mut drained = [0; 2];
        self.counters.read_part(gpu, counter::HEADERS, &mut drained)?;
        let [headers, words] = drained.map(|count| count as usize);
        let mut headers = vec![0; headers.min(self.headers.len() / HEADER) * HEADER];
        let mut words = vec![0; words.min(self.out_room)];
        self.headers.read_part(gpu, 0, &mut headers)?;
        self.out.read_part(gpu, 0, &mut words)?;
        self.counters.write_part(gpu, counter::HEADERS, &[0, 0])?;
        Ok(Handed { headers, words })
    }

    /// Slots that have closed a visit, the first so many that are listed, by as many rows at a time as are said.
    ///
    /// # Panics
    ///
    /// If there were fewer when it was [counted](Deck::count).
    pub fn closed(&self, closed: usize, room: usize) -> impl Iterator<Item = WalkRows> + use<> {
        assert!(closed <= self.counts.closed);
        self.listed(closed, closed, room)
    }

    /// The same slots, whose visits have begun, and those whose visit goes on.
    ///
    /// # Panics
    ///
    /// If there were fewer when it was [counted](Deck::count).
    pub fn going(&self, closed: usize, room: usize) -> impl Iterator<Item = WalkRows> + use<> {
        assert!(closed <= self.counts.closed);
        self.listed(closed, closed + self.counts.going, room)
    }

    /// Rows of which none is a slot's.
    pub fn no_rows(&self, room: usize) -> WalkRows {
        WalkRows { first: self.sizes.slots, count: 0, room }
    }

    fn listed(
        &self,
        closed: usize,
        all: usize,
        room: usize,
    ) -> impl Iterator<Item = WalkRows> + use<> {
        let slots = self.sizes.slots;
        assert!(room > 0);
        (0..all).step_by(room).map(move |at| WalkRows {
            first: slots - closed + at,
            count: room.min(all - at),
            room,
        })
    }

    /// What kernels are told of rows, which lie within the list.
    pub(super) fn checked(&self, rows: &WalkRows) -> [i32; 2] {
        let WalkRows { first, count, room } = *rows;
        let slots = self.sizes.slots;
        assert!(count <= room && count <= slots && first + count <= self.listed.len());
        [first, count].map(int)
    }

    /// The most that each slot has room for.
    pub fn room(&self) -> &WalkRoom {
        &self.room
    }
}
