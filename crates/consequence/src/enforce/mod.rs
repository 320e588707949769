//! A cohort made to obey the rules.

mod by_model;
mod changes;
mod in_rounds;

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;

use by_model::ModelLikelihoods;
use changes::ChangeCounts;
pub use changes::{MovedCode, RuleChanges};
use consequence_enforce::{Repair, RepairPlan, Repaired, repair, repair_by};
use consequence_pipeline::load::LoadedRules;
use consequence_pipeline::model_rules::ReadModel;
use consequence_pipeline::parts::Outline;
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{
    Error, ModelInput, OpenedRecords, Out, RecordInputs, Report, Task, Watch, watched,
};
use consequence_prng::Draws;
use consequence_record::{Code, Cohort, CohortDetails, Selection, Split};
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, Rule, RuleSet};
use consequence_tables::Dataset;
pub use in_rounds::{KeptPlan, Repairs};
use rayon::prelude::*;
use serde::Serialize;

use crate::parts::PartWriter;

/// Rules that the text of a report tells of.
const TOLD_RULES: usize = 5;

/// A cohort to be repaired.
///
/// ```
/// use consequence::enforce::EnforceTask;
/// use consequence::{RecordInputs, Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [rules, cohort, out] =
///     ["a.rules", "a.jsonl", "repaired.jsonl"].map(|name| folder.path().join(name));
/// std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES")?;
/// std::fs::write(&cohort, r#"{"id": 1, "static": [], "visits": [["DIABETES"], []]}"#)?;
/// let task = EnforceTask::new(RecordInputs::new(cohort).with_rules([rules]), &out);
/// assert_eq!(task.run(&Unwatched)?.added_codes, 1);
/// assert_eq!(
///     std::fs::read_to_string(out)?,
///     "{\"id\":\"1\",\"static\":[],\"visits\":[[\"DIABETES\"],[\"DIABETES\"]]}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EnforceTask {
    /// The cohort, and the rules.
    pub inputs: RecordInputs,
    /// The file to write if its name ends in `.jsonl`, else the folder of a MEDS dataset; none: the records
    /// are given by [`repaired`](Self::repaired) alone.
    pub out: Option<Out>,
    /// A file that lists every code put in or taken out: CSV if its name ends so, else JSON lines.
    pub changes: Option<PathBuf>,
    /// The folder of a model: where a rule leaves a choice of codes, one that the patient did not have
    /// before is drawn by how likely the model finds it. Without, by how often it is in the cohort.
    pub model: Option<ModelInput>,
    /// Whether soft rules draw their outputs anew; else only hard rules change anything.
    pub soft: bool,
    /// What draws depend on: those of soft rules, and those between codes where a rule leaves a choice.
    pub seed: u64,
}

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnforceReport {
    /// The cohort that was read.
    pub cohort: String,
    /// The rule files.
    pub files: Vec<String>,
    /// The model that choices went by.
    pub model: Option<String>,
    /// The cohort that was written, if one was.
    pub out: Option<String>,
    /// Hard rules that now hold.
    pub hard_rules: usize,
    /// Soft rules that were drawn.
    pub soft_rules: usize,
    /// Records read.
    pub records: u64,
    /// Records written.
    pub written: u64,
    /// Records written with some change.
    pub changed: u64,
    /// Codes put into visits.
    pub added_codes: u64,
    /// Codes taken out of visits.
    pub removed_codes: u64,
    /// Codes put in because rules forbade all others that would have done.
    pub last_resorts: u64,
    /// What each rule did, the busiest first.
    pub rules: Vec<RuleChanges>,
    /// Codes that visits have more or less often by more than a fifth, and by 20 visits at least.
    pub moved_codes: Vec<MovedCode>,
    /// The file that lists every change.
    pub changes: Option<String>,
    /// Records that a rule ended early.
    pub cut_records: u64,
    /// Visits dropped from them.
    pub dropped_visits: u64,
    /// Records left out because no record of their length obeys the rules.
    pub refused_records: u64,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

impl EnforceTask {
    /// A repair by hard rules alone, and nothing is written.
    pub fn in_memory(inputs: RecordInputs) -> Self {
        Self { inputs, out: None, changes: None, model: None, soft: false, seed: 0 }
    }

    /// A repair by hard rules alone.
    pub fn new(inputs: RecordInputs, out: impl Into<Out>) -> Self {
        Self { out: Some(out.into()), ..Self::in_memory(inputs) }
    }
}

impl Task for EnforceTask {
    type Report = EnforceReport;

    /// Repairs every record of the cohort and writes those that the referee finds valid: all of them,
    /// or nothing is written. Splits, titles and times are those of the cohort that was read.
    fn run(&self, watch: &dyn Watch) -> Result<EnforceReport, Error> {
        Ok(self.repaired(watch)?.1)
    }
}

impl EnforceTask {
    /// The same, and gives the records too.
    ///
    /// ```
    /// use consequence::enforce::EnforceTask;
    /// use consequence::{RecordInputs, RuleInput, Unwatched};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cohort = folder.path().join("a.jsonl");
    /// std::fs::write(&cohort, r#"{"id": 1, "static": [], "visits": [["DIABETES"], []]}"#)?;
    /// let rules = RuleInput::text("lifelong", "rule lifelong: DIABETES in previous => DIABETES");
    /// let task = EnforceTask::in_memory(RecordInputs::new(&cohort).with_rules([rules]));
    /// let (records, report) = task.repaired(&Unwatched)?;
    /// assert_eq!((records.cohort.record(0).visit(2).len(), report.added_codes), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repaired(&self, watch: &dyn Watch) -> Result<(Dataset, EnforceReport), Error> {
        let out = self.out.as_ref().map(Out::cohort).transpose()?;
        let force = self.out.as_ref().is_some_and(|out| out.force);
        let changes = self.changes.as_ref();
        let changes = changes.map(|path| Out::new(path).replacing(force));
        let changes_file = changes.as_ref().map(Out::file).transpose()?;
        let OpenedRecords { rules: loaded, cohort: known } = self.inputs.open_detailed(watch)?;
        let cohort = &known.cohort;
        let set = chosen(&loaded.rules, self.soft);
        let plan = watched(watch, "compiling and proving", None, || plan(&set, cohort.longest()))?;
        let records = cohort.len() as u64;
        let model = self.model.as_ref().map(|model| ReadModel::open(model, watch)).transpose()?;
        let model = model.as_ref().map(|model| ModelLikelihoods::new(&model.trained, &set));
        let found = watched(watch, "repairing", Some(records), || {
            let draws = Draws::new(self.seed);
            match &model {
                None => repair(&plan, known.records(), &draws, watch),
                Some(model) => repair_by(&plan, known.records(), model, &draws, watch),
            }
        });
        let counts = ChangeCounts::of(plan.plan(), known.records(), &found);
        let Repaired { cohort: repaired, changes: every, .. } = found;
        if repaired.is_empty() {
            return Err(Error::NothingLeft { records });
        }
        let outline = Outline::of(self.inputs.cohort.shown(), &known);
        let before = Known {
            outline: &outline,
            cohort,
            details: known.details.as_ref(),
            splits: &known.splits,
        };
        let dataset = with_what_was_known(repaired, &before, &set);
        let left = Selection::all(&dataset.cohort).detailed(dataset.details.as_ref());
        watched(watch, "judging", Some(left.len() as u64), || judge(&set, left, watch))?;
        if let (Some(_), Some(out)) = (&out, &self.out) {
            watched(watch, "writing", None, || write(out, &dataset))?;
        }
        if let (Some(file), Some(out)) = (&changes_file, &changes) {
            file.write(|file| changes::list(file, &out.path, plan.plan(), cohort, &every))?;
        }
        let report = EnforceReport {
            changes: changes.as_ref().map(Out::shown),
            ..self.report(&loaded, &set, &counts)
        };
        Ok((dataset, report))
    }

    fn report(&self, loaded: &LoadedRules, set: &RuleSet, counts: &ChangeCounts) -> EnforceReport {
        let vocabulary = set.vocabulary();
        let moved = changes::moved(counts, vocabulary);
        let Repair { records, changed, added, removed, last_resorts, cut, dropped_visits, refused } =
            counts.repair;
        let hard = set.iter().filter(|rule| rule.is_hard()).count();
        EnforceReport {
            cohort: self.inputs.cohort.shown(),
            files: loaded.files.clone(),
            model: self.model.as_ref().map(ModelInput::to_string),
            out: self.out.as_ref().map(Out::shown),
            hard_rules: hard,
            soft_rules: set.len() - hard,
            records,
            written: counts.written,
            changed,
            added_codes: added,
            removed_codes: removed,
            last_resorts,
            rules: changes::by_rule(counts, vocabulary),
            warnings: [
                loaded.warnings.iter().map(|warning| warning.render()).collect(),
                moved.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ]
            .concat(),
            moved_codes: moved,
            changes: None,
            cut_records: cut,
            dropped_visits,
            refused_records: refused,
        }
    }
}

/// What was known of records before their repair.
struct Known<'a> {
    outline: &'a Outline,
    cohort: &'a Cohort,
    details: Option<&'a CohortDetails>,
    splits: &'a [Split],
}

/// The records with what was known of them: splits, titles, concepts, dates and values. A record that a rule
/// ended early loses what comes later, and a code that a rule took away its value.
fn with_what_was_known(repaired: Cohort, known: &Known<'_>, set: &RuleSet) -> Dataset {
    let Outline { vocabulary, titles, concepts, scales, .. } = known.outline;
    let code = |code: &Code| set.vocabulary().code(vocabulary.name(*code));
    let (titles, concepts, scales) = (titles.iter(), concepts.iter(), scales.iter());
    let mut splits = Vec::new();
    let mut all_details = known.details.map(|_| CohortDetails::default());
    let mut before = 0..known.cohort.len();
    for (index, record) in repaired.records().enumerate() {
        let id = repaired.id(index);
        // Records keep their order, and some are left out.
        let index = before.find(|&index| known.cohort.id(index) == id);
        let split = index.and_then(|index| known.splits.get(index)).copied();
        splits.push(split.unwrap_or_else(|| Split::of(id)));
        let Some(all_details) = &mut all_details else { continue };
        let details = known.details.zip(index).map(|(details, index)| details.of(index));
        let mut details = details.unwrap_or_default().to_details();
        details.events.retain_mut(|event| {
            let now = code(&event.code);
            event.code = now.unwrap_or(event.code);
            now.is_some()
        });
        let has = |visit: usize, code| record.visit(visit).binary_search(&code).is_ok();
        all_details.push(details.view().kept(record.len() - 1, has).view());
    }
    Dataset {
        splits,
        scales: scales.filter_map(|(old, scale)| Some((code(old)?, scale.clone()))).collect(),
        titles: titles.filter_map(|(old, title)| Some((code(old)?, title.clone()))).collect(),
        concepts: concepts.filter_map(|(old, known)| Some((code(old)?, known.clone()))).collect(),
        details: all_details,
        ..Dataset::new(repaired, Arc::clone(set.vocabulary()))
    }
}

/// Writes the records.
fn write(out: &Out, dataset: &Dataset) -> Result<(), Error> {
    let mut writer = PartWriter::new(out);
    writer.add(dataset)?;
    writer.finish()
}

/// The rules to be enforced.
fn chosen(rules: &Arc<RuleSet>, soft: bool) -> Arc<RuleSet> {
    // Where a record ends is given, so no soft rule draws it.
    let end = rules.vocabulary().end();
    let drawn = |rule: &Rule| soft && !rule.outputs().contains(&end);
    Arc::new(rules.filtered(|rule| rule.is_hard() || drawn(rule)))
}

/// A plan for the repair of records of up to so many encounters.
fn plan(set: &Arc<RuleSet>, longest: usize) -> Result<RepairPlan, Error> {
    let max_visits = u16::try_from(longest).unwrap_or(u16::MAX).max(99);
    let options = CompileOptions { max_visits, ..CompileOptions::default() };
    RepairPlan::compile(Arc::clone(set), &options).map_err(|error| Error::compile(set, error))
}

/// Lets the referee see every record; one bad record stops everything.
fn judge(set: &RuleSet, records: Selection<'_>, watch: &dyn Watch) -> Result<(), Error> {
    let referee = Referee::new(set);
    (0..records.len()).into_par_iter().try_for_each(|index| {
        watch.advance(1);
        match referee.is_valid(&records.record(index)) {
            true => Ok(()),
            false => Err(Error::Rejected { record: index + 1 }),
        }
    })
}

impl Report for EnforceReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Display for EnforceReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let drawn = match self.soft_rules {
            0 => String::new(),
            soft => format!(", with {} drawn", count(soft as u64, "soft rule")),
        };
        let obeying = match self.hard_rules {
            0 => "; there is no hard rule to obey".to_owned(),
            1 => ", each obeying the hard rule (the referee judged every one)".to_owned(),
            hard => format!(
                ", each obeying all {} (the referee judged every one)",
                count(hard as u64, "hard rule")
            ),
        };
        let written = count(self.written, "record");
        match &self.out {
            Some(file) => writeln!(out, "{file}: {written} written{obeying}{drawn}")?,
            None => writeln!(out, "{written} repaired{obeying}{drawn}")?,
        }
        writeln!(
            out,
            "  {} changed: {} added, {} removed",
            count(self.changed, "record"),
            count(self.added_codes, "code"),
            count(self.removed_codes, "code")
        )?;
        for rule in self.rules.iter().take(TOLD_RULES) {
            let most = rule.added_most.iter().map(|(code, times)| format!("{code} {times}"));
            let most: Vec<String> = most.collect();
            let most = match rule.added_codes {
                0 => String::new(),
                _ => format!(" ({})", most.join(", ")),
            };
            writeln!(
                out,
                "    {}: {} added{most}, {} removed",
                rule.rule,
                number(rule.added_codes),
                number(rule.removed_codes)
            )?;
        }
        if self.rules.len() > TOLD_RULES {
            let more = count((self.rules.len() - TOLD_RULES) as u64, "more rule");
            writeln!(out, "    and {more} (all in the report as JSON)")?;
        }
        if self.last_resorts > 0 {
            writeln!(
                out,
                "  {} put in because rules forbade all others that would have done",
                count(self.last_resorts, "code")
            )?;
        }
        if let Some(changes) = &self.changes {
            writeln!(out, "  every change: {changes}")?;
        }
        if self.cut_records > 0 {
            writeln!(
                out,
                "  {} ended early by a rule: {} dropped",
                count(self.cut_records, "record"),
                count(self.dropped_visits, "visit")
            )?;
        }
        if self.refused_records > 0 {
            writeln!(
                out,
                "  {} left out: no record of that length obeys the rules ({} read)",
                count(self.refused_records, "record"),
                number(self.records)
            )?;
        }
        Ok(())
    }
}
