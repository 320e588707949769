//! The states of visits, what codes read of them, and what that costs.

use std::ops::Range;

use super::gpu::{Gpu, GpuError, Kernel, arguments, by_warps, int, spread};
use super::memory::{Memory, Part, PartMut};
use super::steps::Sums;
use super::words::{Indices, ListEnds};

/// What counts of a code that a record has held.
const TERMS: usize = 4;

/// The states of some visits, one visit after the other.
#[derive(Clone, Copy, Debug)]
pub struct Visits<'a> {
    /// The row of each visit.
    pub rows: Indices<'a>,
    /// Where the states of each end.
    pub ends: ListEnds<'a>,
    /// The first code that each state speaks for.
    pub from: Indices<'a>,
    /// The last code that each speaks for; the highest bit is set if it is present.
    pub until: Indices<'a>,
    /// Codes that something else decides.
    pub settled: Indices<'a>,
    /// Where those of each visit end.
    pub settled_ends: ListEnds<'a>,
    /// What was held before.
    pub held: Held<'a>,
}

/// Codes that records have held before each visit.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// The codes.
    pub codes: Indices<'a>,
    /// How many visits had each.
    pub times: Indices<'a>,
    /// How many visits ago was the last.
    pub since: Indices<'a>,
    /// Where those of each visit end.
    pub ends: ListEnds<'a>,
}

/// Some visits after each other whose outputs are about the same codes. What they name beside these is
/// passed over.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The visits.
    pub visits: Range<usize>,
    /// Their states.
    pub states: Range<usize>,
    /// The codes.
    pub codes: Range<usize>,
    /// How far apart the logits of two states are.
    pub stride: usize,
}

impl Piece {
    /// Logits that it has room for.
    pub fn logits(&self) -> usize {
        self.states.len() * self.stride
    }

    /// That the lists lie within, and logits of this size have room.
    fn check(&self, visits: &Visits<'_>, logits: usize) {
        assert!(logits == self.logits() && self.codes.len() <= self.stride);
        assert!(self.visits.end <= visits.ends.words.len);
        assert!(
            self.states.end <= visits.ends.total && visits.ends.total == visits.until.words.len
        );
        visits.check();
    }
}

impl Visits<'_> {
    fn check(&self) {
        let count = self.ends.words.len;
        assert_eq!(self.from.words.len, self.until.words.len);
        assert_eq!(self.rows.words.len, count);
        assert!(self.settled_ends.words.len == count && self.held.ends.words.len == count);
        assert_eq!(self.settled_ends.total, self.settled.words.len);
        let held = &self.held;
        assert!(
            [held.codes, held.times, held.since]
                .iter()
                .all(|list| list.words.len == held.ends.total)
        );
    }
}

impl Gpu {
    /// The states of visits: the first of each is its row of `base` with a bias, and each further one
    /// has what its code adds to the one before.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn states(
        &self,
        sums: PartMut<'_>,
        (base, bias): (Part<'_>, Part<'_>),
        present: Part<'_>,
        visits: &Visits<'_>,
    ) -> Result<(), GpuError> {
        let (width, count) = (bias.len, visits.ends.words.len);
        visits.check();
        assert!(sums.len == visits.ends.total * width && visits.rows.below * width <= base.len);
        assert!(visits.until.below * width <= present.len);
        let arguments = arguments![
            sums,
            base,
            bias,
            present,
            visits.rows.words,
            visits.ends.words,
            visits.until.words,
            int(count),
            int(width),
        ];
        self.launch(Kernel::states, ([count, 1], [width.min(256), 1]), arguments)
    }

    /// The gradient of [`Gpu::states`]: that of `base` replaces its rows, that of what codes add is
    /// added to `range`.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn states_backward(
        &self,
        base: PartMut<'_>,
        (sums, range): (&mut Sums, Range<usize>),
        gradient: Part<'_>,
        visits: &Visits<'_>,
        width: usize,
    ) -> Result<(), GpuError> {
        let count = visits.ends.words.len;
        visits.check();
        assert!(gradient.len == visits.ends.total * width && visits.rows.below * width <= base.len);
        assert!(visits.until.below * width <= range.len());
        let unit = sums.unit;
        let arguments = arguments![
            base,
            sums.memory.part_mut(range),
            gradient,
            visits.rows.words,
            visits.ends.words,
            visits.until.words,
            int(count),
            int(width),
            unit,
        ];
        self.launch(Kernel::states_backward, ([count, 1], [width.min(256), 1]), arguments)
    }

    /// Adds what codes held before say to the logits of all states of their visits.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn copies(
        &self,
        logits: &mut Memory,
        (gates, shared, own): (Part<'_>, Part<'_>, Part<'_>),
        visits: &Visits<'_>,
        piece: &Piece,
    ) -> Result<(), GpuError> {
        piece.check(visits, logits.len());
        let codes = own.len / TERMS;
        assert!(shared.len == TERMS && visits.held.codes.below <= codes);
        assert!(visits.rows.below * TERMS <= gates.len);
        let arguments = arguments![
            logits.all_mut(),
            gates,
            shared,
            own,
            visits.rows.words,
            visits.ends.words,
            visits.held.codes.words,
            visits.held.times.words,
            visits.held.since.words,
            visits.held.ends.words,
            int(piece.visits.start),
            int(piece.visits.len()),
            int(piece.states.start),
            int(piece.states.len()),
            int(piece.codes.start),
            int(piece.stride),
            int(codes),
        ];
        self.launch(Kernel::copies, by_warps(piece.visits.len()), arguments)
    }

    /// The gradient of [`Gpu::copies`]: that of `gates` replaces their rows, that of what codes have of
    /// their own is added to `range`.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn copies_backward(
        &self,
        gates: PartMut<'_>,
        (sums, range): (&mut Sums, Range<usize>),
        gradient: &Memory,
        visits: &Visits<'_>,
        piece: &Piece,
    ) -> Result<(), GpuError> {
        piece.check(visits, gradient.len());
        let codes = range.len() / TERMS;
        assert!(visits.held.codes.below <= codes && visits.rows.below * TERMS <= gates.len);
        let unit = sums.unit;
        let arguments = arguments![
            gates,
            sums.memory.part_mut(range),
            gradient.all(),
            visits.rows.words,
            visits.ends.words,
            visits.held.codes.words,
            visits.held.times.words,
            visits.held.since.words,
            visits.held.ends.words,
            int(piece.visits.start),
            int(piece.visits.len()),
            int(piece.states.start),
            int(piece.states.len()),
            int(piece.codes.start),
            int(piece.stride),
            int(codes),
            unit,
        ];
        self.launch(Kernel::copies_backward, by_warps(piece.visits.len()), arguments)
    }

    /// The logits of each visit of a piece, with their biases: a row of its codes for each visit, every code
    /// under the state that speaks for it.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn own_logits(
        &self,
        to: PartMut<'_>,
        logits: &Memory,
        bias: Part<'_>,
        visits: &Visits<'_>,
        piece: &Piece,
    ) -> Result<(), GpuError> {
        piece.check(visits, logits.len());
        assert!(to.len == piece.visits.len() * piece.codes.len() && piece.codes.end <= bias.len);
        let arguments = arguments![
            to,
            logits.all(),
            bias,
            visits.ends.words,
            visits.from.words,
            visits.until.words,
            int(piece.visits.start),
            int(piece.visits.len()),
            int(piece.states.start),
            int(piece.states.len()),
            int(piece.codes.start),
            int(piece.codes.len()),
            int(piece.stride),
        ];
        self.launch(Kernel::own_logits, by_warps(piece.visits.len()), arguments)
    }

    /// Puts the gradients of what [`Gpu::own_logits`] gives in place of the logits.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn own_gradients(
        &self,
        logits: &mut Memory,
        gradients: Part<'_>,
        visits: &Visits<'_>,
        piece: &Piece,
    ) -> Result<(), GpuError> {
        piece.check(visits, logits.len());
        assert_eq!(gradients.len, piece.visits.len() * piece.codes.len());
        let arguments = arguments![
            logits.all_mut(),
            gradients,
            visits.ends.words,
            visits.from.words,
            visits.until.words,
            int(piece.visits.start),
            int(piece.visits.len()),
            int(piece.states.start),
            int(piece.states.len()),
            int(piece.codes.start),
            int(piece.codes.len()),
            int(piece.stride),
        ];
        self.launch(Kernel::own_gradients, by_warps(piece.visits.len()), arguments)
    }

    /// Marks the logits of codes that something else decides.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn settle(
        &self,
        logits: &mut Memory,
        visits: &Visits<'_>,
        piece: &Piece,
    ) -> Result<(), GpuError> {
        piece.check(visits, logits.len());
        let arguments = arguments![
            logits.all_mut(),
            visits.ends.words,
            visits.until.words,
            visits.settled.words,
            visits.settled_ends.words,
            int(piece.visits.start),
            int(piece.visits.len()),
            int(piece.states.start),
            int(piece.states.len()),
            int(piece.codes.start),
            int(piece.stride),
        ];
        self.launch(Kernel::settle, by_warps(piece.visits.len()), arguments)
    }

    /// Some logits, by their states and codes, with their biases.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn read_logits(
        &self,
        to: PartMut<'_>,
        logits: &Memory,
        bias: Part<'_>,
        (states, codes): (Indices<'_>, Indices<'_>),
        piece: &Piece,
    ) -> Result<(), GpuError> {
        let count = states.words.len;
        assert!(codes.words.len == count && to.len == count && logits.len() == piece.logits());
        assert!(states.below <= piece.states.end && codes.below <= piece.codes.end);
        assert!(codes.below <= bias.len);
        let arguments = arguments![
            to,
            logits.all(),
            bias,
            states.words,
            codes.words,
            int(count),
            int(piece.states.start),
            int(piece.codes.start),
            int(piece.stride),
        ];
        self.launch(Kernel::read_logits, spread(count), arguments)
    }

    /// Adds to the gradients of some logits, each named once.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn add_at(
        &self,
        gradient: &mut Memory,
        changes: Part<'_>,
        (states, codes): (Indices<'_>, Indices<'_>),
        piece: &Piece,
    ) -> Result<(), GpuError> {
        let count = states.words.len;
        assert!(codes.words.len == count && changes.len == count);
        assert!(states.below <= piece.states.end && codes.below <= piece.codes.end);
        assert_eq!(gradient.len(), piece.logits());
        let arguments = arguments![
            gradient.all_mut(),
            changes,
            states.words,
            codes.words,
            int(count),
            int(piece.states.start),
            int(piece.codes.start),
            int(piece.stride),
        ];
        self.launch(Kernel::add_at, spread(count), arguments)
    }

    /// The nats of each state of a piece; where `scale` is not zero, logits are replaced by their
    /// gradients, `scale` times.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn score(
        &self,
        logits: &mut Memory,
        nats: &mut Memory<f64>,
        bias: Part<'_>,
        visits: &Visits<'_>,
        (piece, scale): (&Piece, f32),
    ) -> Result<(), GpuError> {
        piece.check(visits, logits.len());
        assert!(nats.len() == visits.ends.total && piece.codes.end <= bias.len);
        let arguments = arguments![
            logits.all_mut(),
            nats.all_mut(),
            bias,
            visits.from.words,
            visits.until.words,
            int(piece.states.start),
            int(piece.codes.start),
            int(piece.codes.len()),
            int(piece.stride),
            scale,
        ];
        self.launch(Kernel::score, ([piece.states.len(), 1], [128, 1]), arguments)
    }

    /// Adds all values to a number, and what more there is.
    ///
    /// # Panics
    ///
    /// If there is no number to add to.
    pub fn add_up(
        &self,
        to: PartMut<'_, f64>,
        values: Part<'_, f64>,
        more: f64,
    ) -> Result<(), GpuError> {
        assert_eq!(to.len, 1);
        let arguments = arguments![to, values, int(values.len), more];
        self.launch(Kernel::add_up, ([1, 1], [1_024, 1]), arguments)
    }
}
