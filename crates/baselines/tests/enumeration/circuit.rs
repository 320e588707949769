//! SPL.

use consequence_baselines::{BaselineError, Circuit, Limits, Row};
use proptest::prelude::*;

use super::worlds::{doubled_over_ones, measured_gradient, settings, worlds};

proptest! {
    #![proptest_config(settings())]

    /// The probabilities of exactly the valid visits sum to one, and codes are drawn by them.
    #[test]
    fn valid_visits_have_all_probability(small in worlds(6, 4), visit in 0..2usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        let valid = |choice: &u32| small.static_clauses_hold(visit, *choice);
        let total: f64 =
            small.choices(visit).filter(valid).map(|choice| small.probability(visit, choice)).sum();
        let circuit = match Circuit::new(world, &Limits::default()) {
            Err(BaselineError::Unsatisfiable { .. }) => {
                prop_assert!(!small.choices(visit).any(|choice| valid(&choice)));
                return Ok(());
            }
            made => made.unwrap(),
        };
        let mut sum = 0.0;
        for choice in small.choices(visit) {
            let present = small.present(visit, choice);
            let row = Row { logits: small.row(visit), present: &present };
            let probability = (-circuit.nats(row).whole()).exp();
            let expected =
                if valid(&choice) { small.probability(visit, choice) / total } else { 0.0 };
            prop_assert!((probability - expected).abs() < 1e-9, "{} for {}", probability, expected);
            sum += probability;
            let mut walk = circuit.walk(row.logits);
            let mut drawn = 1.0;
            for code in 0..row.logits.len() as u32 {
                let there = choice >> code & 1 == 1;
                drawn *= if there { walk.probability(code) } else { 1.0 - walk.probability(code) };
                walk.decide(code, there);
            }
            prop_assert!((drawn - probability).abs() < 1e-9, "{} for {}", drawn, probability);
        }
        prop_assert!((sum - 1.0).abs() < 1e-9);
    }

    /// The gradient is the measured of the nats; what a visit breaks teaches nothing.
    #[test]
    fn gradients_are_difference_quotients(small in worlds(6, 4), visit in 0..2usize, choice in any::<u32>()) {
        let constraint = small.constraint();
        let Ok(circuit) = Circuit::new(constraint.of_visit(visit), &Limits::default()) else {
            return Ok(());
        };
        let choice = choice % small.choices(visit).end;
        let present = small.present(visit, choice);
        let logits = small.row(visit);
        let nats = |logits: &[f32]| circuit.nats(Row { logits, present: &present });
        let mut gradient = vec![1.0; logits.len()];
        let cost = circuit.gradient(Row { logits, present: &present }, 2.0, &mut gradient);
        prop_assert_eq!(cost, nats(logits));
        prop_assert_eq!(cost.broken == 0, small.static_clauses_hold(visit, choice));
        doubled_over_ones(&gradient, &measured_gradient(logits, |logits| nats(logits).nats))?;
    }
}
