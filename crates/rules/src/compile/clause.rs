//! Clauses as the compiler works on them: numbered literals and the visits they are required of.

use std::sync::Arc;

use consequence_record::{Code, Kind, Vocabulary};
use rustc_hash::FxHashMap;

use super::normal::{self, Asked};
use super::order::Order;
use super::reveal::GapAxis;
use crate::formula::PAST;
use crate::{Fact, Window};

/// A literal as a number. Literals about the past come first, then those about the days since the
/// visit before, then literals about the current visit in the order codes are decided, so the last
/// literal of a sorted clause is the one decided last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiteralId(u32);

const NOW: u32 = 1 << 31;
const GAP: u32 = 1 << 30;

impl LiteralId {
    /// The code at an order position, in the current visit.
    pub(crate) fn now(position: u32, present: bool) -> Self {
        Self(NOW | position << 1 | u32::from(present))
    }

    pub(crate) fn past(atom: u32, present: bool) -> Self {
        Self(atom << 1 | u32::from(present))
    }

    /// The days since the visit before are more than the threshold of this number, or they are not.
    pub(crate) fn gap(threshold: u32, above: bool) -> Self {
        Self(GAP | threshold << 1 | u32::from(above))
    }

    /// What the literal is about.
    #[inline]
    pub fn subject(self) -> Subject {
        if self.0 & NOW != 0 {
            Subject::Now((self.0 & !NOW) >> 1)
        } else if self.0 & GAP != 0 {
            Subject::Gap((self.0 & !GAP) >> 1)
        } else {
            Subject::Past(self.0 >> 1)
        }
    }

    /// The order position, for a literal about the current visit.
    pub fn position(self) -> Option<u32> {
        match self.subject() {
            Subject::Now(position) => Some(position),
            Subject::Past(_) | Subject::Gap(_) => None,
        }
    }

    /// The atom's number, for a literal about the past.
    pub fn atom(self) -> Option<u32> {
        match self.subject() {
            Subject::Past(atom) => Some(atom),
            Subject::Now(_) | Subject::Gap(_) => None,
        }
    }

    /// The number of the threshold, for a literal about the days since the visit before.
    pub fn threshold(self) -> Option<u32> {
        match self.subject() {
            Subject::Gap(threshold) => Some(threshold),
            Subject::Now(_) | Subject::Past(_) => None,
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
    /// Whether the days since the visit before are more than the threshold of this number.
    Gap(u32),
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

/// What a clause can ask of what is known before the codes of a visit are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// A code in a window.
    In {
        /// The window's number in [`Atoms::windows`].
        window: u32,
        /// The code looked for.
        code: Code,
    },
    /// A fact at this visit.
    Fact(Fact),
    /// A fact at the visit before this one. Proofs ask for it; no visit is decided by it.
    FactBefore(Fact),
}

/// The atoms and windows of a rule set, numbered.
#[derive(Clone, Debug, Default)]
pub struct Atoms {
    windows: Vec<Window>,
    window_numbers: FxHashMap<Window, u32>,
    atoms: Vec<Atom>,
    atom_numbers: FxHashMap<Atom, u32>,
    thresholds: Arc<[u32]>,
    /// How many atoms are facts.
    facts: usize,
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

    /// The code of an atom and the window it is looked for in; `None` for a fact.
    pub fn seen_in(&self, atom: u32) -> Option<(Code, &Window)> {
        match self.atoms[atom as usize] {
            Atom::In { window, code } => Some((code, &self.windows[window as usize])),
            Atom::Fact(_) | Atom::FactBefore(_) => None,
        }
    }

    /// The fact that an atom asks for at this visit.
    pub fn fact(&self, atom: u32) -> Option<&Fact> {
        match &self.atoms[atom as usize] {
            Atom::Fact(fact) => Some(fact),
            Atom::In { .. } | Atom::FactBefore(_) => None,
        }
    }

    /// Numbers of days such that it matters whether those since the visit before are more: ascending.
    pub fn thresholds(&self) -> &[u32] {
        &self.thresholds
    }

    /// Atoms that are numbered yet to come, with the days that matter.
    pub(crate) fn over(thresholds: Arc<[u32]>) -> Self {
        Self { thresholds, ..Self::default() }
    }

    /// Whether any atom is a fact.
    pub(crate) fn has_facts(&self) -> bool {
        self.facts > 0
    }

    /// Whether an atom is known only once it is known when the visit is, or what it measures.
    pub(crate) fn is_revealed(&self, atom: u32) -> bool {
        self.fact(atom).is_some_and(|fact| !fact.is_settled_before())
    }

    fn intern_window(&mut self, code: Code, window: Window) -> u32 {
        let next = self.windows.len() as u32;
        let window = *self.window_numbers.entry(window).or_insert_with_key(|window| {
            self.windows.push(window.clone());
            next
        });
        self.intern(Atom::In { window, code })
    }

    fn intern(&mut self, atom: Atom) -> u32 {
        let next = self.atoms.len() as u32;
        *self.atom_numbers.entry(atom).or_insert_with_key(|atom| {
            self.facts += usize::from(!matches!(atom, Atom::In { .. }));
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
    pub axis: &'a GapAxis,
    pub atoms: Atoms,
}

impl Encoder<'_> {
    /// The clause as sorted numbers for visits of one kind; `None` if it always holds there.
    pub fn clause(&mut self, clause: &[normal::Literal], kind: Kind) -> Option<Vec<LiteralId>> {
        let mut encoded = Vec::with_capacity(clause.len());
        for literal in clause {
            let found = match &literal.asked {
                Asked::Now(code) => self.now(*code, literal.present, kind),
                Asked::In(window, code) => self.past(*code, window, literal.present, kind),
                Asked::Fact(fact) => self.fact(fact, literal.present, kind),
            };
            match found {
                Encoding::Literal(literal) => encoded.push(literal),
                Encoding::Always => return None,
                Encoding::Never => {}
            }
        }
        self.sorted(encoded)
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
                Encoding::Literal(LiteralId::past(self.atoms.intern_window(code, window), present))
            }
            _ => Encoding::settled(!present),
        }
    }

    /// A literal about a fact. Before the static visit nothing is known, and it has no day.
    pub fn fact(&mut self, fact: &Fact, present: bool, kind: Kind) -> Encoding {
        let canonical = match kind {
            Kind::Static => Known::Never,
            Kind::Encounter => self.canonical_fact(fact),
        };
        match canonical {
            Known::Always => Encoding::settled(present),
            Known::Never => Encoding::settled(!present),
            Known::In(code) => self.past(code, &PAST, present, kind),
            Known::Fact(fact) => {
                Encoding::Literal(LiteralId::past(self.atoms.intern(Atom::Fact(fact)), present))
            }
        }
    }

    /// A literal about a fact, or one that holds where it need not be asked for.
    pub fn fact_or_true(
        &mut self,
        fact: &Fact,
        asked: bool,
        present: bool,
        kind: Kind,
    ) -> Encoding {
        if asked { self.fact(fact, present, kind) } else { Encoding::settled(present) }
    }

    /// A literal about a fact at the visit before.
    pub fn fact_before(&mut self, fact: &Fact, present: bool) -> Encoding {
        match self.canonical_fact(fact) {
            Known::Always => Encoding::settled(present),
            Known::Fact(fact) => Encoding::Literal(LiteralId::past(
                self.atoms.intern(Atom::FactBefore(fact)),
                present,
            )),
            // Only what is revealed is asked for at the visit before.
            Known::Never | Known::In(_) => Encoding::settled(!present),
        }
    }

    /// The days since the visit before are more than a threshold, or they are not.
    pub fn gap(&self, days: u32, above: bool) -> LiteralId {
        let threshold = self.atoms.thresholds.partition_point(|&threshold| threshold < days);
        LiteralId::gap(threshold as u32, above)
    }

    /// The fact at an encounter without codes that say nothing in it.
    fn canonical_fact(&self, fact: &Fact) -> Known {
        let end = self.vocabulary.end();
        let codes_of = |codes: &[Code], dated: bool| -> Arc<[Code]> {
            let lives = |code: &Code| {
                *code != end && !(dated && self.vocabulary.kind(*code) == Kind::Static)
            };
            codes.iter().copied().filter(lives).collect()
        };
        match fact {
            Fact::Seen { codes, days, count } => {
                let codes = codes_of(codes, days.is_some());
                match (&*codes, days, count) {
                    (_, _, 0) => Known::Always,
                    ([], ..) => Known::Never,
                    (&[code], None, 1) => Known::In(code),
                    _ => Known::Fact(Fact::Seen { codes, days: *days, count: *count }),
                }
            }
            Fact::Since { codes, mark } => {
                let (codes, mark) = (codes_of(codes, false), codes_of(mark, false));
                if codes.is_empty() || mark.is_empty() {
                    Known::Never
                } else {
                    Known::Fact(Fact::Since { codes, mark })
                }
            }
            Fact::Age { .. } | Fact::FirstVisit | Fact::Value { .. } => Known::Fact(fact.clone()),
        }
    }

    /// Sorts and merges literals; `None` if the clause always holds.
    pub fn sorted(&self, clause: Vec<LiteralId>) -> Option<Vec<LiteralId>> {
        let clause = sort_clause(clause)?;
        if !self.atoms.has_facts() { Some(clause) } else { self.simplified(clause) }
    }

    /// A sorted clause without literals that others of it make superfluous; `None` if it always holds,
    /// by what facts say of each other.
    pub fn simplified(&self, mut clause: Vec<LiteralId>) -> Option<Vec<LiteralId>> {
        let fact = |literal: &LiteralId| Some((self.fact_of(literal.atom()?)?, literal.present()));
        let facts: Vec<(LiteralId, Stated, bool)> = clause
            .iter()
            .filter_map(|literal| {
                fact(literal).map(|(stated, present)| (*literal, stated, present))
            })
            .collect();
        let mut superfluous = Vec::new();
        for (index, (one, stated, present)) in facts.iter().enumerate() {
            for (other, also, also_present) in &facts[index + 1..] {
                if stated.1 != also.1 {
                    continue;
                }
                let [forth, back] = [stated.0.implies(&also.0), also.0.implies(&stated.0)];
                match (present, also_present) {
                    // One says less than the other or as much.
                    (true, true) if forth => superfluous.push(*one),
                    (true, true) if back => superfluous.push(*other),
                    (false, false) if forth => superfluous.push(*other),
                    (false, false) if back => superfluous.push(*one),
                    (true, false) if back => return None,
                    (false, true) if forth => return None,
                    _ => {}
                }
            }
        }
        if self.values_cover(&clause) {
            return None;
        }
        // Of the days since the visit before, the widest of each side says all.
        let above = clause.iter().filter(|literal| literal.present()).filter_map(|l| l.threshold());
        let within =
            clause.iter().filter(|literal| !literal.present()).filter_map(|l| l.threshold());
        let (above, within) = (above.min(), within.max());
        if above.zip(within).is_some_and(|(above, within)| above <= within) {
            return None;
        }
        clause.retain(|literal| {
            !superfluous.contains(literal)
                && literal.threshold().is_none_or(|threshold| {
                    Some(threshold) == if literal.present() { above } else { within }
                })
        });
        Some(clause)
    }

    /// Whether one of the literals about values of a code holds, whatever its value is.
    fn values_cover(&self, clause: &[LiteralId]) -> bool {
        let stated = |literal: &LiteralId| match self.atoms.fact(literal.atom()?)? {
            Fact::Value { code, range } => Some((*code, *range, literal.present())),
            _ => None,
        };
        let mut stated: Vec<_> = clause.iter().filter_map(stated).collect();
        stated.sort_unstable();
        stated.chunk_by(|one, other| one.0 == other.0).any(|ranges| {
            let limits: Vec<_> = ranges.iter().map(|&(_, range, _)| range).collect();
            let some = |value: f32| ranges.iter().any(|&(_, range, is)| range.holds(value) == is);
            crate::ValueRange::samples(&limits).into_iter().all(some)
        })
    }

    /// The fact that an atom states, and whether of the visit before. A code in the past is one, too.
    fn fact_of(&self, atom: u32) -> Option<Stated> {
        match &self.atoms.atoms[atom as usize] {
            Atom::Fact(fact) => Some((fact.clone(), false)),
            Atom::FactBefore(fact) => Some((fact.clone(), true)),
            Atom::In { window, code } => {
                let window = &self.atoms.windows[*window as usize];
                let past = || Fact::Seen { codes: [*code].into(), days: None, count: 1 };
                window.is_past().then(|| (past(), false))
            }
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

/// A fact, and whether it is of the visit before.
type Stated = (Fact, bool);

/// What is known of a fact at every encounter.
enum Known {
    Always,
    Never,
    /// It says that the code is in some earlier visit.
    In(Code),
    Fact(Fact),
}

/// The most clauses that one may split into.
const MAX_ALTERNATIVES: usize = 1 << 12;

/// Each of some clauses, or all of some parts, each a list of which one must hold: as clauses. `None` if they are
/// too many.
pub(crate) fn either(
    clauses: &[Vec<LiteralId>],
    parts: &[Vec<Encoding>],
) -> Option<Vec<Vec<LiteralId>>> {
    let mut split = Vec::new();
    for part in parts.iter().filter(|part| !part.contains(&Encoding::Always)) {
        let literals = part.iter().filter_map(|part| part.literal());
        let with =
            |clause: &Vec<LiteralId>| clause.iter().copied().chain(literals.clone()).collect();
        split.extend(clauses.iter().map(with));
    }
    (split.len() <= MAX_ALTERNATIVES).then_some(split)
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
        let encoder = Encoder {
            vocabulary: &vocabulary,
            order: &order,
            max_visits,
            axis: &GapAxis::default(),
            atoms: Atoms::default(),
        };
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
