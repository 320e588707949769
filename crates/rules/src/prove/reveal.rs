//! What may be revealed when a visit begins, for proofs: written anew from what facts mean, not taken
//! from the compiler.

use std::sync::Arc;

use consequence_record::{AgeBand, Kind};
use rustc_hash::FxHashMap;

use super::solver::{Lit, Meaning, Solver};
use super::visit::Known;
use crate::compile::{Clause, ClosedRules, LiteralId, Subject, VisitRange};
use crate::{Days, Fact, ValueRange, Window};

/// Whether the visits that a proof looks at may be chosen: from any past that satisfies the clauses about it,
/// some number of days leaves every other clause true, whatever is revealed then. `here` are the clauses
/// that no code of the visit can still satisfy.
pub(crate) fn some_days_will_do(
    plan: &ClosedRules,
    visits: VisitRange,
    here: &[Clause<'_>],
) -> bool {
    let (revealed, known): (Vec<&Clause<'_>>, Vec<_>) =
        here.iter().partition(|clause| plan.is_revealed(clause));
    if revealed.is_empty() {
        return true;
    }
    let mut solver = Solver::new();
    let mut past = Known::new(plan.encoder(), Kind::Encounter);
    for clause in known {
        let lits: Vec<Lit> =
            clause.literals.iter().map(|&literal| past.encoded(&mut solver, literal)).collect();
        solver.add(lits);
    }
    let first = visits.first == 1;
    let axis = plan.axis();
    let cells = if first { vec![None] } else { (0..axis.cells()).map(Some).collect() };
    for cell in cells {
        if cell.is_some_and(|cell| !axis.is_available(cell)) {
            continue;
        }
        let facts = facts_of(plan, &revealed);
        let mut revealing = Revealing { plan, cell, first, values: FxHashMap::default() };
        for (atom, fact) in &facts {
            let literal = solver.fresh();
            revealing.values.insert(*atom, literal);
            revealing.bound(&mut solver, &mut past, fact, literal);
        }
        let stated: Vec<(&Fact, Lit)> =
            facts.iter().map(|(atom, fact)| (fact, revealing.values[atom])).collect();
        agree(&mut solver, &stated);
        let mut broken = Vec::new();
        for clause in &revealed {
            let literals = clause.literals.iter();
            let false_ones: Vec<Lit> = literals
                .map(|&literal| !revealing.literal(&mut solver, &mut past, literal))
                .collect();
            broken.push(solver.all(&false_ones));
        }
        // This number of days may not do.
        let broken = solver.any(&broken);
        solver.add([broken]);
    }
    !solver.satisfiable(&[])
}

fn facts_of(plan: &ClosedRules, clauses: &[&Clause<'_>]) -> Vec<(u32, Fact)> {
    let atoms = clauses.iter().flat_map(|clause| clause.literals).filter_map(|one| one.atom());
    let mut atoms: Vec<u32> = atoms.filter(|&atom| plan.atoms().is_revealed(atom)).collect();
    atoms.sort_unstable();
    atoms.dedup();
    atoms.into_iter().filter_map(|atom| Some((atom, plan.atoms().fact(atom)?.clone()))).collect()
}

/// What is revealed with one number of days.
struct Revealing<'a> {
    plan: &'a ClosedRules,
    cell: Option<usize>,
    first: bool,
    values: FxHashMap<u32, Lit>,
}

impl Revealing<'_> {
    fn literal(&self, solver: &mut Solver, past: &mut Known<'_>, literal: LiteralId) -> Lit {
        let value = match literal.subject() {
            // More days than the threshold: a later cell than that it ends.
            Subject::Gap(threshold) => {
                solver.constant(self.cell.is_some_and(|cell| cell > threshold as usize))
            }
            Subject::Past(atom) => match self.values.get(&atom) {
                Some(&value) => value,
                None => past.encoded(solver, LiteralId::past(atom, true)),
            },
            Subject::Now(_) => return past.encoded(solver, literal),
        };
        if literal.present() { value } else { !value }
    }

    /// What a fact can be.
    fn bound(&self, solver: &mut Solver, past: &mut Known<'_>, fact: &Fact, value: Lit) {
        if self.first {
            return self.bound_first(solver, past, fact, value);
        }
        let Some(cell) = self.cell else { return };
        let thresholds = self.plan.atoms().thresholds();
        let (from_day, same_day) =
            (cell.checked_sub(1).map_or(0, |before| thresholds[before] + 1), cell == 0);
        match fact {
            Fact::Age { .. } => {
                let before = past.encoder.fact_before(fact, true);
                let before = past.settled(solver, before);
                solver.add([!before, value]);
                if same_day {
                    solver.add([before, !value]);
                }
            }
            Fact::Seen { codes, days: Some(Days { from, to }), count } => {
                if from_day > *to {
                    solver.add([!value]);
                    return;
                }
                let before = past.encoder.fact_before(fact, true);
                let before = past.settled(solver, before);
                let then: Vec<Lit> = codes
                    .iter()
                    .map(|&code| past.literal(solver, code, Some(&Window::previous())))
                    .collect();
                let then = solver.any(&then);
                let one_less = match count {
                    1 => solver.constant(true),
                    _ => {
                        let days = Some(Days { from: *from, to: *to });
                        let less = Fact::Seen { codes: Arc::clone(codes), days, count: count - 1 };
                        let less = past.encoder.fact_before(&less, true);
                        past.settled(solver, less)
                    }
                };
                let once_more = solver.all(&[then, one_less]);
                let grown = if *from == 0 { solver.any(&[before, once_more]) } else { before };
                if same_day {
                    solver.add([!value, grown]);
                    solver.add([value, !grown]);
                    return;
                }
                if *count == 1 && from_day >= *from {
                    solver.add([!then, value]);
                }
                let ever = match from {
                    0 => grown,
                    _ => {
                        let ever =
                            Fact::Seen { codes: Arc::clone(codes), days: None, count: *count };
                        past.fact(solver, &ever)
                    }
                };
                solver.add([!value, ever]);
            }
            _ => {}
        }
    }

    fn bound_first(&self, solver: &mut Solver, past: &mut Known<'_>, fact: &Fact, value: Lit) {
        match fact {
            Fact::Age { least } => {
                for (code, band) in AgeBand::of_statics(self.plan.rules().vocabulary()) {
                    let told = past.literal(solver, code, Some(&Window::static_visit()));
                    if band.from >= *least {
                        solver.add([!told, value]);
                    }
                    if band.to.is_some_and(|to| to <= *least) {
                        solver.add([!told, !value]);
                    }
                }
            }
            Fact::Seen { .. } => solver.add([!value]),
            _ => {}
        }
    }
}

/// Facts of one visit agree with each other.
pub(crate) fn agree(solver: &mut Solver, facts: &[(&Fact, Lit)]) {
    for (index, (one, value)) in facts.iter().enumerate() {
        for (other, also) in &facts[..index] {
            if one.implies(other) {
                solver.add([!*value, *also]);
            }
            if other.implies(one) {
                solver.add([!*also, *value]);
            }
        }
    }
    let mut measured: FxHashMap<_, Vec<(ValueRange, Lit)>> = FxHashMap::default();
    for (fact, value) in facts {
        if let Fact::Value { code, range } = fact {
            measured.entry(*code).or_default().push((*range, *value));
        }
    }
    for ranges in measured.into_values() {
        let limits: Vec<ValueRange> = ranges.iter().map(|&(range, _)| range).collect();
        let mut some = Vec::new();
        for value in ValueRange::samples(&limits) {
            // The value is like this one.
            let is = solver.fresh();
            for &(range, literal) in &ranges {
                solver.add([!is, if range.holds(value) { literal } else { !literal }]);
            }
            some.push(is);
        }
        solver.add(some);
    }
}
