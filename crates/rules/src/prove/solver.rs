//! A SAT solver with the few calls that proofs need.

use batsat::{BasicSolver, SolverInterface, lbool};

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
