//! Clauses that one of several codes may still meet.
//!
//! Literals of a clause are sorted in the order they are decided. What follows the last one that asks
//! for a code to be absent are codes, any of which meets the clause when it comes on: from the first of
//! them on the clause is *due*, if none of the literals before them holds.

use consequence_record::Lists;
use consequence_rules::{Clause, LiteralId, Plan};

use crate::history::Layout;
use crate::index::{Condition, Index, IndexBuilder};

/// Clauses with the codes that may meet them last, and what makes them due.
#[derive(Debug)]
pub(crate) struct DueClauses {
    /// What makes each due.
    pub index: Index,
    /// The codes that may still meet each, ascending.
    pub codes: Lists<u32>,
    /// Those that need nothing to be present, of the static visit and of encounters, by their first
    /// code.
    pub standing: [Vec<(u32, u32)>; 2],
}

/// A clause whose last literals are codes that may come on: what is before them, and they.
pub(crate) fn split<'a>(clause: &Clause<'a>) -> Option<(&'a [LiteralId], &'a [LiteralId])> {
    let comes_on = |literal: &LiteralId| literal.present() && literal.position().is_some();
    let codes = clause.literals.iter().rev().take_while(|literal| comes_on(literal)).count();
    let parts = clause.literals.split_at(clause.literals.len() - codes);
    (clause.direct && codes > 0).then_some(parts)
}

impl DueClauses {
    /// None.
    pub fn none(layout: &Layout) -> Self {
        Self::new(IndexBuilder::new(layout).finish(), Lists::default())
    }

    /// Those that more than one code may meet.
    pub fn waiting(plan: &Plan, layout: &Layout) -> Self {
        let mut index = IndexBuilder::new(layout);
        let mut codes = Lists::default();
        for clause in plan.clauses() {
            if let Some((before, left @ [_, _, ..])) = split(&clause) {
                index.add(broken(plan, layout, &clause, before), clause.visits);
                codes.push(left.iter().filter_map(|literal| literal.position()));
            }
        }
        Self::new(index.finish(), codes)
    }

    /// Those of some rules, filed under the code that comes before all that may meet them.
    pub fn tests(plan: &Plan, layout: &Layout, rule: impl Fn(u32) -> bool) -> Self {
        let mut index = IndexBuilder::new(layout);
        let mut codes = Lists::default();
        for clause in plan.clauses() {
            let Some((before, left)) = split(&clause) else { continue };
            if !clause.rules.iter().any(|&one| rule(one)) {
                continue;
            }
            if let Some((last, before)) = before.split_last()
                && let Some(antecedent) = last.position()
            {
                let conditions = broken(plan, layout, &clause, before);
                index.add_under(antecedent, conditions, clause.visits);
                codes.push(left.iter().filter_map(|literal| literal.position()));
            }
        }
        Self::new(index.finish(), codes)
    }

    fn new(index: Index, codes: Lists<u32>) -> Self {
        let standing = [0, 1].map(|visit| {
            let unprompted = index.unprompted(visit).iter();
            let mut list: Vec<(u32, u32)> =
                unprompted.map(|&id| (codes.list(id as usize)[0], id)).collect();
            list.sort_unstable();
            list
        });
        Self { index, codes, standing }
    }

    /// The codes that may still meet a clause.
    pub fn of(&self, id: u32) -> &[u32] {
        self.codes.list(id as usize)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let standing = self.standing.iter().map(|list| size_of_val(list.as_slice()));
        self.index.memory() + self.codes.memory() + standing.sum::<usize>()
    }
}

/// That none of these literals holds, where the clause is required.
fn broken(
    plan: &Plan,
    layout: &Layout,
    clause: &Clause<'_>,
    literals: &[LiteralId],
) -> Vec<Condition> {
    let opposite = |literal: &LiteralId| layout.condition(plan.atoms(), literal.negated());
    literals.iter().map(opposite).chain(layout.confined(clause.stages)).collect()
}
