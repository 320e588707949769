//! Repairing records that already exist.
//!
//! Here the end of a record is given: each visit is decided knowing how many follow it. So a record
//! keeps its visits, and stays ended or cut as it was, wherever some record of that length obeys
//! the rules. Only a rule that the user wrote to conclude `END` ends a record: visits after it are
//! dropped. Far from the end of some rule sets (see
//! [`Plan::stage`](consequence_rules::Plan::stage)) the number of visits that follow is not known;
//! there a rule that was derived may end a record too.
//!
//! A plan takes the worst of days, ages and values that are not known yet. Those of a record that exists are given, so
//! where rules ask for them a valid record is written as it was whatever could have been, and what the plan
//! cannot promise is tried: the codes that led to a visit which cannot obey are taken out before it, one by one.
//!
//! What a record becomes depends on its id, on itself, and on the [`Shares`] that choices are made by:
//! not on its place among others.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_feedback::{Unwatched, Watch};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Record, RecordView, Selection};
use consequence_rules::{
    CompileError, CompileOptions, Plan, RuleSet, Stage, WrittenRules, compile,
};
use consequence_tally::{Counts as _, counts};
use rayon::prelude::*;

use crate::auditor::Violation;
use crate::{Auditor, Choice, Enforcer, Reader, Shares, Writer};

/// What a repair did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Records read.
    pub records: u64,
    /// Records written with some change.
    pub changed: u64,
    /// Codes put into visits.
    pub added: u64,
    /// Codes taken out of visits that were kept.
    pub removed: u64,
    /// Codes put in because rules forbade all others that would have done.
    pub last_resorts: u64,
    /// Records that a rule ended before their last visit.
    pub cut: u64,
    /// Visits dropped from them.
    pub dropped_visits: u64,
    /// Records left out because no record of their length, with their dates and values, obeys the rules, or
    /// because they are longer than the plan has room for.
    pub refused: u64,
}

counts!(Repair { records, changed, added, removed, last_resorts, cut, dropped_visits, refused });

/// A code that a repair put into a visit or took out of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairedCode {
    /// The record, by its number in the cohort that was repaired.
    pub record: usize,
    /// The visit; 0 is the static visit.
    pub visit: usize,
    /// The code.
    pub code: Code,
    /// Whether it was put in, rather than taken out.
    pub added: bool,
    /// The clause of the plan that decided it, by its number. None if a soft rule drew it, if rules that
    /// depend on each other left no other value, or if it led to a later visit that could not obey.
    pub clause: Option<u32>,
}

/// A cohort that was repaired.
#[derive(Clone, Debug, Default)]
pub struct Repaired {
    /// The records.
    pub cohort: Cohort,
    /// What was done, in numbers.
    pub summary: Repair,
    /// Every code put in or taken out, in the order of records and visits.
    pub changes: Vec<RepairedCode>,
}

/// Rules compiled for records that exist already: where they end is given.
#[derive(Debug)]
pub struct RepairPlan {
    enforcer: Enforcer,
    /// What the rules say of a record with its dates, births and values, where they speak of facts.
    auditor: Option<Auditor>,
}

impl RepairPlan {
    /// Compiles rules for the repair of records of at most `max_visits` encounters. `END` is
    /// decided before every other encounter code, whatever [`end_first`](CompileOptions::end_first)
    /// says.
    pub fn compile(rules: Arc<RuleSet>, options: &CompileOptions) -> Result<Self, CompileError> {
        // One visit more than the longest record has, so that no position forces an end.
        let max_visits = options.max_visits.saturating_add(1);
        let options = CompileOptions { max_visits, end_first: true, ..options.clone() };
        let enforcer = Enforcer::new(&compile(Arc::clone(&rules), &options)?);
        let asks_facts = enforcer.layout.asks_facts();
        let written = asks_facts.then(|| WrittenRules::new(rules, &options.limits)).transpose()?;
        Ok(Self { enforcer, auditor: written.as_ref().map(Auditor::new) })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.enforcer.plan()
    }
}

/// Repairs every record on all threads. Where a rule asks for one of several codes, one is taken that
/// the patient had before, at the latest visit that has any; else one is drawn by how often each is
/// there in visits of this cohort that meet the rule by themselves.
///
/// ```
/// use std::sync::Arc;
/// use consequence_feedback::Unwatched;
/// use consequence_enforce::{RepairPlan, repair};
/// use consequence_prng::Draws;
/// use consequence_record::{Cohort, Record};
/// use consequence_rules::{CompileOptions, RuleSet};
///
/// let rules = RuleSet::parse("rule nothing-after-death: DIED => END", None)?;
/// let died = rules.vocabulary().code("DIED").unwrap();
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![], vec![died], vec![], vec![]]));
///
/// let options = CompileOptions { max_visits: 3, ..CompileOptions::default() };
/// let plan = RepairPlan::compile(Arc::new(rules), &options)?;
/// let repaired = repair(&plan, &cohort, &Draws::new(0), &Unwatched);
/// assert_eq!((repaired.summary.cut, repaired.summary.dropped_visits), (1, 2));
/// assert_eq!(repaired.cohort.record(0).len(), 2); // the static visit and the last encounter
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair<'a>(
    plan: &RepairPlan,
    records: impl Into<Selection<'a>>,
    draws: &Draws,
    watch: &dyn Watch,
) -> Repaired {
    repair_chosen(plan, records.into(), None, draws, watch)
}

/// Repairs every record; a code that the patient did not have before is drawn by how likely a model
/// finds it, and by its share in the cohort where the model has no say.
pub fn repair_by<'a>(
    plan: &RepairPlan,
    records: impl Into<Selection<'a>>,
    model: &dyn Likelihoods,
    draws: &Draws,
    watch: &dyn Watch,
) -> Repaired {
    repair_chosen(plan, records.into(), Some(model), draws, watch)
}

fn repair_chosen(
    plan: &RepairPlan,
    records: Selection<'_>,
    model: Option<&dyn Likelihoods>,
    draws: &Draws,
    watch: &dyn Watch,
) -> Repaired {
    // At first every choice is left to the plan, to see which there are.
    let none = By { shares: &Shares::default(), model: None };
    let mut outcomes = outcomes(plan, records, draws, none, None, watch);
    let again: Vec<usize> =
        (0..records.len()).filter(|&index| !outcomes[index].choices.is_empty()).collect();
    if !again.is_empty() {
        let asked = outcomes.iter().flat_map(|outcome| outcome.choices.iter().copied()).collect();
        let by = By { shares: &plan.shares_of(&asked, records), model };
        let chosen = self::outcomes(plan, records, draws, by, Some(&again), &Unwatched);
        for (index, outcome) in again.into_iter().zip(chosen) {
            outcomes[index] = outcome;
        }
    }
    joined(records, outcomes)
}

/// A model that says how likely codes are in visits of records that exist.
pub trait Likelihoods: Sync {
    /// Someone who goes along with one record.
    fn begin(&self) -> Box<dyn VisitLikelihoods + '_>;
}

/// Goes along with one record, visit by visit.
pub trait VisitLikelihoods {
    /// The next visit, by the codes that it is given with, after the one that was written last. Gives
    /// false where nothing can be said of it.
    fn next(&mut self, before: Option<&[Code]>, given: &[Code]) -> bool;

    /// How likely a code is in that visit.
    fn likelihood(&self, code: Code) -> f64;
}

/// What choices go by.
#[derive(Clone, Copy)]
struct By<'a> {
    shares: &'a Shares,
    model: Option<&'a dyn Likelihoods>,
}

/// Repairs every record with shares that were counted before, or by a model: parts of a cohort are repaired as the
/// whole is, with the shares of the whole.
pub fn repair_with<'a>(
    plan: &RepairPlan,
    records: impl Into<Selection<'a>>,
    (shares, model): (&Shares, Option<&dyn Likelihoods>),
    draws: &Draws,
    watch: &dyn Watch,
) -> Repaired {
    let records = records.into();
    joined(records, outcomes(plan, records, draws, By { shares, model }, None, watch))
}

impl RepairPlan {
    /// Counts what the repair of a cohort chooses by; with the draws of that repair, since what soft
    /// rules draw may ask for codes too.
    pub fn shares<'a>(&self, records: impl Into<Selection<'a>>, draws: &Draws) -> Shares {
        let records = records.into();
        self.shares_of(&self.choices(records, draws), records)
    }

    /// The clauses that leave a choice in the repair of records: shares are counted for those.
    pub fn choices<'a>(&self, records: impl Into<Selection<'a>>, draws: &Draws) -> BTreeSet<u32> {
        let none = By { shares: &Shares::default(), model: None };
        let outcomes = outcomes(self, records.into(), draws, none, None, &Unwatched);
        outcomes.into_iter().flat_map(|outcome| outcome.choices).collect()
    }

    /// Counts the codes of some clauses in records.
    pub fn shares_of<'a>(
        &self,
        clauses: &BTreeSet<u32>,
        records: impl Into<Selection<'a>>,
    ) -> Shares {
        Shares::count(&self.enforcer, clauses, records.into())
    }
}

/// What became of one record.
#[derive(Debug, Default)]
struct Outcome {
    /// The record; none if no record of its length obeys the rules.
    record: Option<Record>,
    repair: Repair,
    changes: Vec<RepairedCode>,
    /// Clauses that left a choice.
    choices: Vec<u32>,
}

impl Outcome {
    fn refused() -> Self {
        Self { repair: Repair { records: 1, refused: 1, ..Repair::default() }, ..Self::default() }
    }
}

/// Repairs all records, or some of them.
fn outcomes(
    plan: &RepairPlan,
    records: Selection<'_>,
    draws: &Draws,
    by: By<'_>,
    some: Option<&[usize]>,
    watch: &dyn Watch,
) -> Vec<Outcome> {
    (0..some.map_or(records.len(), <[usize]>::len))
        .into_par_iter()
        .with_min_len(64)
        .map_init(
            || (plan.enforcer.writer(), plan.auditor.as_ref().map(Auditor::reader)),
            |(writer, reader), at| {
                let index = some.map_or(at, |some| some[at]);
                let mut outcome = Outcome::default();
                let number = Draws::record(records.cohort().id(records.index(index)));
                let record = records.record(index);
                match reader {
                    None => repair_record(writer, record, (draws, number), by, &mut outcome),
                    Some(reader) => {
                        let dated = Dated { record, reader };
                        dated.repair(writer, (draws, number), by, &mut outcome);
                    }
                }
                let at = records.index(index);
                outcome.changes.iter_mut().for_each(|change| change.record = at);
                watch.advance(1);
                outcome
            },
        )
        .collect()
}

fn joined(records: Selection<'_>, outcomes: Vec<Outcome>) -> Repaired {
    let mut all = Repaired::default();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        all.summary.add(outcome.repair);
        if let Some(record) = outcome.record {
            all.cohort.push(records.cohort().id(records.index(index)), &record);
            all.changes.extend(outcome.changes);
        }
    }
    all
}

/// Repairs one record by rules that speak of codes alone.
fn repair_record(
    writer: &mut Writer<'_>,
    record: RecordView<'_>,
    draws: (&Draws, u64),
    by: By<'_>,
    outcome: &mut Outcome,
) {
    *outcome = Outcome::refused();
    let plan = writer.plan();
    if record.len() > plan.max_visits() {
        return;
    }
    let mut ends = ends(writer, record);
    let possible = ends.find(|&(following, ended)| writer.goes_on(plan.stage(following, ended)));
    if let Some(end) = possible {
        attempt(writer, record, end, &BTreeSet::new(), draws, by, outcome);
    }
}

/// Where a record may end: the number of its encounters, and whether it ends with the last. A rule that ends it comes
/// first; where no record can end there, the record's own end.
fn ends(
    writer: &mut Writer<'_>,
    record: RecordView<'_>,
) -> impl Iterator<Item = (usize, bool)> + use<> {
    let own = (record.len() - 1, record.ended());
    let by_rule = writer.ended_by_rule(record).map(|encounters| (encounters, true));
    by_rule.into_iter().chain([own])
}

/// The most codes that are taken out of a record so that later visits can obey.
const MOST_OUT: usize = 100;

/// Visits and codes that are taken out before anything is decided.
type Without = BTreeSet<(usize, Code)>;

/// A record by rules that speak of facts: its dates, births and values are given.
struct Dated<'a, 'r> {
    record: RecordView<'a>,
    reader: &'a mut Reader<'r>,
}

impl Dated<'_, '_> {
    fn repair(
        self,
        writer: &mut Writer<'_>,
        draws: (&Draws, u64),
        by: By<'_>,
        outcome: &mut Outcome,
    ) {
        let Self { record, reader } = self;
        *outcome = Outcome::refused();
        let plan = writer.plan();
        if record.len() > plan.max_visits() {
            return;
        }
        let mut found = Vec::new();
        if plan.soft().is_empty() {
            reader.violations(record, &mut found);
            if found.is_empty() {
                outcome.repair.refused = 0;
                outcome.record = Some(record.to_record());
                return;
            }
        }
        for end in ends(writer, record) {
            let mut without = Without::new();
            loop {
                attempt(writer, record, end, &without, draws, by, outcome);
                let Some(written) = &outcome.record else { break };
                reader.violations_as(record, written, &mut found);
                let Some(&broken) = found.first() else { return };
                let led = led_to(plan, reader, record, written, broken);
                if without.len() >= MOST_OUT || !led.is_some_and(|one| without.insert(one)) {
                    break;
                }
            }
            *outcome =
                Outcome { choices: std::mem::take(&mut outcome.choices), ..Outcome::refused() };
        }
    }
}

/// The latest code of an earlier visit without which a rule would not be broken as it is; else, where one is not
/// enough, the latest of those that the rule looks for.
fn led_to(
    plan: &Plan,
    reader: &mut Reader<'_>,
    record: RecordView<'_>,
    written: &Record,
    broken: Violation,
) -> Option<(usize, Code)> {
    let mut codes: Vec<Code> = Vec::new();
    plan.rules()[broken.rule].formula().for_each_code(&mut |code, window| {
        codes.extend(window.map(|_| code));
    });
    let mut tried = Record { visits: written.visits[..=broken.visit].to_vec(), ended: false };
    tried.ended = written.ended && tried.visits.len() == written.visits.len();
    let (mut found, mut latest) = (Vec::new(), None);
    for visit in (0..broken.visit).rev() {
        for at in 0..tried.visits[visit].len() {
            let code = tried.visits[visit][at];
            if !codes.contains(&code) {
                continue;
            }
            tried.visits[visit].remove(at);
            reader.violations_as(record, &tried, &mut found);
            tried.visits[visit].insert(at, code);
            if !found.contains(&broken) {
                return Some((visit, code));
            }
            latest.get_or_insert((visit, code));
        }
    }
    latest
}

/// Repairs a record that ends so, without some of its codes.
fn attempt(
    writer: &mut Writer<'_>,
    record: RecordView<'_>,
    (encounters, ended): (usize, bool),
    without: &Without,
    (draws, number): (&Draws, u64),
    by: By<'_>,
    outcome: &mut Outcome,
) {
    let plan = writer.plan();
    let end = writer.end();
    let mut stage = plan.stage(encounters, ended);
    outcome.changes.clear();
    let Outcome { changes, choices, .. } = outcome;
    let mut repair = Repair { records: 1, ..Repair::default() };
    let mut given = Vec::new();
    let mut model = by.model.map(Likelihoods::begin);
    for (visit, codes) in record.visits().enumerate().take(encounters + 1) {
        let left = encounters - visit;
        writer.arrive_as(record, visit);
        let counted = plan.stage(left, ended);
        if stage != Stage::OPEN || writer.goes_on(counted) {
            stage = counted;
        }
        writer.set_stage(stage);
        let is_out = |code: Code| without.contains(&(visit, code));
        given.clear();
        given.extend(codes.iter().copied().filter(|&code| !is_out(code)));
        given.extend((ended && left == 0).then_some(end));
        let mut drawn = draws.visit(number, 0, visit as u16, Purpose::Alternative);
        let before = writer.record().visits.last().map(Vec::as_slice);
        let told = model.as_mut().and_then(|model| model.next(before, &given).then_some(model));
        let visit_codes = writer.overridden_by(&given, draws, number, |choice: Choice<'_>| {
            repair.last_resorts += u64::from(choice.left.len() == 1);
            if !choices.contains(&choice.clause) {
                choices.push(choice.clause);
            }
            let order = plan.order();
            let likely = |model: &dyn VisitLikelihoods, at: u32| model.likelihood(order.code(at));
            let knows = |model: &dyn VisitLikelihoods| {
                choice.left.iter().any(|&position| likely(model, position) > 0.0)
            };
            match told.as_ref().map(|model| &***model).filter(|model| knows(*model)) {
                None => by.shares.choose(plan, choice, &mut drawn),
                Some(model) => {
                    let draw = drawn.uniform(choice.key(plan));
                    choice.pick(order, |position| likely(model, position), draw)
                }
            }
        });
        let gone = |&code: &Code| is_out(code) && visit_codes.binary_search(&code).is_err();
        let gone = codes.iter().copied().filter(gone);
        let gone =
            gone.map(|code| RepairedCode { record: 0, visit, code, added: false, clause: None });
        changes.extend(gone);
        let changed = writer.changes().iter().map(|change| {
            let (code, added, clause) =
                (plan.order().code(change.position), change.added, change.clause);
            RepairedCode { record: 0, visit, code, added, clause }
        });
        changes.extend(changed.filter(|change| change.code != end && !is_out(change.code)));
        if writer.record().ended {
            break;
        }
    }
    let written = writer.take();
    if ended && !written.ended {
        *outcome = Outcome { choices: std::mem::take(choices), ..Outcome::refused() };
        return;
    }
    repair.added = changes.iter().filter(|change| change.added).count() as u64;
    repair.removed = changes.len() as u64 - repair.added;
    repair.dropped_visits = (record.len() - written.visits.len()) as u64;
    repair.cut = u64::from(repair.dropped_visits > 0);
    let ended = written.ended != record.ended();
    repair.changed = u64::from(ended || repair.added + repair.removed + repair.cut > 0);
    (outcome.record, outcome.repair) = (Some(written), repair);
}
