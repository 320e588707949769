//! Clauses of a plan as rules that a person can read.

use consequence_record::Kind;
use consequence_rules::{Clause, Derivation, Formula, Literal, LiteralId, Plan};

use super::report::{DerivedKind, DerivedRule};

/// The clause as an implication that concludes its last literal, the one decided last.
pub(super) fn implication(
    literals: &[LiteralId],
    decode: impl Fn(LiteralId) -> Literal,
) -> Formula {
    let Some((&last, others)) = literals.split_last() else { return Formula::Constant(false) };
    let mut antecedent: Vec<Formula> =
        others.iter().map(|literal| decode(literal.negated()).formula()).collect();
    let consequent = decode(last).formula();
    match antecedent.len() {
        0 => consequent,
        1 => antecedent.remove(0).implies(consequent),
        _ => Formula::And(antecedent).implies(consequent),
    }
}

/// The clauses of a plan that nobody wrote, if `wanted` by the rules they come from.
pub(super) fn derived(plan: &Plan, wanted: impl Fn(&[u32]) -> bool) -> Vec<DerivedRule> {
    plan.clauses()
        .filter(|clause| clause.derivation != Derivation::Written)
        // What comes from no rule is that the last position ends the record.
        .filter(|clause| !clause.rules.is_empty() && wanted(clause.rules))
        .map(|clause| DerivedRule {
            text: implication(clause.literals, |literal| plan.decode(literal))
                .text(plan.rules().vocabulary()),
            kind: match clause.derivation {
                Derivation::LookAhead => DerivedKind::LookAhead,
                _ => DerivedKind::Implied,
            },
            visits: partial_span(plan, &clause),
            from: clause.rules.iter().map(|&rule| plan.rule(rule).name.to_string()).collect(),
        })
        .collect()
}

/// The visits a clause is required of, where these are not all visits of its kind.
fn partial_span(plan: &Plan, clause: &Clause<'_>) -> Option<[u16; 2]> {
    let (first, last) = (clause.visits.first, clause.visits.last);
    let whole = match Kind::of_visit(first.into()) {
        Kind::Static => last == 0,
        Kind::Encounter => first == 1 && usize::from(last) == plan.max_visits(),
    };
    (!whole).then_some([first, last])
}
