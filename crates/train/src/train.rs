//! The loop: which records are trained on together, the learning rate, and what is kept.

use std::ops::Range;
use std::time::Instant;

use consequence_engine::{Adam, Dropout, adam_step_within, average_within, squared_norm_within};
use consequence_halo::{Batch, ShapeError, TrainingPass};
use consequence_model::{Epoch, Network, Sizes};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Cohort, Selection};
use consequence_rules::Order;
use rayon::prelude::*;

use crate::checkpoint::{Checkpoint, Checkpoints, State};
use crate::{Teacher, TrainError, TrainOptions};

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
    let codes = network.codes();
    let mut present = vec![0u64; codes.len()];
    let mut visits = [0u64; 2];
    for record in examples.train.records() {
        for visit in 0..record.len() {
            visits[visit.min(1)] += 1;
            for position in codes.positions(record, visit) {
                present[position as usize] += 1;
            }
        }
    }
    let logit = |(position, &present): (usize, &u64)| {
        let visits = visits[usize::from(position >= codes.statics())];
        let probability = (present as f64 + 0.5) / (visits as f64 + 1.0);
        (probability / (1.0 - probability)).ln() as f32
    };
    // The mark that begins a record is no code that anyone asks for.
    let biases: Vec<f32> = present.iter().enumerate().map(logit).chain([0.0]).collect();
    network.weights_mut().set_output_bias(&biases);
    Ok(network)
}

/// How far training has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
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

/// A trained network.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The best network, on the tuning split.
    pub network: Network,
    /// Every epoch.
    pub history: Vec<Epoch>,
    /// The epoch whose weights the network has.
    pub best: Option<Epoch>,
    /// Whether it was asked to stop before it was done.
    pub interrupted: bool,
}

/// Trains a network.
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
    let mut checkpoint = checkpoints.map(Checkpoint::new);
    let mut state = match &checkpoint {
        Some(checkpoint) => checkpoint.read(network)?,
        None => State::new(network),
    };
    let statics = state.network.codes().statics();
    let weights = state.network.weights();
    let live = match teacher.objective().asks_head() {
        true => weights.live(statics),
        false => weights.live_without_head().into_iter().map(|range| (range, false)).collect(),
    };
    let chosen = |decays: bool| {
        let ranges = live.iter().filter(move |(_, between)| *between == decays);
        ranges.map(|(range, _)| range.clone()).collect()
    };
    let mut trainer = Trainer {
        teacher,
        options,
        pass: TrainingPass::default(),
        decaying: chosen(true),
        plain: chosen(false),
        live: live.iter().map(|(range, _)| range.clone()).collect(),
    };
    let mut gradient = vec![0f32; state.mean.len()];
    let mut interrupted = false;
    while !interrupted && state.progress.epochs < options.epochs && !is_stale(&state, options) {
        let began = Instant::now();
        let epoch = state.progress.epochs + 1;
        let batches = epoch_batches(train, options, epoch);
        let steps = batches.len() as u64 * u64::from(options.epochs);
        for records in batches.iter().skip(state.progress.batches as usize) {
            trainer.step(
                &mut state,
                Selection::new(train.cohort(), records),
                &mut gradient,
                steps,
            )?;
            let progress = &state.progress;
            let nats = progress.nats / progress.records as f64;
            let (more, of) = (records.len() as u64, train.len() as u64);
            let records = progress.records;
            interrupted = !watch(Event::Step { epoch, records, more, of, nats });
            if let Some(checkpoint) = &mut checkpoint
                && (interrupted || checkpoint.is_due())
            {
                checkpoint.write(&state)?;
                interrupted |= !watch(Event::Checkpoint);
            }
            if interrupted {
                break;
            }
        }
        if interrupted {
            break;
        }
        let tuning_nats = trainer.averaged_nats(&mut state, tuning) / tuning.len() as f64;
        let progress = &mut state.progress;
        let train_nats = progress.nats / progress.records as f64;
        let figures = Epoch { epoch, train_nats, tuning_nats };
        let best = progress.history.iter().all(|before| tuning_nats < before.tuning_nats);
        progress.history.push(figures);
        progress.stale = if best { 0 } else { progress.stale + 1 };
        (progress.epochs, progress.batches, progress.records, progress.nats) = (epoch, 0, 0, 0.0);
        if best {
            state.best.copy_from_slice(&state.average);
        }
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
    Ok(Trained { network, history: state.progress.history, best, interrupted })
}

fn is_stale(state: &State, options: &TrainOptions) -> bool {
    state.progress.stale >= options.patience
}

struct Trainer<'a> {
    teacher: &'a Teacher<'a>,
    options: &'a TrainOptions,
    pass: TrainingPass,
    /// The ranges of all parameters that can make a difference.
    live: Vec<Range<usize>>,
    /// Those of them that are made smaller with every step, and the others.
    decaying: Vec<Range<usize>>,
    plain: Vec<Range<usize>>,
}

impl Trainer<'_> {
    /// One step of the optimiser.
    fn step(
        &mut self,
        state: &mut State,
        records: Selection<'_>,
        gradient: &mut [f32],
        steps: u64,
    ) -> Result<(), TrainError> {
        let batch = self.batch(&state.network, records);
        for range in &self.live {
            gradient[range.clone()].fill(0.0);
        }
        let factor = 1.0 / batch.rows() as f32;
        let number = state.progress.steps + 1;
        let key = self.options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number << 8);
        let dropout = Dropout { rate: self.options.dropout, key };
        let (weights, objective) = (state.network.weights(), self.teacher.objective());
        let nats = self.pass.train(weights, &batch, objective, factor, dropout, gradient);
        let total: f64 = nats.iter().sum();
        let length = squared_norm_within(gradient, &self.live).sqrt() as f32;
        if !total.is_finite() || !length.is_finite() {
            return Err(TrainError::Diverged { step: number });
        }
        let gradient_scale =
            if length > self.options.clip { self.options.clip / length } else { 1.0 };
        let rate = rate(self.options, number, steps);
        let plain = Adam { learning_rate: rate, gradient_scale, ..Adam::default() };
        let decaying = Adam { weight_kept: 1.0 - rate * self.options.decay, ..plain };
        let weights = state.network.weights_mut().values_mut();
        for (ranges, adam) in [(&self.plain, plain), (&self.decaying, decaying)] {
            let (mean, square) = (&mut state.mean, &mut state.square);
            adam_step_within(weights, gradient, mean, square, ranges, &adam, number);
        }
        // At first the average follows the weights closely, so that the first weights are soon
        // gone.
        let horizon =
            f64::from(self.options.average) * steps as f64 / f64::from(self.options.epochs);
        let keep = 1.0 - 1.0 / horizon.clamp(1.0, 1.0 + number as f64 / 4.0);
        average_within(&mut state.average, weights, &self.live, keep as f32);
        state.progress.steps = number;
        state.progress.batches += 1;
        state.progress.records += records.len() as u64;
        state.progress.nats += total;
        Ok(())
    }

    /// The nats of records, in all, under the average of the weights.
    fn averaged_nats(&mut self, state: &mut State, records: Selection<'_>) -> f64 {
        state.network.weights_mut().values_mut().swap_with_slice(&mut state.average);
        let nats = self.nats(&state.network, records);
        state.network.weights_mut().values_mut().swap_with_slice(&mut state.average);
        nats
    }

    /// The nats of records, in all.
    fn nats(&mut self, network: &Network, records: Selection<'_>) -> f64 {
        let mut total = 0.0;
        let objective = self.teacher.objective();
        let cohort = records.cohort();
        for records in cut(cohort, records.indices(), self.options) {
            let batch = self.batch(network, Selection::new(cohort, &records));
            total += self.pass.nats(network.weights(), &batch, objective).iter().sum::<f64>();
        }
        total
    }

    fn batch(&self, network: &Network, records: Selection<'_>) -> Batch {
        let codes = network.codes();
        let known: Vec<_> = (0..records.len())
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || self.teacher.reader(),
                |reader, number| {
                    let record = records.record(number);
                    (reader.settled(codes, record), reader.facts(codes, record))
                },
            )
            .collect();
        let mut batch = network.batch();
        for (record, (settled, facts)) in records.records().zip(&known) {
            network.push(&mut batch, record, settled, facts);
        }
        batch
    }
}

/// The records of an epoch in an order of its own, cut into batches.
fn epoch_batches(records: Selection<'_>, options: &TrainOptions, epoch: u32) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = records.indices().collect();
    let mut draw = Draws::new(options.seed).visit(u64::from(epoch), 0, 0, Purpose::Order);
    for last in (1..order.len()).rev() {
        let other = (u64::from(draw.word(last as u32)) * (last as u64 + 1)) >> 32;
        order.swap(last, other as usize);
    }
    cut(records.cohort(), order, options)
}

/// Records in the order given, by their indices, cut into batches.
fn cut(
    cohort: &Cohort,
    order: impl IntoIterator<Item = usize>,
    options: &TrainOptions,
) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut visits = usize::MAX;
    for record in order {
        let length = cohort.record(record).len();
        match batches.last_mut() {
            Some(batch)
                if batch.len() < options.batch && visits + length <= options.batch_visits =>
            {
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

/// The rate at a step, counted from 1: it rises in a line, then falls as half a cosine.
fn rate(options: &TrainOptions, step: u64, steps: u64) -> f32 {
    let highest = f64::from(options.rate);
    // A short run rises in a tenth of its steps.
    let warm_up = options.warm_up.min(steps / 10);
    let risen = (step as f64 / warm_up.max(1) as f64).min(1.0);
    let after = step.saturating_sub(warm_up) as f64;
    let length = steps.saturating_sub(warm_up).max(1) as f64;
    let wave = 0.5 + 0.5 * (std::f64::consts::PI * (after / length).min(1.0)).cos();
    let left = f64::from(options.final_rate);
    (highest * risen * (left + (1.0 - left) * wave)) as f32
}

#[cfg(test)]
mod tests {
    use super::rate;
    use crate::TrainOptions;

    #[test]
    fn rises_and_falls() {
        let options =
            TrainOptions { rate: 1.0, warm_up: 10, final_rate: 0.1, ..TrainOptions::default() };
        let all: Vec<f32> = (1..=110).map(|step| rate(&options, step, 110)).collect();
        assert!(all[..10].is_sorted() && all[10..].iter().rev().is_sorted());
        assert_eq!((all[9], all[109]), (1.0, 0.1));
    }
}
