//! Proofs about plans and rule sets, by a SAT solver.

mod induction;
mod pass;
mod reveal;
mod solver;
mod unrolled;
mod visit;

pub use induction::Proof;
pub(crate) use induction::{Unproved, prove};
pub use pass::{OrderedPass, PassCounterexample, PassVerdict};
pub(crate) use solver::Lit;
pub(crate) use unrolled::Unrolled;
pub(crate) use visit::RulesAtVisit;
