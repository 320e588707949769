//! Step five, the proof, by induction over visits.
//!
//! From any proposed values and any history that satisfies the preconditions, one visit of
//! enforcement ends with every hard rule true and the preconditions true again; and the empty
//! history satisfies them. Enforcement is modelled as it runs: in order, a code is on if a clause
//! demands it, else off if a clause bars it, else as proposed. The rules are taken from their trees,
//! not from their clauses, so an error in the compiler cannot vouch for itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use consequence_record::Kind;
use rustc_hash::FxHashMap;

use super::formula::{Meaning, encode};
use super::solver::{Lit, Solver};
use super::visit::Known;
use crate::compile::{Branch, Diagram, Encoded, Plan, Question, Span};

/// What a proof consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Kinds of visits told apart: the static visit, encounters, the last position, and others
    /// where the rules name visits.
    pub stages: usize,
    /// Statements whose negation was shown to be impossible.
    pub goals: usize,
}

/// A statement that could not be proved: an error in the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unproved {
    /// The first visit it concerns.
    pub visit: usize,
    /// The rule, or `None` for a precondition.
    pub rule: Option<usize>,
}

/// Proves that no input can end in a violation.
pub(crate) fn prove(plan: &Plan) -> Result<Proof, Unproved> {
    let mut proof = Proof::default();
    for span in stages(plan) {
        proof.stages += 1;
        Stage::new(plan, span).prove(plan, &mut proof.goals)?;
    }
    Ok(proof)
}

/// Visits cut into spans within which the same clauses hold, now and at the visit after.
fn stages(plan: &Plan) -> Vec<Span> {
    let last = plan.max_visits() as u32;
    let mut cuts = vec![0, 1, last, last + 1];
    for clause in plan.clauses() {
        let (first, end) = (u32::from(clause.span.first), u32::from(clause.span.last) + 1);
        cuts.extend([first, end]);
        if clause.position().is_none() {
            cuts.extend([first.saturating_sub(1), end - 1]);
        }
    }
    for window in plan.atoms().windows() {
        for &visit in window.visits() {
            cuts.extend([u32::from(visit), u32::from(visit) + 1]);
        }
    }
    if let Some(diagram) = plan.diagram() {
        let changes = |visit: &u32| {
            let visit = *visit as usize;
            diagram.root(visit) != diagram.root(visit + 1)
        };
        cuts.extend((1..last).filter(changes).flat_map(|visit| [visit, visit + 1]));
    }
    cuts.retain(|&cut| cut <= last + 1);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| Span { first: pair[0] as u16, last: pair[1] as u16 - 1 }).collect()
}

struct Stage<'a> {
    solver: Solver,
    span: Span,
    known: Known<'a>,
}

impl<'a> Stage<'a> {
    fn new(plan: &'a Plan, span: Span) -> Self {
        let kind = Kind::of_visit(span.first.into());
        let known = Known::new(plan.encoder(), kind);
        Self { solver: Solver::new(), span, known }
    }

    fn prove(mut self, plan: &Plan, goals: &mut usize) -> Result<(), Unproved> {
        self.follow_diagram(plan);
        self.enforce(plan, goals)?;
        self.rules_hold(plan, goals)?;
        if usize::from(self.span.last) < plan.max_visits() {
            self.preconditions_hold_again(plan, goals)?;
        }
        Ok(())
    }

    fn refuted(&mut self, assumptions: &[Lit], rule: Option<usize>) -> Result<(), Unproved> {
        if self.solver.satisfiable(assumptions) {
            return Err(Unproved { visit: self.span.first.into(), rule });
        }
        Ok(())
    }

    /// Models one visit of enforcement, and shows code by code that demands and bars never meet.
    fn enforce(&mut self, plan: &Plan, goals: &mut usize) -> Result<(), Unproved> {
        let visit = usize::from(self.span.first);
        let mut clauses: Vec<_> =
            plan.clauses().filter(|clause| clause.span.contains(visit)).collect();
        clauses.sort_by_key(|clause| clause.position().map_or(0, |position| position + 1));
        for same in clauses.chunk_by(|one, other| one.position() == other.position()) {
            let assumed = same[0].position().is_none();
            let demands = |literals: &[Encoded]| literals.last().is_some_and(|last| last.present());
            let mut firing = Vec::new();
            for clause in same.iter().filter(|clause| assumed || demands(clause.literals)) {
                let lits = self.lits(clause.literals);
                self.solver.add(lits.iter().copied());
                if let Some((_, others)) = lits.split_last() {
                    let others: Vec<Lit> = others.iter().map(|&other| !other).collect();
                    firing.push(others);
                }
            }
            if assumed {
                continue;
            }
            let mut demanded = None;
            for clause in same.iter().filter(|clause| !demands(clause.literals)) {
                let lits = self.lits(clause.literals);
                if firing.is_empty() {
                    self.solver.add(lits);
                    continue;
                }
                // A demand would win over this bar, unless the two never fire together.
                let demanded = *demanded.get_or_insert_with(|| {
                    let fires: Vec<Lit> =
                        firing.iter().map(|conditions| self.solver.all(conditions)).collect();
                    self.solver.any(&fires)
                });
                self.solver.add(lits.iter().copied().chain([demanded]));
                let negated: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
                *goals += 1;
                self.refuted(&negated, clause.rules.first().map(|&rule| rule as usize))?;
                self.solver.add(lits);
            }
        }
        Ok(())
    }

    /// Models the decision diagram: where one branch is impossible the other is taken, and the past
    /// is such that one is always possible.
    fn follow_diagram(&mut self, plan: &Plan) {
        if let Some(diagram) = plan.diagram()
            && self.known.kind == Kind::Encounter
        {
            let root = diagram.root(self.span.first.into());
            let Self { solver, known, .. } = self;
            let mut answer = |solver: &mut Solver, question| match question {
                Question::Atom(atom) => known.encoded(solver, Encoded::past(atom, true)),
                Question::Position(position) => known.encoded(solver, Encoded::now(position, true)),
            };
            let impossible = walk(solver, diagram, root, &mut answer, true);
            self.solver.add([!impossible]);
        }
    }

    fn rules_hold(&mut self, plan: &Plan, goals: &mut usize) -> Result<(), Unproved> {
        for (index, rule) in plan.rules().rules.iter().enumerate() {
            let scope = rule.scope(&plan.rules().vocabulary);
            let required = match self.known.kind {
                Kind::Static => scope.static_visit,
                Kind::Encounter => scope.encounters,
            };
            if rule.is_hard() && required {
                let holds = encode(&mut self.solver, &mut self.known, &rule.formula);
                *goals += 1;
                self.refuted(&[!holds], Some(index))?;
            }
        }
        Ok(())
    }

    fn preconditions_hold_again(&mut self, plan: &Plan, goals: &mut usize) -> Result<(), Unproved> {
        let after = usize::from(self.span.first) + 1;
        let end = plan.rules().vocabulary.end();
        for clause in plan.clauses() {
            if clause.position().is_some() || !clause.span.contains(after) {
                continue;
            }
            let ends = self.known.literal(&mut self.solver, end, None);
            let mut broken = vec![!ends];
            for &literal in clause.literals {
                let Some(atom) = literal.atom() else { continue };
                let next = self.next(plan, atom);
                broken.push(if literal.present() { !next } else { next });
            }
            *goals += 1;
            self.refuted(&broken, None)?;
        }
        if let Some(diagram) = plan.diagram() {
            let ends = self.known.literal(&mut self.solver, end, None);
            let mut values: FxHashMap<u32, Lit> = FxHashMap::default();
            for &atom in &diagram.atoms {
                values.insert(atom, self.next(plan, atom));
            }
            let mut answer = |solver: &mut Solver, question| match question {
                Question::Atom(atom) => values[&atom],
                Question::Position(_) => solver.fresh(),
            };
            let root = diagram.root(after);
            let impossible = walk(&mut self.solver, diagram, root, &mut answer, false);
            *goals += 1;
            self.refuted(&[!ends, impossible], None)?;
        }
        Ok(())
    }

    /// An atom's value at the visit after this one.
    fn next(&mut self, plan: &Plan, atom: u32) -> Lit {
        let (code, window) = (plan.atoms().code(atom), plan.atoms().window(atom));
        let visit = usize::from(self.span.first);
        let mut parts = Vec::new();
        if window.selects(visit + 1, visit) {
            parts.push(self.known.literal(&mut self.solver, code, None));
        }
        let before = window.one_visit_earlier();
        parts.push(self.known.literal(&mut self.solver, code, Some(&before)));
        self.solver.any(&parts)
    }

    fn lits(&mut self, literals: &[Encoded]) -> Vec<Lit> {
        literals.iter().map(|&literal| self.known.encoded(&mut self.solver, literal)).collect()
    }
}

/// Follows a diagram from a branch. Gives the literal that the past leads to the impossible branch.
/// With `enforced`, a code whose one branch is impossible takes the other.
fn walk(
    solver: &mut Solver,
    diagram: &Diagram,
    root: Branch,
    answer: &mut dyn FnMut(&mut Solver, Question) -> Lit,
    enforced: bool,
) -> Lit {
    let mut reached: BTreeMap<Reverse<Branch>, Vec<Lit>> = BTreeMap::new();
    let mut impossible = Vec::new();
    reached.insert(Reverse(root), vec![solver.constant(true)]);
    // A branch's number is above those of the branches it leads to, so each is complete when taken.
    while let Some((Reverse(branch), ways)) = reached.pop_first() {
        if branch == Branch::IMPOSSIBLE {
            impossible = ways;
            break;
        }
        let Some((question, next)) = diagram.question(branch) else { continue };
        let here = solver.any(&ways);
        let code = matches!(question, Question::Position(_));
        if code && !enforced {
            continue;
        }
        let yes = answer(solver, question);
        for (branch, taken) in next.into_iter().zip([!yes, yes]) {
            if code && branch == Branch::IMPOSSIBLE {
                solver.add([!here, !taken]);
            } else {
                let way = solver.all(&[here, taken]);
                reached.entry(Reverse(branch)).or_default().push(way);
            }
        }
    }
    solver.any(&impossible)
}
