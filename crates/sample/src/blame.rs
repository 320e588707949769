//! Which rules forbid a record.

use consequence_record::{Code, RecordView};
use consequence_rules::{ClauseView, Literal, Plan};

/// The names of the rules that forbid a record to be as it is at a visit, whether it ends there or
/// goes on: those of the clause that needs the fewest of them.
pub(crate) fn blame(plan: &Plan, record: RecordView<'_>, visit: usize) -> Vec<String> {
    let end = plan.rules().vocabulary.end();
    let broken = |clause: &ClauseView<'_>, ends: bool| {
        let moment = Moment { record, visit, end, ends };
        clause.span.contains(visit)
            && !clause.literals.iter().any(|&literal| moment.holds(&plan.decode(literal)))
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

struct Moment<'a> {
    record: RecordView<'a>,
    visit: usize,
    end: Code,
    ends: bool,
}

impl Moment<'_> {
    fn holds(&self, literal: &Literal) -> bool {
        let present = match &literal.window {
            None if literal.code == self.end => self.ends,
            None => self.has(literal.code, self.visit),
            Some(window) => (0..self.visit)
                .any(|then| window.selects(self.visit, then) && self.has(literal.code, then)),
        };
        present == literal.present
    }

    fn has(&self, code: Code, visit: usize) -> bool {
        self.record.visit(visit).binary_search(&code).is_ok()
    }
}
