//! Clauses as the compiler works on them: numbered literals and the visits they are required of.

use consequence_record::{Code, Kind, Vocabulary};
use rustc_hash::FxHashMap;

use super::normal;
use super::order::Order;
use crate::Window;

/// A literal as a number. Literals about the past come first, then literals about the current
/// visit in the order codes are decided, so the last literal of a sorted clause is the one decided
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiteralId(u32);

const NOW: u32 = 1 << 31;

impl LiteralId {
    /// The code at an order position, in the current visit.
    pub(crate) fn now(position: u32, present: bool) -> Self {
        Self(NOW | position << 1 | u32::from(present))
    }

    pub(crate) fn past(atom: u32, present: bool) -> Self {
        Self(atom << 1 | u32::from(present))
    }

    /// What the literal is about.
    #[inline]
    pub fn subject(self) -> Subject {
        if self.0 & NOW == 0 {
            Subject::Past(self.0 >> 1)
        } else {
            Subject::Now((self.0 & !NOW) >> 1)
        }
    }

    /// The order position, for a literal about the current visit.
    pub fn position(self) -> Option<u32> {
        match self.subject() {
            Subject::Now(position) => Some(position),
            Subject::Past(_) => None,
        }
    }

    /// The atom's number, for a literal about the past.
    pub fn atom(self) -> Option<u32> {
        match self.subject() {
            Subject::Now(_) => None,
            Subject::Past(atom) => Some(atom),
        }
    }

    /// Whether the literal asks for the code rather than for its absence.
    pub fn present(self) -> bool {
        self.0 & 1 == 1
    }

    /// The opposite literal.
    pub fn negated(self) -> Self {
        Self(self.0 ^ 1)
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// What a [`LiteralId`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The code at this position of the order, in the current visit.
    Now(u32),
    /// The atom of this number, about the past.
    Past(u32),
}

/// What a literal says at visits of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// It depends on the record.
    Literal(LiteralId),
    /// It holds of every record.
    Always,
    /// It holds of no record.
    Never,
}

impl Encoding {
    fn settled(holds: bool) -> Self {
        if holds { Self::Always } else { Self::Never }
    }

    /// The literal, where it depends on the record.
    pub fn literal(self) -> Option<LiteralId> {
        match self {
            Self::Literal(literal) => Some(literal),
            Self::Always | Self::Never => None,
        }
    }
}

/// The visits a clause is required of, first and last included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VisitRange {
    /// The first visit.
    pub first: u16,
    /// The last visit, or [`VisitRange::OPEN`].
    pub last: u16,
}

impl VisitRange {
    /// The last visit of a range without end.
    pub const OPEN: u16 = u16::MAX;

    /// Whether a visit is in the range.
    #[inline]
    pub fn contains(self, visit: usize) -> bool {
        usize::from(self.first) <= visit
            && (visit <= usize::from(self.last) || self.last == Self::OPEN)
    }

    pub(crate) fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    pub(crate) fn meet(self, other: Self) -> Option<Self> {
        let visits = Self { first: self.first.max(other.first), last: self.last.min(other.last) };
        (visits.first <= visits.last).then_some(visits)
    }
}

/// A code in a window: what a clause can ask of the past.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Atom {
    /// The window's number in [`Atoms::windows`].
    pub window: u32,
    /// The code looked for.
    pub code: Code,
}

/// The atoms and windows of a rule set, numbered.
#[derive(Clone, Debug, Default)]
pub struct Atoms {
    windows: Vec<Window>,
    window_numbers: FxHashMap<Window, u32>,
    atoms: Vec<Atom>,
    atom_numbers: FxHashMap<Atom, u32>,
}

impl Atoms {
    /// The windows in use.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The atoms in use.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// The window of an atom.
    pub fn window(&self, atom: u32) -> &Window {
        &self.windows[self.atoms[atom as usize].window as usize]
    }

    /// The code of an atom.
    pub fn code(&self, atom: u32) -> Code {
        self.atoms[atom as usize].code
    }

    fn intern(&mut self, code: Code, window: Window) -> u32 {
        let next = self.windows.len() as u32;
        let window = *self.window_numbers.entry(window).or_insert_with_key(|window| {
            self.windows.push(window.clone());
            next
        });
        let next = self.atoms.len() as u32;
        *self.atom_numbers.entry(Atom { window, code }).or_insert_with_key(|atom| {
            self.atoms.push(atom.clone());
            next
        })
    }
}

/// Turns literals into numbers and back.
#[derive(Clone, Debug)]
pub(crate) struct Encoder<'a> {
    pub vocabulary: &'a Vocabulary,
    pub order: &'a Order,
    pub max_visits: u16,
    pub atoms: Atoms,
}

impl Encoder<'_> {
    /// The clause as sorted numbers for visits of one kind; `None` if it always holds there.
    pub fn clause(&mut self, clause: &[normal::Literal], kind: Kind) -> Option<Vec<LiteralId>> {
        let mut encoded = Vec::with_capacity(clause.len());
        for literal in clause {
            let found = match &literal.window {
                None => self.now(literal.code, literal.present, kind),
                Some(window) => self.past(literal.code, window, literal.present, kind),
            };
            match found {
                Encoding::Literal(literal) => encoded.push(literal),
                Encoding::Always => return None,
                Encoding::Never => {}
            }
        }
        sort_clause(encoded)
    }

    /// A literal about the current visit.
    pub fn now(&self, code: Code, present: bool, kind: Kind) -> Encoding {
        if self.vocabulary.kind(code) == kind {
            Encoding::Literal(LiteralId::now(self.order.position(code), present))
        } else {
            Encoding::settled(!present)
        }
    }

    /// A literal about the past.
    pub fn past(&mut self, code: Code, window: &Window, present: bool, kind: Kind) -> Encoding {
        match self.canonical(code, window) {
            Some(window) if kind == Kind::Encounter => {
                Encoding::Literal(LiteralId::past(self.atoms.intern(code, window), present))
            }
            _ => Encoding::settled(!present),
        }
    }

    /// The smallest window that says the same of this code; `None` if it never holds it.
    fn canonical(&self, code: Code, window: &Window) -> Option<Window> {
        if code == self.vocabulary.end() {
            // No visit follows the end, so no past visit has it.
            return None;
        }
        // The furthest visit such a code can be in is the static visit or encounter 1.
        let furthest = match self.vocabulary.kind(code) {
            Kind::Static => self.max_visits,
            Kind::Encounter => self.max_visits - 1,
        };
        let back: Vec<u16> =
            window.distances().iter().copied().filter(|&distance| distance <= furthest).collect();
        let all = window.is_past() || (furthest > 0 && back.len() == usize::from(furthest));
        match self.vocabulary.kind(code) {
            Kind::Static if all || window.visits().first() == Some(&0) => {
                Some(Window::static_visit())
            }
            Kind::Static => (!back.is_empty()).then(|| Window::ago(back)),
            Kind::Encounter if all => Some(Window::past()),
            Kind::Encounter => {
                let reachable = |&visit: &u16| 0 < visit && visit < self.max_visits;
                let at: Vec<u16> = window.visits().iter().copied().filter(reachable).collect();
                (!at.is_empty() || !back.is_empty()).then(|| Window::set(at, back))
            }
        }
    }
}

/// Sorts and merges literals; `None` if the clause holds a literal and its opposite.
pub(crate) fn sort_clause(mut clause: Vec<LiteralId>) -> Option<Vec<LiteralId>> {
    clause.sort_unstable();
    clause.dedup();
    let opposite = clause.windows(2).any(|pair| pair[0].negated() == pair[1]);
    (!opposite).then_some(clause)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a window is shortened to, it selects the same visits that can hold the code.
    #[test]
    fn canonical_windows_select_the_same_visits() {
        let max_visits = 4;
        let names = [("s", Kind::Static), ("e", Kind::Encounter)];
        let vocabulary = Vocabulary::new(names).unwrap();
        let order = Order::natural(std::sync::Arc::new(vocabulary.clone()));
        let encoder =
            Encoder { vocabulary: &vocabulary, order: &order, max_visits, atoms: Atoms::default() };
        let members = |set: u32, from: u16| (from..6).filter(move |bit| set >> bit & 1 == 1);
        let sets = (0..64u32).flat_map(|at| (0..64u32).map(move |ago| (at, ago)));
        let windows = sets.map(|(at, ago)| Window::set(members(at, 0), members(ago, 1)));
        for window in windows.chain([Window::past()]) {
            for code in vocabulary.codes() {
                let short = encoder.canonical(code, &window);
                for now in 1..=usize::from(max_visits) {
                    for then in 0..now {
                        let lives = code != vocabulary.end()
                            && vocabulary.kind(code) == Kind::of_visit(then);
                        let found = short.as_ref().is_some_and(|short| short.selects(now, then));
                        assert_eq!(found && lives, window.selects(now, then) && lives, "{window}");
                    }
                }
            }
        }
    }
}
