//! The last touch on a trained network: the bias of each code is set so that the code is expected as
//! often as it was seen.
//!
//! A code is expected by the probability that it is written with, given what is before it in the record.
//! Training comes near to what was seen for common codes. For rare ones it does not: where one of many
//! codes has to come on, it is cheaper to make all of them likelier than to find out which.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use consequence_model::Network;
use consequence_network::{Asked, Codewise, Objective, Said, TrainingPass};
use consequence_record::Selection;
use consequence_rules::Order;

use crate::TrainError;
use crate::teacher::{TaughtBatch, Teacher};

/// Times that the biases are set.
const PASSES: usize = 3;

/// The most that a bias changes at a time.
const MOST: f64 = 2.0;

/// The share by which the tuning split may cost more for it.
const WORSE: f64 = 1e-3;

/// How often codes are there, by their positions, and in how many visits they could be.
pub(crate) struct Seen {
    present: Vec<u64>,
    /// Static visits, and encounters.
    visits: [u64; 2],
    statics: usize,
}

impl Seen {
    /// Counts the visits of records, and no code yet.
    fn visits(codes: &Order, records: Selection<'_>) -> Self {
        let encounters = records.records().map(|record| record.len() as u64 - 1).sum();
        let visits = [records.len() as u64, encounters];
        Self { present: vec![0; codes.len()], visits, statics: codes.statics() }
    }

    /// Counts all codes of records.
    pub fn count(codes: &Order, records: Selection<'_>) -> Self {
        let mut seen = Self::visits(codes, records);
        for record in records.records() {
            for position in (0..record.len()).flat_map(|visit| codes.positions(record, visit)) {
                seen.present[position as usize] += 1;
            }
        }
        seen
    }

    /// The logits of the frequencies of codes, were each there so many times more.
    pub fn logits(&self, more: impl Fn(usize) -> f64) -> Vec<f64> {
        let logit = |(position, &present): (usize, &u64)| {
            let visits = self.visits[usize::from(position >= self.statics)] as f64;
            let count = (present as f64 + more(position)).clamp(0.0, visits);
            let probability = (count + 0.5) / (visits + 1.0);
            (probability / (1.0 - probability)).ln()
        };
        self.present.iter().enumerate().map(logit).collect()
    }
}

/// Sets the biases of a trained network. Those of encounter codes are set as long as that does not make the
/// tuning split much less likely: `nats` tells what it costs. Every record tells of the few static codes, so
/// theirs are set in any case: a cohort of a hundred patients has a tuning split that is mere luck, and the
/// sexes must come out in their shares all the same.
pub(crate) fn calibrate(
    network: &mut Network,
    mut counts: impl FnMut(&Network) -> Result<Counts, TrainError>,
    mut nats: impl FnMut(&Network) -> Result<f64, TrainError>,
) -> Result<(), TrainError> {
    let statics = network.codes().statics();
    let mut cost = nats(network)?;
    let mut encounters_too = true;
    for _ in 0..PASSES {
        let counts = counts(network)?;
        let (wanted, expected) = (counts.seen.logits(|_| 0.0), counts.expected());
        let before = network.weights().output_bias().to_vec();
        let change =
            |(&wanted, expected): (&f64, f64)| (wanted - expected).clamp(-MOST, MOST) as f32;
        let changes = wanted.iter().zip(expected).map(change);
        let mut after: Vec<f32> =
            before.iter().zip(changes).map(|(bias, more)| bias + more).collect();
        if encounters_too {
            network.weights_mut().set_output_bias(&after);
            let now = nats(network)?;
            encounters_too = now <= (1.0 + WORSE) * cost;
            cost = cost.min(now);
        }
        if !encounters_too {
            after[statics..].copy_from_slice(&before[statics..]);
            network.weights_mut().set_output_bias(&after);
        }
    }
    Ok(())
}

/// What a network expects of records.
pub(crate) fn counts(
    network: &Network,
    teacher: &Teacher<'_>,
    pass: &mut TrainingPass,
    train: Selection<'_>,
    batches: &[Vec<usize>],
) -> Counts {
    let mut counts = Counts::new(network.codes(), train);
    for records in batches {
        let taught = teacher.batch(network, train.others(records));
        let counting = Counting { taught: &taught, counts: Mutex::new(&mut counts) };
        pass.nats(network.weights(), &taught.batch, &counting);
    }
    counts
}

/// How often codes are there that no rule decides, and by how much more often they are expected.
pub(crate) struct Counts {
    seen: Seen,
    surplus: Vec<f64>,
}

impl Counts {
    pub fn new(codes: &Order, records: Selection<'_>) -> Self {
        Self { seen: Seen::visits(codes, records), surplus: vec![0.0; codes.len()] }
    }

    /// Takes in that a code is there.
    pub fn see(&mut self, code: u32) {
        self.seen.present[code as usize] += 1;
    }

    /// Takes in by how much more often codes are expected than they are there.
    pub fn expect(&mut self, surplus: impl IntoIterator<Item = (usize, f64)>) {
        surplus.into_iter().for_each(|(position, more)| self.surplus[position] += more);
    }

    /// Takes in codes that a look-ahead touches: how likely each is, and whether it is there.
    pub fn touch(&mut self, touched: impl IntoIterator<Item = (u32, f64, bool)>) {
        for (position, probability, present) in touched {
            let there = u8::from(present);
            self.surplus[position as usize] += probability - f64::from(there);
            self.seen.present[position as usize] += u64::from(there);
        }
    }

    /// The logits of the frequencies that are expected.
    fn expected(&self) -> Vec<f64> {
        self.seen.logits(|position| self.surplus[position])
    }
}

/// Counts while the network is asked for all that it says.
struct Counting<'a> {
    taught: &'a TaughtBatch<'a>,
    counts: Mutex<&'a mut Counts>,
}

impl Objective for Counting<'_> {
    fn score(&self, rows: &[Asked<'_>], factor: f32, said: Said<'_>) -> Vec<f64> {
        let touched = self.taught.touched(rows, &said);
        let Said { logits, side, ahead } = said;
        // What rules settle, and what is touched, has no gradient here.
        let nats = Codewise.score(rows, factor, Said { logits, side, ahead });
        let width = logits.len() / rows.len().max(1);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (asked, changes) in rows.iter().zip(logits.chunks_exact(width.max(1))) {
            let more = changes.iter().map(|change| f64::from(*change));
            counts.expect(more.enumerate().map(|(at, more)| (asked.first + at, more)));
            let settled: HashSet<u32> = asked.settled.iter().map(|one| one.output).collect();
            for output in asked.present.iter().filter(|output| !settled.contains(output)) {
                counts.see(asked.first as u32 + *output);
            }
        }
        counts.touch(touched);
        nats
    }
}
