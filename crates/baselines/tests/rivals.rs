//! Rivals on networks small enough to enumerate: what they learn is what they write, and what they
//! write obeys what they express.

use std::sync::Arc;

use consequence_baselines::{Limits, Method, Rival, RivalGenerator};
use consequence_engine::cuda::{Gpu, GpuError, ParameterRange, Precision};
use consequence_engine::{Dropout, squared_norm};
use consequence_evaluate::{ReplayOptions, likelihood};
use consequence_model::{
    Decide, Generator, KnownVisits, LookAhead, Network, NetworkSizes, RecurrentSizes, Sizes, Turn,
};
use consequence_network::gpu::{GpuBatch, GpuTrainer};
use consequence_network::{Shape, TrainingPass};
use consequence_record::{Code, Cohort, Kind, Record, Selection, Vocabulary};
use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};
use consequence_train::Aim;

const RULES: &str = "rule one: exactly one of S0, S1
                     rule lift: A0 and A1 => A2
                     rule never: A2 => not A3
                     rule stays: A3 in previous => A3";
const METHODS: [Method; 4] = [Method::SemanticLoss, Method::Ccn, Method::MultiPlexNet, Method::Spl];

struct World {
    rules: Arc<RuleSet>,
    codes: Order,
}

impl World {
    fn new() -> Self {
        let statics = ["S0", "S1"].map(|name| (name, Kind::Static));
        let encounters = ["A0", "A1", "A2", "A3"].map(|name| (name, Kind::Encounter));
        let vocabulary = Vocabulary::new(statics.into_iter().chain(encounters)).unwrap();
        let rules = RuleSet::parse(RULES, Some(Arc::new(vocabulary))).unwrap();
        let codes = Order::natural(Arc::clone(rules.vocabulary()));
        Self { rules: Arc::new(rules), codes }
    }

    fn rival(&self, method: Method) -> Rival {
        let written =
            WrittenRules::new(Arc::clone(&self.rules), &CompileLimits::default()).unwrap();
        Rival::new(method, &written, &self.codes, &Limits::default()).unwrap().unwrap()
    }

    /// A network with weights large enough for codes to depend on each other.
    fn network(&self, rival: &Rival, seed: u64) -> Network {
        let sizes = Sizes {
            max_visits: 6,
            network: NetworkSizes::Recurrent(RecurrentSizes { head: 8, width: 8, bottleneck: 4 }),
        };
        let network = Network::drawn(self.codes.clone(), &sizes, seed).unwrap();
        let mut network = rival.fitted(network, seed).unwrap();
        consequence_testing::stir(network.weights_mut().values_mut(), 1.0);
        network
    }

    fn code(&self, name: &str) -> Code {
        self.rules.vocabulary().code(name).unwrap()
    }

    /// Records that obey every static rule; the second breaks the temporal one.
    fn cohort(&self) -> Cohort {
        let visit = |names: &str| names.split_whitespace().map(|name| self.code(name)).collect();
        let mut cohort = Cohort::default();
        let records = [
            vec!["S0", "A0", "A0 A1 A2"],
            vec!["S1", "A3", "A1"],
            vec!["S1", "", "A0 A3", "A3", "A1 A3"],
            vec!["S0", "A2"],
        ];
        for (number, visits) in records.into_iter().enumerate() {
            let visits = visits.into_iter().map(visit).collect();
            cohort.push(&number.to_string(), &Record::new(visits));
        }
        cohort
    }

    /// The loss of the cohort while training, and the batch it is of.
    fn nats(&self, rival: &Rival, network: &Network, cohort: &Cohort) -> Vec<f64> {
        TrainingPass::default().nats(network.weights(), &self.batch(rival, network, cohort), rival)
    }

    fn batch(
        &self,
        rival: &Rival,
        network: &Network,
        cohort: &Cohort,
    ) -> consequence_network::Batch {
        let mut batch = network.batch();
        for record in cohort.records() {
            let facts = rival.facts(&self.codes, record);
            let known = KnownVisits { facts, ..KnownVisits::default() };
            network.push(&mut batch, record, &known);
        }
        batch
    }
}

/// Decides a visit as told, and multiplies the probabilities of it.
struct Told {
    present: u32,
    first: u32,
    probability: f64,
}

impl Decide for Told {
    fn decide(&mut self, position: u32, probability: f64, _: &mut LookAhead<'_>) -> bool {
        assert!((0.0..=1.0).contains(&probability), "{probability}");
        let present = self.present >> (position - self.first) & 1 == 1;
        self.probability *= if present { probability } else { 1.0 - probability };
        present
    }
}

/// The probability of every visit that may come after some visits, by its set of codes.
fn probabilities(generator: &RivalGenerator<'_>, before: &[Vec<u32>]) -> Vec<f64> {
    let range = generator.codes().range(before.len());
    (0..1_u32 << range.len())
        .map(|present| {
            let (mut past, mut last) = (generator.begin(), None);
            for visit in before {
                let first = generator.codes().range(usize::from(last.is_some())).start;
                let bits = visit.iter().map(|&position| 1 << (position - first)).sum();
                let mut told = Told { present: bits, first, probability: 1.0 };
                let turn = Turn { past: &mut past, last: last.as_deref(), decider: &mut told };
                generator.next(&mut [turn], &mut Default::default());
                last = Some(visit.clone());
            }
            let mut told = Told { present, first: range.start, probability: 1.0 };
            let turn = Turn { past: &mut past, last: last.as_deref(), decider: &mut told };
            generator.next(&mut [turn], &mut Default::default());
            told.probability
        })
        .collect()
}

#[test]
fn probabilities_add_up_to_one_over_exactly_the_visits_that_a_method_allows() {
    let world = World::new();
    // Bits of an encounter: A0, A1, A2, A3, END.
    let lift = |visit: u32| visit & 0b011 != 0b011 || visit & 0b100 != 0;
    let never = |visit: u32| visit & 0b1100 != 0b1100;
    for method in METHODS {
        let rival = world.rival(method);
        for seed in 0..5 {
            let network = world.network(&rival, seed);
            let generator = rival.generator(&network);
            let allowed = |visit: u32, kind: Kind| match (method, kind) {
                (Method::SemanticLoss, _) => true,
                (Method::Ccn, Kind::Static) => true,
                (Method::Ccn, Kind::Encounter) => lift(visit),
                (_, Kind::Static) => visit.count_ones() == 1,
                (_, Kind::Encounter) => lift(visit) && never(visit),
            };
            for before in [vec![], vec![vec![0]], vec![vec![1], vec![2, 4], vec![]]] {
                let kind = Kind::of_visit(before.len());
                let found = probabilities(&generator, &before);
                let sum: f64 = found.iter().sum();
                assert!((sum - 1.0).abs() < 1e-9, "{method}: {sum}");
                for (visit, &probability) in (0..).zip(&found) {
                    assert_eq!(
                        probability > 0.0,
                        allowed(visit, kind),
                        "{method} {visit:b} {probability}"
                    );
                }
            }
        }
    }
}

#[test]
fn mixtures_and_circuits_learn_the_likelihood_of_what_they_write() {
    let world = World::new();
    let cohort = world.cohort();
    for method in [Method::MultiPlexNet, Method::Spl] {
        let rival = world.rival(method);
        for seed in 0..5 {
            let network = world.network(&rival, seed);
            let trained: f64 = world.nats(&rival, &network, &cohort).iter().sum();
            let generator = rival.generator(&network);
            let records = Selection::all(&cohort);
            let found = likelihood(&generator, records, &ReplayOptions::default()).unwrap();
            let written = found.nats.total();
            assert_eq!(found.infinite, 0);
            assert!((trained - written).abs() < 1e-4 * written, "{method}: {trained} {written}");
        }
    }
}

#[test]
fn semantic_loss_adds_what_breaking_rules_would_cost() {
    let world = World::new();
    let rival = world.rival(Method::SemanticLoss);
    let network = world.network(&rival, 2);
    let plain = |cohort: &Cohort| {
        let batch = world.batch(&rival, &network, cohort);
        TrainingPass::default().nats(network.weights(), &batch, &consequence_network::Codewise)
    };
    let cohort = world.cohort();
    let (with, without) = (world.nats(&rival, &network, &cohort), plain(&cohort));
    let extra: Vec<f64> = with.iter().zip(&without).map(|(with, plain)| with - plain).collect();
    assert!(extra.iter().all(|&extra| extra > 0.0), "{extra:?}");
    // The third visit of the second record comes after A3: there A3 itself is asked for.
    let mut other = Cohort::default();
    let visits = |last: &str| {
        let code = |name: &str| world.code(name);
        Record::new(vec![vec![code("S1")], vec![code(last)], vec![code("A1")]])
    };
    other.push("kept", &visits("A3"));
    other.push("free", &visits("A1"));
    let (with, without) = (world.nats(&rival, &network, &other), plain(&other));
    let penalty = |row: usize| with[row] - without[row];
    assert!(penalty(2) > penalty(5), "{} {}", penalty(2), penalty(5));
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let world = World::new();
    let cohort = world.cohort();
    for method in METHODS {
        let rival = world.rival(method);
        let mut network = world.network(&rival, 3);
        let batch = world.batch(&rival, &network, &cohort);
        let mut gradient = vec![0.0; network.weights().values().len()];
        let (weights, dropout) = (network.weights(), Dropout::default());
        TrainingPass::default().train(weights, &batch, &rival, 1.0, dropout, &mut gradient);
        let mut compared = 0;
        for index in (0..gradient.len()).step_by(5) {
            let computed = f64::from(gradient[index]);
            if computed.abs() < 0.05 {
                continue;
            }
            let before = network.weights().values()[index];
            let mut at = |value: f32| -> f64 {
                network.weights_mut().values_mut()[index] = value;
                world.nats(&rival, &network, &cohort).iter().sum()
            };
            let step = 4e-4f32;
            let found = (at(before + step) - at(before - step)) / f64::from(2.0 * step);
            at(before);
            assert!((computed - found).abs() < 0.03 * (1.0 + computed.abs()), "{method} {index}");
            compared += 1;
        }
        assert!(compared > 30, "{method}: {compared} gradients agree");
    }
}

#[test]
fn methods_say_which_rules_they_cannot_express() {
    let world = World::new();
    let said = |method: Method| -> Vec<String> {
        world.rival(method).unexpressed().iter().map(ToString::to_string).collect()
    };
    assert!(said(Method::SemanticLoss).is_empty());
    assert_eq!(said(Method::Spl), ["stays: looks at earlier visits"]);
    assert_eq!(said(Method::MultiPlexNet), ["stays: looks at earlier visits"]);
    let ccn = said(Method::Ccn);
    assert!(ccn.contains(&"never: demands that a code is absent".to_owned()), "{ccn:?}");
    assert!(ccn.contains(&"stays: looks at earlier visits".to_owned()));
    assert!(!ccn.iter().any(|one| one.starts_with("lift")));
    let written = WrittenRules::new(Arc::clone(&world.rules), &CompileLimits::default()).unwrap();
    let none = Rival::new(Method::Vanilla, &written, &world.codes, &Limits::default()).unwrap();
    assert!(none.is_none());
}

#[test]
fn what_a_network_is_scored_by_on_a_gpu_is_what_it_is_scored_by_on_the_cpu() {
    let world = World::new();
    for method in METHODS {
        let gpu = match Gpu::open(0, Precision::Full) {
            Ok(gpu) => gpu,
            Err(error @ GpuError::Failed(_)) => panic!("{error}"),
            Err(error) => return eprintln!("SKIPPED: {error}"),
        };
        let rival = world.rival(method);
        let (network, cohort) = (world.network(&rival, 5), world.cohort());
        let batch = world.batch(&rival, &network, &cohort);
        let Shape::Recurrent(shape) = network.weights().shape() else { unreachable!() };
        let values = network.weights().values();
        let mut right = vec![0.0; values.len()];
        let nats = TrainingPass::default().train(
            network.weights(),
            &batch,
            &rival,
            0.5,
            Dropout::default(),
            &mut right,
        );
        let nats: f64 = nats.iter().sum();

        let all = ParameterRange { range: 0..values.len(), decays: false };
        let mut trainer = GpuTrainer::new(gpu, shape, &[all]).unwrap();
        trainer.send_weights(values).unwrap();
        let laid = GpuBatch::new(&batch, &rival, &trainer.staging()).unwrap();
        trainer.differentiate(&mut laid.expect("no glances"), &rival, 0.5).unwrap();
        let found = trainer.total_nats().unwrap();
        assert!((found / nats - 1.0).abs() < 1e-5, "{method}: {found}, not {nats}");
        let gradient = trainer.gradient().unwrap();
        let off: Vec<f32> = gradient.iter().zip(&right).map(|(a, b)| a - b).collect();
        let off = (squared_norm(&off) / squared_norm(&right)).sqrt();
        eprintln!("{method}: nats {:.1e} apart, gradients {off:.1e}", (found / nats - 1.0).abs());
        assert!(off < 1e-4, "{method}: gradients {off} apart");
    }
}
