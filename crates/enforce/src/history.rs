//! What is known of a record while it grows: folded once per visit, never rebuilt.
//!
//! The bits are laid out in rows of one bit per code position: row 0 is the visit being decided,
//! then one row per window in use. `past` and windows of numbered visits only ever gain bits;
//! windows that count back are set anew each visit from the visits they select. After all rows come
//! bits that say at which stages of its record the visit may stand.
//!
//! What holds throughout:
//! - Row 0 has the bits of `present` and no others; `END` is among them but never in a row of the
//!   past.
//! - A bit in a row of the past is set only if some condition asks for it.
//! - Every bit set in such a row is listed once: in `lasting` if it stays for the rest of the
//!   record, else in `moving`, which the next visit clears. So a record is forgotten by walking the
//!   two lists.

use consequence_record::Lists;
use consequence_rules::{Atoms, LiteralId, Order, Stage, Stages, Subject, Window};

use crate::index::{Bits, Condition};

/// Where each window's row is, and how it changes from visit to visit.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub order: Order,
    rows: Vec<Window>,
    /// The row of each of the plan's windows; 0 for those not in use.
    row_of_window: Vec<u32>,
    width: u32,
    /// Sets of stages that some conjunction is confined to: one bit each, after all rows.
    stages: Vec<Stages>,
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
            stages: Vec::new(),
            asked: Bits::new(0),
        };
        let used: Vec<u32> = used.collect();
        for &atom in &used {
            let window = atoms.atoms()[atom as usize].window as usize;
            if layout.row_of_window[window] == 0 {
                layout.rows.push(atoms.windows()[window].clone());
                layout.row_of_window[window] = layout.rows.len() as u32;
            }
        }
        layout.asked = Bits::new(layout.bits());
        for atom in used {
            layout.asked.set(layout.past_bit(atoms, atom));
        }
        layout
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

    fn stage_bit(&self, number: usize) -> u32 {
        self.width * (self.rows.len() as u32 + 1) + number as u32
    }

    /// The condition that a literal holds.
    pub fn condition(&self, atoms: &Atoms, literal: LiteralId) -> Condition {
        let bit = match literal.subject() {
            Subject::Now(position) => position,
            Subject::Past(atom) => self.past_bit(atoms, atom),
        };
        Condition::new(bit, literal.present())
    }

    /// Whether an atom about the past holds.
    pub fn past(&self, atoms: &Atoms, atom: u32, history: &History) -> bool {
        history.bits.get(self.past_bit(atoms, atom))
    }

    fn past_bit(&self, atoms: &Atoms, atom: u32) -> u32 {
        let atom = &atoms.atoms()[atom as usize];
        self.bit(self.row_of_window[atom.window as usize], self.order.position(atom.code))
    }

    /// Whether a bit is about the visit being decided.
    pub fn is_now(&self, bit: u32) -> bool {
        bit < self.width
    }

    /// Whether a bit, once set, stays set for the rest of the record.
    pub fn is_lasting(&self, bit: u32) -> bool {
        !self.is_now(bit) && self.rows[(bit / self.width) as usize - 1].distances().is_empty()
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
        for bit in self.present.drain(..).chain(self.moving.drain(..)).chain(self.lasting.drain(..))
        {
            self.bits.clear(bit);
        }
        self.visit = 0;
        self.earlier.clear();
    }

    /// Bits set now in rows that count back.
    pub fn moving(&self) -> &[u32] {
        &self.moving
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
        for bit in self.moving.drain(..) {
            self.bits.clear(bit);
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
