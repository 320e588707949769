//! Worlds small enough to list every record: probabilities add up to 1.

use std::sync::Arc;

use consequence_enforce::{Auditor, Enforcer};
use consequence_evaluate::{
    Independent, Likelihood, ReplayOptions, likelihood, likelihood_with_rules,
};
use consequence_model::{Generator, Markov, NetworkGenerator};
use consequence_record::{Cohort, Selection, Vocabulary};
use consequence_rules::{CompileLimits, CompileOptions, Order, RuleSet, WrittenRules, compile};
use consequence_testing::every::{self, vocabulary};

use crate::support::{each, network, random_cohort};

const MAX_VISITS: usize = 2;

/// Every record that ends.
fn every_record(vocabulary: &Vocabulary) -> Cohort {
    let mut cohort = Cohort::default();
    every::records(vocabulary, MAX_VISITS).iter().for_each(|record| cohort.push("", record));
    cohort
}

/// The probability of one record.
fn probability(likelihood: &Likelihood) -> f64 {
    if likelihood.measured == 1 { (-likelihood.nats.total()).exp() } else { 0.0 }
}

fn adds_up(generator: &impl Generator, cohort: &Cohort) {
    let options = ReplayOptions::default();
    let nats = each(cohort, |record| likelihood(generator, record, &options).unwrap());
    let total: f64 = nats.iter().map(probability).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
}

#[test]
fn probabilities_of_all_records_add_up_to_one() {
    let vocabulary = vocabulary(2, 3);
    let cohort = every_record(&vocabulary);
    assert_eq!(cohort.len(), 4 * (8 + 64));
    let codes = Order::natural(Arc::clone(&vocabulary));
    let seen = random_cohort(&vocabulary, 200, 3);
    adds_up(&NetworkGenerator::new(&network(codes.clone(), MAX_VISITS, 3.0)), &cohort);
    adds_up(&Markov::fit(codes.clone(), Selection::all(&seen), MAX_VISITS), &cohort);
    adds_up(&Independent::fit(codes, Selection::all(&seen), MAX_VISITS).unwrap(), &cohort);
}

const RULES: &str = "
    rule one-static:  at most one of S0, S1
    rule sparing:     S0 in static => not E0
    rule lifelong:    E1 in previous => E1
    rule follows:     E0 and not E1 => E2
    rule last:        E0 and E1 => END
    rule often:       S1 in static => E2 with probability 0.7
    rule seldom:      E2 in previous => E0 with probability 0.2
";

fn adds_up_to_the_valid(generator: &impl Generator, enforcer: &Enforcer, cohort: &Cohort) {
    let (options, records) = (ReplayOptions::default(), Selection::all(cohort));
    let with_rules = |records: Selection<'_>| {
        likelihood_with_rules(generator, enforcer, records, &options).unwrap()
    };
    let nats = each(cohort, with_rules);
    let total: f64 = nats.iter().map(probability).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    let rules = Arc::clone(enforcer.plan().rules());
    let auditor = Auditor::new(&WrittenRules::new(rules, &CompileLimits::default()).unwrap());
    let (mut reader, mut found) = (auditor.reader(), Vec::new());
    let (mut valid, mut broken) = (0, 0);
    for (record, nats) in cohort.records().zip(&nats) {
        reader.violations(record, &mut found);
        let obeys = found.is_empty();
        assert_eq!(nats.measured == 1, obeys, "{:?}", record.to_record());
        valid += u64::from(obeys);
        broken += u64::from(found.iter().any(|violation| violation.rule == 2));
    }
    let likelihood = with_rules(records);
    assert_eq!((likelihood.measured, likelihood.dead_ends), (valid, 0));
    assert_eq!(likelihood.forbidden, likelihood.records - valid);
    let lifelong = likelihood.broken.iter().find(|broken| broken.rule == "lifelong").unwrap();
    assert_eq!(lifelong.records, broken);
    assert!(likelihood.broken.is_sorted_by(|one, other| one.records >= other.records));
    assert!(likelihood.to_string().contains("records: lifelong"), "{likelihood}");
}

/// A record cut at the last encounter there may be costs what it would if it had ended there, and
/// no rule forbids it.
fn a_cut_costs_what_the_end_does(nats: impl Fn(&Cohort) -> Vec<f64>, vocabulary: &Vocabulary) {
    let (mut ended, mut cut) = (Cohort::default(), Cohort::default());
    let whole = every_record(vocabulary);
    for record in whole.records().filter(|record| record.len() == MAX_VISITS + 1) {
        ended.push("", &record.to_record());
        cut.push("", &record.to_record().cut());
    }
    assert!(ended.len() > 100);
    assert_eq!(nats(&ended), nats(&cut));
}

#[test]
fn with_rules_probabilities_add_up_over_exactly_the_valid_records() {
    let vocabulary = vocabulary(2, 3);
    let cohort = every_record(&vocabulary);
    let rules = RuleSet::parse(RULES, Some(Arc::clone(&vocabulary))).unwrap();
    let options = CompileOptions { max_visits: MAX_VISITS as u16, ..CompileOptions::default() };
    let plan = compile(Arc::new(rules), &options).unwrap();
    let enforcer = Enforcer::new(&plan);
    let codes = plan.order().clone();
    let seen = random_cohort(&vocabulary, 200, 3);
    let network = NetworkGenerator::new(&network(codes.clone(), MAX_VISITS, 3.0));
    adds_up_to_the_valid(&network, &enforcer, &cohort);
    let options = ReplayOptions::default();
    let with_rules = |records: Selection<'_>| {
        likelihood_with_rules(&network, &enforcer, records, &options).unwrap()
    };
    let with_rules = |cohort: &Cohort| each(cohort, with_rules).iter().map(probability).collect();
    a_cut_costs_what_the_end_does(with_rules, &vocabulary);
    let alone = |records: Selection<'_>| likelihood(&network, records, &options).unwrap();
    let alone = |cohort: &Cohort| each(cohort, alone).iter().map(probability).collect();
    a_cut_costs_what_the_end_does(alone, &vocabulary);
    let markov = Markov::fit(codes, Selection::all(&seen), MAX_VISITS);
    adds_up_to_the_valid(&markov, &enforcer, &cohort);
}
