//! Clauses, components and diagrams.

use consequence_baselines::{BaselineError, Coin, Diagram, Limits};
use proptest::prelude::*;

use super::worlds::{settings, worlds};

proptest! {
    #![proptest_config(settings())]

    /// A world holds a visit to what the clauses mean, and so do the diagrams of its components.
    #[test]
    fn worlds_and_diagrams_say_what_clauses_mean(small in worlds(7, 4), visit in 0..5usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        let known = small.known(world, visit);
        let components = world.components();
        let made = components.iter().map(|part| Diagram::new(world, part, &Limits::default()));
        let diagrams = made.collect::<Result<Vec<_>, _>>().unwrap();
        let start = world.range().start;
        for choice in small.choices(visit) {
            let expected = small.holds(visit, choice);
            let present = |position: u32| choice >> (position - start) & 1 == 1;
            prop_assert_eq!(world.holds(&known, present), expected);
            prop_assert_eq!(diagrams.iter().all(|one| one.holds(&known, present)), expected);
        }
        let mut codes: Vec<u32> = components.iter().flat_map(|part| part.codes.clone()).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        prop_assert_eq!(codes.len(), count, "no code is in two components");
    }

    /// Weights, conditional probabilities and walks of all components together, by enumeration.
    #[test]
    fn weights_are_sums_over_visits(small in worlds(6, 4), visit in 0..5usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        let known = small.known(world, visit);
        let range = world.range();
        let logits = small.row(visit);
        let valid = |choice: &u32| small.holds(visit, *choice);
        let total: f64 =
            small.choices(visit).filter(valid).map(|choice| small.probability(visit, choice)).sum();
        let (mut log, mut gradients) = (0.0, vec![0.0; logits.len()]);
        let mut walks = Vec::new();
        let parts = world.components();
        let made = parts.iter().map(|part| Diagram::new(world, part, &Limits::default()));
        let diagrams = made.collect::<Result<Vec<_>, _>>().unwrap();
        for diagram in &diagrams {
            let own = diagram.codes().iter().map(|code| (code - range.start) as usize);
            let coins: Vec<Coin> =
                own.clone().map(|code| Coin::from_logit(f64::from(logits[code]))).collect();
            let evaluation = diagram.evaluate(&known, &coins);
            log += evaluation.log_weight();
            own.zip(evaluation.gradient()).for_each(|(code, one)| gradients[code] = one);
            walks.push(evaluation.walk());
        }
        if total == 0.0 {
            prop_assert_eq!(log, f64::NEG_INFINITY);
            return Ok(());
        }
        prop_assert!((log - total.ln()).abs() < 1e-9, "{} for {}", log, total.ln());
        for (code, gradient) in gradients.iter().enumerate() {
            let with = small.choices(visit).filter(valid).filter(|choice| choice >> code & 1 == 1);
            let with: f64 = with.map(|choice| small.probability(visit, choice)).sum();
            let alone = Coin::from_logit(f64::from(logits[code])).probability();
            prop_assert!((with / total - alone - gradient).abs() < 1e-9);
        }
        for choice in small.choices(visit) {
            let mut probability = 1.0;
            let mut possible = true;
            for mut walk in walks.clone() {
                while let Some(position) = walk.next_code() {
                    let present = choice >> (position - range.start) & 1 == 1;
                    probability *= if present { walk.probability() } else { 1.0 - walk.probability() };
                    possible &= walk.decide(present);
                }
            }
            // Codes of no component, and components without codes, are no part of the walks.
            let tied: Vec<u32> = parts.iter().flat_map(|part| part.codes.clone()).collect();
            let free = range.clone().filter(|code| !tied.contains(code)).map(|code| {
                let code = code - range.start;
                let coin = Coin::from_logit(f64::from(logits[code as usize]));
                if choice >> code & 1 == 1 { coin.probability() } else { 1.0 - coin.probability() }
            });
            let probability = probability * free.product::<f64>();
            let expected =
                if valid(&choice) { small.probability(visit, choice) / total } else { 0.0 };
            prop_assert_eq!(possible, valid(&choice));
            prop_assert!((probability - expected).abs() < 1e-9, "{} for {}", probability, expected);
        }
    }

    /// Probabilities too small for a number of their own are not lost.
    #[test]
    fn weights_do_not_vanish(small in worlds(6, 4), visit in 0..5usize) {
        let constraint = small.constraint();
        let world = constraint.of_visit(visit);
        let known = small.known(world, visit);
        let satisfiable = small.choices(visit).any(|choice| small.holds(visit, choice));
        let mut log = 0.0;
        for part in world.components() {
            let diagram = Diagram::new(world, &part, &Limits::default()).unwrap();
            let extreme = |(at, _): (usize, &u32)| if at % 2 == 0 { 3_000.0 } else { -3_000.0 };
            let coins: Vec<Coin> =
                diagram.codes().iter().enumerate().map(extreme).map(Coin::from_logit).collect();
            let evaluation = diagram.evaluate(&known, &coins);
            log += evaluation.log_weight();
            prop_assert!(evaluation.gradient().iter().all(|one| one.abs() <= 1.0));
        }
        prop_assert_eq!(log > f64::NEG_INFINITY, satisfiable);
    }
}

#[test]
fn a_limit_of_nodes_is_kept_and_named() {
    let small = super::rules::small("rule single: exactly one of A, B, C, D, E, F");
    let world = small.constraint.of_visit(1);
    let part = &world.components()[0];
    let whole = Diagram::new(world, part, &Limits::default()).unwrap();
    assert!(Diagram::new(world, part, &Limits { nodes: 200, ..Limits::default() }).is_ok());
    let limits = Limits { nodes: whole.size() - 1, ..Limits::default() };
    let error = Diagram::new(world, part, &limits).unwrap_err();
    assert!(matches!(&error, BaselineError::TooManyNodes { codes: 6, .. }));
    assert!(error.to_string().contains("single"), "{error}");
    assert_eq!(whole.paths(), 6);
}

/// Many codes that each hang on the past for themselves, and all on each other.
#[test]
fn known_atoms_do_not_multiply() {
    let codes: Vec<String> = (0..60).map(|code| format!("C{code}")).collect();
    let lifelong = codes.iter().map(|code| format!("rule {code}: {code} in previous => {code}\n"));
    let text =
        format!("{}rule one: at most one of {}", lifelong.collect::<String>(), codes.join(", "));
    let small = super::rules::small(&text);
    let world = small.constraint.of_visit(1);
    let [part] = world.components().try_into().unwrap();
    let diagram = Diagram::new(world, &part, &Limits::default()).unwrap();
    assert!(diagram.size() < 1_000, "{}", diagram.size());
}
