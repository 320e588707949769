//! One encounter while it is written down: a set of codes that obeys the rules at every moment.

use consequence_record::Code;

use crate::bonds::{Bond, Bonds, WATCHES};

/// What a patient's earlier encounters leave for the rules to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Bits of the demographic codes.
    pub demographic: u32,
    /// The encounter in which each watched code was last seen; 0 for never.
    pub seen: [u16; WATCHES],
    /// Bits of the watched codes that were ever seen.
    pub ever: u32,
    /// The lifelong codes of the encounter before.
    pub lifelong: Vec<Code>,
}

impl Memory {
    /// Forgets everything but the patient's demographic codes.
    pub fn begin(&mut self, demographic: u32) {
        self.demographic = demographic;
        self.seen = [0; WATCHES];
        self.ever = 0;
        self.lifelong.clear();
    }

    /// Takes in a finished encounter.
    pub fn close(&mut self, bonds: &Bonds, number: u16, codes: &[Code]) {
        self.lifelong.clear();
        for &code in codes {
            let Some(bond) = bonds.of(code) else { continue };
            if bond.lifelong {
                self.lifelong.push(code);
            }
            if let Some(watch) = bond.watch {
                self.seen[watch] = number;
                self.ever |= 1 << watch;
            }
        }
    }
}

/// An encounter that is being written. Its codes lie at the end of a longer list.
pub(crate) struct Visit<'a> {
    pub bonds: &'a Bonds,
    pub memory: &'a Memory,
    pub number: u16,
    codes: &'a mut Vec<Code>,
    start: usize,
    lists: u32,
}

impl<'a> Visit<'a> {
    /// An encounter that holds what must stay from the one before.
    pub fn begin(
        bonds: &'a Bonds,
        memory: &'a Memory,
        number: u16,
        codes: &'a mut Vec<Code>,
    ) -> Self {
        let start = codes.len();
        let mut visit = Self { bonds, memory, number, codes, start, lists: 0 };
        for &code in &memory.lifelong {
            visit.add(code);
        }
        visit
    }

    pub fn is_empty(&self) -> bool {
        self.codes.len() == self.start
    }

    fn holds(&self, code: Code) -> bool {
        self.codes[self.start..].contains(&code)
    }

    fn allows(&self, bond: &Bond) -> bool {
        bond.barred & self.memory.demographic == 0
            && bond.lists & self.lists == 0
            && bond.needs.is_none_or(|watch| self.memory.seen[watch] > 0)
    }

    /// Writes a code down with all that it brings, or nothing if a rule is against any of it.
    pub fn add(&mut self, code: Code) {
        if self.holds(code) {
            return;
        }
        let bonds = self.bonds;
        let Some(bond) = bonds.of(code) else {
            self.codes.push(code);
            return;
        };
        let brought = |visit: &Self, other| {
            visit.holds(other) || bonds.of(other).is_none_or(|bond| visit.allows(bond))
        };
        if !self.allows(bond) || !bond.brings.iter().all(|&other| brought(self, other)) {
            return;
        }
        self.codes.push(code);
        self.lists |= bond.lists;
        for &other in &bond.brings {
            if !self.holds(other) {
                self.codes.push(other);
                self.lists |= bonds.of(other).map_or(0, |bond| bond.lists);
            }
        }
        if let Some(after) = bond.after {
            let seen = self.memory.seen[after.disease];
            if seen > 0 && self.number - seen <= after.within {
                self.add(after.consequence);
            }
        }
    }

    /// Puts the codes in order.
    pub fn finish(self) {
        self.codes[self.start..].sort_unstable();
    }
}
