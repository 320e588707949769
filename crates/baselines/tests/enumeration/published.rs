//! The rules released with the paper: every method takes all that it can express.

use std::sync::Arc;

use consequence_baselines::{
    Circuit, Constraint, Layer, Limits, Mixture, Reason, Row, SemanticLoss, Unexpressed, World,
};
use consequence_record::Kind;
use consequence_rules::{
    CompileLimits, LanguageLimits, ResolveOptions, TupleFile, WrittenRules, resolve,
};
use consequence_testing::shared;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn published() -> Option<Constraint> {
    let text = std::fs::read(shared("reference/published_rules.json")?).unwrap();
    let limits = LanguageLimits::default();
    let file = TupleFile::read("published.json", text, None, &limits).unwrap();
    let vocabulary = Some(Arc::clone(&file.vocabulary));
    let options = ResolveOptions::default();
    let resolved = resolve(std::slice::from_ref(&file.rules), vocabulary, &options).unwrap();
    let written = WrittenRules::new(Arc::new(resolved.rules), &CompileLimits::default()).unwrap();
    Some(Constraint::new(&written, written.order()).unwrap())
}

/// Whether a visit obeys the static clauses.
fn obeys(world: &World, visit: &[bool]) -> bool {
    let start = world.range().start;
    let is_there = |position: u32| visit[(position - start) as usize];
    let mut clauses = world.clauses().iter().filter(|clause| clause.is_static());
    clauses.all(|clause| clause.now().any(|(position, value)| is_there(position) == value))
}

#[test]
fn each_method_takes_what_it_can_express() {
    let Some(constraint) = published() else { return };
    let count = |list: &[Unexpressed], reason: Reason| {
        assert!(list.iter().all(|one| one.reason == reason), "{list:?}");
        list.len()
    };
    // 83 rules look back; 7 of the labels forbid, 4 of the codes demand; 1 says nothing.
    let cases =
        [(Kind::Static, 0, Reason::Absence, 7), (Kind::Encounter, 83, Reason::Temporal, 83)];
    for (kind, temporal, reason, refused) in cases {
        let (world, limits) = (constraint.world(kind), Limits::default());
        let circuit = Circuit::new(world, &limits).unwrap();
        assert_eq!(count(circuit.unexpressed(), Reason::Temporal), temporal);
        let mixture = Mixture::new(world, &limits).unwrap();
        assert_eq!(count(mixture.unexpressed(), Reason::Temporal), temporal);
        let layer = Layer::new(world);
        assert_eq!(count(layer.unexpressed(), reason), refused);
        assert!(layer.late().is_empty());
        let semantic = SemanticLoss::new(world, &limits);
        assert!(semantic.approximated().is_empty() && semantic.unexpressed().is_empty());
    }
}

#[test]
fn what_is_drawn_obeys_the_static_rules() {
    let Some(constraint) = published() else { return };
    for kind in [Kind::Static, Kind::Encounter] {
        let (world, limits) = (constraint.world(kind), Limits::default());
        let circuit = Circuit::new(world, &limits).unwrap();
        let mixture = Mixture::new(world, &limits).unwrap();
        let terms = vec![0.0; mixture.term_count()];
        let draws = proptest::collection::vec((-3.0f32..3.0, 0.0..1.0f64), world.range().len());
        let settings = ProptestConfig { cases: 32, ..super::worlds::settings() };
        let drawn = TestRunner::new(settings).run(&draws, |draws| {
            let logits: Vec<f32> = draws.iter().map(|(logit, _)| *logit).collect();
            let mut of_circuit = circuit.walk(&logits);
            let mut of_mixture = mixture.walk(&terms);
            let mut visits = [Vec::new(), Vec::new()];
            for (code, (logit, draw)) in (0..).zip(&draws) {
                let own = 1.0 / (1.0 + (-f64::from(*logit)).exp());
                let there = [of_circuit.probability(code), of_mixture.probability(code, own)]
                    .map(|probability| *draw < probability);
                of_circuit.decide(code, there[0]);
                of_mixture.decide(code, own, there[1]);
                visits.iter_mut().zip(there).for_each(|(visit, there)| visit.push(there));
            }
            for visit in &visits {
                prop_assert!(obeys(world, visit));
                let codes = (0..).zip(visit).filter(|(_, there)| **there).map(|(code, _)| code);
                let present: Vec<u32> = codes.collect();
                let row = Row { logits: &logits, present: &present };
                prop_assert_eq!(circuit.nats(row).broken, 0);
                prop_assert_eq!(mixture.nats(row, &terms).broken, 0);
                prop_assert_eq!(Layer::new(world).loss(row).broken, 0);
            }
            Ok(())
        });
        drawn.unwrap();
    }
}
