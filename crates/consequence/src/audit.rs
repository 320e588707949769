//! How well a cohort, from any source, obeys the rules.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use consequence_enforce::{Auditor, Reader, Violation};
use consequence_pipeline::words::{count, list, number, percent};
use consequence_pipeline::{
    Error, OpenedRecords, RecordInputs, Report, RuleReference, Task, Watch, watched,
};
use consequence_record::{Selection, Split};
use consequence_referee::Referee;
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use rayon::prelude::*;
use serde::Serialize;

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
}

impl AuditTask {
    /// An audit of all records.
    pub fn new(inputs: RecordInputs) -> Self {
        Self { inputs, examples: 3, top: 20, show_ids: false, referee: false, split: None }
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
    /// Whether the referee judged every record too.
    pub refereed: bool,
    /// Whether the number of a record is also its line in the file.
    pub records_are_lines: bool,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
    #[serde(skip)]
    top: usize,
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
    /// The first of them.
    pub examples: Vec<BrokenVisit>,
}

/// A visit that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenVisit {
    /// The record, counted from 1.
    pub record: usize,
    /// The visit; 0 is the static visit.
    pub visit: usize,
    /// The patient, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
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
        self.violations() > 0
    }
}

impl Task for AuditTask {
    type Report = AuditReport;

    /// Checks every record of the cohort against every hard rule.
    fn run(&self, watch: &dyn Watch) -> Result<AuditReport, Error> {
        let OpenedRecords { rules: loaded, cohort: known } = self.inputs.open(watch)?;
        let cohort = &known.cohort;
        let of_split = self.split.map(|split| split.indices(&known.splits));
        let chosen = match &of_split {
            None => Selection::all(cohort),
            Some(records) => Selection::new(cohort, records),
        };
        if let Some(split) = self.split.filter(|_| chosen.is_empty()) {
            let what = format!("no record is in the {split} split");
            let advice = "audit another split, or all records";
            return Err(Error::refused_at(&self.inputs.cohort, what, advice));
        }
        let set = &loaded.rules;
        let written = WrittenRules::new(Arc::clone(set), &CompileLimits::default())
            .map_err(|error| Error::compile(set, error))?;
        let auditor = Auditor::new(&written);
        let records = chosen.len() as u64;
        let found = watched(watch, "auditing", Some(records), || {
            auditor.audit(chosen, self.examples, watch)
        });
        if self.referee {
            watched(watch, "judging again", Some(records), || agree(&auditor, set, chosen, watch))?;
        }
        let mut broken: Vec<BrokenRule> = set
            .iter()
            .zip(found.rules)
            .filter(|(_, finding)| finding.violations > 0)
            .map(|(rule, finding)| BrokenRule {
                rule: RuleReference::new(rule),
                temporal: rule.is_temporal(),
                violations: finding.violations,
                records: finding.records,
                examples: finding
                    .examples
                    .iter()
                    .map(|example| BrokenVisit {
                        record: example.record + 1,
                        visit: example.visit,
                        id: self.show_ids.then(|| cohort.id(example.record).to_owned()),
                    })
                    .collect(),
            })
            .collect();
        broken.sort_by_key(|rule| std::cmp::Reverse(rule.violations));
        let hard = set.iter().filter(|rule| rule.is_hard()).count();
        Ok(AuditReport {
            cohort: self.inputs.cohort.display().to_string(),
            files: loaded.files,
            split: self.split.map(Split::name),
            records: found.records,
            encounters: found.visits - found.records.min(found.visits),
            valid_records: found.valid_records,
            within_visit_violations: found.within_visit_violations,
            temporal_violations: found.temporal_violations,
            rules_checked: hard,
            soft_rules: set.len() - hard,
            broken,
            refereed: self.referee,
            records_are_lines: known.records_are_lines,
            warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
            top: self.top,
        })
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

impl Display for AuditReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let split = self.split.map_or_else(String::new, |split| format!(" ({split} split)"));
        writeln!(
            out,
            "{}{split}: {}, {}, against {} of {}",
            self.cohort,
            count(self.records, "record"),
            count(self.encounters, "encounter"),
            count(self.rules_checked as u64, "hard rule"),
            list(&self.files)
        )?;
        if self.refereed {
            writeln!(out, "  the referee judged every record again and agrees")?;
        }
        if self.rules_checked == 0 {
            return writeln!(out, "\nno hard rules: there is nothing that a record could break");
        }
        if self.violations() == 0 {
            return writeln!(out, "\nno violations: every record obeys every hard rule");
        }
        writeln!(
            out,
            "\n{} valid ({} of {})",
            percent(self.valid_records, self.records),
            number(self.valid_records),
            count(self.records, "record")
        )?;
        writeln!(
            out,
            "{}: {} of rules within a visit, {} of rules looking back",
            count(self.violations(), "violation"),
            number(self.within_visit_violations),
            number(self.temporal_violations)
        )?;
        self.table(out)?;
        let kept = self.rules_checked - self.broken.len().min(self.rules_checked);
        if kept > 0 {
            writeln!(out, "\n{} broken by no record", count(kept as u64, "rule"))?;
        }
        if self.records_are_lines && self.broken.iter().any(|rule| !rule.examples.is_empty()) {
            writeln!(out, "\nrecord N is line N of {}", self.cohort)?;
        }
        Ok(())
    }
}

impl AuditReport {
    fn table(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let shown = &self.broken[..self.top.min(self.broken.len())];
        let width = |heading: &str, cell: &dyn Fn(&BrokenRule) -> usize| {
            shown.iter().map(cell).chain([heading.len()]).max().unwrap_or(0)
        };
        let names = width("rule", &|rule| rule.rule.name.chars().count());
        let violations = width("violations", &|rule| number(rule.violations).len());
        let records = width("records", &|rule| number(rule.records).len());
        if shown.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\n  {:names$}  {:>violations$}  {:>records$}  first seen in",
            "rule", "violations", "records"
        )?;
        for rule in shown {
            let examples: Vec<String> = rule.examples.iter().map(ToString::to_string).collect();
            writeln!(
                out,
                "  {:names$}  {:>violations$}  {:>records$}  {}",
                rule.rule.name,
                number(rule.violations),
                number(rule.records),
                examples.join("; ")
            )?;
        }
        match self.broken.len() - shown.len() {
            0 => Ok(()),
            more => writeln!(
                out,
                "  and {} (all in the report as JSON)",
                count(more as u64, "more rule")
            ),
        }
    }
}

impl Display for BrokenVisit {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "record {}", self.record)?;
        if let Some(id) = &self.id {
            write!(out, " ({})", id.escape_debug())?;
        }
        match self.visit {
            0 => out.write_str(", static"),
            visit => write!(out, ", visit {visit}"),
        }
    }
}
