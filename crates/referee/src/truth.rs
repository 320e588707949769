//! How a record is read: its visits however they are kept, whether a formula is true at one of
//! them, and what makes them no record at all.

use std::fmt;

use consequence_record::{Code, Kind, Record, RecordView, Vocabulary};
use consequence_rules::{Formula, Window};

/// Visits that can be judged.
pub trait Visits {
    /// The number of visits, the static visit included.
    fn visit_count(&self) -> usize;

    /// The codes stored in a visit; none where there is no such visit.
    fn codes(&self, visit: usize) -> &[Code];

    /// Whether the record has an end, rather than having been cut.
    fn has_ended(&self) -> bool;
}

impl Visits for Record {
    fn visit_count(&self) -> usize {
        self.visits.len()
    }

    fn codes(&self, visit: usize) -> &[Code] {
        self.visits.get(visit).map_or(&[], Vec::as_slice)
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}

impl Visits for RecordView<'_> {
    fn visit_count(&self) -> usize {
        self.len()
    }

    fn codes(&self, visit: usize) -> &[Code] {
        if visit < self.len() { self.visit(visit) } else { &[] }
    }

    fn has_ended(&self) -> bool {
        self.ended()
    }
}

/// One visit of one record, as a formula sees it.
pub(crate) struct Moment<'a, V: ?Sized> {
    pub vocabulary: &'a Vocabulary,
    pub record: &'a V,
    pub now: usize,
}

impl<V: Visits + ?Sized> Moment<'_, V> {
    /// Whether the formula is true here.
    pub fn satisfies(&self, formula: &Formula) -> bool {
        match formula {
            Formula::Constant(truth) => *truth,
            Formula::Now(code) => self.present(*code, self.now),
            Formula::In(code, window) => {
                self.any_selected(window, |then| self.present(*code, then))
            }
            Formula::Not(inner) => !self.satisfies(inner),
            Formula::And(parts) => parts.iter().all(|part| self.satisfies(part)),
            Formula::Or(parts) => parts.iter().any(|part| self.satisfies(part)),
            Formula::Implies(left, right) => !self.satisfies(left) || self.satisfies(right),
            Formula::Iff(left, right) => self.satisfies(left) == self.satisfies(right),
            Formula::AtMostOne(parts) => self.count(parts) <= 1,
            Formula::ExactlyOne(parts) => self.count(parts) == 1,
        }
    }

    fn count(&self, parts: &[Formula]) -> usize {
        parts.iter().filter(|part| self.satisfies(part)).count()
    }

    /// Whether a visit holds a code.
    fn present(&self, code: Code, visit: usize) -> bool {
        if code == self.vocabulary.end() {
            let last = visit + 1 == self.record.visit_count();
            return visit > 0 && last && self.record.has_ended();
        }
        lives_in(self.vocabulary, code, visit) && self.record.codes(visit).contains(&code)
    }

    /// Whether a condition holds of a visit that a window selects, seen from here.
    fn any_selected(&self, window: &Window, is_so: impl Fn(usize) -> bool) -> bool {
        if window.is_past() {
            return (0..self.now).any(is_so);
        }
        let by_number = window.visits().iter().map(|&visit| usize::from(visit));
        let by_distance =
            window.distances().iter().filter_map(|&back| self.now.checked_sub(usize::from(back)));
        by_number.chain(by_distance).any(|visit| visit < self.now && is_so(visit))
    }
}

/// Whether this code may stand in that visit. A code of no vocabulary lives nowhere.
pub(crate) fn lives_in(vocabulary: &Vocabulary, code: Code, visit: usize) -> bool {
    let home = (code.index() < vocabulary.len()).then(|| vocabulary.kind(code));
    match home {
        Some(Kind::Static) => visit == 0,
        Some(Kind::Encounter) => visit > 0,
        None => false,
    }
}

/// A way in which visits fail to be a record, whatever the rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A static code in an encounter or the reverse, `END` stored, or a number that is no code of
    /// the vocabulary.
    Misplaced {
        /// The visit that holds it.
        visit: usize,
        /// The code.
        code: Code,
    },
    /// The codes of a visit are not in ascending order, or one is repeated.
    Unordered {
        /// The visit.
        visit: usize,
    },
    /// There is no encounter: a record has at least one.
    NoEncounter,
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misplaced { visit, code } => {
                write!(out, "code number {} cannot be stored in visit {visit}", code.0)
            }
            Self::Unordered { visit } => {
                write!(out, "the codes of visit {visit} are not an ascending set")
            }
            Self::NoEncounter => out.write_str("there is no encounter"),
        }
    }
}

/// Everything that makes these visits no record.
pub(crate) fn defects<V: Visits + ?Sized>(vocabulary: &Vocabulary, record: &V) -> Vec<Defect> {
    let mut found = Vec::new();
    if record.visit_count() < 2 {
        found.push(Defect::NoEncounter);
    }
    for visit in 0..record.visit_count() {
        let codes = record.codes(visit);
        for &code in codes {
            if code == vocabulary.end() || !lives_in(vocabulary, code, visit) {
                found.push(Defect::Misplaced { visit, code });
            }
        }
        if codes.windows(2).any(|pair| pair[0] >= pair[1]) {
            found.push(Defect::Unordered { visit });
        }
    }
    found
}
