//! Steps of training, as the training loop takes them.

use std::str::FromStr;
use std::time::Instant;

use consequence_engine::{Adam, Dropout, adam_step, squared_norm};
use consequence_model::Network;
use consequence_network::{Codewise, TrainingPass};
use consequence_prng::{Draws, Purpose};
use consequence_record::RecordView;
use consequence_rules::Order;
use consequence_simulate::{Preset, Simulation};
use rayon::prelude::*;

/// Records of a step.
const BATCH: usize = 32;

/// How long the records of a step are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As simulated inpatients: 1.27 encounters.
    Inpatient,
    /// All slots of the network.
    Full,
}

impl FromStr for Length {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "inpatient" => Ok(Self::Inpatient),
            "full" => Ok(Self::Full),
            _ => Err(()),
        }
    }
}

/// A network that learns.
#[derive(Debug)]
pub struct Training {
    network: Network,
    gradient: Vec<f32>,
    mean: Vec<f32>,
    square: Vec<f32>,
    pass: TrainingPass,
    steps: u64,
}

impl Training {
    /// Begins with the weights of a network.
    pub fn new(network: Network) -> Self {
        let zeros = || vec![0f32; network.weights().values().len()];
        let (gradient, mean, square) = (zeros(), zeros(), zeros());
        Self { network, gradient, mean, square, pass: TrainingPass::default(), steps: 0 }
    }

    /// The records of a step: for each visit the positions of its codes, ascending.
    pub fn records(&self, length: Length, step: usize) -> Vec<Vec<Vec<u32>>> {
        match length {
            Length::Inpatient => simulated(self.network.codes(), step * BATCH),
            Length::Full => {
                (0..BATCH).map(|record| full(&self.network, step * BATCH + record)).collect()
            }
        }
    }

    /// One step, as the training loop takes it: seconds, and nats of a record.
    pub fn step(&mut self, records: &[Vec<Vec<u32>>]) -> (f64, f64) {
        let start = Instant::now();
        let mut batch = self.network.batch();
        for record in records {
            batch.begin();
            for (visit, positions) in record.iter().enumerate() {
                let range = self.network.codes().range(visit);
                let codes = range.start as usize..range.end as usize;
                batch.push(codes, positions.iter().copied(), []);
            }
        }
        self.gradient.par_chunks_mut(1 << 16).for_each(|part| part.fill(0.0));
        let scale = 1.0 / batch.rows() as f32;
        let weights = self.network.weights();
        let gradient = &mut self.gradient;
        let nats = self.pass.train(weights, &batch, &Codewise, scale, Dropout::default(), gradient);
        let length = squared_norm(gradient).sqrt() as f32;
        assert!(length.is_finite(), "the network has diverged");
        self.steps += 1;
        let gradient_scale = length.recip().min(1.0);
        let adam = Adam { learning_rate: 1e-4, gradient_scale, ..Adam::default() };
        let weights = self.network.weights_mut().values_mut();
        adam_step(weights, gradient, &mut self.mean, &mut self.square, &adam, self.steps);
        let seconds = start.elapsed().as_secs_f64();
        (seconds, nats.iter().sum::<f64>() / records.len() as f64)
    }

    /// The network, as far as it is trained.
    pub fn into_network(self) -> Network {
        self.network
    }
}

/// Simulated inpatients, for a network of their vocabulary.
fn simulated(codes: &Order, first: usize) -> Vec<Vec<Vec<u32>>> {
    let simulation = Simulation::new(Preset::Inpatient, first + BATCH, 5);
    let cohort = simulation.part(first..first + BATCH);
    let positions = |record: RecordView<'_>| {
        (0..record.len()).map(|visit| codes.positions(record, visit)).collect()
    };
    cohort.records().map(positions).collect()
}

/// A record with as many encounters as the network has slots for, of as many codes as those of
/// inpatients, drawn alike.
pub fn full(network: &Network, number: usize) -> Vec<Vec<u32>> {
    let codes = network.codes();
    let (end, encounters) = (codes.end(), network.max_visits() - 1);
    let visit = |visit: usize| {
        let mut draw = Draws::new(6).visit(number as u64, 0, visit as u16, Purpose::Code);
        let range = codes.range(visit);
        let probability = if visit == 0 { 0.3 } else { 13.6 / range.len() as f64 };
        let is_drawn = |&code: &u32| match code == end {
            true => visit == encounters,
            false => draw.below(code, probability),
        };
        range.filter(is_drawn).collect()
    };
    (0..=encounters).map(visit).collect()
}
