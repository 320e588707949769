//! Sequences that are drawn on a GPU, one in each slot of a deck.
//!
//! A [`Deck`] knows of every slot what it has been through, and which of its codes are decided. Who has it go on
//! gives it logits: [`Gpu::walk`] decides codes by them, until one comes on that changes the state. What forces codes
//! and keeps them off are conjunctions of bits ([`WalkRules`]), looked at as the CPU does.

use super::gpu::{Gpu, GpuError, Kernel, arguments, by_warps};
use super::memory::{Memory, Part, PartMut};
use super::walk_rules::{Conjunctions, WalkRules};

/// What counts of a code that a sequence has held.
const TERMS: usize = 4;

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
    sizes: WalkSizes,
    room: WalkRoom,
    out_room: usize,
    /// What kernels find all else by.
    layout: Memory<u64>,
    /// The numbers to be drawn stand in a ring.
    numbers: Memory<u64>,
    counters: Memory<u32>,
    drained: Memory<u32>,
    headers: Memory<u32>,
    out: Memory<u32>,
    averages: Memory,
    sums: Memory,
    seen: Memory<u32>,
    /// Numbers that were loaded so far.
    loaded: usize,
    /// What is only reached by the layout.
    _words: Vec<Memory<u32>>,
    _floats: Vec<Memory>,
    _doubles: Vec<Memory<f64>>,
    slots: Memory<u64>,
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
        let [mut counters, mut drained] = [Memory::default(), Memory::default()];
        let [mut headers, mut out] = [Memory::default(), Memory::default()];
        counters.write(gpu, &[0, 0])?;
        drained.write(gpu, &[0, 0])?;
        headers.fit(gpu, 2 * slots * HEADER)?;
        out.fit(gpu, out_room)?;
        let float = |count: usize| {
            let mut memory: Memory = Memory::default();
            memory.fit(gpu, slots * count)?;
            memory.clear(gpu)?;
            Ok::<_, GpuError>(memory)
        };
        let (averages, sums) = (float(sizes.width)?, float(sizes.head)?);
        let mut seen = Memory::default();
        seen.fit(gpu, slots)?;
        seen.clear(gpu)?;
        let floats = vec![float(sizes.head)?, float(TERMS)?];
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
        let known = [&averages, &sums, &floats[0], &floats[1]];
        layout.fields.extend(known.map(|memory| memory.all().pointer));
        layout.fields.push(seen.all().pointer);
        layout.fields.push(numbers.all().pointer);
        let handed = [&counters, &drained, &headers, &out];
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
            drained,
            headers,
            out,
            averages,
            sums,
            seen,
            loaded: 0,
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

    /// The average of each slot.
    pub fn averages(&self) -> &Memory {
        &self.averages
    }

    /// The sums of each slot's state, before they are refined.
    pub fn sums(&self) -> &Memory {
        &self.sums
    }

    /// How many visits each slot had seen before the one that was [taken in](Gpu::take_in) last; the largest number where
    /// none was.
    pub fn seen(&self) -> Part<'_, u32> {
        self.seen.all()
    }

    /// Begins anew: every slot is empty, and nothing was loaded.
    pub fn begin(&mut self, gpu: &Gpu) -> Result<(), GpuError> {
        self.loaded = 0;
        self.slots.clear(gpu)?;
        self.counters.clear(gpu)?;
        self.drained.clear(gpu)
    }

    /// How many numbers can be loaded now, so many being taken up; 2^31 in all since it was begun.
    pub fn free(&self, taken: usize) -> usize {
        self.numbers.len().saturating_sub(self.loaded - taken).min((1 << 31) - self.loaded)
    }

    /// Gives numbers to be drawn.
    ///
    /// # Panics
    ///
    /// If there are more than are [`free`](Self::free).
    pub fn load(&mut self, gpu: &Gpu, taken: usize, numbers: &[u64]) -> Result<(), GpuError> {
        assert!(numbers.len() <= self.free(taken), "numbers have room in the ring");
        let (ring, mut rest) = (self.numbers.len(), numbers);
        while !rest.is_empty() {
            let at = self.loaded % ring;
            let (now, later) = rest.split_at(rest.len().min(ring - at));
            self.numbers.write_part(gpu, at, now)?;
            self.loaded += now.len();
            rest = later;
        }
        if !numbers.is_empty() {
            self.counters.write_part(gpu, 1, &[self.loaded as u32])?;
        }
        Ok(())
    }

    /// How many of the numbers were taken up, and the sequences that were handed back since this was asked last. Waits
    /// until all that was queued is done.
    pub fn drain(&mut self, gpu: &Gpu) -> Result<(usize, Vec<Walked>), GpuError> {
        let [mut counters, mut drained] = [[0; 2]; 2];
        self.counters.read(gpu, &mut counters)?;
        self.drained.read(gpu, &mut drained)?;
        let taken = (counters[0] as usize).min(self.loaded);
        let count = (drained[0] as usize).min(self.headers.len() / HEADER);
        if count == 0 {
            if drained[1] > 0 {
                self.drained.clear(gpu)?;
            }
            return Ok((taken, Vec::new()));
        }
        let mut headers = vec![0; count * HEADER];
        let mut words = vec![0; (drained[1] as usize).min(self.out_room)];
        self.headers.read_part(gpu, 0, &mut headers)?;
        self.out.read_part(gpu, 0, &mut words)?;
        self.drained.clear(gpu)?;
        let walked = |&[from, visits, overruled, marks, low, high]: &[u32; HEADER]| {
            let (ends, codes) = words[from as usize..].split_at(visits as usize);
            let mut start = 0;
            let visits = ends.iter().map(|&end| {
                let visit = codes[start as usize..end as usize].to_vec();
                start = end;
                visit
            });
            Walked {
                number: u64::from(high) << 32 | u64::from(low),
                visits: (marks & (mark::NO_ROOM | mark::NO_PROBABILITY) == 0)
                    .then(|| visits.collect()),
                overruled,
                truncated: marks & mark::TRUNCATED != 0,
                no_probability: marks & mark::NO_PROBABILITY != 0,
            }
        };
        Ok((taken, headers.as_chunks().0.iter().map(walked).collect()))
    }

    /// The most that each slot has room for.
    pub fn room(&self) -> &WalkRoom {
        &self.room
    }
}

impl Gpu {
    /// Takes the visits that were closed into what is known, and gives the history its input: a row for each slot, of what
    /// its codes bring and of what is in `seen` for as many visits as were seen before.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn take_in(
        &self,
        deck: &mut Deck,
        input: PartMut<'_>,
        codes: Part<'_>,
        seen: Part<'_>,
    ) -> Result<(), GpuError> {
        let WalkSizes { slots, codes: count, width, last_visit, .. } = deck.sizes;
        // The mark that begins a sequence has a row of its own.
        assert!(input.len == slots * width && codes.len >= (count + 1) * width);
        assert!(seen.len >= (last_visit + 1) * width);
        let arguments = arguments![deck.layout.all_mut(), input, codes, seen];
        self.launch(Kernel::take_in, by_warps(slots), arguments)
    }

    /// The gated average goes on where a visit was taken in; `mixed` is still without its bias.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn average_step(
        &self,
        deck: &mut Deck,
        (mixed, bias): (Part<'_>, Part<'_>),
    ) -> Result<(), GpuError> {
        let WalkSizes { slots, width, .. } = deck.sizes;
        assert!(mixed.len == 2 * slots * width && bias.len == 2 * width);
        let arguments = arguments![deck.layout.all_mut(), mixed, bias];
        self.launch(Kernel::average_step, by_warps(slots), arguments)
    }

    /// Begins the next visit where one was taken in: `base` is its first state, `gate` what the history says of codes
    /// held before where these have a say, both without what all slots share.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn begin_visits(
        &self,
        deck: &mut Deck,
        (base, bias): (Part<'_>, Part<'_>),
        (gate, shared): (Part<'_>, Part<'_>),
    ) -> Result<(), GpuError> {
        let WalkSizes { slots, head, .. } = deck.sizes;
        assert!(base.len == slots * head && bias.len == head);
        let terms = if deck.sizes.copies { TERMS } else { 0 };
        assert!(gate.len == slots * terms && shared.len == terms);
        let arguments = arguments![deck.layout.all_mut(), base, bias, gate, shared];
        self.launch(Kernel::begin_visits, by_warps(slots), arguments)
    }

    /// Decides codes by the logits of each slot's state, up to one that changes it. `present` is what codes add to a
    /// state, `own` what each has of its own for having been held before. The logits are spoilt.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn walk(
        &self,
        deck: &mut Deck,
        (logits, bias): (PartMut<'_>, Part<'_>),
        present: Part<'_>,
        own: Part<'_>,
    ) -> Result<(), GpuError> {
        let WalkSizes { slots, codes, head, stride, .. } = deck.sizes;
        assert!(logits.len == slots * stride && bias.len == codes);
        let terms = if deck.sizes.copies { TERMS } else { 0 };
        assert!(present.len == codes * head && own.len == terms * codes);
        let arguments = arguments![deck.layout.all_mut(), logits, bias, present, own];
        self.launch(Kernel::walk, by_warps(slots), arguments)
    }

    /// Hands sequences back that are done, and has their slots begin the next numbers.
    pub fn hand_on(&self, deck: &mut Deck) -> Result<(), GpuError> {
        self.launch(Kernel::hand_on, by_warps(deck.sizes.slots), arguments![deck.layout.all_mut()])
    }
}
