//! The likelihood of records, one by one.

use consequence_enforce::Enforcer;
use consequence_model::{Generator, Turn};
use consequence_record::Selection;
use consequence_rules::Order;
use serde::Serialize;

use crate::LikelihoodError;
use crate::check::check;
use crate::replay::{ByList, ByRules, Judge, NoJudge, Replay};

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
pub enum RecordNats {
    /// So many nats.
    Finite(Parts),
    /// A hard rule says otherwise of at least one code: with these rules the record cannot be.
    Forbidden,
    /// Something in it had a probability of exactly 0.
    Infinite,
    /// It has more encounters than the model or the plan can write.
    TooLong,
}

/// A position whose nats are given, instead of following from the model's probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettledPosition {
    /// The position of the code in the model's order.
    pub position: u32,
    /// What it adds.
    pub nats: f64,
}

/// How records are replayed; what comes out does not depend on it.
#[derive(Clone, Copy)]
pub struct ReplayOptions<'a> {
    /// Records that the model is shown together. Default 256.
    pub batch: usize,
    /// Told of records as they are done.
    pub progress: &'a dyn Fn(u64),
}

impl Default for ReplayOptions<'_> {
    fn default() -> Self {
        Self { batch: 256, progress: &|_| {} }
    }
}

/// What each of some records costs under a model, in the order given.
///
/// It is the probability that the model gives to whoever decides that counts. That of a network is in double
/// precision: only what it holds for certain to within 1e-16 (a logit over 37) costs infinitely much if
/// it is not so. `END` is certain at the last encounter that the model has room for.
///
/// ```
/// use std::sync::Arc;
/// use consequence_evaluate::{Independent, RecordNats, ReplayOptions, record_nats};
/// use consequence_rules::Order;
/// use consequence_record::{Cohort, Kind, Record, Selection, Vocabulary};
///
/// let codes = Order::natural(Arc::new(Vocabulary::new([("A", Kind::Encounter)])?));
/// let a = codes.vocabulary().code("A").unwrap();
/// let mut cohort = Cohort::default();
/// cohort.push("p", &Record::new(vec![vec![], vec![a], vec![]]));
/// let records = Selection::all(&cohort);
/// let model = Independent::fit(codes, records, 9)?;
/// let nats = record_nats(&model, records, &ReplayOptions::default())?;
/// let RecordNats::Finite(parts) = nats[0] else { panic!("all of it was seen before") };
/// assert!((parts.encounter_codes - 2.0 * 2f64.ln()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn record_nats<G: Generator>(
    generator: &G,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Vec<RecordNats>, LikelihoodError> {
    replay(generator, records, generator.max_visits(), options, || NoJudge)
}

/// What each of some records costs under a model with rules: what a hard rule forces costs nothing,
/// soft rules give their own probability. The plan must decide codes in the model's order.
pub fn record_nats_with_rules<G: Generator>(
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
    replay(generator, records, longest, options, || ByRules(enforcer.writer()))
}

/// What each of some records costs where some positions are settled: `settled` is asked for each
/// record, by its index in the cohort, and visit.
pub(crate) fn record_nats_with_settled<G: Generator>(
    generator: &G,
    settled: impl Fn(usize, usize) -> Vec<SettledPosition> + Sync,
    records: Selection<'_>,
    options: &ReplayOptions<'_>,
) -> Result<Vec<RecordNats>, LikelihoodError> {
    let settled = &settled;
    let judge = || ByList { list: settled, record: 0, settled: Vec::new() };
    replay(generator, records, generator.max_visits(), options, judge)
}

/// One record on its way through the model.
struct Walk<P, J> {
    past: P,
    last: Vec<u32>,
    replay: Replay<J>,
}

fn replay<G: Generator, J: Judge>(
    generator: &G,
    records: Selection<'_>,
    longest: usize,
    options: &ReplayOptions<'_>,
    judge: impl Fn() -> J,
) -> Result<Vec<RecordNats>, LikelihoodError> {
    let codes = generator.codes();
    check(records, codes.vocabulary())?;
    let visits = |number: &usize| records.record(*number).len();
    let mut outcomes = vec![RecordNats::TooLong; records.len()];
    let mut numbers: Vec<usize> =
        (0..records.len()).filter(|number| visits(number) <= longest.saturating_add(1)).collect();
    (options.progress)((records.len() - numbers.len()) as u64);
    // Records of one length leave the batch together.
    numbers.sort_by_key(visits);
    let mut walks: Vec<Walk<G::Past, J>> = Vec::new();
    let mut scratch = G::Scratch::default();
    for batch in numbers.chunks(options.batch.max(1)) {
        walks.truncate(batch.len());
        walks.iter_mut().for_each(|walk| walk.past = generator.begin());
        walks.resize_with(batch.len(), || Walk {
            past: generator.begin(),
            last: Vec::new(),
            replay: Replay::new(judge(), codes.statics() as u32, codes.end(), longest),
        });
        for (walk, &number) in walks.iter_mut().zip(batch) {
            walk.replay.begin(records.index(number));
        }
        for visit in 0..batch.last().map_or(0, visits) {
            let ended = batch.partition_point(|number| visits(number) <= visit);
            let (walks, batch) = (&mut walks[ended..], &batch[ended..]);
            for (walk, &number) in walks.iter_mut().zip(batch) {
                let truth = codes.positions(records.record(number), visit);
                walk.replay.open(visit, truth);
            }
            step(generator, walks, visit, &mut scratch)?;
        }
        for (walk, &number) in walks.iter().zip(batch) {
            outcomes[number] = walk.replay.outcome();
        }
        (options.progress)(batch.len() as u64);
    }
    Ok(outcomes)
}

/// One visit of each record.
fn step<G: Generator, J: Judge>(
    generator: &G,
    walks: &mut [Walk<G::Past, J>],
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
        replay.judge.close();
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
