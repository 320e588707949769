//! A SAT solver with the few calls that proofs need, and rule formulas as its literals, straight
//! from the tree.

use batsat::{BasicSolver, SolverInterface, lbool};
use consequence_record::Code;

use crate::{Fact, Formula, Window};

/// A literal of the solver.
pub(crate) use batsat::Lit;

pub(crate) struct Solver {
    inner: BasicSolver,
    truth: Lit,
    scratch: Vec<Lit>,
}

impl Solver {
    pub fn new() -> Self {
        let mut inner = BasicSolver::default();
        let truth = Lit::new(inner.new_var_default(), true);
        let mut solver = Self { inner, truth, scratch: Vec::new() };
        solver.add([truth]);
        solver
    }

    /// A literal that nothing has been said about yet; false where that is as good as true.
    pub fn fresh(&mut self) -> Lit {
        Lit::new(self.inner.new_var(lbool::FALSE, true), true)
    }

    /// The literal that is always true, or its negation.
    pub fn constant(&self, value: bool) -> Lit {
        if value { self.truth } else { !self.truth }
    }

    /// Requires that one of the literals holds.
    pub fn add(&mut self, clause: impl IntoIterator<Item = Lit>) {
        self.scratch.clear();
        self.scratch.extend(clause);
        self.inner.add_clause_reuse(&mut self.scratch);
    }

    /// A literal that holds exactly if all of these do.
    pub fn all(&mut self, literals: &[Lit]) -> Lit {
        match literals {
            [] => self.truth,
            [one] => *one,
            _ => {
                let all = self.fresh();
                for &literal in literals {
                    self.add([!all, literal]);
                }
                self.add(literals.iter().map(|&literal| !literal).chain([all]));
                all
            }
        }
    }

    /// A literal that holds exactly if any of these does.
    pub fn any(&mut self, literals: &[Lit]) -> Lit {
        let negated: Vec<Lit> = literals.iter().map(|&literal| !literal).collect();
        !self.all(&negated)
    }

    /// A literal that holds exactly if both have the same value.
    pub fn same(&mut self, left: Lit, right: Lit) -> Lit {
        let (one, other) = (self.any(&[!left, right]), self.any(&[left, !right]));
        self.all(&[one, other])
    }

    /// Whether everything required can hold together with the assumptions.
    pub fn satisfiable(&mut self, assumptions: &[Lit]) -> bool {
        self.inner.solve_limited(assumptions) == lbool::TRUE
    }

    /// Whether the last assumptions could not hold because of this one, among others.
    pub fn in_core(&self, literal: Lit) -> bool {
        self.inner.unsat_core_contains_var(literal.var())
    }

    /// The value of a literal in the last solution found.
    pub fn value(&self, literal: Lit) -> bool {
        self.inner.value_lit(literal) == lbool::TRUE
    }
}

/// Gives the literal of a code in the current visit, or in a window of earlier ones.
pub(crate) trait Meaning {
    fn literal(&mut self, solver: &mut Solver, code: Code, window: Option<&Window>) -> Lit;

    /// The literal of a fact.
    fn fact(&mut self, solver: &mut Solver, fact: &Fact) -> Lit;
}

/// A literal that holds exactly if the formula does.
pub(crate) fn encode(solver: &mut Solver, meaning: &mut dyn Meaning, formula: &Formula) -> Lit {
    let mut all = |solver: &mut Solver, parts: &[Formula]| -> Vec<Lit> {
        parts.iter().map(|part| encode(solver, meaning, part)).collect()
    };
    match formula {
        Formula::Constant(value) => solver.constant(*value),
        Formula::Now(code) => meaning.literal(solver, *code, None),
        Formula::In(code, window) => meaning.literal(solver, *code, Some(window)),
        Formula::Fact(fact) => meaning.fact(solver, fact),
        Formula::Not(inner) => !encode(solver, meaning, inner),
        Formula::And(parts) => {
            let parts = all(solver, parts);
            solver.all(&parts)
        }
        Formula::Or(parts) => {
            let parts = all(solver, parts);
            solver.any(&parts)
        }
        Formula::Implies(left, right) => {
            let (left, right) = (encode(solver, meaning, left), encode(solver, meaning, right));
            solver.any(&[!left, right])
        }
        Formula::Iff(left, right) => {
            let (left, right) = (encode(solver, meaning, left), encode(solver, meaning, right));
            solver.same(left, right)
        }
        Formula::AtMostOne(parts) => {
            let parts = all(solver, parts);
            at_most_one(solver, &parts)
        }
        Formula::ExactlyOne(parts) => {
            let parts = all(solver, parts);
            let (most, least) = (at_most_one(solver, &parts), solver.any(&parts));
            solver.all(&[most, least])
        }
    }
}

/// No literal holds together with one before it.
fn at_most_one(solver: &mut Solver, parts: &[Lit]) -> Lit {
    let mut before = solver.constant(false);
    let mut apart = Vec::with_capacity(parts.len());
    for &part in parts {
        apart.push(solver.any(&[!before, !part]));
        before = solver.any(&[before, part]);
    }
    solver.all(&apart)
}
