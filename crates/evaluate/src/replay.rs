//! Records that exist, decided again: the truth is forced, and what it costs is added up.

use consequence_enforce::{Enforcer, Ruling, nats};
use consequence_feedback::{Unwatched, Watch};
use consequence_model::{Decide, Generator, Settled, Turn};
use consequence_record::{RecordView, Selection};
use consequence_rules::Order;
use rayon::prelude::*;
use serde::Serialize;

use crate::LikelihoodError;
use crate::measured::check;

/// Nats of static codes, of encounter codes, and of `END`, apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// The codes of static visits.
    pub static_codes: f64,
    /// The codes of encounters.
    pub encounter_codes: f64,
    /// `END`: where records end, and where they go on.
    pub end: f64,
}

impl Parts {
    /// All three together.
    pub fn total(&self) -> f64 {
        self.static_codes + self.encounter_codes + self.end
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.static_codes += other.static_codes;
        self.encounter_codes += other.encounter_codes;
        self.end += other.end;
    }
}

/// What one record costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RecordNats {
    /// So many nats.
    Finite(Parts),
    /// A hard rule says otherwise of at least one code: with these rules the record cannot be.
    Forbidden,
    /// Something in it had a probability of exactly 0.
    Infinite,
    /// It has more encounters than the model or the plan can write.
    TooLong,
}

/// How records are replayed; what comes out does not depend on it.
#[derive(Clone, Copy)]
pub struct ReplayOptions<'a> {
    /// Records that the model is shown together, on each thread. Default 128.
    pub batch: usize,
    /// Told of records as they are done.
    pub watch: &'a dyn Watch,
}

impl Default for ReplayOptions<'_> {
    fn default() -> Self {
        Self { batch: 128, watch: &Unwatched }
    }
}

/// What each of some records costs under a model, in the order given.
///
/// It is the probability that the model gives to whoever decides that counts. That of a network is
/// in double precision: only what it holds for certain to within 1e-16 (a logit over 37) costs
/// infinitely much if it is not so. `END` is certain at the last encounter that the model has room
/// for.
pub(crate) fn record_nats<G: Generator>(
    generator: &G,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Vec<RecordNats>, LikelihoodError> {
    let nothing = || |_: RecordView<'_>, _: usize, _: &[u32]| Vec::new();
    replay(generator, records, generator.max_visits(), options, nothing)
}

/// What each of some records costs under a model with rules: what a hard rule forces costs nothing,
/// soft rules give their own probability. The plan must decide codes in the model's order.
pub(crate) fn record_nats_with_rules<G: Generator>(
    generator: &G,
    enforcer: &Enforcer,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Vec<RecordNats>, LikelihoodError> {
    let plan = enforcer.plan();
    if plan.order() != generator.codes() {
        return Err(LikelihoodError::OtherOrder);
    }
    let by_rules = || {
        let mut writer = enforcer.writer();
        move |_: RecordView<'_>, visit: usize, truth: &[u32]| {
            if visit == 0 {
                writer.take();
            }
            let mut given = Vec::new();
            writer.replay(truth, |position, ruling, present| match ruling {
                Ruling::Free => {}
                Ruling::Forced(forced) => {
                    given.push((position, (forced == present).then_some(0.0)))
                }
                Ruling::Soft { probability, .. } => {
                    given.push((position, Some(nats(probability, present))));
                }
            });
            given
        }
    };
    let longest = generator.max_visits().min(plan.max_visits());
    replay(generator, records, longest, options, by_rules)
}

/// What each of some records costs where some codes are settled: `settled` is asked for each record
/// and visit.
pub(crate) fn record_nats_with_settled<G: Generator>(
    generator: &G,
    settled: impl Fn(RecordView<'_>, usize) -> Vec<Settled> + Sync,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Vec<RecordNats>, LikelihoodError> {
    let (settled, codes) = (&settled, generator.codes());
    let by_list = || {
        |record: RecordView<'_>, visit: usize, _: &[u32]| {
            let first = codes.range(visit).start;
            let list = settled(record, visit).into_iter();
            let mut given: Vec<Given> =
                list.map(|one| (first + one.output, Some(f64::from(one.nats)))).collect();
            given.sort_by_key(|&(position, _)| position);
            given
        }
    };
    replay(generator, records, generator.max_visits(), options, by_list)
}

/// The position of a code about which something other than the model has a say, and what the truth
/// about it then costs; nothing if that is not allowed.
type Given = (u32, Option<f64>);

/// One record on its way through the model, and whatever else has a say in what it costs.
struct Walk<P, F> {
    past: P,
    last: Vec<u32>,
    replay: Replay,
    outside: F,
}

/// Walks records through the model. `outside` gives, for each record and visit, the codes about
/// which something other than the model has a say, in order; it is told the visit as ascending
/// positions.
fn replay<G: Generator, F>(
    generator: &G,
    records: Selection<'_>,
    longest: usize,
    options: &ReplayOptions<'_>,
    outside: impl Fn() -> F + Sync,
) -> Result<Vec<RecordNats>, LikelihoodError>
where
    F: FnMut(RecordView<'_>, usize, &[u32]) -> Vec<Given> + Send,
{
    let codes = generator.codes();
    check(records, codes.vocabulary())?;
    let visits = |number: &usize| records.record(*number).len();
    let mut outcomes = vec![RecordNats::TooLong; records.len()];
    let mut numbers: Vec<usize> =
        (0..records.len()).filter(|number| visits(number) <= longest.saturating_add(1)).collect();
    options.watch.advance((records.len() - numbers.len()) as u64);
    // Records of one length leave the batch together.
    numbers.sort_by_key(visits);
    // No larger than it takes for every thread to have some.
    let share = numbers.len().div_ceil(rayon::current_num_threads());
    let batches = numbers.par_chunks(options.batch.min(share).max(1));
    let told: Vec<Result<Vec<RecordNats>, LikelihoodError>> = batches
        .map_init(G::Scratch::default, |scratch, batch| {
            let mut walks: Vec<Walk<G::Past, F>> = batch
                .iter()
                .map(|_| Walk {
                    past: generator.begin(),
                    last: Vec::new(),
                    replay: Replay::new(codes, longest),
                    outside: outside(),
                })
                .collect();
            for visit in 0..batch.last().map_or(0, visits) {
                let ended = batch.partition_point(|number| visits(number) <= visit);
                let (walks, batch) = (&mut walks[ended..], &batch[ended..]);
                for (walk, &number) in walks.iter_mut().zip(batch) {
                    let record = records.record(number);
                    let truth = codes.positions(record, visit);
                    let given = (walk.outside)(record, visit, &truth);
                    walk.replay.open(visit, truth, given);
                }
                step(generator, walks, visit, scratch)?;
            }
            options.watch.advance(batch.len() as u64);
            Ok(walks.iter().map(|walk| walk.replay.outcome()).collect())
        })
        .collect();
    let told = told.into_iter().collect::<Result<Vec<_>, _>>()?;
    for (number, outcome) in numbers.into_iter().zip(told.into_iter().flatten()) {
        outcomes[number] = outcome;
    }
    Ok(outcomes)
}

/// One visit of each record.
fn step<G: Generator, F>(
    generator: &G,
    walks: &mut [Walk<G::Past, F>],
    visit: usize,
    scratch: &mut G::Scratch,
) -> Result<(), LikelihoodError> {
    let codes = generator.codes();
    let mut turns: Vec<Turn<'_, G::Past>> = walks
        .iter_mut()
        .map(|Walk { past, last, replay, .. }| Turn {
            past,
            last: (visit > 0).then_some(last.as_slice()),
            decider: replay,
        })
        .collect();
    generator.next(&mut turns, scratch);
    for Walk { last, replay, .. } in walks {
        if let Some((position, probability)) = replay.bad {
            return Err(LikelihoodError::BadProbability {
                code: name(codes, position),
                probability,
            });
        }
        if replay.asked != codes.range(visit).len() {
            return Err(LikelihoodError::NotAsked { visit, asked: replay.asked });
        }
        std::mem::swap(last, &mut replay.truth);
    }
    Ok(())
}

fn name(codes: &Order, position: u32) -> String {
    let code = codes.codes().get(position as usize);
    code.map_or_else(|| position.to_string(), |&code| codes.vocabulary().name(code).to_owned())
}

/// Forces the truth of one record, visit by visit, and adds up what it costs.
#[derive(Default)]
struct Replay {
    statics: u32,
    end: u32,
    /// The last visit that a record may have, where `END` is certain.
    last: usize,
    visit: usize,
    /// The visit as ascending positions.
    truth: Vec<u32>,
    /// The codes about which something other than the model has a say, in order.
    given: Vec<Given>,
    /// How many of the truth and of what is given have been passed.
    passed: [usize; 2],
    /// How many codes of the visit have been asked for.
    asked: usize,
    parts: Parts,
    forbidden: bool,
    /// A probability that is none: the position, and what was given.
    bad: Option<(u32, f64)>,
}

impl Replay {
    /// Of a record that has so many encounters at most.
    fn new(codes: &Order, last: usize) -> Self {
        Self { statics: codes.statics() as u32, end: codes.end(), last, ..Self::default() }
    }

    /// A visit begins, which holds these positions.
    fn open(&mut self, visit: usize, truth: Vec<u32>, given: Vec<Given>) {
        (self.visit, self.truth, self.given) = (visit, truth, given);
        (self.passed, self.asked) = ([0; 2], 0);
    }

    /// What the record cost.
    fn outcome(&self) -> RecordNats {
        if self.forbidden {
            RecordNats::Forbidden
        } else if self.parts.total().is_infinite() {
            RecordNats::Infinite
        } else {
            RecordNats::Finite(self.parts)
        }
    }
}

impl Decide for Replay {
    fn decide(&mut self, position: u32, probability: f64) -> bool {
        self.asked += 1;
        let present = self.truth.get(self.passed[0]) == Some(&position);
        self.passed[0] += usize::from(present);
        if !(0.0..=1.0).contains(&probability) {
            self.bad = self.bad.or(Some((position, probability)));
            return present;
        }
        let given = self.given.get(self.passed[1]).filter(|&&(about, _)| about == position);
        self.passed[1] += usize::from(given.is_some());
        let nats = match given {
            // No record goes on from here, so that one ends tells nothing; one that was cut may
            // have been cut for that very reason.
            _ if position == self.end && self.visit == self.last => 0.0,
            None => nats(probability, present),
            Some(&(_, Some(nats))) => nats,
            Some((_, None)) => {
                self.forbidden = true;
                0.0
            }
        };
        match position {
            _ if position < self.statics => self.parts.static_codes += nats,
            _ if position == self.end => self.parts.end += nats,
            _ => self.parts.encounter_codes += nats,
        }
        present
    }
}
