//! How well a cohort, from any source, obeys the rules.

mod text;

use std::sync::Arc;

use consequence_enforce::{Auditor, Reader, Violation};
use consequence_record::{Selection, Split};
use consequence_referee::Referee;
use consequence_rules::{CompileLimits, RuleSet, WrittenRules};
use rayon::prelude::*;
use serde::Serialize;

use crate::watch::{Watch, watched};
use crate::{Error, Inputs, RuleReference};

/// How to audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditOptions {
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

impl Default for AuditOptions {
    fn default() -> Self {
        Self { examples: 3, top: 20, show_ids: false, referee: false, split: None }
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

/// Checks every record of the cohort against every hard rule.
///
/// ```
/// use consequence::{Inputs, Unwatched};
/// use consequence::audit::{AuditOptions, audit};
///
/// let folder = tempfile::tempdir()?;
/// let (rules, cohort) = (folder.path().join("a.rules"), folder.path().join("a.jsonl"));
/// std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES")?;
/// std::fs::write(&cohort, r#"{"id": 1, "static": [], "visits": [["DIABETES"], []]}"#)?;
/// let inputs = Inputs { rules: vec![rules], cohort: Some(cohort), ..Inputs::default() };
/// let report = audit(&inputs, &AuditOptions::default(), &Unwatched)?;
/// assert_eq!((report.violations(), report.broken[0].examples[0].visit), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn audit(
    inputs: &Inputs,
    options: &AuditOptions,
    watch: &dyn Watch,
) -> Result<AuditReport, Error> {
    let (loaded, known) = inputs.open_records("audit", watch)?;
    let cohort = &known.cohort;
    let of_split = options.split.map(|split| split.indices(&known.splits));
    let chosen = match &of_split {
        None => Selection::all(cohort),
        Some(records) => Selection::new(cohort, records),
    };
    if let Some(split) = options.split.filter(|_| chosen.is_empty()) {
        return Err(Error::Cohort {
            path: inputs.cohort.clone().unwrap_or_default(),
            what: format!("no record is in the {split} split"),
            help: "audit another split, or all records",
        });
    }
    let set = &loaded.rules;
    let written = WrittenRules::new(Arc::clone(set), &CompileLimits::default())
        .map_err(|error| Error::compile(set, error))?;
    let auditor = Auditor::new(&written);
    let records = chosen.len() as u64;
    let found = watched(watch, "auditing", Some(records), || {
        auditor.audit(chosen, options.examples, &|done| watch.advance(done))
    });
    if options.referee {
        watched(watch, "judging again", Some(records), || agree(&auditor, set, chosen, watch))?;
    }
    let mut broken: Vec<BrokenRule> = set
        .rules
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
                    id: options.show_ids.then(|| cohort.id(example.record).to_owned()),
                })
                .collect(),
        })
        .collect();
    broken.sort_by_key(|rule| std::cmp::Reverse(rule.violations));
    let hard = set.rules.iter().filter(|rule| rule.is_hard()).count();
    Ok(AuditReport {
        cohort: inputs.cohort.as_ref().map_or_else(String::new, |path| path.display().to_string()),
        files: loaded.files,
        split: options.split.map(Split::name),
        records: found.records,
        encounters: found.visits - found.records.min(found.visits),
        valid_records: found.valid_records,
        within_visit_violations: found.within_visit_violations,
        temporal_violations: found.temporal_violations,
        rules_checked: hard,
        soft_rules: set.rules.len() - hard,
        broken,
        refereed: options.referee,
        records_are_lines: known.records_are_lines,
        warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
        top: options.top,
    })
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
                rule: set.rules[violation.rule].name.to_string(),
            }),
        }
    };
    (0..records.len()).into_par_iter().try_for_each_init(|| auditor.reader(), compare)
}
