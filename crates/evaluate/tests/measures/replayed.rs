//! The same figures by another way, and for any batch and any number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use consequence_evaluate::{ReplayOptions, likelihood, likelihood_with_settled};
use consequence_feedback::Watch;
use consequence_model::{Generator, KnownVisits, Markov, NetworkGenerator, Settled};
use consequence_network::{Codewise, TrainingPass};
use consequence_record::{Cohort, RecordView, Selection};
use consequence_rules::Order;
use consequence_testing::every::vocabulary;
use rayon::ThreadPoolBuilder;

use crate::support::{each, network, random_cohort};

#[test]
fn replay_costs_what_the_network_loses_in_training() {
    let vocabulary = vocabulary(3, 70);
    let cohort = random_cohort(&vocabulary, 60, 1);
    let network = network(Order::natural(vocabulary), 10, 1.5);
    let generator = NetworkGenerator::new(&network);
    // Probabilities are single precision, so logits must not be so large that they round to 1.
    let options = ReplayOptions::default();
    let replayed = each(&cohort, |record| likelihood(&generator, record, &options).unwrap());
    for (record, replayed) in cohort.records().zip(replayed) {
        let mut batch = network.batch();
        network.push(&mut batch, record, &KnownVisits::default());
        let rows = TrainingPass::default().nats(network.weights(), &batch, &Codewise);
        assert_eq!(replayed.measured, 1);
        let parts = replayed.nats;
        let expected: f64 = rows.iter().sum();
        assert!((parts.total() - expected).abs() < 1e-5 * expected, "{parts:?} {rows:?}");
        assert!((parts.static_codes - rows[0]).abs() < 1e-5 * rows[0].max(1.0));
    }
}

fn same_for_all(generator: &impl Generator, cohort: &Cohort) {
    let nats = |threads, batch| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let measure = || {
            let options = ReplayOptions { batch, ..ReplayOptions::default() };
            likelihood(generator, Selection::all(cohort), &options).unwrap()
        };
        pool.install(measure)
    };
    let first = nats(1, 1);
    for (threads, batch) in [(1, 32), (2, 1000), (7, 7), (2, 0)] {
        assert_eq!(first, nats(threads, batch), "{threads} threads, batch {batch}");
    }
}

#[test]
fn figures_depend_on_neither_batch_nor_threads() {
    let vocabulary = vocabulary(3, 30);
    let cohort = random_cohort(&vocabulary, 100, 2);
    let codes = Order::natural(vocabulary);
    same_for_all(&NetworkGenerator::new(&network(codes.clone(), 10, 3.0)), &cohort);
    same_for_all(&Markov::fit(codes, Selection::all(&cohort), 10), &cohort);
}

#[test]
fn what_markov_learns_does_not_depend_on_threads() {
    let vocabulary = vocabulary(3, 30);
    let cohort = random_cohort(&vocabulary, 500, 2);
    let codes = Order::natural(vocabulary);
    let trained = [1, 2, 7].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Markov::fit(codes.clone(), Selection::all(&cohort), 10))
    });
    assert!(trained.iter().all(|markov| markov.tables() == trained[0].tables()));
}

#[test]
fn settled_positions_replace_the_models_probability() {
    let vocabulary = vocabulary(2, 4);
    let cohort = random_cohort(&vocabulary, 20, 4);
    let codes = Order::natural(Arc::clone(&vocabulary));
    let markov = Markov::fit(codes.clone(), Selection::all(&cohort), 10);
    let options = ReplayOptions::default();
    // All static codes and END settled; encounters left to the model.
    let settled = |_: RecordView<'_>, visit| match visit {
        0 => codes.range(0).map(|output| Settled { output, nats: 0.25 }).collect(),
        _ => vec![Settled { output: codes.end() - codes.range(1).start, nats: 0.0 }],
    };
    let paper = likelihood_with_settled(&markov, settled, Selection::all(&cohort), &options);
    let paper = paper.unwrap();
    let plain = likelihood(&markov, Selection::all(&cohort), &options).unwrap();
    let parts = paper.unnormalised.nats;
    assert_eq!((parts.static_codes, parts.end), (20.0 * 0.5, 0.0));
    assert_eq!(parts.encounter_codes, plain.nats.encounter_codes);
    assert!(paper.to_string().starts_with("not normalised"));
}

/// Counts the records that it is told of.
#[derive(Default)]
struct Counter(AtomicU64);

impl Watch for Counter {
    fn begin(&self, _task: &str, _total: Option<u64>) {}
    fn advance(&self, steps: u64) {
        self.0.fetch_add(steps, Ordering::Relaxed);
    }
    fn finish(&self) {}
}

#[test]
fn progress_reaches_all_records_and_long_ones_are_counted() {
    let vocabulary = vocabulary(2, 4);
    let cohort = random_cohort(&vocabulary, 50, 4);
    let markov = Markov::fit(Order::natural(vocabulary), Selection::all(&cohort), 3);
    let counter = Counter::default();
    let options = ReplayOptions { batch: 8, watch: &counter };
    let likelihood = likelihood(&markov, Selection::all(&cohort), &options).unwrap();
    let long = cohort.records().filter(|record| record.len() > 4).count() as u64;
    assert!(long > 0);
    assert_eq!((likelihood.too_long, likelihood.measured), (long, 50 - long));
    assert_eq!(counter.0.into_inner(), 50);
}
