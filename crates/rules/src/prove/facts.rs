//! Clauses known to hold, and the quick way to see that another one follows from a single one of them.

use rustc_hash::FxHashSet;

use crate::compile::LiteralId;

/// Longer clauses are left to the solver: they have too many parts.
const LONGEST: usize = 8;

/// Clauses known to hold.
#[derive(Default)]
pub(crate) struct Facts<'a> {
    known: FxHashSet<&'a [LiteralId]>,
    /// In the order they came, for a solver that is told of them only when it is needed.
    listed: Vec<&'a [LiteralId]>,
    told: usize,
}

impl<'a> Facts<'a> {
    pub fn add(&mut self, clause: &'a [LiteralId]) {
        if self.known.insert(clause) {
            self.listed.push(clause);
        }
    }

    /// Whether some known clause is a part of this sorted one, which then holds as well.
    pub fn imply(&self, clause: &[LiteralId]) -> bool {
        if clause.len() > LONGEST {
            return self.known.contains(clause);
        }
        let mut part = Vec::with_capacity(LONGEST);
        (0u32..1 << clause.len()).any(|chosen| {
            part.clear();
            part.extend(
                clause
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| chosen >> bit & 1 == 1)
                    .map(|(_, &literal)| literal),
            );
            self.known.contains(part.as_slice())
        })
    }

    /// The clauses that have come since this was last asked.
    pub fn news(&mut self) -> Vec<&'a [LiteralId]> {
        let news = self.listed[self.told..].to_vec();
        self.told = self.listed.len();
        news
    }
}
