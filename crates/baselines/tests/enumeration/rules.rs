//! Rules as they are written, in the language of rules.

use std::sync::Arc;

use consequence_baselines::{
    BaselineError, Circuit, Constraint, Layer, Limits, Mixture, Reason, SemanticLoss,
};
use consequence_record::{Cohort, Kind, Record, Vocabulary};
use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};

pub struct Written {
    pub codes: Order,
    pub constraint: Constraint,
}

pub fn small(text: &str) -> Written {
    let rules = Arc::new(RuleSet::parse(text, None).unwrap());
    let codes = Order::natural(Arc::clone(rules.vocabulary()));
    let written = WrittenRules::new(rules, &CompileLimits::default()).unwrap();
    let constraint = Constraint::new(&written, &codes).unwrap();
    Written { codes, constraint }
}

#[test]
fn a_rule_speaks_of_the_visits_where_its_outputs_live() {
    let text = "static F, M  rule sex: exactly one of F, M  rule men: M in static => not P";
    let Written { codes, constraint } = small(text);
    let (first, later) = (constraint.world(Kind::Static), constraint.world(Kind::Encounter));
    assert_eq!((first.clauses().len(), later.clauses().len()), (2, 1));
    assert!(first.clauses().iter().all(|clause| clause.is_static()));
    assert!(!later.clauses()[0].is_static());
    let mut cohort = Cohort::default();
    let code = |name: &str| codes.vocabulary().code(name).unwrap();
    cohort.push("him", &Record::new(vec![vec![code("M")], vec![]]));
    cohort.push("her", &Record::new(vec![vec![code("F")], vec![]]));
    let known = |record: usize| later.known(cohort.record(record), 1);
    assert_eq!((known(0), known(1)), (vec![true], vec![false]));
}

#[test]
fn every_method_says_what_it_cannot_express() {
    let text = "
        rule lift: A => B
        rule drop: A => not C
        rule past: B in past => B
        rule some: A => D or E
        rule one: D => F
        rule two: F => D
        rule soft: A => E with probability 0.5
    ";
    let Written { constraint, .. } = small(text);
    let (world, limits) = (constraint.world(Kind::Encounter), Limits::default());
    let list = |found: &[consequence_baselines::Unexpressed]| -> Vec<(String, Reason)> {
        found.iter().map(|one| (one.rule.to_string(), one.reason)).collect()
    };
    let soft = ("soft".to_owned(), Reason::Soft);
    let past = ("past".to_owned(), Reason::Temporal);
    let circuit = Circuit::new(world, &limits).unwrap();
    assert_eq!(list(circuit.unexpressed()), [past.clone(), soft.clone()]);
    let mixture = Mixture::new(world, &limits).unwrap();
    assert_eq!(list(mixture.unexpressed()), [past.clone(), soft.clone()]);
    let semantic = SemanticLoss::new(world, &limits);
    assert_eq!(list(semantic.unexpressed()), std::slice::from_ref(&soft));
    let expected = [
        ("drop".to_owned(), Reason::Absence),
        past,
        ("some".to_owned(), Reason::Choice),
        ("one".to_owned(), Reason::Cyclic),
        ("two".to_owned(), Reason::Cyclic),
        soft,
    ];
    let layer = Layer::new(world);
    assert_eq!(list(layer.unexpressed()), expected);
    assert_eq!(layer.expressed(), [0], "the first rule");
}

#[test]
fn rules_that_exclude_every_visit_are_refused() {
    let Written { constraint, .. } = small("rule yes: A  rule no: not A  rule other: B => C");
    let world = constraint.world(Kind::Encounter);
    let rules = vec![Arc::from("yes"), Arc::from("no")];
    let refused = BaselineError::Unsatisfiable { rules };
    assert_eq!(Circuit::new(world, &Limits::default()).unwrap_err(), refused);
    assert_eq!(Mixture::new(world, &Limits::default()).unwrap_err(), refused);
    let cost = SemanticLoss::new(world, &Limits::default()).loss(&[], &[0.0; 4]);
    assert_eq!(cost.broken, 1);
    assert!((cost.nats + 0.75f64.ln()).abs() < 1e-12);
}

#[test]
fn other_codes_are_refused() {
    let rules = Arc::new(RuleSet::parse("rule lift: A => B", None).unwrap());
    let written = WrittenRules::new(rules, &CompileLimits::default()).unwrap();
    let names = [("A", Kind::Encounter), ("C", Kind::Encounter)];
    let codes = Order::natural(Arc::new(Vocabulary::new(names).unwrap()));
    assert_eq!(Constraint::new(&written, &codes).unwrap_err(), BaselineError::OtherCodes);
}
