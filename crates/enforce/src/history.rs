//! What is known of a record while it grows: folded once per visit, never rebuilt.
//!
//! The bits are laid out in rows of one bit per code position: row 0 is the visit being decided,
//! then one row per window in use. `past` and windows of numbered visits only ever gain bits;
//! windows that count back are set anew each visit from the visits they select. After all rows come
//! bits of facts, of the days since the visit before, and of the stages of its record at which the visit may stand.
//!
//! What holds throughout:
//! - Row 0 has the bits of `present` and no others; `END` is among them but never in a row of the
//!   past.
//! - A bit in a row of the past is set only if some condition asks for it.
//! - Every bit set in such a row is listed once: in `lasting` if it stays for the rest of the
//!   record, else in `moving` or, of facts, in `revealed`, which the next visit clears. So a record is
//!   forgotten by walking the lists.

use consequence_record::Lists;
use consequence_rules::{Atom, Atoms, Fact, LiteralId, Order, Stage, Stages, Subject, Window};
use rustc_hash::FxHashMap;

use crate::facts::{FactCounts, FactLayout, Moment};
use crate::index::{Bits, Condition};

/// Where each window's row is, and how it changes from visit to visit.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub order: Order,
    rows: Vec<Window>,
    /// The row of each of the plan's windows; 0 for those not in use.
    row_of_window: Vec<u32>,
    width: u32,
    /// Facts in use, by atom: one bit each, after all rows.
    fact_bits: FxHashMap<u32, u32>,
    /// How facts are counted and revealed; none where no condition asks for one.
    facts: Option<FactLayout>,
    /// Sets of stages that some conjunction is confined to: one bit each, after the facts.
    stages: Vec<Stages>,
    first_stage_bit: u32,
    /// The bits of the past that some condition asks for; no others are ever set.
    asked: Bits,
}

impl Layout {
    /// A layout for the windows that the atoms look at.
    pub fn new(order: &Order, atoms: &Atoms, used: impl Iterator<Item = u32>) -> Self {
        let mut layout = Self {
            order: order.clone(),
            rows: Vec::new(),
            row_of_window: vec![0; atoms.windows().len()],
            width: order.len().next_multiple_of(64) as u32,
            fact_bits: FxHashMap::default(),
            facts: None,
            stages: Vec::new(),
            first_stage_bit: 0,
            asked: Bits::new(0),
        };
        let mut facts: Vec<(u32, &Fact)> = Vec::new();
        let used: Vec<u32> = used.collect();
        for &atom in &used {
            match &atoms.atoms()[atom as usize] {
                Atom::In { window, .. } => {
                    let window = *window as usize;
                    if layout.row_of_window[window] == 0 {
                        layout.rows.push(atoms.windows()[window].clone());
                        layout.row_of_window[window] = layout.rows.len() as u32;
                    }
                }
                Atom::Fact(fact) => {
                    if !facts.iter().any(|&(known, _)| known == atom) {
                        facts.push((atom, fact));
                    }
                }
                Atom::FactBefore(_) => {}
            }
        }
        let first = layout.width * (layout.rows.len() as u32 + 1);
        layout.first_stage_bit = first;
        if !facts.is_empty() || !atoms.thresholds().is_empty() {
            let bits = (first..).zip(&facts).map(|(bit, &(atom, _))| (atom, bit));
            layout.fact_bits = bits.collect();
            let gaps = first + facts.len() as u32;
            let facts: Vec<(&Fact, u32)> =
                facts.iter().map(|(atom, fact)| (*fact, layout.fact_bits[atom])).collect();
            let thresholds = atoms.thresholds();
            layout.facts = Some(FactLayout::new(order, &facts, thresholds, gaps));
            layout.first_stage_bit = gaps + 2 * thresholds.len() as u32;
        }
        layout.asked = Bits::new(layout.bits());
        for atom in used {
            if atoms.seen_in(atom).is_some() {
                layout.asked.set(layout.past_bit(atoms, atom));
            }
        }
        layout
    }

    /// Whether some condition asks for a fact.
    pub fn asks_facts(&self) -> bool {
        self.facts.is_some()
    }

    pub fn bits(&self) -> u32 {
        self.stage_bit(self.stages.len())
    }

    /// Makes room for sets of stages that conjunctions are confined to.
    pub fn confine(mut self, stages: impl Iterator<Item = Stages>) -> Self {
        for stages in stages {
            if !self.stages.contains(&stages) {
                self.stages.push(stages);
            }
        }
        self
    }

    /// The condition that a visit is at one of these stages; none if it always is.
    pub fn confined(&self, stages: Stages) -> Option<Condition> {
        let number = self.stages.iter().position(|&one| one == stages)?;
        Some(Condition::new(self.stage_bit(number), true))
    }

    /// Whether a bit is about the stage of the visit.
    pub fn is_stage(&self, bit: u32) -> bool {
        self.stage_bit(0) <= bit
    }

    /// The stages that a bit stands for, if it is about stages.
    pub fn stages_at(&self, bit: u32) -> Option<Stages> {
        let number = bit.checked_sub(self.first_stage_bit)?;
        self.stages.get(number as usize).copied()
    }

    /// Bits of a row.
    pub fn row_bits(&self) -> u32 {
        self.width
    }

    /// The window of each row after the first.
    pub fn windows(&self) -> &[Window] {
        &self.rows
    }

    /// Whether some condition asks for a bit of the past.
    pub fn is_asked(&self, bit: u32) -> bool {
        self.asked.get(bit)
    }

    fn stage_bit(&self, number: usize) -> u32 {
        self.first_stage_bit + number as u32
    }

    /// The condition that a literal holds.
    pub fn condition(&self, atoms: &Atoms, literal: LiteralId) -> Condition {
        let bit = match literal.subject() {
            Subject::Now(position) => position,
            Subject::Past(atom) => self.past_bit(atoms, atom),
            // Where the days were not chosen, nothing is known of them.
            Subject::Gap(threshold) => {
                let facts = self.facts.as_ref();
                let bit = facts.map_or(0, |facts| facts.gap_bit(threshold, literal.present()));
                return Condition::new(bit, true);
            }
        };
        Condition::new(bit, literal.present())
    }

    /// Whether an atom about the past holds.
    pub fn past(&self, atoms: &Atoms, atom: u32, history: &History) -> bool {
        history.bits.get(self.past_bit(atoms, atom))
    }

    fn past_bit(&self, atoms: &Atoms, atom: u32) -> u32 {
        match atoms.atoms()[atom as usize] {
            Atom::In { window, code } => {
                self.bit(self.row_of_window[window as usize], self.order.position(code))
            }
            Atom::Fact(_) | Atom::FactBefore(_) => self.fact_bits[&atom],
        }
    }

    /// Whether a bit is about the visit being decided.
    pub fn is_now(&self, bit: u32) -> bool {
        bit < self.width
    }

    /// Whether a bit, once set, stays set for the rest of the record.
    pub fn is_lasting(&self, bit: u32) -> bool {
        let row = (bit / self.width) as usize;
        match row.checked_sub(1).map(|row| self.rows.get(row)) {
            None => false,
            Some(Some(window)) => window.distances().is_empty(),
            Some(None) => self.facts.as_ref().is_some_and(|facts| facts.is_lasting(bit)),
        }
    }

    fn bit(&self, row: u32, position: u32) -> u32 {
        row * self.width + position
    }
}

/// The visits of one record so far, and the windows over them.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub bits: Bits,
    /// Bits of the visit being decided.
    width: u32,
    /// The number of the visit being decided.
    pub visit: usize,
    /// The positions decided to be present in the current visit, in the order decided.
    pub present: Vec<u32>,
    /// Earlier visits, as positions.
    earlier: Lists<u32>,
    /// Bits of rows that count back, to be cleared when the next visit begins.
    moving: Vec<u32>,
    /// Lasting bits in the order they were set.
    pub lasting: Vec<u32>,
    /// Bits of facts that were revealed when the visit began.
    revealed: Vec<u32>,
    /// What facts are counted by, where any are asked for.
    counts: Option<FactCounts>,
}

impl History {
    pub fn new(layout: &Layout) -> Self {
        Self {
            bits: Bits::new(layout.bits()),
            width: layout.width,
            visit: 0,
            present: Vec::new(),
            earlier: Lists::default(),
            moving: Vec::new(),
            lasting: Vec::new(),
            revealed: Vec::new(),
            counts: layout.facts.as_ref().map(FactCounts::new),
        }
    }

    /// Says where in its record the visit being decided stands.
    pub fn set_stage(&mut self, layout: &Layout, stage: Stage) {
        for (number, stages) in layout.stages.iter().enumerate() {
            let bit = layout.stage_bit(number);
            if stages.contains(stage) {
                self.bits.set(bit);
            } else {
                self.bits.clear(bit);
            }
        }
    }

    /// Whether a bit is about the visit being decided.
    pub fn is_now(&self, bit: u32) -> bool {
        bit < self.width
    }

    /// Forgets the record, keeping the memory.
    pub fn clear(&mut self) {
        for list in [&mut self.present, &mut self.moving, &mut self.lasting, &mut self.revealed] {
            list.drain(..).for_each(|bit| self.bits.clear(bit));
        }
        if let Some(counts) = &mut self.counts {
            counts.clear();
        }
        self.visit = 0;
        self.earlier.clear();
    }

    /// Bits set that need not be set at the next visit: in rows that count back, and of facts.
    pub fn moving(&self) -> impl Iterator<Item = &u32> {
        self.moving.iter().chain(&self.revealed)
    }

    /// Says when the visit being decided begins and what else is revealed with it; until then nothing is. May be said
    /// again, before any code is decided.
    pub fn reveal(&mut self, layout: &Layout, moment: &Moment) {
        let (Some(facts), Some(counts)) = (&layout.facts, &mut self.counts) else { return };
        for bit in self.revealed.drain(..) {
            self.bits.clear(bit);
        }
        counts.reveal(facts, moment, |bit| {
            if self.bits.set(bit) {
                self.revealed.push(bit);
            }
        });
    }

    /// The day of the encounter before the one being decided, where facts are asked for.
    pub fn day_before(&self) -> Option<i64> {
        self.counts.as_ref()?.day_before()
    }

    pub fn set_present(&mut self, position: u32) {
        self.bits.set(position);
        self.present.push(position);
    }

    /// Undoes what was decided of the current visit.
    pub fn abandon(&mut self) {
        for position in self.present.drain(..) {
            self.bits.clear(position);
        }
    }

    /// Closes the current visit: its codes move into the windows and the next visit begins.
    pub fn advance(&mut self, layout: &Layout) {
        for &position in &self.present {
            self.bits.clear(position);
        }
        self.earlier
            .push(self.present.drain(..).filter(|&position| position != layout.order.end()));
        let finished = self.visit;
        self.visit += 1;
        for bit in self.moving.drain(..).chain(self.revealed.drain(..)) {
            self.bits.clear(bit);
        }
        if let (Some(facts), Some(counts)) = (&layout.facts, &mut self.counts) {
            let (mut lasting, mut next) = (Vec::new(), Vec::new());
            let present = self.earlier.list(finished);
            counts.close(facts, finished, present, |bit| lasting.push(bit), |bit| next.push(bit));
            for (bits, listed) in [(lasting, &mut self.lasting), (next, &mut self.moving)] {
                for bit in bits {
                    if self.bits.set(bit) {
                        listed.push(bit);
                    }
                }
            }
        }
        for (index, window) in layout.rows.iter().enumerate() {
            let row = index as u32 + 1;
            if window.distances().is_empty() {
                let holds = |&visit: &u16| usize::from(visit) == finished;
                if window.is_past() || window.visits().iter().any(holds) {
                    for &position in self.earlier.list(finished) {
                        let bit = layout.bit(row, position);
                        if layout.asked.get(bit) && self.bits.set(bit) {
                            self.lasting.push(bit);
                        }
                    }
                }
                continue;
            }
            let back = window.distances().iter().map(|&distance| usize::from(distance));
            let back = back.take_while(|&distance| distance <= self.visit);
            let at = window.visits().iter().map(|&visit| usize::from(visit));
            let at = at.take_while(|&visit| visit < self.visit);
            for selected in back.map(|distance| self.visit - distance).chain(at) {
                for &position in self.earlier.list(selected) {
                    let bit = layout.bit(row, position);
                    if layout.asked.get(bit) && self.bits.set(bit) {
                        self.moving.push(bit);
                    }
                }
            }
        }
    }
}
