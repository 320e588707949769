//! Whether a formula is true at a visit, by walking its tree.

use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{Formula, Window};

use crate::Visits;

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

    /// Whether something is so of a visit that a window selects, seen from here.
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
