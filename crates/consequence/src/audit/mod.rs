//! How well a cohort, from any source, obeys the rules.

mod cause;
mod list;
mod page;
mod text;

use std::path::PathBuf;
use std::sync::Arc;

use consequence_enforce::{Audit, Auditor, Example, Reader, RuleFinding, Violation};
use consequence_pipeline::load::{LoadedCohort, LoadedRules};
use consequence_pipeline::parts::{Outline, rules_in_rounds};
use consequence_pipeline::{
    Error, OpenedRecords, Out, RecordInputs, Report, RuleReference, Task, Watch, watched,
};
use consequence_record::{Cohort, DetailsView, Selection, Split};
use consequence_referee::Referee;
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use consequence_tally::{Block, Rounds, Whose};
use rayon::prelude::*;
use serde::Serialize;

pub use self::cause::{ExplainedViolation, MissingCode, PresentCode};

use self::cause::{Causes, Reasons};
use crate::look::{Lexicon, ReadRecord, Seen, Titles};

/// A cohort to be held against rules.
///
/// ```
/// use consequence::audit::AuditTask;
/// use consequence::{RecordInputs, Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let (rules, cohort) = (folder.path().join("a.rules"), folder.path().join("a.jsonl"));
/// std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES")?;
/// std::fs::write(&cohort, r#"{"id": 1, "static": [], "visits": [["DIABETES"], []]}"#)?;
/// let report = AuditTask::new(RecordInputs::new(cohort).with_rules([rules])).run(&Unwatched)?;
/// assert_eq!((report.violations(), report.broken[0].examples[0].visit), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AuditTask {
    /// The cohort, and the rules.
    pub inputs: RecordInputs,
    /// Examples kept for each rule.
    pub examples: usize,
    /// Rules listed in the text; the rest are counted.
    pub top: usize,
    /// Whether examples name the patient rather than the number of the record alone.
    pub show_ids: bool,
    /// Whether the naive referee judges every record again.
    pub referee: bool,
    /// Only records of this split; none: all records.
    pub split: Option<Split>,
    /// Only the record of this patient, explained; `#17` is the record with number 17.
    pub record: Option<String>,
    /// Lists of codes with titles, for codes that the cohort gives none.
    pub titles: Vec<PathBuf>,
    /// Rules that fewer records break are counted, and nothing else is told of them; 0: all are told.
    pub hide_below: u64,
    /// A file for every violation: JSON lines or CSV, by its ending.
    pub all: Option<Out>,
    /// A page to write.
    pub html: Option<Out>,
}

impl AuditTask {
    /// An audit of all records.
    pub fn new(inputs: RecordInputs) -> Self {
        Self {
            inputs,
            examples: 3,
            top: 20,
            show_ids: false,
            referee: false,
            split: None,
            record: None,
            titles: Vec::new(),
            hide_below: 0,
            all: None,
            html: None,
        }
    }
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// The rule files.
    pub files: Vec<String>,
    /// The split whose records were looked at; none: all of them.
    pub split: Option<&'static str>,
    /// Records looked at.
    pub records: u64,
    /// Encounters looked at; static visits are not counted.
    pub encounters: u64,
    /// Records that break no hard rule.
    pub valid_records: u64,
    /// Violations of rules that look at one visit only.
    pub within_visit_violations: u64,
    /// Violations of rules that look back.
    pub temporal_violations: u64,
    /// Hard rules that were checked.
    pub rules_checked: usize,
    /// Soft rules, which nothing can violate.
    pub soft_rules: usize,
    /// The rules that were broken, the most broken first.
    pub broken: Vec<BrokenRule>,
    /// Rules that fewer records break than may be told of. No other figure counts them.
    pub hidden_rules: usize,
    /// The file with every violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<ListedViolations>,
    /// The record that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<ExplainedRecord>,
    /// The page that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Whether the referee judged every record too.
    pub refereed: bool,
    /// Whether the number of a record is also its line in the file.
    pub records_are_lines: bool,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
    #[serde(skip)]
    top: usize,
    #[serde(skip)]
    hide_below: u64,
}

/// A file with every violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedViolations {
    /// The file.
    pub file: String,
    /// Violations in it.
    pub violations: u64,
}

/// A record, and what breaks rules in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedRecord {
    /// The record.
    pub record: ReadRecord,
    /// Its violations, in the order of its visits.
    pub violations: Vec<ExplainedViolation>,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenRule {
    /// The rule.
    pub rule: RuleReference,
    /// Whether it looks back at earlier visits.
    pub temporal: bool,
    /// Visits that break it.
    pub violations: u64,
    /// Records with such a visit.
    pub records: u64,
    /// Why the rule is there: the comment above it in its file.
    pub reason: Option<String>,
    /// The first of them.
    pub examples: Vec<BrokenVisit>,
}

/// A visit that breaks a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BrokenVisit {
    /// The record, counted from 1.
    pub record: usize,
    /// The visit; 0 is the static visit.
    pub visit: usize,
    /// The patient, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What breaks the rule there, in words.
    pub why: String,
}

impl AuditReport {
    /// All violations.
    pub fn violations(&self) -> u64 {
        self.within_visit_violations + self.temporal_violations
    }
}

impl Report for AuditReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn found(&self) -> bool {
        self.violations() > 0 || self.hidden_rules > 0
    }
}

impl Task for AuditTask {
    type Report = AuditReport;

    /// Checks every record of the cohort against every hard rule.
    fn run(&self, watch: &dyn Watch) -> Result<AuditReport, Error> {
        let form = self.all.as_ref().map(|out| list::Form::of(&out.path)).transpose()?;
        let all = self.all.as_ref().map(Out::file).transpose()?;
        let html = self.html.as_ref().map(Out::file).transpose()?;
        // Dates are read only where they are told.
        let detailed = self.record.is_some() || all.is_some() || html.is_some();
        let OpenedRecords { rules: loaded, cohort: known } = match detailed {
            true => self.inputs.open_detailed(watch)?,
            false => self.inputs.open(watch)?,
        };
        let cohort = &known.cohort;
        let chosen = self.chosen(&known)?;
        let chosen = match &chosen {
            None => Selection::all(cohort),
            Some(records) => Selection::new(cohort, records),
        };
        let chosen = chosen.detailed(known.details.as_ref());
        let set = &loaded.rules;
        let written = WrittenRules::new(Arc::clone(set), &CompileLimits::default())
            .map_err(|error| Error::compile(set, error))?;
        let auditor = Auditor::new(&written);
        let mut rounds = Rounds::whole(Block { records: chosen, splits: &known.splits });
        let (found, hidden) = self.found(&auditor, set, &mut rounds, watch)?;
        let titles = Titles::new(set.vocabulary(), &known.titles, &self.titles)?;
        let causes = Causes::new(&written, &titles, self.show_ids);
        let seen = |index: usize| seen(&known, index);
        let mut reader = auditor.reader();
        let place = |rule: &str, example: &Example| {
            let record = seen(example.record);
            let violations = causes.of(&mut reader, &record);
            let here = |one: &&ExplainedViolation| one.visit == example.visit && one.rule == rule;
            BrokenVisit {
                record: example.record + 1,
                visit: example.visit,
                id: self.show_ids.then(|| record.id.to_owned()),
                why: violations.iter().find(here).map(ToString::to_string).unwrap_or_default(),
            }
        };
        let mut report = AuditReport {
            records_are_lines: known.records_are_lines,
            ..self.report(&loaded, found, hidden, place)
        };
        let lexicon =
            Lexicon { vocabulary: &known.vocabulary, titles: &titles, scales: &known.scales };
        let explain = |index: usize| ExplainedRecord {
            record: ReadRecord::of(&seen(index), lexicon, self.show_ids),
            violations: causes.of(&mut auditor.reader(), &seen(index)),
        };
        report.explained = self.record.as_ref().map(|_| explain(chosen.index(0)));
        if let (Some(out), Some(form)) = (&all, form) {
            let told = |one: &ExplainedViolation| report.tells(one);
            let (how, by) = ((self.show_ids, watch), (&auditor, &causes));
            let violations = list::write(out, form, by, chosen, &seen, &told, how)?;
            let file = self.all.as_ref().map(Out::shown).unwrap_or_default();
            report.all = Some(ListedViolations { file, violations });
        }
        if let Some(html) = html {
            let page = report.page(set, &explain).html();
            html.write(|file| file.write_all(page.as_bytes()))?;
            report.html = self.html.as_ref().map(Out::shown);
        }
        Ok(report)
    }
}

/// A record with what is known of it.
fn seen(known: &LoadedCohort, index: usize) -> Seen<'_> {
    let details = known.details.as_ref();
    Seen {
        index,
        id: known.cohort.id(index),
        split: known.splits[index],
        record: known.records().record(index),
        details: details.map_or_else(DetailsView::default, |details| details.of(index)),
    }
}

impl AuditTask {
    /// The records to be looked at; none: all.
    fn chosen(&self, known: &LoadedCohort) -> Result<Option<Vec<usize>>, Error> {
        let refused = |what: String, advice: &'static str| {
            Err(Error::refused_at(&self.inputs.cohort, what, advice))
        };
        let mut chosen = self.split.map(|split| split.indices(&known.splits));
        if let Some(split) = self.split.filter(|_| chosen.as_ref().is_some_and(Vec::is_empty)) {
            let what = format!("no record is in the {split} split");
            return refused(what, "audit another split, or all records");
        }
        if let Some(wanted) = &self.record {
            let Some(index) = find(&known.cohort, wanted) else {
                let what = format!("no record is of the patient {wanted:?}");
                let advice = "give the patient's id as the cohort has it, or {record=#17} for the \
                              record with number 17";
                return refused(what, advice);
            };
            if self.split.is_some_and(|split| known.splits[index] != split) {
                let what = "the record is not in the split".to_owned();
                return refused(what, "ask for the record without {split}");
            }
            chosen = Some(vec![index]);
        }
        Ok(chosen)
    }

    /// The same of records that are counted in rounds, in parts or all together. Nothing is told of single records:
    /// there are no examples, and neither a list nor a page.
    pub fn counted(
        &self,
        outline: &Outline,
        rounds: &mut Rounds<'_>,
        watch: &dyn Watch,
    ) -> Result<AuditReport, Error> {
        let task = Self { examples: 0, ..self.clone() };
        let loaded = rules_in_rounds(&self.inputs, outline, rounds)?;
        let set = &loaded.rules;
        let written = WrittenRules::new(Arc::clone(set), &CompileLimits::default())
            .map_err(|error| Error::compile(set, error))?;
        let (found, hidden) = task.found(&Auditor::new(&written), set, rounds, watch)?;
        if let Some(split) = self.split.filter(|_| found.records == 0) {
            let what = format!("no record is in the {split} split");
            return Err(Error::refused(what, "audit another split, or all records"));
        }
        let place = |_: &str, _: &Example| BrokenVisit::default();
        Ok(task.report(&loaded, found, hidden, place))
    }

    /// What records break, and how many rules are not told of.
    fn found(
        &self,
        auditor: &Auditor,
        set: &RuleSet,
        rounds: &mut Rounds<'_>,
        watch: &dyn Watch,
    ) -> Result<(Audit, usize), Error> {
        let mut found: Audit = rounds.count(Whose::Cohort, "audit", |block| {
            let of_split = self.of_split(block);
            let chosen = of_split.as_ref().map_or(block.records, |some| block.records.others(some));
            let records = chosen.len() as u64;
            let found = watched(watch, "auditing", Some(records), || {
                auditor.audit(chosen, self.examples, watch)
            });
            if self.referee {
                let again = || agree(auditor, set, chosen, watch);
                watched(watch, "judging again", Some(records), again)?;
            }
            Ok::<_, Error>(found)
        })?;
        let hidden = self.hide(&mut found, auditor, set, rounds)?;
        Ok((found, hidden))
    }

    /// The records of the split that is asked for; none: all of them.
    fn of_split(&self, block: &Block<'_>) -> Option<Vec<usize>> {
        let split = self.split?;
        Some(block.indices().filter(|&index| block.splits[index] == split).collect())
    }

    /// What was found, with what is told of examples.
    fn report(
        &self,
        loaded: &LoadedRules,
        found: Audit,
        hidden: usize,
        place: impl FnMut(&str, &Example) -> BrokenVisit,
    ) -> AuditReport {
        let set = &loaded.rules;
        let hard = set.iter().filter(|rule| rule.is_hard()).count();
        AuditReport {
            cohort: self.inputs.cohort.shown(),
            files: loaded.files.clone(),
            split: self.split.map(Split::name),
            records: found.records,
            encounters: found.visits - found.records.min(found.visits),
            valid_records: found.valid_records,
            within_visit_violations: found.within_visit_violations,
            temporal_violations: found.temporal_violations,
            rules_checked: hard,
            soft_rules: set.len() - hard,
            broken: broken(set, found.rules, place),
            hidden_rules: hidden,
            all: None,
            explained: None,
            html: None,
            refereed: self.referee,
            records_are_lines: false,
            warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
            top: self.top,
            hide_below: self.hide_below,
        }
    }

    /// Forgets the rules that fewer records break than may be told of, and says how many they are. What
    /// is left is as if they had not been checked.
    fn hide(
        &self,
        found: &mut Audit,
        auditor: &Auditor,
        set: &RuleSet,
        rounds: &mut Rounds<'_>,
    ) -> Result<usize, Error> {
        let hidden: Vec<bool> = (found.rules.iter())
            .map(|rule| rule.records > 0 && rule.records < self.hide_below)
            .collect();
        if self.hide_below > 0 {
            // A place of a violation is a patient.
            found.rules.iter_mut().for_each(|rule| rule.examples.clear());
        }
        if !hidden.contains(&true) {
            return Ok(0);
        }
        let invalid: u64 =
            rounds.count(Whose::Cohort, "records that break what is told", |block| {
                let of_split = self.of_split(block);
                let chosen =
                    of_split.as_ref().map_or(block.records, |some| block.records.others(some));
                let broken = |reader: &mut Reader<'_>, number: usize| {
                    let mut violations = Vec::new();
                    reader.violations(chosen.record(number), &mut violations);
                    violations.iter().any(|one| !hidden[one.rule])
                };
                let invalid = (0..chosen.len()).into_par_iter();
                let invalid =
                    invalid.map_init(|| auditor.reader(), broken).filter(|&any| any).count();
                Ok::<_, Error>(invalid as u64)
            })?;
        found.valid_records = found.records - invalid;
        for ((rule, finding), _) in
            set.iter().zip(&mut found.rules).zip(&hidden).filter(|(_, hidden)| **hidden)
        {
            let violations = match rule.is_temporal() {
                true => &mut found.temporal_violations,
                false => &mut found.within_visit_violations,
            };
            *violations -= finding.violations;
            *finding = Default::default();
        }
        Ok(hidden.into_iter().filter(|&hidden| hidden).count())
    }
}

/// The rules that were broken, the most broken first.
fn broken(
    set: &RuleSet,
    found: Vec<RuleFinding>,
    mut place: impl FnMut(&str, &Example) -> BrokenVisit,
) -> Vec<BrokenRule> {
    let mut reasons = Reasons::default();
    let mut broken: Vec<BrokenRule> = set
        .iter()
        .zip(found)
        .filter(|(_, finding)| finding.violations > 0)
        .map(|(rule, finding)| BrokenRule {
            rule: RuleReference::new(rule),
            temporal: rule.is_temporal(),
            violations: finding.violations,
            records: finding.records,
            reason: reasons.of(&rule.origin),
            examples: finding.examples.iter().map(|one| place(&rule.name, one)).collect(),
        })
        .collect();
    broken.sort_by_key(|rule| std::cmp::Reverse(rule.violations));
    broken
}

/// The index of a patient's record, or of the record with a number such as `#17`.
fn find(cohort: &Cohort, wanted: &str) -> Option<usize> {
    let numbered = || {
        let number: usize = wanted.strip_prefix('#')?.parse().ok()?;
        number.checked_sub(1).filter(|&index| index < cohort.len())
    };
    (0..cohort.len()).find(|&index| cohort.id(index) == wanted).or_else(numbered)
}

impl AuditReport {
    /// Whether a violation is of a rule that may be told of.
    fn tells(&self, violation: &ExplainedViolation) -> bool {
        let same = |one: &BrokenRule| {
            (one.rule.name.as_str(), one.rule.line) == (violation.rule.as_str(), violation.line)
        };
        self.hide_below == 0 || self.broken.iter().any(same)
    }
}

/// Has the referee judge every record, and refuses any disagreement with the auditor.
fn agree(
    auditor: &Auditor,
    set: &RuleSet,
    records: Selection<'_>,
    watch: &dyn Watch,
) -> Result<(), Error> {
    let referee = Referee::new(set);
    let compare = |reader: &mut Reader<'_>, number: usize| {
        let record = records.record(number);
        let mut ours = Vec::new();
        reader.violations(record, &mut ours);
        let theirs: Vec<Violation> = referee
            .violations(&record)
            .into_iter()
            .map(|found| Violation { visit: found.visit, rule: found.rule })
            .collect();
        watch.advance(1);
        let only = |of: &[Violation], not_of: &[Violation]| {
            of.iter().find(|&violation| !not_of.contains(violation)).copied()
        };
        match only(&ours, &theirs).or_else(|| only(&theirs, &ours)) {
            None => Ok(()),
            Some(violation) => Err(Error::Disagreement {
                record: records.index(number) + 1,
                visit: violation.visit,
                rule: set[violation.rule].name.to_string(),
            }),
        }
    };
    (0..records.len()).into_par_iter().try_for_each_init(|| auditor.reader(), compare)
}
