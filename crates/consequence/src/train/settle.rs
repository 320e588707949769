//! What a trained network writes, brought to the frequencies of what it trained on.
//!
//! A network trains on real records: every visit after a real history. When it writes, a visit comes after
//! visits of its own, and what is written once too often comes back once too often. The fewer the records, the
//! further it drifts. So it writes some records, codes are counted in them, and the bias of each code
//! that is clearly too frequent or too rare is moved; a few times over.

use consequence_model::{Network, NetworkGenerator};
use consequence_pipeline::{Error, Watch};
use consequence_record::{Cohort, Selection};
use consequence_rules::Order;
use consequence_sample::{Request, Sampler, Totals};

use super::lesson::Lesson;

/// Times that the biases are moved.
const ROUNDS: u64 = 6;
/// The part of a difference that is made up for at a time.
const PART: f64 = 0.7;
/// The most that a bias moves at a time, and in all.
const MOST: f64 = 0.7;
const MOST_IN_ALL: f64 = 2.0;
/// Records that are written at a time, and the most encounters of these.
const RECORDS: std::ops::RangeInclusive<usize> = 2_000..=20_000;
const ENCOUNTERS: usize = 300_000;

/// How often codes are there, by their positions.
struct Counts {
    statics: usize,
    records: u64,
    encounters: u64,
    /// Visits with the code, and records with it.
    visits_with: Vec<u64>,
    records_with: Vec<u64>,
}

impl Counts {
    fn of(codes: &Order, records: Selection<'_>) -> Self {
        let mut counts = Self {
            statics: codes.statics(),
            records: records.len() as u64,
            encounters: 0,
            visits_with: vec![0; codes.len()],
            records_with: vec![0; codes.len()],
        };
        let mut last = vec![usize::MAX; codes.len()];
        for (number, record) in records.records().enumerate() {
            counts.encounters += record.len() as u64 - 1;
            for position in (0..record.len()).flat_map(|visit| codes.positions(record, visit)) {
                let position = position as usize;
                counts.visits_with[position] += 1;
                if last[position] != number {
                    last[position] = number;
                    counts.records_with[position] += 1;
                }
            }
        }
        counts
    }

    /// The logit of the frequency of a code.
    fn logit(&self, position: usize) -> f64 {
        let visits = if position < self.statics { self.records } else { self.encounters };
        let probability = (self.visits_with[position] as f64 + 0.5) / (visits as f64 + 1.0);
        (probability / (1.0 - probability)).ln()
    }
}

/// Moves the biases of a network until what it writes under its rules has the frequencies of what it trained
/// on, as far as the records that it writes can tell. False if it was asked to stop, with the biases half moved:
/// such a network is not to be kept.
pub(super) fn settle(
    network: &mut Network,
    lesson: &Lesson,
    seed: u64,
    watch: &dyn Watch,
) -> Result<bool, Error> {
    let codes = network.codes().clone();
    let wanted = Counts::of(&codes, Selection::new(&lesson.cohort, &lesson.train));
    let mean = (wanted.encounters as usize).div_ceil(lesson.train.len().max(1)).max(1);
    let most = (*RECORDS.end()).min(ENCOUNTERS / mean);
    let records = lesson.train.len().clamp((*RECORDS.start()).min(most), most.max(1)) as u64;
    let first = network.weights().output_bias().to_vec();
    for round in 0..ROUNDS {
        if watch.wants_stop() {
            return Ok(false);
        }
        let written = write(network, lesson, seed, round * records..(round + 1) * records)?;
        let mut biases = network.weights().output_bias().to_vec();
        for (position, bias) in biases.iter_mut().enumerate() {
            let off = wanted.logit(position) - written.logit(position);
            // What so few records show may be luck: twice its standard deviation counts for nothing.
            let luck = 1.0 / (written.records_with[position] as f64 + 1.0);
            let sure = 1.0 - 4.0 * luck / (off * off).max(4.0 * luck);
            let change = (PART * sure * off).clamp(-MOST, MOST);
            let in_all = (f64::from(*bias) + change - f64::from(first[position]))
                .clamp(-MOST_IN_ALL, MOST_IN_ALL);
            *bias = first[position] + in_all as f32;
        }
        network.weights_mut().set_output_bias(&biases);
    }
    Ok(true)
}

/// Counts the codes of records that a network writes.
fn write(
    network: &Network,
    lesson: &Lesson,
    seed: u64,
    numbers: std::ops::Range<u64>,
) -> Result<Counts, Error> {
    let codes = network.codes();
    let generator = NetworkGenerator::new(network);
    let request = Request { seed, trained_with: Some(&lesson.rules), ..Request::default() };
    let sampler = Sampler::new(&generator, &lesson.rules, request)?;
    let mut written = Cohort::default();
    sampler.records(numbers, &mut Totals::default(), |_, record| {
        written.push("", &record);
        Ok(())
    })?;
    let all: Vec<usize> = (0..written.len()).collect();
    Ok(Counts::of(codes, Selection::new(&written, &all)))
}
