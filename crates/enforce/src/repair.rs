//! Repairing records that already exist.
//!
//! Here the end of a record is given: each visit is decided knowing how many follow it. So a record
//! keeps its visits, and stays ended or cut as it was, wherever some record of that length obeys
//! the rules. Only a rule that the user wrote to conclude `END` ends a record: visits after it are
//! dropped. Far from the end of some rule sets (see
//! [`Plan::stage`](consequence_rules::Plan::stage)) the number of visits that follow is not known;
//! there a rule that was derived may end a record too.

use std::sync::Arc;

use consequence_feedback::Watch;
use consequence_prng::Draws;
use consequence_record::{Cohort, Record, RecordView};
use consequence_rules::{CompileError, CompileOptions, Plan, RuleSet, Stage, compile};
use rayon::prelude::*;

use crate::{Enforcer, Writer};

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
    /// Records that a rule ended before their last visit.
    pub cut: u64,
    /// Visits dropped from them.
    pub dropped_visits: u64,
    /// Records left out because no record of their length obeys the rules, or because they are
    /// longer than the plan has room for.
    pub refused: u64,
}

impl std::ops::AddAssign for Repair {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.changed += other.changed;
        self.added += other.added;
        self.removed += other.removed;
        self.cut += other.cut;
        self.dropped_visits += other.dropped_visits;
        self.refused += other.refused;
    }
}

/// Rules compiled for records that exist already: where they end is given.
#[derive(Debug)]
pub struct RepairPlan {
    enforcer: Enforcer,
}

impl RepairPlan {
    /// Compiles rules for the repair of records of at most `max_visits` encounters. `END` is
    /// decided before every other encounter code, whatever [`end_first`](CompileOptions::end_first)
    /// says.
    pub fn compile(rules: Arc<RuleSet>, options: &CompileOptions) -> Result<Self, CompileError> {
        // One visit more than the longest record has, so that no position forces an end.
        let max_visits = options.max_visits.saturating_add(1);
        let options = CompileOptions { max_visits, end_first: true, ..options.clone() };
        Ok(Self { enforcer: Enforcer::new(&compile(rules, &options)?) })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.enforcer.plan()
    }
}

/// Repairs every record on all threads. `progress` is called with the number of records as they are
/// done.
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
/// let (repaired, summary) = repair(&plan, &cohort, &Draws::new(0), &Unwatched);
/// assert_eq!((summary.cut, summary.dropped_visits), (1, 2));
/// assert_eq!(repaired.record(0).len(), 2); // the static visit and the last encounter
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair(
    plan: &RepairPlan,
    cohort: &Cohort,
    draws: &Draws,
    watch: &dyn Watch,
) -> (Cohort, Repair) {
    let outcomes: Vec<(Option<Record>, Repair)> = (0..cohort.len())
        .into_par_iter()
        .with_min_len(64)
        .map_init(
            || plan.enforcer.writer(),
            |writer, index| {
                let outcome = repair_record(writer, cohort.record(index), draws, index as u64);
                watch.advance(1);
                outcome
            },
        )
        .collect();
    let mut repaired = Cohort::default();
    let mut total = Repair::default();
    for (index, (record, repair)) in outcomes.into_iter().enumerate() {
        total += repair;
        if let Some(record) = record {
            repaired.push(cohort.id(index), &record);
        }
    }
    (repaired, total)
}

/// Repairs one record; `None` if no record of its length obeys the rules.
fn repair_record(
    writer: &mut Writer<'_>,
    record: RecordView<'_>,
    draws: &Draws,
    number: u64,
) -> (Option<Record>, Repair) {
    let refused = (None, Repair { records: 1, refused: 1, ..Repair::default() });
    let own = (record.len() - 1, record.ended());
    // A rule that ends the record comes first; where no record can end there, the record's own end.
    let by_rule = writer.ended_by_rule(record).map(|encounters| (encounters, true));
    let plan = writer.plan();
    if record.len() > plan.max_visits() {
        return refused;
    }
    let mut ends = by_rule.into_iter().chain([own]);
    let possible = ends.find(|&(following, ended)| writer.goes_on(plan.stage(following, ended)));
    let Some((encounters, ended)) = possible else { return refused };
    let mut stage = plan.stage(encounters, ended);
    let end = writer.end();
    let mut repair = Repair { records: 1, ..Repair::default() };
    let mut given = Vec::new();
    for (visit, codes) in record.visits().enumerate().take(encounters + 1) {
        let left = encounters - visit;
        let counted = plan.stage(left, ended);
        if stage != Stage::OPEN || writer.goes_on(counted) {
            stage = counted;
        }
        writer.set_stage(stage);
        given.clear();
        given.extend_from_slice(codes);
        given.extend((ended && left == 0).then_some(end));
        let written = writer.overridden(&given, draws, number);
        let kept = written.iter().filter(|code| codes.binary_search(code).is_ok()).count();
        repair.added += (written.len() - kept) as u64;
        repair.removed += (codes.len() - kept) as u64;
        if writer.record().ended {
            break;
        }
    }
    let written = writer.take();
    if ended && !written.ended {
        return refused;
    }
    repair.dropped_visits = (record.len() - written.visits.len()) as u64;
    repair.cut = u64::from(repair.dropped_visits > 0);
    let ended = written.ended != record.ended();
    repair.changed = u64::from(ended || repair.added + repair.removed + repair.cut > 0);
    (Some(written), repair)
}
