//! Semantic loss.

use consequence_baselines::{Limits, SemanticLoss};
use proptest::prelude::*;

use super::worlds::{Small, doubled_over_ones, measured_gradient, settings, worlds};

/// The probability that a visit obeys what `holds` asks.
fn probability(small: &Small, visit: usize, holds: impl Fn(u32) -> bool) -> f64 {
    let valid = small.choices(visit).filter(|&choice| holds(choice));
    valid.map(|choice| small.probability(visit, choice)).sum()
}

proptest! {
    #![proptest_config(settings())]

    /// The loss is that of the whole constraint, past and all, and the gradient its measured.
    #[test]
    fn is_exact(small in worlds(6, 4), visit in 0..5usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        let (known, logits) = (small.known(world, visit), small.row(visit));
        let semantic = SemanticLoss::new(world, &Limits::default());
        prop_assert!(semantic.approximated().is_empty() && semantic.unexpressed().is_empty());
        let cost = semantic.loss(&known, logits);
        let expected = probability(&small, visit, |choice| small.holds(visit, choice));
        prop_assert_eq!(cost.broken == 0, expected > 0.0);
        if cost.broken == 0 {
            prop_assert!((cost.nats + expected.ln()).abs() < 1e-9);
        }
        let mut gradient = vec![1.0; logits.len()];
        prop_assert_eq!(semantic.gradient(&known, logits, 2.0, &mut gradient), cost);
        doubled_over_ones(&gradient, &measured_gradient(logits, |one| semantic.loss(&known, one).nats))?;
    }

    /// Without room for diagrams it is the sum over clauses, and says so.
    #[test]
    fn falls_back_on_clauses(small in worlds(6, 4), visit in 0..5usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        let (known, logits) = (small.known(world, visit), small.row(visit));
        let semantic = SemanticLoss::new(world, &Limits { nodes: 2, ..Limits::default() });
        // A clause that nothing satisfies needs no node.
        let parts = world.components();
        let empty = |clause: &u32| world.clauses()[*clause as usize].literals.is_empty();
        let small_parts = parts.iter().filter(|part| part.clauses.iter().all(empty)).count();
        prop_assert_eq!(semantic.approximated().len(), parts.len() - small_parts);
        let cost = semantic.loss(&known, logits);
        let mut expected = 0.0;
        let mut hopeless = false;
        for part in &parts {
            let clauses = part.clauses.iter().map(|&index| &world.clauses()[index as usize]);
            let losses = clauses.map(|clause| {
                let clause = &small.clauses[clause.rule as usize];
                -probability(&small, visit, |choice| small.clause_holds(clause, visit, choice)).ln()
            });
            let loss: f64 = losses.sum();
            hopeless |= loss.is_infinite();
            expected += if loss.is_finite() { loss } else { 0.0 };
        }
        prop_assert_eq!(cost.broken > 0, hopeless);
        prop_assert!((cost.nats - expected).abs() < 1e-9, "{} for {}", cost.nats, expected);
        let mut gradient = vec![1.0; logits.len()];
        semantic.gradient(&known, logits, 2.0, &mut gradient);
        doubled_over_ones(&gradient, &measured_gradient(logits, |one| semantic.loss(&known, one).nats))?;
    }
}
