//! The real diabetes cohort, as others measured it.

use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_evaluate::{Independent, ReplayOptions, likelihood, likelihood_with_rules};
use consequence_model::Markov;
use consequence_record::{Selection, Split};
use consequence_rules::{CompileOptions, Order, compile};
use consequence_testing::uci_reference::UciReference;

#[test]
fn baselines_cost_what_others_measured_and_markov_less() {
    let Some(uci) = UciReference::read().unwrap() else { return };
    let (train, test) = (uci.of(Split::Train), uci.of(Split::HeldOut));
    let [train, test] = [&train, &test].map(|records| Selection::new(&uci.cohort, records));
    let codes = Order::natural(Arc::clone(&uci.vocabulary));
    let options = ReplayOptions::default();
    let model = Independent::fit(codes.clone(), train, 100).unwrap();
    let independent = likelihood(&model, test, &options).unwrap();
    eprintln!("independent codes: {independent}");
    assert_eq!((independent.measured, independent.positives.total()), (7_193, 65_100));
    assert_eq!(independent.nats.static_codes.round(), 24_613.0);
    assert_eq!(independent.nats.encounter_codes.round(), 167_132.0);
    assert!((independent.perplexity.unwrap() - 20.870).abs() < 5e-4);

    let markov = Markov::fit(codes, train, 100);
    let markov = likelihood(&markov, test, &options).unwrap();
    eprintln!("Markov: {markov}");
    assert_eq!((markov.measured, markov.positives), (7_193, independent.positives));
    // The anchors' 13,863 is age times sex, each by itself; one table of both costs 13,823.
    assert!(markov.nats.static_codes < 1.001 * 13_823.0);
    assert!(markov.nats.encounter_codes < 147_000.0);
    assert!(markov.nats.end < 5_750.0);
}

#[test]
fn the_mined_rules_forbid_one_real_patient() {
    let Some(uci) = UciReference::read().unwrap() else { return };
    let (train, test) = (uci.of(Split::Train), uci.of(Split::HeldOut));
    let [train, test] = [&train, &test].map(|records| Selection::new(&uci.cohort, records));
    let rules = uci.rules(&uci.mined()).unwrap();
    let plan = compile(rules, &CompileOptions::default()).unwrap();
    let markov = Markov::fit(plan.order().clone(), train, 100);
    let (enforcer, options) = (Enforcer::new(&plan), ReplayOptions::default());
    let ruled = likelihood_with_rules(&markov, &enforcer, test, &options);
    let ruled = ruled.unwrap();
    eprintln!("Markov with the 29 rules: {ruled}");
    assert_eq!((ruled.forbidden, ruled.infinite, ruled.dead_ends), (1, 0, 0));
    assert_eq!(ruled.broken.iter().map(|broken| broken.records).sum::<u64>(), 1);
    // What rules force is no longer paid for.
    let free = likelihood(&markov, test, &options).unwrap();
    assert!(ruled.nats.total() < free.nats.total());
}
