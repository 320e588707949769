//! Records that exist, decided again: the truth is forced, and what it costs is added up.

use std::sync::Arc;

use consequence_enforce::{Enforcer, Proposal, Ruling, Writer, nats};
use consequence_feedback::{Unwatched, Watch};
use consequence_model::{Decide, Generator, LookAhead, Settled, Turn};
use consequence_record::{Part, RecordView, Selection};
use consequence_rules::Order;
use rayon::prelude::*;
use serde::Serialize;

use crate::LikelihoodError;
use crate::measured::check;

/// Nats of static codes, of encounter codes, of `END`, of time and of values, apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// The codes of static visits.
    pub static_codes: f64,
    /// The codes of encounters, but for those below.
    pub encounter_codes: f64,
    /// `END`: where records end, and where they go on.
    pub end: f64,
    /// Codes that tell when encounters were, and how long they took: `GAP//7-14d`, `STAY//2d`.
    pub time: f64,
    /// Codes that tell in which part of a test's values a result is: `LAB//50912//q4`.
    pub values: f64,
}

impl Parts {
    /// All five together.
    pub fn total(&self) -> f64 {
        self.of_codes() + self.time + self.values
    }

    /// Static codes, encounter codes and `END`: what perplexity is of, so that figures of a cohort
    /// compare, whether its dates and values were taken in or not.
    pub fn of_codes(&self) -> f64 {
        self.static_codes + self.encounter_codes + self.end
    }

    /// The five, in the order in which they are told.
    pub fn each(&self) -> [f64; 5] {
        [self.static_codes, self.encounter_codes, self.end, self.time, self.values]
    }

    fn of(&mut self, part: Part) -> &mut f64 {
        match part {
            Part::Static => &mut self.static_codes,
            Part::Codes => &mut self.encounter_codes,
            Part::End => &mut self.end,
            Part::Time => &mut self.time,
            Part::Values => &mut self.values,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.static_codes += other.static_codes;
        self.encounter_codes += other.encounter_codes;
        self.end += other.end;
        self.time += other.time;
        self.values += other.values;
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
    replay(generator, records, generator.max_visits(), options, || Outside::Nothing)
}

/// What each of some records costs under a model with rules: what a hard rule forces costs nothing,
/// soft rules give their own probability, and clauses that are due are looked ahead to. The plan must decide codes in the model's order.
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
    let longest = generator.max_visits().min(plan.max_visits());
    replay(generator, records, longest, options, || Outside::Rules(enforcer.writer()))
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
    let list = |record: RecordView<'_>, visit: usize| {
        let first = codes.range(visit).start;
        let list = settled(record, visit).into_iter();
        let mut given: Vec<(u32, f64)> =
            list.map(|one| (first + one.output, f64::from(one.nats))).collect();
        given.sort_by_key(|&(position, _)| position);
        given
    };
    let outside = || Outside::Settled { list: &list, given: Vec::new(), passed: 0 };
    replay(generator, records, generator.max_visits(), options, outside)
}

/// What other than the model has a say in what a record costs.
#[allow(clippy::large_enum_variant, reason = "one for each record under way")]
enum Outside<'a> {
    Nothing,
    /// Rules force codes, or change how likely they are.
    Rules(Writer<'a>),
    /// Codes that are settled, in order, and what the truth about each costs.
    Settled {
        list: &'a SettledList<'a>,
        given: Vec<(u32, f64)>,
        passed: usize,
    },
}

/// Asked for each record and visit.
type SettledList<'a> = dyn Fn(RecordView<'_>, usize) -> Vec<(u32, f64)> + Sync + 'a;

impl Outside<'_> {
    /// A visit of a record begins.
    fn open(&mut self, record: RecordView<'_>, visit: usize) {
        match self {
            Self::Nothing => {}
            Self::Rules(writer) => {
                if visit == 0 {
                    writer.take();
                }
                writer.arrive_as(record, visit);
                writer.open();
            }
            Self::Settled { list, given, passed } => (*given, *passed) = (list(record, visit), 0),
        }
    }

    /// What the truth about a code costs, given the model's probability; none if it is not allowed.
    fn nats(
        &mut self,
        position: u32,
        probability: f64,
        present: bool,
        ahead: &mut LookAhead<'_>,
    ) -> Option<f64> {
        match self {
            Self::Nothing => Some(nats(probability, present)),
            Self::Rules(writer) => {
                let Proposal { ruling, probability } =
                    writer.proposal(position, probability, ahead);
                writer.place(position, present);
                match ruling {
                    Ruling::Forced(forced) => (forced == present).then_some(0.0),
                    Ruling::Free | Ruling::Soft { .. } => Some(nats(probability, present)),
                }
            }
            Self::Settled { given, passed, .. } => {
                let given = given.get(*passed).filter(|&&(about, _)| about == position);
                *passed += usize::from(given.is_some());
                Some(given.map_or_else(|| nats(probability, present), |&(_, nats)| nats))
            }
        }
    }

    /// The visit is over.
    fn close(&mut self) {
        if let Self::Rules(writer) = self {
            writer.close();
        }
    }
}

/// One record on its way through the model.
struct Walk<'a, P> {
    past: P,
    last: Vec<u32>,
    replay: Replay<'a>,
}

/// Walks records through the model.
fn replay<'a, G: Generator>(
    generator: &G,
    records: Selection<'_>,
    longest: usize,
    options: &ReplayOptions<'_>,
    outside: impl Fn() -> Outside<'a> + Sync,
) -> Result<Vec<RecordNats>, LikelihoodError> {
    let codes = generator.codes();
    check(records, codes.vocabulary())?;
    let parts = codes.codes().iter().map(|&code| codes.vocabulary().part(code));
    let parts: Arc<[Part]> = parts.collect();
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
            let mut walks: Vec<Walk<'a, G::Past>> = batch
                .iter()
                .map(|_| Walk {
                    past: generator.begin(),
                    last: Vec::new(),
                    replay: Replay::new(codes, &parts, longest, outside()),
                })
                .collect();
            for visit in 0..batch.last().map_or(0, visits) {
                let ended = batch.partition_point(|number| visits(number) <= visit);
                let (walks, batch) = (&mut walks[ended..], &batch[ended..]);
                for (walk, &number) in walks.iter_mut().zip(batch) {
                    let record = records.record(number);
                    let truth = codes.positions(record, visit);
                    walk.replay.open(record, visit, truth);
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
fn step<G: Generator>(
    generator: &G,
    walks: &mut [Walk<'_, G::Past>],
    visit: usize,
    scratch: &mut G::Scratch,
) -> Result<(), LikelihoodError> {
    let codes = generator.codes();
    let mut turns: Vec<Turn<'_, G::Past>> = walks
        .iter_mut()
        .map(|Walk { past, last, replay }| Turn {
            past,
            last: (visit > 0).then_some(last.as_slice()),
            decider: replay,
        })
        .collect();
    generator.next(&mut turns, scratch);
    for Walk { last, replay, .. } in walks {
        replay.outside.close();
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
struct Replay<'a> {
    /// What each position tells of a record.
    parts_of: Arc<[Part]>,
    end: u32,
    /// The last visit that a record may have, where `END` is certain.
    last: usize,
    visit: usize,
    /// The visit as ascending positions.
    truth: Vec<u32>,
    /// How many of those have been passed.
    passed: usize,
    /// How many codes of the visit have been asked for.
    asked: usize,
    outside: Outside<'a>,
    parts: Parts,
    forbidden: bool,
    /// A probability that is none: the position, and what was given.
    bad: Option<(u32, f64)>,
}

impl<'a> Replay<'a> {
    /// Of a record that has so many encounters at most.
    fn new(codes: &Order, parts: &Arc<[Part]>, last: usize, outside: Outside<'a>) -> Self {
        Self {
            parts_of: Arc::clone(parts),
            end: codes.end(),
            last,
            visit: 0,
            truth: Vec::new(),
            passed: 0,
            asked: 0,
            outside,
            parts: Parts::default(),
            forbidden: false,
            bad: None,
        }
    }

    /// A visit of a record begins, which holds these positions.
    fn open(&mut self, record: RecordView<'_>, visit: usize, truth: Vec<u32>) {
        (self.visit, self.truth) = (visit, truth);
        (self.passed, self.asked) = (0, 0);
        self.outside.open(record, visit);
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

impl Decide for Replay<'_> {
    fn decide(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool {
        self.asked += 1;
        let present = self.truth.get(self.passed) == Some(&position);
        self.passed += usize::from(present);
        if !(0.0..=1.0).contains(&probability) {
            self.bad = self.bad.or(Some((position, probability)));
            return present;
        }
        let found = self.outside.nats(position, probability, present, ahead);
        if found.is_some_and(f64::is_nan) {
            self.bad = self.bad.or(Some((position, f64::NAN)));
        }
        let nats = match found {
            // No record goes on from here, so that one ends tells nothing; one that was cut may
            // have been cut for that very reason.
            _ if position == self.end && self.visit == self.last => 0.0,
            Some(nats) => nats,
            None => {
                self.forbidden = true;
                0.0
            }
        };
        *self.parts.of(self.parts_of[position as usize]) += nats;
        present
    }
}
