//! On networks small enough to enumerate, every mode writes the distribution that it says.
//!
//! The seeds are fixed, so these tests give the same answer every time. Frequencies are held
//! against the exact distribution by chi-square, and must be within four standard deviations of
//! what probability explains: a right sampler fails for one seed in 30,000.

mod common;

use std::sync::Arc;

use common::*;
use consequence_enforce::Enforcer;
use consequence_evaluate::likelihood_with_rules;
use consequence_model::{Generator, NetworkGenerator};
use consequence_record::{Cohort, Record, Selection, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_sample::{Mode, Request};
use consequence_testing::every;

const RECORDS: u64 = 40_000;
const DEVIATIONS: f64 = 4.0;

/// Rules that look back, forward and at the end, and rules that leave a choice of codes.
const RULES: [&str; 2] = [
    "rule keeps: E0 in previous => E1
     rule bars: S0 in static and E1 => not E0
     rule ends: E0 and E1 => END",
    "rule either: S0 in static => any of E0, E1
     rule goes-on: E0 in previous => any of E1, END",
];

struct World {
    vocabulary: Arc<Vocabulary>,
    generator: NetworkGenerator,
    rules: RuleSet,
}

impl World {
    fn new(seed: u64) -> Self {
        Self::with_rules(RULES[0], seed)
    }

    fn with_rules(text: &str, seed: u64) -> Self {
        let vocabulary = vocabulary(1, 2);
        let generator = network(&vocabulary, 2, seed);
        Self { generator, rules: rules(text, &vocabulary), vocabulary }
    }

    /// Every record with its probability.
    fn free(&self, temperature: f64) -> Vec<(Record, f64)> {
        let all = every::records(&self.vocabulary, 2).into_iter();
        let each = all.map(|record| {
            let probability = probability(&self.generator, &record, temperature);
            (record, probability)
        });
        let all: Vec<(Record, f64)> = each.collect();
        let sum: f64 = all.iter().map(|(_, probability)| probability).sum();
        assert!(all.len() == 40 && (sum - 1.0).abs() < 1e-5, "{sum}");
        all
    }

    /// Every record that obeys the rules with its probability among them, and the probability of
    /// all of them.
    fn obeying(&self) -> (Vec<(Record, f64)>, f64) {
        let referee = Referee::new(&self.rules);
        let mut valid = self.free(1.0);
        valid.retain(|(record, _)| referee.is_valid(record));
        let sum: f64 = valid.iter().map(|(_, probability)| probability).sum();
        valid.iter_mut().for_each(|(_, probability)| *probability /= sum);
        (valid, sum)
    }

    fn sample(&self, mode: Mode, proposals: u16) -> (Vec<Record>, consequence_sample::Totals) {
        let request = Request { mode, proposals, seed: 5, batch: 4096, ..Request::default() };
        sample(&self.generator, &self.rules, request, RECORDS)
    }
}

#[test]
fn off_writes_what_the_model_says() {
    for seed in [1, 2, 3] {
        let world = World::new(seed);
        let found = deviation(&world.sample(Mode::Off, 1).0, &world.free(1.0));
        assert!(found < DEVIATIONS, "network {seed}: {found}");
    }
}

#[test]
fn a_temperature_divides_the_logits() {
    let world = World::new(1);
    for temperature in [0.5, 2.0] {
        let request = Request { mode: Mode::Off, temperature, ..Request::default() };
        let (records, _) = sample(&world.generator, &world.rules, request, RECORDS);
        let found = deviation(&records, &world.free(temperature));
        assert!(found < DEVIATIONS, "temperature {temperature}: {found}");
        assert!(deviation(&records, &world.free(1.0)) > DEVIATIONS, "it changes something");
    }
}

#[test]
fn reject_writes_the_model_given_the_rules() {
    for seed in [1, 2, 3] {
        let world = World::new(seed);
        let (expected, obeying) = world.obeying();
        let (records, totals) = world.sample(Mode::Reject, 1);
        let found = deviation(&records, &expected);
        assert!(found < DEVIATIONS, "network {seed}: {found}");
        // Of all attempts, those that are kept are a share of what obeys.
        let share = totals.records as f64 / totals.attempts as f64;
        let error = (obeying * (1.0 - obeying) / totals.attempts as f64).sqrt();
        assert!((share - obeying).abs() < DEVIATIONS * error, "{share} of {obeying}");
        assert_eq!(totals.attempts, totals.records + totals.rejected);
    }
}

#[test]
fn guided_weights_average_to_the_probability_that_the_rules_hold() {
    for (text, seed) in RULES.iter().flat_map(|text| [1, 2, 3].map(|seed| (text, seed))) {
        let world = World::with_rules(text, seed);
        let (_, obeying) = world.obeying();
        let trained_with = Some(&world.rules);
        let request = Request { seed: 5, batch: 4096, trained_with, ..Request::default() };
        let (guided, _) = sample(&world.generator, &world.rules, request, RECORDS);
        let (records, totals) = world.sample(Mode::Exact, 1);
        assert_eq!(records, guided, "a single proposal is what guided writes");
        let mean = totals.obeying().unwrap();
        // Hardly any weight is above 1, so they vary less than a coin with their mean.
        let error = (obeying * (1.0 - obeying) / RECORDS as f64).sqrt();
        assert!((mean - obeying).abs() < DEVIATIONS * error, "{mean} of {obeying}");
        assert!((0.05..0.95).contains(&obeying), "the rules forbid something, but not all");
        assert_eq!(totals.effective_proposals(), Some(1.0));
    }
}

#[test]
fn guided_writes_what_the_likelihood_with_rules_says() {
    for (text, seed) in RULES.iter().zip([1, 2]) {
        let world = World::with_rules(text, seed);
        let options = CompileOptions {
            max_visits: 2,
            order: Some(world.generator.codes().clone()),
            ..CompileOptions::default()
        };
        let plan = compile(Arc::new(world.rules.clone()), &options).unwrap();
        let mut written = Vec::new();
        for trained_with in [None, Some(&world.rules)] {
            let enforcer = Enforcer::for_model(&plan, trained_with);
            let cost = |record: &Record| {
                let mut cohort = Cohort::default();
                cohort.push("", record);
                let all = Selection::all(&cohort);
                let found =
                    likelihood_with_rules(&world.generator, &enforcer, all, &Default::default());
                let found = found.unwrap();
                if found.measured == 1 { (-found.nats.total()).exp() } else { 0.0 }
            };
            let all = every::records(&world.vocabulary, 2).into_iter();
            let mut expected: Vec<(Record, f64)> = all
                .map(|record| {
                    let probability = cost(&record);
                    (record, probability)
                })
                .collect();
            expected.retain(|(_, probability)| *probability > 0.0);
            let request = Request { seed: 6, trained_with, ..Request::default() };
            let (records, _) = sample(&world.generator, &world.rules, request, RECORDS);
            let found = deviation(&records, &expected);
            assert!(found < DEVIATIONS, "network {seed}, {text}: {found}");
            written.push(total_variation(&records, &world.obeying().0));
        }
        assert!(written[0] <= written[1], "asking comes closer to the model: {written:?}");
    }
}

#[test]
fn exact_comes_closer_with_every_proposal() {
    let world = World::new(1);
    let (expected, _) = world.obeying();
    let samples = [1, 4, 16, 64].map(|proposals| world.sample(Mode::Exact, proposals).0);
    let found = samples.each_ref().map(|records| total_variation(records, &expected));
    // What counting so many records costs by itself: the mean of the total variation, and as much
    // again for its spread.
    let spread = expected
        .iter()
        .map(|(_, probability)| (probability * (1.0 - probability)).sqrt())
        .sum::<f64>();
    let counting = 2.0 * spread / (2.0 * std::f64::consts::PI * RECORDS as f64).sqrt();
    assert!(found[0] > 4.0 * counting, "guided alone is something else: {found:?}");
    assert!(found[0] > found[1] && found[1] > found[2], "{found:?}");
    assert!(found[2] < counting + 1.0 / 16.0 && found[3] < counting, "{found:?} {counting}");
    let deviation = deviation(&samples[3], &expected);
    assert!(deviation < DEVIATIONS, "{deviation}");
}

#[test]
fn a_prefix_is_gone_on_with_as_the_model_says() {
    let world = World::new(2);
    let code = |name| world.vocabulary.code(name).unwrap();
    let mut cohort = consequence_record::Cohort::default();
    let begun = vec![vec![code("S0")], vec![code("E1")]];
    cohort.push("1", &Record::new(begun.clone()));
    let given = |all: Vec<(Record, f64)>| {
        let mut all = all;
        all.retain(|(record, _)| record.visits.starts_with(&begun));
        let sum: f64 = all.iter().map(|(_, probability)| probability).sum();
        all.into_iter().map(|(record, probability)| (record, probability / sum)).collect::<Vec<_>>()
    };
    for (mode, expected) in [
        (Mode::Off, given(world.free(1.0))),
        (Mode::Reject, given(world.obeying().0)),
        (Mode::Exact, given(world.obeying().0)),
    ] {
        let request = Request { mode, proposals: 32, prefix: Some(&cohort), ..Request::default() };
        let (records, _) = sample(&world.generator, &world.rules, request, RECORDS);
        let found = deviation(&records, &expected);
        assert!(found < DEVIATIONS, "{mode}: {found}");
    }
}
