//! Rule formulas as solver literals, straight from the tree.

use consequence_record::Code;

use super::solver::{Lit, Solver};
use crate::{Formula, Window};

/// Gives the literal of a code in the current visit, or in a window of earlier ones.
pub(crate) trait Meaning {
    fn literal(&mut self, solver: &mut Solver, code: Code, window: Option<&Window>) -> Lit;
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
