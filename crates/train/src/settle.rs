//! What a trained network writes, brought to the frequencies of what it trained on.
//!
//! A network trains on real records: every visit after a real history. When it writes, a visit comes after
//! visits of its own, and what is written once too often comes back once too often. The fewer the records, the
//! further it drifts. So it writes some records, codes are counted in them, and the bias of each code
//! that is clearly too frequent or too rare is moved; a few times over.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use consequence_details::DetailModel;
use consequence_engine::cuda::Gpu;
use consequence_model::{Network, NetworkGenerator};
use consequence_network::gpu::DeckSize;
use consequence_record::{Cohort, Selection};
use consequence_rules::{Order, RuleSet};
use consequence_sample::{Obeyed, Request, SampleError, Sampler, Totals};

use crate::calibrate::Seen;

/// Times that the biases are moved, at most, and a move that is not worth another round.
const ROUNDS: u64 = 6;
const LEAST: f64 = 0.02;
/// The part of a difference that is made up for at a time.
const PART: f64 = 0.7;
/// The most that a bias moves at a time, and in all.
const MOST: f64 = 0.7;
const MOST_IN_ALL: f64 = 2.0;
/// Records that are written at a time, and the most encounters of these.
const RECORDS: RangeInclusive<usize> = 2_000..=20_000;
const ENCOUNTERS: usize = 300_000;

/// Moves the biases of a network until what it writes under its rules has the frequencies of what it trained
/// on, as far as the records that it writes can tell.
///
/// Rules about days, ages and values need `details`, which tell what these are like. Records are written on `gpus`, where there are some and
/// they can follow the rules. `go_on` is asked before every round. False if it was asked to stop, with the biases half moved: such a
/// network is not to be kept.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::{Network, Sizes};
/// use consequence_record::{Cohort, Kind, Record, Selection, Vocabulary};
/// use consequence_rules::{Order, RuleSet};
/// use consequence_train::settle;
///
/// let vocabulary = Arc::new(Vocabulary::new([("A", Kind::Encounter)])?);
/// let a = vocabulary.code("A").unwrap();
/// let mut cohort = Cohort::default();
/// for number in 0..100 {
///     let visit = if number % 10 == 0 { vec![] } else { vec![a] };
///     cohort.push(&number.to_string(), &Record::new(vec![vec![], visit]));
/// }
/// let rules = RuleSet::new(Arc::clone(&vocabulary), Vec::new())?;
/// let mut network = Network::drawn(Order::natural(vocabulary), &Sizes::recurrent(3, 8), 1)?;
/// let before = network.weights().output_bias().to_vec();
/// let train = Selection::all(&cohort);
/// assert!(settle(&mut network, &rules, None, train, Vec::new(), 1, &mut || true)?);
/// assert!(network.weights().output_bias()[0] > before[0] + 1.0, "nine visits in ten have it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn settle(
    network: &mut Network,
    rules: &RuleSet,
    details: Option<&DetailModel>,
    train: Selection<'_>,
    mut gpus: Vec<Gpu>,
    seed: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<bool, SampleError> {
    let codes = network.codes().clone();
    let wanted = Seen::count(&codes, train).logits(|_| 0.0);
    let encounters: usize = train.records().map(|record| record.len() - 1).sum();
    let mean = encounters.div_ceil(train.len().max(1)).max(1);
    let most = (*RECORDS.end()).min(ENCOUNTERS / mean).max(1);
    let records = train.len().clamp((*RECORDS.start()).min(most), most) as u64;
    let first = network.weights().output_bias().to_vec();
    let request = Request { seed, trained_with: Some(rules), details, ..Request::default() };
    let obeyed = Obeyed::prepare(&NetworkGenerator::new(network), rules, &request)?;
    for round in 0..ROUNDS {
        if !go_on() {
            return Ok(false);
        }
        let numbers = round * records..(round + 1) * records;
        let written = write(network, obeyed.clone(), request.clone(), (numbers, &mut gpus))?;
        let written = Selection::all(&written);
        let found = Seen::count(&codes, written).logits(|_| 0.0);
        let shown_by = records_with(&codes, written);
        let mut biases = network.weights().output_bias().to_vec();
        let mut most_moved = 0.0_f64;
        for (position, bias) in biases.iter_mut().enumerate() {
            let off = wanted[position] - found[position];
            // What so few records show may be luck: twice its standard deviation counts for nothing.
            let luck = 1.0 / (shown_by[position] as f64 + 1.0);
            let sure = 1.0 - 4.0 * luck / (off * off).max(4.0 * luck);
            let change = (PART * sure * off).clamp(-MOST, MOST);
            let in_all = (f64::from(*bias) + change - f64::from(first[position]))
                .clamp(-MOST_IN_ALL, MOST_IN_ALL);
            let before = *bias;
            *bias = first[position] + in_all as f32;
            most_moved = most_moved.max(f64::from(*bias - before).abs());
        }
        network.weights_mut().set_output_bias(&biases);
        if most_moved < LEAST {
            break;
        }
    }
    Ok(true)
}

/// Records that a network writes.
fn write(
    network: &Network,
    rules: Option<Arc<Obeyed>>,
    request: Request<'_>,
    (numbers, gpus): (Range<u64>, &mut Vec<Gpu>),
) -> Result<Cohort, SampleError> {
    let generator = NetworkGenerator::new(network);
    let mut sampler = Sampler::prepared(&generator, rules, request)?;
    if !gpus.is_empty() {
        let size = DeckSize::of(numbers.end - numbers.start);
        // What GPUs cannot do is done on the CPU, in this round and all others.
        let _ = sampler.draw_on(std::mem::take(gpus), network, size);
    }
    let mut written = Cohort::default();
    sampler.records(numbers, &mut Totals::default(), |_, record| {
        written.push("", &record);
        Ok(())
    })?;
    *gpus = sampler.into_gpus();
    Ok(written)
}

/// By position: records with the code.
fn records_with(codes: &Order, records: Selection<'_>) -> Vec<u64> {
    let mut counts = vec![0; codes.len()];
    for record in records.records() {
        let visits = (0..record.len()).flat_map(|visit| codes.positions(record, visit));
        let mut positions: Vec<u32> = visits.collect();
        positions.sort_unstable();
        positions.dedup();
        positions.iter().for_each(|&position| counts[position as usize] += 1);
    }
    counts
}
