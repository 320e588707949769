//! `END` of a trained network, brought to how long records go on.
//!
//! A network keeps no sum of the days between visits, so that it ends records of claims after any time, though the claims
//! are those of a few years. What it says of `END` stays; beside it a level and a slope are fitted for cells of days since the
//! first encounter, by maximum likelihood, and the tuning split says with how many cells, or whether at all.

use std::collections::{BTreeMap, HashSet};

use consequence_enforce::{Enforcer, Ruling, Writer};
use consequence_model::{
    DayCounter, Decide, Elapsed, EndCell, EndsByDays, Generator, LookAhead, Network,
    NetworkGenerator, Turn,
};
use consequence_record::{RecordView, Selection};
use consequence_rules::Order;
use rayon::prelude::*;

use crate::Examples;

/// How many cells are tried.
const CELLS: [usize; 3] = [6, 12, 20];

/// Records that end in a cell, at the least, and patients that a cell stands for, as everywhere.
const ENDS: usize = 15;
const PATIENTS: usize = 10;

/// Cells begin at whole weeks, so that nobody's days can be read from them.
const WEEK: u32 = 7;

/// How sure it is before any record is seen that nothing is to be moved: the precision of a level, and of a slope.
const LEVEL_PRECISION: f64 = 0.25;
const SLOPE_PRECISION: f64 = 1.0;

/// Steps of Newton's method, and the most that either number moves in one.
const STEPS: usize = 40;
const MOST: f64 = 1.0;

/// Encounters that are looked at, at most, and records that the network is shown together.
const ENCOUNTERS: usize = 300_000;
const BATCH: usize = 64;

/// What a network says of `END` at an encounter, and whether the record ends there.
#[derive(Clone, Copy, Debug)]
struct Seen {
    record: usize,
    elapsed: Elapsed,
    logit: f64,
    ends: bool,
}

impl Seen {
    /// The nats of what is there, if the logit moves.
    fn nats(&self, shift: f64) -> f64 {
        let logit = self.logit + shift;
        let signed = if self.ends { -logit } else { logit };
        // The logarithm of 1 + exp, without overflow.
        signed.max(0.0) + (-signed.abs()).exp().ln_1p()
    }
}

/// How `END` of a network is to move with the days that a record has gone on for, each code of a gap standing for so many;
/// none where that does not make the tuning split more likely. `enforcer` has the rules that it trained with.
///
/// What rules say of `END` is left to them: encounters where they do have no part. Without codes of gaps there are no days
/// to go by, and nothing moves.
pub fn fit_ends(
    network: &Network,
    enforcer: Option<&Enforcer>,
    examples: &Examples<'_>,
    days: &BTreeMap<String, f64>,
) -> Option<EndsByDays> {
    if days.is_empty() {
        return None;
    }
    let plain = network.clone().with_ends(None);
    let generator = NetworkGenerator::new(&plain);
    let counter = DayCounter::new(plain.codes(), days);
    let seen = |records: Selection<'_>| encounters(&generator, enforcer, &counter, records);
    let (train, tuning) = (seen(examples.train), seen(examples.tuning));
    let cost = |ends: Option<&EndsByDays>| -> f64 {
        let shift = |one: &Seen| ends.map_or(0.0, |ends| ends.shift(one.elapsed));
        tuning.iter().map(|one| one.nats(shift(one))).sum()
    };
    let fitted = CELLS.iter().filter_map(|&cells| {
        let ends = EndsByDays::new(days.clone(), fit(&train, cells)?)?;
        Some((cost(Some(&ends)), ends))
    });
    let (found, ends) = fitted.min_by(|one, other| one.0.total_cmp(&other.0))?;
    (found < cost(None)).then_some(ends)
}

/// So many cells at most, fitted.
fn fit(seen: &[Seen], cells: usize) -> Option<Vec<EndCell>> {
    let begins = begins(seen, cells);
    let of_cell = |index: usize| {
        let (from, to) = (begins[index], begins.get(index + 1));
        let inside = |one: &&Seen| {
            one.elapsed.days >= from.into() && to.is_none_or(|&to| one.elapsed.days < to.into())
        };
        let (level, by_pace) = regress(&seen.iter().filter(inside).collect::<Vec<_>>());
        // Rounded, so that they are the same once written and read again.
        let [level, by_pace] = [level, by_pace].map(|number| (1e4 * number).round() / 1e4);
        EndCell { from_days: from, level, by_pace }
    };
    (!begins.is_empty()).then(|| (0..begins.len()).map(of_cell).collect())
}

/// The days at which cells begin: equally many records end in each, and ten patients or more are in any. None where
/// there are too few.
fn begins(seen: &[Seen], cells: usize) -> Vec<u32> {
    let mut ended: Vec<f64> =
        seen.iter().filter(|one| one.ends).map(|one| one.elapsed.days).collect();
    ended.sort_by(f64::total_cmp);
    let cells = cells.min(ended.len() / ENDS);
    let quantile = |index: usize| ended[index * ended.len() / cells];
    let week = |days: f64| (days / f64::from(WEEK)).ceil() as u32 * WEEK;
    let mut begins: Vec<u32> = Vec::new();
    for from in [0].into_iter().chain((1..cells).map(|index| week(quantile(index)))) {
        let before = begins.last().copied();
        let wide = |before: u32| patients(seen, before, Some(from)) >= PATIENTS;
        if before.is_none_or(|before| before < from && wide(before)) {
            begins.push(from);
        }
    }
    // The last of them reaches to the end.
    while begins.last().is_some_and(|&from| patients(seen, from, None) < PATIENTS) {
        begins.pop();
    }
    if cells == 0 { Vec::new() } else { begins }
}

/// Patients with an encounter from one day on and before another.
fn patients(seen: &[Seen], from: u32, to: Option<u32>) -> usize {
    let inside = seen.iter().filter(|one| {
        one.elapsed.days >= from.into() && to.is_none_or(|to| one.elapsed.days < to.into())
    });
    inside.map(|one| one.record).collect::<HashSet<_>>().len()
}

/// The level and the slope by the pace with which what was seen is likeliest, both drawn towards 0.
fn regress(seen: &[&Seen]) -> (f64, f64) {
    let count = seen.len().max(1) as f64;
    let middle = seen.iter().map(|one| one.elapsed.pace()).sum::<f64>() / count;
    let (mut level, mut slope) = (0.0, 0.0);
    for _ in 0..STEPS {
        let mut gradient = [-LEVEL_PRECISION * level, -SLOPE_PRECISION * slope];
        let (mut both, mut cross) = ([LEVEL_PRECISION, SLOPE_PRECISION], 0.0);
        for one in seen {
            let pace = one.elapsed.pace() - middle;
            let expected = 1.0 / (1.0 + (-(one.logit + level + slope * pace)).exp());
            let surplus = f64::from(u8::from(one.ends)) - expected;
            let weight = expected * (1.0 - expected);
            gradient[0] += surplus;
            gradient[1] += surplus * pace;
            both[0] += weight;
            both[1] += weight * pace * pace;
            cross += weight * pace;
        }
        let determinant = both[0] * both[1] - cross * cross;
        let steps = [
            (both[1] * gradient[0] - cross * gradient[1]) / determinant,
            (both[0] * gradient[1] - cross * gradient[0]) / determinant,
        ];
        level += steps[0].clamp(-MOST, MOST);
        slope += steps[1].clamp(-MOST, MOST);
        if steps.iter().all(|step| step.abs() < 1e-9) {
            break;
        }
    }
    (level - slope * middle, slope)
}

/// What a network says of `END` at the encounters of records, but for those where rules have a say or no record goes on.
fn encounters(
    generator: &NetworkGenerator,
    enforcer: Option<&Enforcer>,
    days: &DayCounter,
    records: Selection<'_>,
) -> Vec<Seen> {
    let visits = |number: &usize| records.record(*number).len();
    let total: usize = (0..records.len()).map(|number| visits(&number)).sum();
    let mut numbers: Vec<usize> =
        (0..records.len()).step_by(total.div_ceil(ENCOUNTERS).max(1)).collect();
    numbers.sort_by_key(visits);
    let batches = numbers.par_chunks(BATCH);
    let seen = batches.map_init(Default::default, |scratch, batch| {
        let mut walks: Vec<Walk<'_>> = batch
            .iter()
            .map(|&record| Walk {
                record,
                past: generator.begin(),
                elapsed: None,
                last: None,
                truth: Truth::new(generator.codes(), enforcer),
            })
            .collect();
        let mut seen = Vec::new();
        for visit in 0..batch.last().map_or(0, visits) {
            let ended = batch.partition_point(|number| visits(number) <= visit);
            let walks = &mut walks[ended..];
            for walk in walks.iter_mut() {
                let record = records.record(walk.record);
                walk.truth.open(record, visit, generator.codes().positions(record, visit));
            }
            let mut turns: Vec<Turn<'_, _>> = walks.iter_mut().map(Walk::turn).collect();
            generator.next(&mut turns, scratch);
            let goes_on = visit < generator.max_visits();
            seen.extend(walks.iter_mut().filter_map(|walk| walk.close(days)).filter(|_| goes_on));
        }
        seen
    });
    let seen: Vec<Vec<Seen>> = seen.collect();
    seen.into_iter().flatten().collect()
}

/// A record on its way through the network.
struct Walk<'a> {
    record: usize,
    past: <NetworkGenerator as Generator>::Past,
    elapsed: Option<Elapsed>,
    last: Option<Vec<u32>>,
    truth: Truth<'a>,
}

impl Walk<'_> {
    fn turn(&mut self) -> Turn<'_, <NetworkGenerator as Generator>::Past> {
        Turn { past: &mut self.past, last: self.last.as_deref(), decider: &mut self.truth }
    }

    /// The visit is over. Tells what was said of its `END`, if rules said nothing.
    fn close(&mut self, days: &DayCounter) -> Option<Seen> {
        let Truth { positions, end, said, writer, .. } = &mut self.truth;
        if let Some(writer) = writer {
            writer.close();
        }
        let seen = said.take().map(|logit| Seen {
            record: self.record,
            elapsed: days.at_end(self.elapsed, positions),
            logit,
            ends: positions.binary_search(end).is_ok(),
        });
        self.elapsed = days.after(self.elapsed, positions);
        self.last = Some(std::mem::take(positions));
        seen
    }
}

/// Decides a visit as it was, and keeps what the network says of `END`.
struct Truth<'a> {
    writer: Option<Writer<'a>>,
    end: u32,
    positions: Vec<u32>,
    /// The logit, where rules have no say.
    said: Option<f64>,
}

impl<'a> Truth<'a> {
    fn new(codes: &Order, enforcer: Option<&'a Enforcer>) -> Self {
        let writer = enforcer.map(Enforcer::writer);
        Self { writer, end: codes.end(), positions: Vec::new(), said: None }
    }

    fn open(&mut self, record: RecordView<'_>, visit: usize, positions: Vec<u32>) {
        self.positions = positions;
        if let Some(writer) = &mut self.writer {
            writer.arrive_as(record, visit);
            writer.open();
        }
    }
}

impl Decide for Truth<'_> {
    fn decide(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool {
        let present = self.positions.binary_search(&position).is_ok();
        let free = self.writer.as_mut().is_none_or(|writer| {
            let proposal = writer.proposal(position, probability, ahead);
            writer.place(position, present);
            proposal.ruling == Ruling::Free && proposal.probability == probability
        });
        let logit = (probability / (1.0 - probability)).ln();
        if position == self.end && free && logit.is_finite() {
            self.said = Some(logit);
        }
        present
    }
}

#[cfg(test)]
mod tests {
    use consequence_prng::{Draws, Purpose};

    use super::*;

    /// Encounters of so many records, which end by their days and their pace.
    fn encounters(records: u64, level: f64, slope: f64) -> Vec<Seen> {
        let mut all = Vec::new();
        for record in 0..records {
            let mut draws = Draws::new(7).visit(record, 0, 0, Purpose::Simulation);
            let mut at = 0;
            let mut uniform = || {
                at += 1;
                draws.uniform(at)
            };
            let usual = 5.0 + 60.0 * uniform();
            let mut elapsed = Elapsed::default();
            for _ in 0..60 {
                let logit = 4.0 * uniform() - 5.0;
                let shift = level + slope * (elapsed.pace() - 3.0);
                let ends = uniform() < 1.0 / (1.0 + (-(logit + shift)).exp());
                all.push(Seen { record: record as usize, elapsed, logit, ends });
                if ends {
                    break;
                }
                elapsed.days += usual * 2.0 * uniform();
                elapsed.encounters += 1;
            }
        }
        all
    }

    fn cost(seen: &[&Seen], level: f64, slope: f64) -> f64 {
        let pace = |one: &Seen| one.elapsed.pace();
        let nats = seen.iter().map(|one| one.nats(level + slope * pace(one))).sum::<f64>();
        let middle = seen.iter().map(|one| pace(one)).sum::<f64>() / seen.len() as f64;
        let at_middle = level + slope * middle;
        nats + (LEVEL_PRECISION * at_middle * at_middle + SLOPE_PRECISION * slope * slope) / 2.0
    }

    #[test]
    fn nothing_on_a_fine_grid_is_likelier_than_the_fit() {
        for (records, level, slope) in [(12, 1.0, 0.0), (60, -1.0, 1.0), (300, 2.0, -0.7)] {
            let seen = encounters(records, level, slope);
            let seen: Vec<&Seen> = seen.iter().collect();
            let (found, by_pace) = regress(&seen);
            let best = cost(&seen, found, by_pace);
            let steps = || (-400..=400).map(|step| f64::from(step) / 100.0);
            let around = |centre: f64| steps().step_by(5).map(move |step| centre + step);
            for level in around(found) {
                for slope in around(by_pace) {
                    assert!(cost(&seen, level, slope) >= best - 1e-9, "{level} {slope}");
                }
            }
            if records == 300 {
                assert!((by_pace - slope).abs() < 0.3, "{by_pace}");
                assert!((found + 3.0 * by_pace - level).abs() < 0.3, "{found}");
            }
        }
    }

    #[test]
    fn what_is_not_known_does_not_move() {
        assert_eq!(regress(&[]), (0.0, 0.0));
        let one = Seen { record: 0, elapsed: Elapsed::default(), logit: -1.0, ends: true };
        let (level, slope) = regress(&[&one]);
        assert!(level > 0.0 && level < 2.0 && slope == 0.0, "{level} {slope}");
        assert_eq!(fit(&encounters(9, 0.0, 0.0), 6), None);
    }

    #[test]
    fn cells_begin_with_weeks_and_stand_for_ten_patients() {
        for records in [10, 15, 40, 100, 400] {
            let seen = encounters(records, 0.0, 0.5);
            for cells in [1, 2, 6, 20] {
                let begins = begins(&seen, cells);
                assert!(begins.len() <= cells && begins.is_sorted_by(|one, other| one < other));
                assert!(begins.iter().all(|from| from % WEEK == 0), "{begins:?}");
                assert!(begins.first().is_none_or(|&from| from == 0));
                for (index, &from) in begins.iter().enumerate() {
                    let to = begins.get(index + 1).copied();
                    assert!(patients(&seen, from, to) >= PATIENTS, "{begins:?}");
                }
            }
        }
    }
}
