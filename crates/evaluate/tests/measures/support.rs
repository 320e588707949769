//! Small worlds: vocabularies, networks, and random cohorts.

use consequence_evaluate::Likelihood;
use consequence_model::{Network, NetworkSizes, RecurrentSizes, Sizes};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Kind, Record, Selection, Vocabulary};
use consequence_rules::Order;

/// Records whose codes come more often the lower their number, and tend to stay.
pub fn random_cohort(vocabulary: &Vocabulary, records: u64, seed: u64) -> Cohort {
    let draws = Draws::new(seed);
    let mut cohort = Cohort::default();
    for number in 0..records {
        let mut visits: Vec<Vec<Code>> = Vec::new();
        let mut ended = false;
        while !ended {
            let visit = visits.len();
            let mut values = draws.visit(number, 0, visit as u16, Purpose::Code);
            let held = |code: &Code| {
                let kept = visit > 1 && visits[visit - 1].contains(code);
                let probability =
                    0.6 / (1.0 + 0.5 * f64::from(code.0)) + if kept { 0.4 } else { 0.0 };
                let fits = vocabulary.kind(*code) == Kind::of_visit(visit);
                fits && *code != vocabulary.end() && values.below(code.0, probability)
            };
            let codes = vocabulary.codes().filter(held).collect();
            visits.push(codes);
            ended = visit > 0 && (visit >= 6 || values.below(vocabulary.end().0, 0.5));
        }
        cohort.push(&number.to_string(), &Record::new(visits));
    }
    cohort
}

/// An untrained network; the larger its weights, the further its probabilities from one half.
pub fn network(codes: Order, max_visits: usize, scale: f32) -> Network {
    let sizes = Sizes {
        max_visits,
        network: NetworkSizes::Recurrent(RecurrentSizes { head: 8, width: 8, bottleneck: 4 }),
    };
    let mut network = Network::drawn(codes, &sizes, 5).unwrap();
    consequence_testing::stir(network.weights_mut().values_mut(), scale / 2.0);
    network
}

/// The likelihood of every record by itself.
pub fn each(cohort: &Cohort, measure: impl Fn(Selection<'_>) -> Likelihood) -> Vec<Likelihood> {
    Selection::all(cohort).chunks(1).into_iter().map(measure).collect()
}
