//! Codes that clauses tie together, now or across visits.

use consequence_record::Kind;

use super::clause::{Encoder, LiteralId};
use super::closure::Closure;
use super::written::{Written, WrittenClause};

/// Groups of encounter codes such that no clause, and no clause moved to an earlier visit, speaks of
/// codes of two groups.
pub(crate) struct Components {
    parents: Vec<u32>,
    statics: u32,
}

impl Components {
    pub fn new(written: &Written, encoder: &Encoder<'_>) -> Self {
        let codes = encoder.order.codes();
        let is_static =
            |code: &&consequence_record::Code| encoder.vocabulary.kind(**code) == Kind::Static;
        let statics = codes.iter().take_while(is_static).count() as u32;
        let mut components = Self { parents: (0..codes.len() as u32).collect(), statics };
        let end = encoder.order.position(encoder.vocabulary.end());
        for clause in written.iter() {
            let positions: Vec<u32> = clause
                .literals
                .iter()
                .filter_map(|&literal| components.position(encoder, literal))
                .collect();
            for &position in &positions {
                components.join(positions[0], position);
            }
            // A clause that says another thing one visit later may come to ask for the end: all that
            // look back do, but for those that look at the static visit by its number.
            let looks_back = |literal: &LiteralId| {
                literal.atom().is_some_and(|atom| {
                    components.position(encoder, *literal).is_some()
                        || !encoder.atoms.window(atom).distances().is_empty()
                })
            };
            if let Some(&first) = positions.first()
                && clause.literals.iter().any(looks_back)
            {
                components.join(first, end);
            }
        }
        components
    }

    /// The component of a clause; `None` for a clause about static codes only.
    pub fn of(&self, encoder: &Encoder<'_>, literals: &[LiteralId]) -> Option<u32> {
        let mut positions = literals.iter().filter_map(|&literal| self.position(encoder, literal));
        positions.next().map(|position| self.root(position))
    }

    /// Whether a clause is of one of these components.
    pub fn is_of(
        &self,
        encoder: &Encoder<'_>,
        clause: &WrittenClause<'_>,
        components: &[u32],
    ) -> bool {
        clause.visits.first > 0
            && self.of(encoder, clause.literals).is_some_and(|root| components.contains(&root))
    }

    /// The component of encounter codes that most of the work went into.
    pub fn heaviest(&self, closure: &Closure) -> Option<u32> {
        let mut weights = vec![0u64; self.parents.len()];
        for (position, &work) in closure.work().iter().enumerate().skip(self.statics as usize) {
            weights[self.root(position as u32) as usize] += u64::from(work);
        }
        let (root, &weight) = weights.iter().enumerate().max_by_key(|(_, weight)| **weight)?;
        (weight > 0).then_some(root as u32)
    }

    /// The position of the encounter code a literal speaks of.
    fn position(&self, encoder: &Encoder<'_>, literal: LiteralId) -> Option<u32> {
        let position = match literal.atom() {
            Some(atom) => encoder.order.position(encoder.atoms.code(atom)),
            None => literal.position()?,
        };
        (position >= self.statics).then_some(position)
    }

    pub fn root(&self, position: u32) -> u32 {
        let mut at = position;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
        }
        at
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }
}
