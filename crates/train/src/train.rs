//! The loop: which records are trained on together, the learning rate, and what is kept.

use std::cell::RefCell;
use std::ops::Range;
use std::time::{Duration, Instant};

use consequence_engine::cuda::{GpuError, ParameterRange};
use consequence_engine::{Adam, Dropout, adam_step_within, average_within, squared_norm_within};
use consequence_model::{Epoch, KnownVisits, Network, Sizes};
use consequence_network::gpu::StepSettings;
use consequence_network::{Batch, Shape, ShapeError, TrainingPass};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Cohort, Selection};
use consequence_rules::Order;
use serde::Serialize;

use crate::calibrate::{Seen, calibrate, counts};
use crate::checkpoint::{Checkpoint, Checkpoints, State};
use crate::on_gpu::OnGpu;
use crate::options::batch_visits;
use crate::{Device, Teacher, TrainError, TrainOptions};

/// Steps that a learning rate is given to gain something, however few an epoch has.
const LEAST_STEPS: u64 = 300;

/// Learning rates in a row that may give no better network before training is over.
const FRUITLESS: u32 = 2;

/// Tuning nats that are so many times those before are worse, and not for want of steps.
const WORSE: f64 = 1.01;

/// Steps over which weights are averaged at least.
const AVERAGED_STEPS: f64 = 50.0;

/// Visits that are validated at once.
const VALIDATED: usize = 2_048;

/// Visits of a step that a GPU must have memory for.
const FEWEST_VISITS: usize = 64;

/// For how long steps are measured before training, at most; one is in any case.
const MEASURED: Duration = Duration::from_millis(250);

/// A training whose nats are so many times those before it has diverged.
const DIVERGED: f64 = 2.0;

/// What to train on.
#[derive(Clone, Copy, Debug)]
pub struct Examples<'a> {
    /// The records to train on.
    pub train: Selection<'a>,
    /// Those that tell when to stop.
    pub tuning: Selection<'a>,
}

/// A network before training: it knows how frequent each code is, and no more.
///
/// # Panics
///
/// If a record holds a code that is not of the vocabulary.
pub fn untrained(
    codes: Order,
    sizes: &Sizes,
    examples: &Examples<'_>,
    seed: u64,
) -> Result<Network, ShapeError> {
    let mut network = Network::drawn(codes, sizes, seed)?;
    let seen = Seen::count(network.codes(), examples.train);
    let biases: Vec<f32> = seen.logits(|_| 0.0).into_iter().map(|logit| logit as f32).collect();
    network.weights_mut().set_output_bias(&biases);
    Ok(network)
}

/// How far training has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Steps were measured, and training begins.
    Begin {
        /// What it will take.
        estimate: Estimate,
        /// The share of HALO's units that never fire on the tuning split, before training.
        silent_units: Option<f64>,
    },
    /// A step was taken.
    Step {
        /// The epoch, counted from 1.
        epoch: u32,
        /// Records seen in this epoch.
        records: u64,
        /// Those of them that are of this step.
        more: u64,
        /// Records of an epoch.
        of: u64,
        /// Mean nats of a record in this epoch.
        nats: f64,
    },
    /// An epoch is over.
    Epoch {
        /// What it came to.
        figures: Epoch,
        /// Whether it gave the best network so far.
        best: bool,
        /// Seconds that it took, validation included; less if it was resumed half-way.
        seconds: f64,
    },
    /// A checkpoint was written.
    Checkpoint,
}

/// What training will take, judged by its first steps: what rules decide is worked out in them as it is in
/// all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Parameters of the network.
    pub parameters: usize,
    /// Bytes of memory, beside the cohort.
    pub bytes: u64,
    /// Visits of a step.
    pub batch: usize,
    /// As many as were wanted; the memory of a GPU may be too small for them.
    pub wanted_batch: usize,
    /// Seconds of an epoch.
    pub epoch_seconds: f64,
}

/// The share of units of the first layer of HALO's head that never fire on the tuning split: what
/// they are to tell the codes after them, they cannot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SilentUnits {
    /// Before training.
    pub before: f64,
    /// Of the trained network.
    pub after: f64,
}

/// A trained network.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The best network, on the tuning split, its biases set by what was seen.
    pub network: Network,
    /// Every epoch.
    pub history: Vec<Epoch>,
    /// The epoch whose weights the network has.
    pub best: Option<Epoch>,
    /// Units that never fire; none for a network without such units or without use for them, and for
    /// one that was interrupted.
    pub silent_units: Option<SilentUnits>,
    /// Whether it was asked to stop before it was done.
    pub interrupted: bool,
}

/// Trains a network on the CPU.
///
/// With `checkpoints`, all that is needed to go on is written there from time to time, and read
/// from there if it is there: a run that was stopped ends in the same weights as one that was not.
/// `watch` is told of every step, and stops the run, after a checkpoint, by giving false.
pub fn train(
    network: Network,
    examples: &Examples<'_>,
    teacher: &Teacher<'_>,
    options: &TrainOptions,
    checkpoints: Option<&Checkpoints>,
    watch: &mut dyn FnMut(Event) -> bool,
) -> Result<Trained, TrainError> {
    train_on(Device::Cpu, network, examples, teacher, options, checkpoints, watch)
}

/// Trains a network on a device, as [`train`] does on the CPU.
///
/// Checkpoints are the same on all devices, and a run may go on upon another. On one GPU a run that was
/// stopped ends in the same weights as one that was not; sums are taken in another order than on the CPU, so
/// that the weights are not quite those that it would have come to.
pub fn train_on(
    device: Device,
    network: Network,
    examples: &Examples<'_>,
    teacher: &Teacher<'_>,
    options: &TrainOptions,
    checkpoints: Option<&Checkpoints>,
    watch: &mut dyn FnMut(Event) -> bool,
) -> Result<Trained, TrainError> {
    let Examples { train, tuning } = *examples;
    for (records, name) in [(train, "train"), (tuning, "tuning")] {
        if records.is_empty() {
            return Err(TrainError::NoRecords(name));
        }
    }
    let longest = train.records().chain(tuning.records()).map(|record| record.len() - 1).max();
    if let Some(found) = longest.filter(|&found| found > network.max_visits()) {
        return Err(TrainError::TooLong { found, room: network.max_visits() });
    }
    let mut trainer = Trainer::new(device, teacher, options, &network)?;
    let silent_before = trainer.silent_units(&network, tuning)?;
    let mut checkpoint = checkpoints.map(Checkpoint::new);
    let mut state = match &checkpoint {
        Some(checkpoint) => checkpoint.read(network)?,
        None => State::new(network),
    };
    let wanted_batch = options.batch.unwrap_or_else(|| batch_visits(visits(train)));
    let estimate = trainer.measured_within_memory(&mut state, train, wanted_batch)?;
    let batch_visits = estimate.batch;
    trainer.send(&mut state)?;
    let mut interrupted = !watch(Event::Begin { estimate, silent_units: silent_before });
    while !interrupted && state.progress.epochs < options.epochs && !is_over(&state, options) {
        let began = Instant::now();
        let epoch = state.progress.epochs + 1;
        let batches = epoch_batches(train, batch_visits, options.seed, epoch);
        let steps = batches.len() as u64;
        let rest = batches.get(state.progress.batches as usize..).unwrap_or_default();
        let of = train.len() as u64;
        let mut told = |bring: &mut Bring<'_>, state: &mut State, more: usize, nats: f64| {
            let (more, records) = (more as u64, state.progress.records);
            let mut goes_on = watch(Event::Step { epoch, records, more, of, nats });
            if let Some(checkpoint) = &mut checkpoint
                && (!goes_on || checkpoint.is_due())
            {
                bring(state)?;
                checkpoint.write(state)?;
                goes_on &= watch(Event::Checkpoint);
            }
            Ok(goes_on)
        };
        interrupted = !trainer.epoch(&mut state, (train, rest), steps, &mut told)?;
        if interrupted {
            break;
        }
        trainer.bring(&mut state)?;
        let nats = trainer.averaged_nats(&mut state, tuning)?;
        let (figures, best) = close_epoch(&mut state, nats / tuning.len() as f64, steps, options)?;
        trainer.send(&mut state)?;
        let seconds = began.elapsed().as_secs_f64();
        interrupted = !watch(Event::Epoch { figures, best, seconds });
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.write(&state)?;
            interrupted |= !watch(Event::Checkpoint);
        }
    }
    let best = state.best_epoch().copied();
    let mut network = state.network;
    network.weights_mut().values_mut().copy_from_slice(&state.best);
    // Who asks to stop is not kept waiting.
    if !interrupted && teacher.expects_codewise() {
        trainer.calibrate(&mut network, examples)?;
    }
    let before = silent_before.filter(|_| !interrupted);
    let silent_units = match before {
        Some(before) => {
            let after = trainer.silent_units(&network, tuning)?;
            after.map(|after| SilentUnits { before, after })
        }
        None => None,
    };
    let history = state.progress.history;
    Ok(Trained { network, history, best, silent_units, interrupted })
}

/// The visits of records, static ones included.
fn visits(records: Selection<'_>) -> usize {
    records.records().map(|record| record.len()).sum()
}

/// Whether the learning rate has fallen as far as it may, or in vain.
fn is_over(state: &State, options: &TrainOptions) -> bool {
    state.progress.rate_left < options.final_rate || state.progress.fruitless > FRUITLESS
}

/// Takes in what the tuning split says at the end of an epoch of so many steps. Where too little was gained, the
/// learning rate falls and training goes on from the best weights. Tells what the epoch came to, and
/// whether it gave the best network so far.
fn close_epoch(
    state: &mut State,
    tuning_nats: f64,
    steps: u64,
    options: &TrainOptions,
) -> Result<(Epoch, bool), TrainError> {
    let before = state.best_epoch().map_or(f64::INFINITY, |epoch| epoch.tuning_nats);
    let progress = &mut state.progress;
    let epoch = progress.epochs + 1;
    let train_nats = progress.nats / progress.records as f64;
    if !tuning_nats.is_finite() || train_nats > DIVERGED * progress.untrained_nats {
        let (nats, untrained) = (train_nats, progress.untrained_nats);
        return Err(TrainError::Diverged { epoch, nats, untrained });
    }
    let figures = Epoch { epoch, train_nats, tuning_nats };
    let best = tuning_nats < before;
    progress.history.push(figures);
    (progress.epochs, progress.batches, progress.records, progress.nats) = (epoch, 0, 0, 0.0);
    if best {
        progress.fruitless = 0;
        state.best.copy_from_slice(&state.average);
    }
    progress.stale += steps;
    if tuning_nats < progress.gained_at * (1.0 - options.least_gain) {
        (progress.stale, progress.gained_at) = (0, tuning_nats);
    }
    let patience = LEAST_STEPS.max(steps * u64::from(options.patience));
    if progress.stale >= patience || tuning_nats > WORSE * progress.gained_at {
        progress.stale = 0;
        progress.fruitless += 1;
        progress.rate_left *= options.rate_drop;
        state.network.weights_mut().values_mut().copy_from_slice(&state.best);
        state.average.copy_from_slice(&state.best);
    }
    Ok((figures, best))
}

/// Brings the state of training from where it is to where it can be written.
pub(crate) type Bring<'a> = dyn FnMut(&mut State) -> Result<(), TrainError> + 'a;

/// Is told after each step of its records, and of the mean nats of a record in this epoch; false ends it.
pub(crate) type Told<'a> =
    dyn FnMut(&mut Bring<'_>, &mut State, usize, f64) -> Result<bool, TrainError> + 'a;

struct Trainer<'a> {
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
    fn new(
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
    fn send(&mut self, state: &mut State) -> Result<(), TrainError> {
        self.gpu.as_mut().map_or(Ok(()), |gpu| gpu.send(state))
    }

    /// Brings it back.
    fn bring(&mut self, state: &mut State) -> Result<(), TrainError> {
        self.gpu.as_mut().map_or(Ok(()), |gpu| gpu.bring(state))
    }

    /// Trains on batches, the rest of an epoch of so many steps. False if it was asked to stop.
    fn epoch(
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
            if !told(&mut |_| Ok(()), state, records.len(), nats)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The share of units that never fire in these records; none where the head is not asked.
    fn silent_units(
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
    fn measured_within_memory(
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
    fn averaged_nats(
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
    fn calibrate(
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
fn epoch_batches(
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
