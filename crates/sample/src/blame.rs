//! Which rules forbid a record.

use consequence_record::{Code, RecordView};
use consequence_rules::{Clause, Plan};

/// The names of the rules that forbid a record to be as it is at a visit, whether it ends there or
/// goes on: those of the clause that needs the fewest of them.
pub(crate) fn blame(plan: &Plan, record: RecordView<'_>, visit: usize) -> Vec<String> {
    let end = plan.rules().vocabulary().end();
    let broken = |clause: &Clause<'_>, ends: bool| {
        let has = |then: usize, code: Code| match code == end {
            true => then == visit && ends,
            false => record.visit(then).binary_search(&code).is_ok(),
        };
        clause.visits.contains(visit)
            && !clause.literals.iter().any(|&literal| plan.decode(literal).holds(visit, has))
    };
    let rules_against = |ends: bool| -> Vec<u32> {
        let clauses = plan.clauses().filter(|clause| broken(clause, ends));
        let fewest = clauses.min_by_key(|clause| clause.rules.len()).map(|one| one.rules.to_vec());
        let dense = || plan.diagram().map(|diagram| diagram.rules.clone());
        fewest.or_else(dense).unwrap_or_default()
    };
    let last = visit + 1 == record.len();
    let mut rules = rules_against(false);
    if last && visit > 0 {
        rules.extend(rules_against(true));
    }
    rules.sort_unstable();
    rules.dedup();
    rules.into_iter().map(|rule| plan.rule(rule).name.to_string()).collect()
}
