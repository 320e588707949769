//! Who does the work of a training: steps, validation and what follows it, on the CPU or on a GPU.

use std::cell::RefCell;
use std::ops::Range;
use std::time::{Duration, Instant};

use consequence_engine::cuda::{GpuError, ParameterRange};
use consequence_engine::{Adam, Dropout, adam_step_within, average_within, squared_norm_within};
use consequence_model::{KnownVisits, Network};
use consequence_network::gpu::StepSettings;
use consequence_network::{Batch, Shape, TrainingPass};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Cohort, Selection};

use crate::calibrate::{calibrate, counts};
use crate::checkpoint::State;
use crate::on_gpu::OnGpu;
use crate::train::{Estimate, Examples, visits};
use crate::{Device, Teacher, TrainError, TrainOptions};

/// Steps over which weights are averaged at least.
const AVERAGED_STEPS: f64 = 50.0;

/// Visits that are validated at once.
const VALIDATED: usize = 2_048;

/// Visits of a step that a GPU must have memory for.
pub(crate) const FEWEST_VISITS: usize = 64;

/// For how long steps are measured before training, at most; one is in any case.
const MEASURED: Duration = Duration::from_millis(250);

/// Brings the state of training from where it is to where it can be written.
pub(crate) type Bring<'a> = dyn FnMut(&mut State) -> Result<(), TrainError> + 'a;

/// What is told of a step.
pub(crate) struct StepTold {
    /// Its records.
    pub records: usize,
    /// The mean nats of a record in this epoch.
    pub nats: f64,
    /// Visits of the pieces that steps are worked through in, where memory lacks for whole ones.
    pub pieces_of: Option<usize>,
}

/// Is told after each step; false ends it.
pub(crate) type Told<'a> =
    dyn FnMut(&mut Bring<'_>, &mut State, StepTold) -> Result<bool, TrainError> + 'a;

/// Who does the work.
pub(crate) struct Trainer<'a> {
    teacher: &'a Teacher<'a>,
    options: &'a TrainOptions,
    pass: TrainingPass,
    gradient: Vec<f32>,
    /// The ranges of all parameters that can make a difference.
    live: Vec<Range<usize>>,
    /// Those of them that are made smaller with every step, and the others.
    decaying: Vec<Range<usize>>,
    plain: Vec<Range<usize>>,
    /// What it trains on in place of the CPU.
    gpu: Option<OnGpu<'a>>,
}

impl<'a> Trainer<'a> {
    pub fn new(
        device: Device,
        teacher: &'a Teacher<'a>,
        options: &'a TrainOptions,
        network: &Network,
    ) -> Result<Self, TrainError> {
        let weights = network.weights();
        let live = match teacher.asks_head() {
            true => weights.live(network.codes().statics()),
            false => weights.live_without_head().into_iter().map(|range| (range, false)).collect(),
        };
        let changed: Vec<ParameterRange> = live
            .iter()
            .map(|(range, decays)| ParameterRange { range: range.clone(), decays: *decays })
            .collect();
        let (gradient, gpu) = match device {
            Device::Cpu => (vec![0.0; weights.values().len()], None),
            Device::Gpu(gpu) => (Vec::new(), Some(OnGpu::new(*gpu, network, teacher, &changed)?)),
        };
        let chosen = |decays: bool| {
            let ranges = live.iter().filter(move |(_, between)| *between == decays);
            ranges.map(|(range, _)| range.clone()).collect()
        };
        Ok(Self {
            teacher,
            options,
            pass: TrainingPass::default(),
            gradient,
            decaying: chosen(true),
            plain: chosen(false),
            live: live.iter().map(|(range, _)| range.clone()).collect(),
            gpu,
        })
    }

    /// Sends the state of training to where it goes on.
    pub fn send(&mut self, state: &mut State) -> Result<(), TrainError> {
        self.gpu.as_mut().map_or(Ok(()), |gpu| gpu.send(state))
    }

    /// Brings it back.
    pub fn bring(&mut self, state: &mut State) -> Result<(), TrainError> {
        self.gpu.as_mut().map_or(Ok(()), |gpu| gpu.bring(state))
    }

    /// Waits for the steps that are under way.
    pub fn wait(&mut self, state: &mut State) -> Result<(), TrainError> {
        self.gpu.as_mut().map_or(Ok(()), |gpu| gpu.ask(state))
    }

    /// Trains on batches, the rest of an epoch of so many steps. False if it was asked to stop.
    pub fn epoch(
        &mut self,
        state: &mut State,
        (train, batches): (Selection<'_>, &[Vec<usize>]),
        steps: u64,
        told: &mut Told<'_>,
    ) -> Result<bool, TrainError> {
        if let Some(gpu) = &mut self.gpu {
            let options = self.options;
            let settings = |state: &State, number: u64| {
                let rate = rate(options, state.progress.rate_left, number);
                let weight_kept = 1.0 - rate * options.decay;
                let adam = Adam { learning_rate: rate, weight_kept, ..Adam::default() };
                let keep = keep(options, steps, number);
                let settings = StepSettings { adam, clip: options.clip, number, keep };
                (settings, dropout(options, number))
            };
            return gpu.steps(state, (train, batches), settings, told);
        }
        for records in batches {
            let chosen = train.others(records);
            // On a thread of the pool, which then need not be woken for each of many small products.
            rayon::scope(|_| self.step(state, chosen, steps))?;
            let nats = state.progress.nats / state.progress.records as f64;
            let step = StepTold { records: records.len(), nats, pieces_of: None };
            if !told(&mut |_| Ok(()), state, step)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The share of units that never fire in these records; none where the head is not asked.
    pub fn silent_units(
        &mut self,
        network: &Network,
        records: Selection<'_>,
    ) -> Result<Option<f64>, TrainError> {
        if !self.teacher.asks_head() {
            return Ok(None);
        }
        if let Some(gpu) = &mut self.gpu {
            return gpu.silent_units(network, records);
        }
        let pass = &mut self.pass;
        let batches = untaught(network, records, VALIDATED);
        Ok(rayon::scope(|_| pass.silent_units(network.weights(), batches)))
    }

    /// The same with as many visits of a step as the memory of a GPU is large enough for, halved as often as need be.
    pub fn measured_within_memory(
        &mut self,
        state: &mut State,
        train: Selection<'_>,
        wanted_batch: usize,
    ) -> Result<Estimate, TrainError> {
        let mut batch_visits = wanted_batch;
        loop {
            match (self.measured(state, train, batch_visits), &mut self.gpu) {
                (Err(TrainError::Gpu(GpuError::OutOfMemory)), Some(gpu))
                    if batch_visits > FEWEST_VISITS =>
                {
                    batch_visits /= 2;
                    gpu.take_less();
                }
                (measured, _) => return Ok(Estimate { wanted_batch, ..measured? }),
            }
        }
    }

    /// Measures steps without taking them: one to touch all memory, and some more against the clock.
    fn measured(
        &mut self,
        state: &mut State,
        train: Selection<'_>,
        batch_visits: usize,
    ) -> Result<Estimate, TrainError> {
        let batches = epoch_batches(train, batch_visits, self.options.seed, 1);
        let first = train.others(&batches[0]);
        let (nats, seconds) = match &mut self.gpu {
            Some(gpu) => gpu.measured(&state.network, (train, &batches))?,
            None => rayon::scope(|_| self.measured_here(&state.network, train, &batches))?,
        };
        if !nats.is_finite() {
            return Err(TrainError::NotANumber { step: 1 });
        }
        if state.progress.steps == 0 {
            // Records of the first batch may be shorter than most.
            let mean = |records: Selection<'_>| visits(records) as f64 / records.len() as f64;
            let of_record = nats / first.len() as f64;
            state.progress.untrained_nats = of_record * mean(train) / mean(first);
        }
        let weights = state.network.weights();
        let visits: usize = train.records().map(|record| record.len()).sum();
        // Parameters with their gradient, two moments, the average and the best, five of them twice
        // more while a checkpoint is written; and a batch with the logits of every visit.
        let parameters = weights.values().len();
        let logits = match weights.shape() {
            Shape::Recurrent(shape) => shape.codes,
            Shape::Halo(shape) => 2 * shape.units() + shape.codes,
        };
        let bytes = 4 * (16 * parameters + 2 * batch_visits * logits) as u64;
        let epoch_seconds = seconds * visits as f64;
        let (batch, wanted_batch) = (batch_visits, batch_visits);
        Ok(Estimate { parameters, bytes, batch, wanted_batch, epoch_seconds })
    }

    /// What the first batch costs in all, and the seconds that steps take for each visit.
    fn measured_here(
        &mut self,
        network: &Network,
        train: Selection<'_>,
        batches: &[Vec<usize>],
    ) -> Result<(f64, f64), TrainError> {
        let (_, nats) = self.gradient(network, train.others(&batches[0]), 1)?;
        let (began, mut visits) = (Instant::now(), 0);
        for records in batches {
            visits += self.gradient(network, train.others(records), 1)?.0.rows();
            if began.elapsed() > MEASURED {
                break;
            }
        }
        Ok((nats, began.elapsed().as_secs_f64() / visits as f64))
    }

    /// Fills the gradient for some records, and gives their batch and what they cost in all.
    fn gradient(
        &mut self,
        network: &Network,
        records: Selection<'_>,
        number: u64,
    ) -> Result<(Batch, f64), TrainError> {
        let taught = self.teacher.batch(network, records);
        let gradient = &mut self.gradient;
        for range in &self.live {
            gradient[range.clone()].fill(0.0);
        }
        let factor = 1.0 / taught.batch.rows() as f32;
        let dropout = dropout(self.options, number);
        let (weights, objective) = (network.weights(), taught.objective());
        let nats = self.pass.train(weights, &taught.batch, objective, factor, dropout, gradient);
        let total: f64 = nats.iter().sum();
        match total.is_finite() {
            true => Ok((taught.batch, total)),
            false => Err(TrainError::NotANumber { step: number }),
        }
    }

    /// One step of the optimiser; an epoch has so many.
    fn step(
        &mut self,
        state: &mut State,
        records: Selection<'_>,
        steps: u64,
    ) -> Result<(), TrainError> {
        let number = state.progress.steps + 1;
        let (_, total) = self.gradient(&state.network, records, number)?;
        let gradient = &self.gradient;
        let length = squared_norm_within(gradient, &self.live).sqrt() as f32;
        if !length.is_finite() {
            return Err(TrainError::NotANumber { step: number });
        }
        let gradient_scale =
            if length > self.options.clip { self.options.clip / length } else { 1.0 };
        let rate = rate(self.options, state.progress.rate_left, number);
        let plain = Adam { learning_rate: rate, gradient_scale, ..Adam::default() };
        let decaying = Adam { weight_kept: 1.0 - rate * self.options.decay, ..plain };
        let weights = state.network.weights_mut().values_mut();
        for (ranges, adam) in [(&self.plain, plain), (&self.decaying, decaying)] {
            let (mean, square) = (&mut state.mean, &mut state.square);
            adam_step_within(weights, gradient, mean, square, ranges, &adam, number);
        }
        let keep = keep(self.options, steps, number);
        average_within(&mut state.average, weights, &self.live, keep);
        state.progress.steps = number;
        state.progress.batches += 1;
        state.progress.records += records.len() as u64;
        state.progress.nats += total;
        Ok(())
    }

    /// The nats of records, in all, under the average of the weights.
    pub fn averaged_nats(
        &mut self,
        state: &mut State,
        records: Selection<'_>,
    ) -> Result<f64, TrainError> {
        if let Some(gpu) = &mut self.gpu {
            return gpu.averaged_nats(&state.network, records);
        }
        state.network.weights_mut().values_mut().swap_with_slice(&mut state.average);
        let (teacher, pass) = (self.teacher, &mut self.pass);
        let nats = rayon::scope(|_| nats(teacher, pass, &state.network, records));
        state.network.weights_mut().values_mut().swap_with_slice(&mut state.average);
        Ok(nats)
    }

    /// Sets the biases of the trained network.
    pub fn calibrate(
        &mut self,
        network: &mut Network,
        examples: &Examples<'_>,
    ) -> Result<(), TrainError> {
        let Examples { train, tuning } = *examples;
        if let Some(gpu) = &mut self.gpu {
            let gpu = RefCell::new(gpu);
            return calibrate(
                network,
                |network| gpu.borrow_mut().counts(network, train),
                |network| gpu.borrow_mut().nats(network, tuning),
            );
        }
        let (teacher, pass) = (self.teacher, RefCell::new(&mut self.pass));
        let batches = cut(train.cohort(), train.indices(), VALIDATED);
        let counts = |network: &Network| {
            let pass = &mut *pass.borrow_mut();
            Ok(rayon::scope(|_| counts(network, teacher, pass, train, &batches)))
        };
        let nats = |network: &Network| {
            let pass = &mut *pass.borrow_mut();
            Ok(rayon::scope(|_| nats(teacher, pass, network, tuning)))
        };
        calibrate(network, counts, nats)
    }
}

/// The nats of records, in all.
fn nats(
    teacher: &Teacher<'_>,
    pass: &mut TrainingPass,
    network: &Network,
    records: Selection<'_>,
) -> f64 {
    let mut total = 0.0;
    for some in cut(records.cohort(), records.indices(), VALIDATED) {
        let taught = teacher.batch(network, records.others(&some));
        let nats = pass.nats(network.weights(), &taught.batch, taught.objective());
        total += nats.iter().sum::<f64>();
    }
    total
}

/// Batches of records of which nothing is known but what they hold.
pub(crate) fn untaught<'a>(
    network: &'a Network,
    records: Selection<'a>,
    batch_visits: usize,
) -> impl Iterator<Item = Batch> + Send + 'a {
    let cohort = records.cohort();
    cut(cohort, records.indices(), batch_visits).into_iter().map(move |records| {
        let mut batch = network.batch();
        for record in Selection::new(cohort, &records).records() {
            network.push(&mut batch, record, &KnownVisits::default());
        }
        batch
    })
}

/// What part of itself the average of the weights keeps in a step, of so many in an epoch. At first it follows
/// the weights closely, so that the first weights are soon gone.
fn keep(options: &TrainOptions, steps: u64, number: u64) -> f32 {
    let horizon = (f64::from(options.average) * steps as f64).max(AVERAGED_STEPS);
    (1.0 - 1.0 / horizon.clamp(1.0, 1.0 + number as f64 / 4.0)) as f32
}

/// The records of an epoch in an order of its own, cut into batches.
pub(crate) fn epoch_batches(
    records: Selection<'_>,
    batch_visits: usize,
    seed: u64,
    epoch: u32,
) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = records.indices().collect();
    let mut draw = Draws::new(seed).visit(u64::from(epoch), 0, 0, Purpose::Order);
    for last in (1..order.len()).rev() {
        let other = (u64::from(draw.word(last as u32)) * (last as u64 + 1)) >> 32;
        order.swap(last, other as usize);
    }
    cut(records.cohort(), order, batch_visits)
}

/// Records in the order given, by their indices, cut into batches of so many visits at most. A
/// longer record stands alone.
pub(crate) fn cut(
    cohort: &Cohort,
    order: impl IntoIterator<Item = usize>,
    batch_visits: usize,
) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut visits = usize::MAX;
    for record in order {
        let length = cohort.record(record).len();
        match batches.last_mut() {
            Some(batch) if visits + length <= batch_visits => {
                batch.push(record);
                visits += length;
            }
            _ => {
                batches.push(vec![record]);
                visits = length;
            }
        }
    }
    batches
}

/// The units that a step leaves out.
fn dropout(options: &TrainOptions, number: u64) -> Dropout {
    let key = options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number << 8);
    Dropout { rate: options.dropout, key }
}

/// The rate at a step, counted from 1: it rises in a line, to what is left of the highest.
fn rate(options: &TrainOptions, left: f32, step: u64) -> f32 {
    options.rate * left * (step as f32 / options.warm_up.max(1) as f32).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::rate;
    use crate::TrainOptions;

    #[test]
    fn the_rate_rises_and_stays() {
        let options = TrainOptions { rate: 1.0, warm_up: 10, ..TrainOptions::default() };
        let all: Vec<f32> = (1..=20).map(|step| rate(&options, 0.5, step)).collect();
        assert!(all[..10].is_sorted() && all[9..].iter().all(|&rate| rate == 0.5));
    }
}
