//! The networks that are timed.

use std::str::FromStr;
use std::sync::Arc;

use consequence_model::{HaloSizes, Network, NetworkSizes, Sizes};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_simulate::{Preset, Simulation};

use super::{Length, Training};
use crate::generator::{Shape, generate};
use crate::published::Published;

/// Codes of an encounter, and encounters of a record, in the paper's inpatient records.
const CODES_PER_VISIT: f64 = 13.6;
const VISITS_PER_RECORD: f64 = 1.27;

/// Steps that the network with skewed probabilities was trained.
const STEPS: usize = 24;

const SEED: u64 = 41;

/// How large the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As in the paper.
    Paper,
    /// To try the study itself.
    Tiny,
}

impl Scale {
    fn sizes(self) -> Sizes {
        let (width, layers, heads) = match self {
            // The mark at the beginning, the static visit and 43 encounters are 45 slots.
            Self::Paper => (768, 12, 12),
            Self::Tiny => (32, 2, 4),
        };
        let network = HaloSizes { width, layers, heads, head_units: 1 };
        Sizes { max_visits: 44, network: NetworkSizes::Halo(network) }
    }
}

/// How often the network means each code to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probabilities {
    /// All codes of encounters alike. The rules are the 95 published ones, where they are there.
    Uniform,
    /// As in simulated inpatients, trained on them.
    Skewed,
    /// As a hundred thousand rules over two thousand codes were made for.
    ManyRules,
}

impl FromStr for Probabilities {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "uniform" => Ok(Self::Uniform),
            "skewed" => Ok(Self::Skewed),
            "many_rules" => Ok(Self::ManyRules),
            _ => Err(()),
        }
    }
}

/// A network, and rules for its records.
#[derive(Debug)]
pub struct Subject {
    /// The network.
    pub network: Network,
    /// The rules; perhaps none.
    pub rules: RuleSet,
}

impl Subject {
    /// Makes a network.
    pub fn new(probabilities: Probabilities, scale: Scale) -> Self {
        match probabilities {
            Probabilities::Uniform => uniform(scale),
            Probabilities::Skewed => skewed(scale),
            Probabilities::ManyRules => many_rules(scale),
        }
    }
}

fn uniform(scale: Scale) -> Subject {
    let rules = match Published::load() {
        Some(published) => published.rule_set(0..published.neurons.len()),
        None => RuleSet::empty(unnamed()),
    };
    let each = CODES_PER_VISIT / Preset::Inpatient.figures().codes as f64;
    let network = drawn(&rules, scale, |code| match rules.vocabulary().kind(code) {
        Kind::Static => 1.0 / 3.0,
        Kind::Encounter => each,
    });
    Subject { network, rules }
}

/// A vocabulary of the size of the published one.
fn unnamed() -> Arc<Vocabulary> {
    let figures = Preset::Inpatient.figures();
    let name = |code: usize| match code < figures.codes {
        true => (format!("CODE//{code}"), Kind::Encounter),
        false => (format!("LABEL//{code}"), Kind::Static),
    };
    let names = (0..figures.codes + figures.demographic).map(name);
    Arc::new(Vocabulary::new(names).expect("the names differ"))
}

fn skewed(scale: Scale) -> Subject {
    let simulation = Simulation::new(Preset::Inpatient, 5_000, SEED);
    let cohort = simulation.cohort();
    let rules = RuleSet::clone(&simulation.truth().rules);
    let mut counts = vec![0usize; rules.vocabulary().len()];
    let (mut records, mut encounters) = (0, 0);
    for record in cohort.records() {
        (records, encounters) = (records + 1, encounters + record.len() - 1);
        record.visits().flatten().for_each(|code| counts[code.index()] += 1);
    }
    let network = drawn(&rules, scale, |code| {
        let visits = match rules.vocabulary().kind(code) {
            Kind::Static => records,
            Kind::Encounter => encounters,
        };
        (counts[code.index()] as f64 + 0.5) / (visits as f64 + 1.0)
    });
    let mut training = Training::new(network);
    for step in 0..STEPS {
        training.step(&training.records(Length::Inpatient, step));
    }
    Subject { network: training.into_network(), rules }
}

fn many_rules(scale: Scale) -> Subject {
    let rules = if scale == Scale::Paper { 100_000 } else { 2_000 };
    let generated = generate(Shape { codes: 2_000, statics: 500, rules }, 11);
    let mut probabilities = vec![0.0; generated.rules.vocabulary().len()];
    let statics = generated.classes.static_popularity();
    let encounters = generated.classes.encounters();
    let all = statics.probabilities(3.0).chain(encounters.probabilities(CODES_PER_VISIT));
    all.for_each(|(code, probability)| probabilities[code.index()] = probability);
    let network = drawn(&generated.rules, scale, |code| probabilities[code.index()]);
    Subject { network, rules: Arc::unwrap_or_clone(generated.rules) }
}

/// A network with random weights that gives codes about these probabilities, in an order that suits the
/// rules.
fn drawn(
    rules: &RuleSet,
    scale: Scale,
    probability: impl Fn(consequence_record::Code) -> f64,
) -> Network {
    let sizes = scale.sizes();
    let options = CompileOptions { max_visits: sizes.max_visits as u16, ..Default::default() };
    let plan = compile(Arc::new(rules.clone()), &options).expect("these rules have a plan");
    let codes = plan.order().clone();
    let logit = |probability: f64| (probability / (1.0 - probability)).ln() as f32;
    let end = rules.vocabulary().end();
    let bias = |&code: &consequence_record::Code| {
        logit(if code == end { 1.0 / VISITS_PER_RECORD } else { probability(code) })
    };
    let biases: Vec<f32> = codes.codes().iter().map(bias).collect();
    let mut network = Network::drawn(codes, &sizes, SEED).expect("sizes of a network");
    network.weights_mut().set_output_bias(&biases);
    network
}
