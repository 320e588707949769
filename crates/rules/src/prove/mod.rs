//! Proofs about plans and rule sets, by a SAT solver.

mod formula;
mod induction;
mod solver;

pub use induction::Proof;
pub(crate) use induction::{Unproved, prove};
