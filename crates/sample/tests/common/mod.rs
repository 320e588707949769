//! Small models, and what they should write.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_model::{
    Decide, Generator, LookAhead, Network, NetworkGenerator, NetworkSizes, RecurrentSizes, Sizes,
    Turn,
};
use consequence_record::{Code, Record, Vocabulary};
use consequence_rules::{Order, RuleSet};
use consequence_sample::{Request, Sampler, Totals};
#[allow(unused_imports, reason = "each test file uses some of it")]
pub use consequence_testing::every::vocabulary;
use consequence_testing::stir;

/// A network with weights large enough for codes to depend on each other.
pub fn network(vocabulary: &Arc<Vocabulary>, max_visits: usize, seed: u64) -> NetworkGenerator {
    NetworkGenerator::new(&drawn(vocabulary, max_visits, seed))
}

/// The network itself.
pub fn drawn(vocabulary: &Arc<Vocabulary>, max_visits: usize, seed: u64) -> Network {
    let sizes = RecurrentSizes { head: 8, width: 8, bottleneck: 4 };
    drawn_of(vocabulary, max_visits, NetworkSizes::Recurrent(sizes), seed)
}

/// A network of such sizes.
pub fn drawn_of(
    vocabulary: &Arc<Vocabulary>,
    max_visits: usize,
    network: NetworkSizes,
    seed: u64,
) -> Network {
    let codes = Order::natural(Arc::clone(vocabulary));
    let mut network = Network::drawn(codes, &Sizes { max_visits, network }, seed).unwrap();
    let mut stirred = network.weights().values().to_vec();
    stir(&mut stirred, 1.0);
    // What makes no difference stays as it is.
    for (range, _) in network.weights().live(0) {
        network.weights_mut().values_mut()[range.clone()].copy_from_slice(&stirred[range]);
    }
    network
}

pub fn rules(text: &str, vocabulary: &Arc<Vocabulary>) -> RuleSet {
    RuleSet::parse(text, Some(Arc::clone(vocabulary))).unwrap()
}

/// The records 0 to `count` of a sampler.
pub fn records<G: Generator>(sampler: &Sampler<'_, G>, count: u64) -> (Vec<Record>, Totals) {
    let (mut records, mut totals) = (Vec::new(), Totals::default());
    sampler
        .records(0..count, &mut totals, |number, record| {
            assert_eq!(number, records.len() as u64, "records come in order");
            records.push(record);
            Ok(())
        })
        .unwrap();
    (records, totals)
}

pub fn sample<G: Generator>(
    generator: &G,
    rules: &RuleSet,
    request: Request<'_>,
    count: u64,
) -> (Vec<Record>, Totals) {
    records(&Sampler::new(generator, rules, request).unwrap(), count)
}

/// Decides a visit as it is in a record, and multiplies the probabilities of it.
struct Replay {
    present: Vec<u32>,
    certain: Option<u32>,
    probability: f64,
    temperature: f64,
}

impl Decide for Replay {
    fn decide(&mut self, position: u32, probability: f64, _: &mut LookAhead<'_>) -> bool {
        let present = self.present.contains(&position);
        if self.certain != Some(position) {
            let odds = (probability / (1.0 - probability)).powf(1.0 / self.temperature);
            self.probability *= if present { odds / (1.0 + odds) } else { 1.0 / (1.0 + odds) };
        }
        present
    }
}

/// The probability that a model writes a record, by asking it for the probability of every code. At
/// the last visit that the model has, the end is certain.
pub fn probability(generator: &NetworkGenerator, record: &Record, temperature: f64) -> f64 {
    let codes = generator.codes();
    let (mut past, mut last, mut probability) = (generator.begin(), None, 1.0);
    for (visit, list) in record.visits.iter().enumerate() {
        let mut present: Vec<u32> = list.iter().map(|&code| codes.position(code)).collect();
        if visit + 1 == record.visits.len() {
            present.push(codes.end());
        }
        present.sort_unstable();
        let certain = (visit == generator.max_visits()).then(|| codes.end());
        let mut replay = Replay { present, certain, probability: 1.0, temperature };
        let turn = Turn { past: &mut past, last: last.as_deref(), decider: &mut replay };
        generator.next(&mut [turn], &mut Default::default());
        probability *= replay.probability;
        last = Some(replay.present);
    }
    probability
}

/// How often each record was written.
pub fn counted(records: &[Record]) -> BTreeMap<Vec<Vec<Code>>, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.visits.clone()).or_default() += 1;
    }
    counts
}

/// Half the sum of the differences between what was written and what should be.
pub fn total_variation(records: &[Record], expected: &[(Record, f64)]) -> f64 {
    let (counts, written) = (counted(records), records.len() as f64);
    let differences = expected.iter().map(|(record, probability)| {
        (counts.get(&record.visits).copied().unwrap_or_default() as f64 / written - probability)
            .abs()
    });
    differences.sum::<f64>() / 2.0
}

/// How far records are from a distribution, in standard deviations: the chi-square statistic made
/// normal (Wilson and Hilferty), with records that are expected fewer than five times taken
/// together.
pub fn deviation(records: &[Record], expected: &[(Record, f64)]) -> f64 {
    let (counts, written) = (counted(records), records.len() as f64);
    let (mut rare, mut statistic, mut cells) = ((0.0, 0.0), 0.0, 0.0);
    for (record, probability) in expected {
        let seen = counts.get(&record.visits).copied().unwrap_or_default() as f64;
        let wanted = probability * written;
        if wanted < 5.0 {
            rare = (rare.0 + seen, rare.1 + wanted);
        } else {
            statistic += (seen - wanted).powi(2) / wanted;
            cells += 1.0;
        }
    }
    if rare.1 > 0.0 {
        statistic += (rare.0 - rare.1).powi(2) / rare.1;
        cells += 1.0;
    }
    let freedom: f64 = cells - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}
