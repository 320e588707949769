//! MultiPlexNet.

use consequence_baselines::{BaselineError, Limits, Mixture, Row, Terms};
use proptest::prelude::*;

use super::worlds::{doubled_over_ones, measured_gradient, settings, worlds};

/// Logits for terms, whatever they are.
fn term_logits(mixture: &Mixture) -> Vec<f32> {
    (0..mixture.term_count()).map(|term| ((term * 37 + 11) % 17) as f32 / 4.0 - 2.0).collect()
}

proptest! {
    #![proptest_config(settings())]

    /// One of the terms holds exactly where the clauses do, and no literal of a term is idle.
    #[test]
    fn terms_say_what_clauses_say(small in worlds(7, 4), visit in 0..2usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        for part in world.static_components() {
            let clauses: Vec<_> =
                part.clauses.iter().map(|&index| &world.clauses()[index as usize]).collect();
            let terms = Terms::new(world, &part, &Limits::default());
            let terms = terms.as_ref().map_or(&[][..], |terms| terms.terms());
            let start = world.range().start;
            for choice in small.choices(visit) {
                let agrees = |(position, value): (u32, bool)| {
                    (choice >> (position - start) & 1 == 1) == value
                };
                let expected = clauses.iter().all(|clause| clause.now().any(agrees));
                let found = terms.iter().any(|term| term.iter().copied().all(agrees));
                prop_assert_eq!(found, expected);
            }
            for (term, &dropped) in terms.iter().flat_map(|term| {
                term.iter().map(move |literal| (term, literal))
            }) {
                let hit = |literal: (u32, bool)| literal != dropped && term.contains(&literal);
                let idle = clauses.iter().all(|clause| clause.now().any(hit));
                prop_assert!(!idle, "{:?} of {:?}", dropped, term);
            }
        }
    }

    /// The probabilities of exactly the valid visits sum to one, and codes drawn in order multiply
    /// to them.
    #[test]
    fn valid_visits_have_all_probability(small in worlds(6, 4), visit in 0..2usize) {
        let constraint = small.constraint();
        let mixture = match Mixture::new(constraint.of_visit(visit), &Limits::default()) {
            Err(BaselineError::Unsatisfiable { .. }) => {
                let valid = |choice| small.static_clauses_hold(visit, choice);
                prop_assert!(!small.choices(visit).any(valid));
                return Ok(());
            }
            made => made.unwrap(),
        };
        let terms = term_logits(&mixture);
        let probability = |logit: f32| 1.0 / (1.0 + (-f64::from(logit)).exp());
        let start = small.codes.range(visit).start;
        let mut sum = 0.0;
        for choice in small.choices(visit) {
            let present = small.present(visit, choice);
            let row = Row { logits: small.row(visit), present: &present };
            let cost = mixture.nats(row, &terms);
            let found = (-cost.whole()).exp();
            prop_assert_eq!(cost.broken == 0, small.static_clauses_hold(visit, choice));
            // By the definition: for each component, over the terms that the visit satisfies.
            let mut tied = Vec::new();
            let (mut expected, mut first) = (1.0, 0);
            for part in mixture.components() {
                let logits = &terms[first..first + part.terms().len()];
                first += part.terms().len();
                let whole: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
                let mut inside = 0.0;
                for (term, &logit) in part.terms().iter().zip(logits) {
                    let mut one = f64::from(logit).exp() / whole;
                    for &position in part.codes() {
                        let there = choice >> (position - start) & 1 == 1;
                        let own = probability(row.logits[(position - start) as usize]);
                        one *= match term.iter().find(|(fixed, _)| *fixed == position) {
                            Some(&(_, value)) => f64::from(u8::from(value == there)),
                            None => if there { own } else { 1.0 - own },
                        };
                    }
                    inside += one;
                }
                expected *= inside;
                tied.extend(part.codes().iter().map(|position| position - start));
            }
            let mut walk = mixture.walk(&terms);
            let mut drawn = 1.0;
            for code in 0..row.logits.len() as u32 {
                let (there, own) = (choice >> code & 1 == 1, probability(row.logits[code as usize]));
                if !tied.contains(&code) {
                    expected *= if there { own } else { 1.0 - own };
                }
                let next = walk.probability(code, own);
                drawn *= if there { next } else { 1.0 - next };
                walk.decide(code, own, there);
            }
            prop_assert!((found - expected).abs() < 1e-9, "{} for {}", found, expected);
            prop_assert!((found - drawn).abs() < 1e-9, "{} for {}", found, drawn);
            sum += found;
        }
        prop_assert!((sum - 1.0).abs() < 1e-9);
    }

    /// Whatever probabilities a network gives, drawing never leaves the valid visits: where only
    /// one value is left its probability is exactly 0 or 1.
    #[test]
    fn drawing_obeys_the_rules(
        small in worlds(6, 4), visit in 0..2usize, draws in proptest::collection::vec(0.0..1.0, 7),
    ) {
        let constraint = small.constraint();
        let Ok(mixture) = Mixture::new(constraint.of_visit(visit), &Limits::default()) else {
            return Ok(());
        };
        let mut walk = mixture.walk(&term_logits(&mixture));
        let mut choice = 0;
        for (code, draw) in (0..small.row(visit).len() as u32).zip(&draws) {
            let own = [0.0, 1.0, *draw][code as usize % 3];
            let there = *draw < walk.probability(code, own);
            walk.decide(code, own, there);
            choice |= u32::from(there) << code;
        }
        prop_assert!(small.static_clauses_hold(visit, choice));
    }

    /// The gradients are the measured_gradient of the nats; what a visit breaks teaches nothing.
    #[test]
    fn gradients_are_difference_quotients(small in worlds(6, 4), visit in 0..2usize, choice in any::<u32>()) {
        let constraint = small.constraint();
        let Ok(mixture) = Mixture::new(constraint.of_visit(visit), &Limits::default()) else {
            return Ok(());
        };
        let (logits, terms) = (small.row(visit), term_logits(&mixture));
        let present = small.present(visit, choice % small.choices(visit).end);
        let row = |logits| Row { logits, present: &present };
        let (mut by_code, mut by_term) = (vec![1.0; logits.len()], vec![1.0; terms.len()]);
        let cost = mixture.gradient(row(logits), &terms, 2.0, &mut by_code, &mut by_term);
        prop_assert_eq!(cost, mixture.nats(row(logits), &terms));
        let nats = |logits: &[f32]| mixture.nats(Row { logits, present: &present }, &terms).nats;
        doubled_over_ones(&by_code, &measured_gradient(logits, nats))?;
        let nats = |terms: &[f32]| mixture.nats(row(logits), terms).nats;
        doubled_over_ones(&by_term, &measured_gradient(&terms, nats))?;
    }
}

#[test]
fn a_limit_of_terms_is_kept_and_named() {
    let small = super::rules::small("rule single: exactly one of A, B, C, D, E, F");
    let world = small.constraint.of_visit(1);
    let limit = |terms| Limits { terms, ..Limits::default() };
    assert_eq!(Mixture::new(world, &limit(6)).unwrap().term_count(), 6);
    let error = Mixture::new(world, &limit(5)).unwrap_err();
    assert!(matches!(error, BaselineError::TooManyTerms { limit: 5, paths: 6, codes: 6, .. }));
    assert!(error.to_string().contains("single"), "{error}");
}

/// Many ways through the diagram, few terms: either all follow, or none leads.
#[test]
fn terms_are_few_where_ways_are_many() {
    let text: String = (0..20).map(|code| format!("rule r{code}: A{code} => B\n")).collect();
    let small = super::rules::small(&text);
    assert_eq!(
        Mixture::new(small.constraint.of_visit(1), &Limits::default()).unwrap().term_count(),
        2
    );
}
