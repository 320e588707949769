//! Rules that nobody needs to be told, for a cohort.

use std::fmt::{self, Display, Formatter};

use consequence_pipeline::words::{count, number};
use consequence_pipeline::{CohortInput, Error, Out, Report, Task, Watch, load, watched};
use consequence_tables::Dataset;
use serde::Serialize;

pub use consequence_mine::{CommonSense, Sense, SenseRule, common_sense as search};

/// A cohort whose rules of common sense are written to a file: one sex and one age band, nothing
/// after death, and whatever else follows from how records are built.
///
/// ```
/// use consequence::common_sense::CommonSenseTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, out] = ["cohort.jsonl", "common-sense.rules"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [\"SEX//F\"], \"visits\": [[], [\"DEATH\"]]}}\n");
/// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
///
/// let report = CommonSenseTask::new(cohort, &out).run(&Unwatched)?;
/// assert_eq!(report.found.kept().count(), 2);
/// assert!(std::fs::read_to_string(out)?.contains("DEATH => END"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommonSenseTask {
    /// The cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: CohortInput,
    /// The rule file to write; none: the rules are in the report alone.
    pub out: Option<Out>,
    /// The file for codes that a sex never has, which are for writing records and not for training; none:
    /// they are not written.
    pub never_seen: Option<Out>,
}

impl CommonSenseTask {
    /// Without the codes that a sex never has.
    pub fn new(cohort: impl Into<CohortInput>, out: impl Into<Out>) -> Self {
        Self { cohort: cohort.into(), out: Some(out.into()), never_seen: None }
    }
}

/// Rules of common sense that were written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommonSenseReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// The rule file that was written, if one was.
    pub out: Option<String>,
    /// The file of codes that a sex never has.
    pub never_seen: Option<String>,
    /// The rules, those that were left out, and what could not be checked.
    #[serde(flatten)]
    pub found: CommonSense,
}

impl Task for CommonSenseTask {
    type Report = CommonSenseReport;

    /// Finds the rules of common sense that a cohort speaks of, and writes them.
    fn run(&self, watch: &dyn Watch) -> Result<CommonSenseReport, Error> {
        let out = self.out.as_ref().map(Out::file).transpose()?;
        let never_seen = self.never_seen.as_ref().map(Out::file).transpose()?;
        let loaded = load::cohort(&self.cohort, None, watch)?;
        let Dataset { cohort, vocabulary, splits, .. } = &*loaded;
        let found = watched(watch, "looking", None, || search(cohort, vocabulary, splits));
        if let Some(out) = out {
            out.write(|file| file.write_all(found.text().as_bytes()))?;
        }
        if let Some(never_seen) = never_seen {
            never_seen.write(|file| file.write_all(found.never_seen_text().as_bytes()))?;
        }
        Ok(CommonSenseReport {
            cohort: self.cohort.shown(),
            out: self.out.as_ref().map(Out::shown),
            never_seen: self.never_seen.as_ref().map(Out::shown),
            found,
        })
    }
}

impl Report for CommonSenseReport {}

impl Display for CommonSenseReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { cohort, found, .. } = self;
        let is_unseen = |rule: &&SenseRule| rule.sense == Sense::NeverSeen;
        let built = || found.kept().filter(|rule| !is_unseen(rule));
        let rules = count(built().count() as u64, "rule");
        if let Some(file) = &self.out {
            write!(out, "{file}: ")?;
        }
        writeln!(out, "{rules} of common sense for {cohort}")?;
        for rule in built() {
            write!(out, "  {}", rule.sentence)?;
            match rule.broken {
                0 => writeln!(out)?,
                broken => {
                    let all = count(rule.could_break, "record");
                    writeln!(out, " ({} of {all} that could break it do)", number(broken))?;
                }
            }
        }
        if let Some(never_seen) = &self.never_seen {
            writeln!(out, "{never_seen}: for writing records, and not for training")?;
            for rule in found.kept().filter(is_unseen) {
                writeln!(out, "  {}", rule.sentence)?;
            }
        }
        for rule in found.left_out() {
            let (broken, all) = (number(rule.broken), count(rule.could_break, "record"));
            writeln!(out, "  left out: {} ({broken} of {all} break it)", rule.sentence)?;
        }
        for missing in &found.missing {
            writeln!(out, "  not checked: {missing}")?;
        }
        Ok(())
    }
}
