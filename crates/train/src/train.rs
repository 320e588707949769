//! The loop: epochs, what the tuning split says of them, and what is kept.

use std::time::{Duration, Instant};

use consequence_model::{Epoch, Network, Sizes};
use consequence_network::ShapeError;
use consequence_record::Selection;
use consequence_rules::Order;
use serde::Serialize;

use crate::calibrate::Seen;
use crate::checkpoint::{Checkpoint, Checkpoints, State};
use crate::options::batch_visits;
use crate::trainer::{Bring, StepTold, Trainer, epoch_batches};
use crate::{Device, Teacher, TrainError, TrainOptions};

/// Steps that a learning rate is given to gain something, however few an epoch has.
const LEAST_STEPS: u64 = 300;

/// Learning rates in a row that may give no better network before training is over.
const FRUITLESS: u32 = 2;

/// Tuning nats that are so many times those before are worse, and not for want of steps.
const WORSE: f64 = 1.01;

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
        /// Those of its steps alone, without validation and checkpoints.
        training_seconds: f64,
    },
    /// The memory of the GPU was too small for a step, and from now on steps are worked through in pieces: what they come to differs in
    /// the last digits.
    LessMemory {
        /// Visits of a piece.
        pieces_of: usize,
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
    let mut in_pieces_of = None;
    let mut interrupted = !watch(Event::Begin { estimate, silent_units: silent_before });
    while !interrupted && state.progress.epochs < options.epochs && !is_over(&state, options) {
        let began = Instant::now();
        let epoch = state.progress.epochs + 1;
        let batches = epoch_batches(train, batch_visits, options.seed, epoch);
        let steps = batches.len() as u64;
        let rest = batches.get(state.progress.batches as usize..).unwrap_or_default();
        let of = train.len() as u64;
        let mut noting = Duration::ZERO;
        let mut told = |bring: &mut Bring<'_>, state: &mut State, step: StepTold| {
            let StepTold { records: more, nats, pieces_of } = step;
            let (more, records) = (more as u64, state.progress.records);
            if pieces_of != in_pieces_of {
                in_pieces_of = pieces_of;
                watch(Event::LessMemory { pieces_of: pieces_of.unwrap_or(batch_visits) });
            }
            let mut goes_on = watch(Event::Step { epoch, records, more, of, nats });
            if let Some(checkpoint) = &mut checkpoint
                && (!goes_on || checkpoint.is_due())
            {
                let began = Instant::now();
                bring(state)?;
                checkpoint.write(state)?;
                noting += began.elapsed();
                goes_on &= watch(Event::Checkpoint);
            }
            Ok(goes_on)
        };
        interrupted = !trainer.epoch(&mut state, (train, rest), steps, &mut told)?;
        if interrupted {
            break;
        }
        trainer.wait(&mut state)?;
        let training_seconds = began.elapsed().saturating_sub(noting).as_secs_f64();
        trainer.bring(&mut state)?;
        let nats = trainer.averaged_nats(&mut state, tuning)?;
        let (figures, best) = close_epoch(&mut state, nats / tuning.len() as f64, steps, options)?;
        trainer.send(&mut state)?;
        let seconds = began.elapsed().as_secs_f64();
        interrupted = !watch(Event::Epoch { figures, best, seconds, training_seconds });
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
pub(crate) fn visits(records: Selection<'_>) -> usize {
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
