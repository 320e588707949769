//! Rules that can demand opposite values of the same code.

use consequence_record::{Code, Record};
use rustc_hash::{FxHashMap, FxHashSet};

use super::AnalysisLimits;
use crate::compile::{LiteralId, WrittenClause, WrittenRules};
use crate::prove::Unrolled;

/// Two rules that demand opposite values of a code at the last visit of a record that keeps every
/// other rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The rule that demands the code.
    pub demands: usize,
    /// The rule that forbids it.
    pub forbids: usize,
    /// The code.
    pub code: Code,
    /// The record; its last visit is where the two meet.
    pub witness: Record,
}

/// The conflicts of a rule set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Those found, in the order of the rules.
    pub found: Vec<Conflict>,
    /// Pairs of rules with opposite demands that were not examined, to save time.
    pub unexamined: usize,
}

/// Looks for conflicts between rules, a witness for each.
///
/// ```
/// use std::sync::Arc;
/// use consequence_rules::{AnalysisLimits, CompileLimits, RuleSet, WrittenRules, conflicts};
///
/// let rules = Arc::new(RuleSet::parse("rule one: A => C  rule two: B in past => not C", None)?);
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// let conflicts = conflicts(&written, 100, &AnalysisLimits::default());
/// assert_eq!(conflicts.found[0].witness.visits.len(), 3); // B in encounter 1, A in encounter 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn conflicts(written: &WrittenRules, max_visits: usize, limits: &AnalysisLimits) -> Conflicts {
    let clauses: Vec<WrittenClause<'_>> = written.clauses().collect();
    let mut demands: FxHashMap<(u32, bool), Vec<usize>> = FxHashMap::default();
    for (index, clause) in clauses.iter().enumerate() {
        if let Some((position, last)) = clause
            .literals
            .last()
            .and_then(|&last| last.position().map(|position| (position, last)))
        {
            demands.entry((position, last.present())).or_default().push(index);
        }
    }
    let mut positions: Vec<u32> =
        demands.keys().filter(|(_, present)| *present).map(|&(position, _)| position).collect();
    positions.sort_unstable();
    let mut seen = FxHashSet::default();
    let mut conflicts = Conflicts::default();
    for position in positions {
        let (Some(on), Some(off)) =
            (demands.get(&(position, true)), demands.get(&(position, false)))
        else {
            continue;
        };
        for (&one, &other) in on.iter().flat_map(|one| off.iter().map(move |other| (one, other))) {
            let (one, other) = (&clauses[one], &clauses[other]);
            let apart = one.rule == other.rule
                || one.visits.meet(other.visits).is_none()
                || one.literals.iter().any(|literal| {
                    Some(literal) != one.literals.last()
                        && other.literals.contains(&literal.negated())
                });
            if apart || seen.contains(&(one.rule, other.rule, position)) {
                continue;
            }
            if seen.len() >= limits.pairs {
                conflicts.unexamined += 1;
                continue;
            }
            seen.insert((one.rule, other.rule, position));
            if let Some(witness) = witness(written, one, other, max_visits, limits) {
                conflicts.found.push(Conflict {
                    demands: one.rule as usize,
                    forbids: other.rule as usize,
                    code: written.order().code(position),
                    witness,
                });
            }
        }
    }
    conflicts.found.sort_by_key(|conflict| (conflict.demands, conflict.forbids));
    conflicts
}

/// A record at whose last visit both clauses force their last code, and no other rule is broken.
fn witness(
    written: &WrittenRules,
    one: &WrittenClause<'_>,
    other: &WrittenClause<'_>,
    max_visits: usize,
    limits: &AnalysisLimits,
) -> Option<Record> {
    let rules = written.rules();
    let pair = [one.rule as usize, other.rule as usize];
    let reach = usize::from(one.visits.last.min(other.visits.last)).min(max_visits);
    for last in usize::from(one.visits.first)..=reach.min(limits.encounters) {
        let mut record = Unrolled::new(rules.vocabulary(), last);
        let mut assumed = Vec::new();
        let antecedent = |clause: &WrittenClause<'_>| -> Vec<LiteralId> {
            clause.literals[..clause.literals.len() - 1].to_vec()
        };
        for literal in antecedent(one).into_iter().chain(antecedent(other)) {
            let formula = written.decode(literal.negated())?.formula();
            assumed.push(record.formula(&formula, last));
        }
        let required = |rule: usize, visit: usize| visit < last || !pair.contains(&rule);
        if let Some(found) = record.find(rules, &assumed, required) {
            return Some(found);
        }
    }
    None
}
