//! Sequences that are drawn on a GPU step by step: visits are taken in, and codes decided by logits.
//!
//! A network is given rows of some slots of a [`Deck`], works out their logits, and hands these back: [`Gpu::walk`] decides
//! codes by them, until one comes on that changes the state. What forces codes and keeps them off are conjunctions of bits
//! ([`WalkRules`](super::WalkRules)), looked at as the CPU does.

use super::deck::{Deck, TERMS, WalkRows, WalkSizes};
use super::gpu::{Gpu, GpuError, Kernel, arguments, by_warps, int};
use super::memory::{Part, PartMut};

impl Gpu {
    /// Takes visits that were closed into what is known, and gives the history its input: a row for each, of what
    /// its codes bring and of what is in `seen` for as many visits as were seen before.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn take_in(
        &self,
        deck: &mut Deck,
        rows: &WalkRows,
        input: PartMut<'_>,
        codes: Part<'_>,
        seen: Part<'_>,
    ) -> Result<(), GpuError> {
        let WalkSizes { codes: count, width, last_visit, .. } = deck.sizes;
        // The mark that begins a sequence has a row of its own.
        assert!(input.len == rows.room * width && codes.len >= (count + 1) * width);
        assert!(seen.len >= (last_visit + 1) * width);
        let [first, count] = deck.checked(rows);
        let arguments = arguments![deck.layout.all_mut(), first, count, input, codes, seen];
        self.launch(Kernel::take_in, by_warps(rows.count), arguments)
    }

    /// The gated averages of slots go on whose visits were taken in, rows of them; `mixed` is still without its bias.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn average_step(
        &self,
        deck: &mut Deck,
        rows: &WalkRows,
        to: PartMut<'_>,
        (mixed, bias): (Part<'_>, Part<'_>),
    ) -> Result<(), GpuError> {
        let width = deck.sizes.width;
        assert!(to.len == rows.room * width);
        assert!(mixed.len == 2 * rows.room * width && bias.len == 2 * width);
        let [first, count] = deck.checked(rows);
        let arguments = arguments![deck.layout.all_mut(), first, count, to, mixed, bias];
        self.launch(Kernel::average_step, by_warps(rows.count), arguments)
    }

    /// Begins the next visits of slots whose visits were taken in: `base` are their first states, `gate` what the history
    /// says of codes held before where these have a say, both without what all slots share.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn begin_visits(
        &self,
        deck: &mut Deck,
        rows: &WalkRows,
        (base, bias): (Part<'_>, Part<'_>),
        (gate, shared): (Part<'_>, Part<'_>),
    ) -> Result<(), GpuError> {
        let head = deck.sizes.head;
        assert!(base.len == rows.room * head && bias.len == head);
        let terms = if deck.sizes.copies { TERMS } else { 0 };
        assert!(gate.len == rows.room * terms && shared.len == terms);
        let [first, count] = deck.checked(rows);
        let arguments = arguments![deck.layout.all_mut(), first, count, base, bias, gate, shared];
        self.launch(Kernel::begin_visits, by_warps(rows.count), arguments)
    }

    /// Rows of the states of slots, before they are refined.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn take_states(
        &self,
        deck: &Deck,
        rows: &WalkRows,
        to: PartMut<'_>,
    ) -> Result<(), GpuError> {
        assert_eq!(to.len, rows.room * deck.sizes.head);
        let [first, count] = deck.checked(rows);
        let arguments = arguments![deck.layout.all(), first, count, to];
        self.launch(Kernel::take_states, by_warps(rows.count), arguments)
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
        rows: &WalkRows,
        (logits, bias): (PartMut<'_>, Part<'_>),
        present: Part<'_>,
        own: Part<'_>,
    ) -> Result<(), GpuError> {
        let WalkSizes { codes, head, stride, .. } = deck.sizes;
        assert!(logits.len == rows.room * stride && bias.len == codes);
        let terms = if deck.sizes.copies { TERMS } else { 0 };
        assert!(present.len == codes * head && own.len == terms * codes);
        let [first, count] = deck.checked(rows);
        let layout = deck.layout.all_mut();
        let arguments = arguments![layout, first, count, logits, bias, present, own];
        self.launch(Kernel::walk, by_warps(rows.count), arguments)
    }

    /// Hands sequences back that are done.
    pub fn hand_on(&self, deck: &mut Deck) -> Result<(), GpuError> {
        self.launch(Kernel::hand_on, by_warps(deck.sizes.slots), arguments![deck.layout.all_mut()])
    }

    /// Has empty slots begin the next numbers, and lists those with work to do.
    pub fn list_slots(&self, deck: &mut Deck) -> Result<(), GpuError> {
        let (slots, from) = (deck.sizes.slots, int(deck.from));
        // Slots that are listed last may have to wait: next time they are among the first.
        deck.from = (deck.from + slots / 3 + 1) % slots;
        let threads = ([1, 1], [slots.next_multiple_of(32).min(1_024), 1]);
        self.launch(Kernel::list_slots, threads, arguments![deck.layout.all_mut(), from])
    }
}
