//! A cohort made to obey the rules.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_enforce::{Enforcer, Repair, repair};
use consequence_prng::Draws;
use consequence_record::Cohort;
use consequence_referee::Referee;
use consequence_rules::{CompileOptions, Plan, Rule, RuleSet, compile};
use consequence_store::StoreError;
use consequence_tables::jsonl;
use rayon::prelude::*;
use serde::Serialize;

use crate::source::Opened;
use crate::watch::{Watch, watched};
use crate::words::{count, number};
use crate::{Error, Inputs};

/// How to repair.
#[derive(Clone, Debug, Default)]
pub struct EnforceOptions {
    /// The file to write.
    pub out: PathBuf,
    /// Whether to replace it if it is there.
    pub force: bool,
    /// Whether soft rules draw their outputs anew; else only hard rules change anything.
    pub soft: bool,
    /// What the draws of soft rules depend on.
    pub seed: u64,
}

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnforceReport {
    /// The cohort that was read.
    pub cohort: String,
    /// The rule files.
    pub files: Vec<String>,
    /// The file that was written.
    pub out: String,
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
    /// Records that a rule ended early.
    pub cut_records: u64,
    /// Visits dropped from them.
    pub dropped_visits: u64,
    /// Records left out because a rule forbids them to end where they do.
    pub refused_records: u64,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

/// Repairs every record of the cohort and writes those that the referee finds valid: all of them,
/// or nothing is written.
///
/// ```
/// use consequence::{Inputs, Unwatched};
/// use consequence::enforce::{EnforceOptions, enforce};
///
/// let folder = tempfile::tempdir()?;
/// let [rules, cohort, out] =
///     ["a.rules", "a.jsonl", "repaired.jsonl"].map(|name| folder.path().join(name));
/// std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES")?;
/// std::fs::write(&cohort, r#"{"id": 1, "static": [], "visits": [["DIABETES"], []]}"#)?;
/// let inputs = Inputs { rules: vec![rules], cohort: Some(cohort), ..Inputs::default() };
/// let options = EnforceOptions { out: out.clone(), ..EnforceOptions::default() };
/// assert_eq!(enforce(&inputs, &options, &Unwatched)?.added_codes, 1);
/// assert_eq!(
///     std::fs::read_to_string(out)?,
///     "{\"id\":\"1\",\"static\":[],\"visits\":[[\"DIABETES\"],[\"DIABETES\"]]}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn enforce(
    inputs: &Inputs,
    options: &EnforceOptions,
    watch: &dyn Watch,
) -> Result<EnforceReport, Error> {
    refuse_place(&options.out, options.force)?;
    let Opened { rules: loaded, cohort, .. } = inputs.open(watch)?;
    let cohort = cohort.map(|loaded| loaded.cohort).unwrap_or_default();
    let set = chosen(&loaded.rules, options.soft);
    let plan = watched(watch, "compiling and proving", None, || plan(&set, cohort.longest()))?;
    let records = cohort.len() as u64;
    let enforcer = Enforcer::new(&plan);
    let (repaired, done) = watched(watch, "repairing", Some(records), || {
        repair(&enforcer, &cohort, &Draws::new(options.seed), &|done| watch.advance(done))
    });
    if repaired.is_empty() {
        return Err(Error::NothingLeft { records });
    }
    watched(watch, "judging", Some(repaired.len() as u64), || judge(&set, &repaired, watch))?;
    watched(watch, "writing", None, || jsonl::write(&options.out, &repaired, &set.vocabulary))?;
    let Repair { changed, added, removed, cut, dropped_visits, refused, .. } = done;
    let hard = set.rules.iter().filter(|rule| rule.is_hard()).count();
    Ok(EnforceReport {
        cohort: inputs.cohort.as_ref().map_or_else(String::new, |path| path.display().to_string()),
        files: loaded.files,
        out: options.out.display().to_string(),
        hard_rules: hard,
        soft_rules: set.rules.len() - hard,
        records,
        written: repaired.len() as u64,
        changed,
        added_codes: added,
        removed_codes: removed,
        cut_records: cut,
        dropped_visits,
        refused_records: refused,
        warnings: loaded.warnings.iter().map(|warning| warning.render()).collect(),
    })
}

/// Refuses, before any work is done, a place that cannot be written or must not be.
pub(crate) fn refuse_place(path: &Path, force: bool) -> Result<(), Error> {
    let (path_buf, parent) = (path.to_path_buf(), path.parent().unwrap_or(Path::new("")));
    if path.is_dir() {
        return Err(StoreError::IsDirectory { path: path_buf }.into());
    }
    if !parent.as_os_str().is_empty() && !parent.is_dir() {
        let directory = parent.to_path_buf();
        return Err(StoreError::NoDirectory { path: path_buf, directory }.into());
    }
    if !force && path.is_file() {
        return Err(Error::Exists(path_buf));
    }
    Ok(())
}

/// The rules to be enforced.
fn chosen(rules: &Arc<RuleSet>, soft: bool) -> Arc<RuleSet> {
    // Where a record ends is given, so no soft rule draws it.
    let end = rules.vocabulary.end();
    let drawn = |rule: &&Rule| soft && !rule.outputs().contains(&end);
    let kept = rules.rules.iter().filter(|rule| rule.is_hard() || drawn(rule)).cloned();
    Arc::new(RuleSet { vocabulary: Arc::clone(&rules.vocabulary), rules: kept.collect() })
}

/// A plan for records that already exist: where they end is given, so `END` comes first.
fn plan(set: &Arc<RuleSet>, longest: usize) -> Result<Plan, Error> {
    let options = CompileOptions {
        max_visits: u16::try_from(longest + 1).unwrap_or(u16::MAX).max(100),
        end_first: true,
        ..CompileOptions::default()
    };
    compile(Arc::clone(set), &options).map_err(|error| Error::compile(set, error))
}

/// Lets the referee see every record; one bad record stops everything.
fn judge(set: &RuleSet, cohort: &Cohort, watch: &dyn Watch) -> Result<(), Error> {
    let referee = Referee::new(set);
    (0..cohort.len()).into_par_iter().try_for_each(|index| {
        watch.advance(1);
        match referee.is_valid(&cohort.record(index)) {
            true => Ok(()),
            false => Err(Error::Rejected { record: index + 1 }),
        }
    })
}

impl Display for EnforceReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let drawn = match self.soft_rules {
            0 => String::new(),
            soft => format!(", with {} drawn", count(soft as u64, "soft rule")),
        };
        writeln!(
            out,
            "{}: {} written, each obeying all {} (the referee judged every one){drawn}",
            self.out,
            count(self.written, "record"),
            count(self.hard_rules as u64, "hard rule")
        )?;
        writeln!(
            out,
            "  {} changed: {} added, {} removed",
            count(self.changed, "record"),
            count(self.added_codes, "code"),
            count(self.removed_codes, "code")
        )?;
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
                "  {} left out: a rule forbids {} to end where {} ({} read)",
                count(self.refused_records, "record"),
                if self.refused_records == 1 { "it" } else { "them" },
                if self.refused_records == 1 { "it does" } else { "they do" },
                number(self.records)
            )?;
        }
        Ok(())
    }
}
