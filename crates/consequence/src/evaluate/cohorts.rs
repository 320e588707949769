//! How close generated records come to real ones.

use std::sync::Arc;

use consequence_evaluate::{
    CompareOptions, Comparison, Correlations, Measured, Privacy, PrivacyOptions, Reference, Timing,
    TimingOptions, Utility, UtilityOptions, Violations, ViolationsError, privacy, timing, utility,
    violations,
};
use consequence_pipeline::load::{self, LoadedRules, RuleOptions};
use consequence_pipeline::{
    CodeSource, CohortInput, Error, Out, Report, RuleInput, Task, Watch, watched,
};
use consequence_record::Selection;
use consequence_rules::{CompileLimits, UnknownCodes};
use consequence_store::{AtomicFolder, Belongs, StoreError, write_atomically};
use serde::Serialize;

use super::page::page;
use super::pair::{OnlyIn, Pair};
use crate::broken::BrokenRecords;

/// The page to read, and the figures for programs.
const REPORT_FILE: &str = "report.html";
const METRICS_FILE: &str = "metrics.json";

/// Generated records, and the real ones to hold them against.
///
/// ```
/// use consequence::evaluate::EvaluateTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [real, synthetic] = ["real.jsonl", "synthetic.jsonl"].map(|name| folder.path().join(name));
/// let line = |n: usize| {
///     let visit = ["\"A\"", "\"A\",\"B\"", "\"C\""][n % 3];
///     format!("{{\"id\": {n}, \"static\": [], \"visits\": [[{visit}]]}}\n")
/// };
/// std::fs::write(&real, (0..300).map(line).collect::<String>())?;
/// std::fs::write(&synthetic, (1000..1300).map(line).collect::<String>())?;
/// let report = EvaluateTask::new(real, synthetic).run(&Unwatched)?;
/// assert!(report.comparison.all.code.r2.unwrap() > 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EvaluateTask {
    /// The real cohort: its train split is what the other is held against.
    pub real: CohortInput,
    /// The generated cohort, from any source.
    pub synthetic: CohortInput,
    /// Rule files that the generated records are audited by.
    pub rules: Vec<RuleInput>,
    /// What a code means that a rule names and neither cohort has.
    pub unknown_codes: UnknownCodes,
    /// Whether to leave out the rules that the real cohort brings along.
    pub no_own_rules: bool,
    /// The folder for a report to read and the figures for programs; with it, utility and privacy are
    /// measured too.
    pub out: Option<Out>,
}

/// How close generated records come to real ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluateReport {
    /// The real cohort, as the user named it.
    pub real: String,
    /// The generated cohort.
    pub synthetic: String,
    /// Whether the real records are those of the train split; else they are all that are not held out.
    pub of_train_split: bool,
    /// Codes that only one of the cohorts has.
    pub codes: OnlyIn,
    /// Generated records with exactly the codes of a real one, whatever their order.
    pub copies: u64,
    /// All generated records beside the real ones.
    pub comparison: Comparison,
    /// Real records that the figures are of no use without.
    pub fresh: Option<FreshSample>,
    /// Dates, stays, ages and values, beside those of the real records and of other real ones.
    pub timing: Timing,
    /// The rule files.
    pub files: Vec<String>,
    /// What the real records break of the rules.
    pub broken: Option<BrokenRecords>,
    /// How the generated records obey the rules.
    pub obedience: Option<Obedience>,
    /// The same rule by rule, rules within a visit and temporal rules apart.
    pub violations: Option<Violations>,
    /// What generated records are good for and what they give away; only with a report.
    pub deep: Option<Deeper>,
    /// The report that was written.
    pub report: Option<String>,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

/// What generated records are good for, and what they give away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deeper {
    /// Models trained on them, tried on held-out records.
    pub utility: Measured<Utility>,
    /// What they give away of the records trained on.
    pub privacy: Privacy,
}

/// Real records of other patients, and as many generated ones: what could be reached, and what was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FreshSample {
    /// Records of each.
    pub records: usize,
    /// The real records, of the held-out split and then of the tuning split.
    pub real: Correlations,
    /// The first of the generated records.
    pub synthetic: Correlations,
}

/// How records obey rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Obedience {
    /// Hard rules.
    pub hard_rules: usize,
    /// Records.
    pub records: u64,
    /// Records that break none.
    pub valid_records: u64,
    /// Violations.
    pub violations: u64,
    /// Rules that are broken.
    pub broken_rules: usize,
}

impl Task for EvaluateTask {
    type Report = EvaluateReport;

    /// Holds generated records against the train split of a real cohort: how far the frequencies of codes,
    /// of pairs of codes and of sequential pairs agree, how long records are, how far dates and values agree,
    /// and which rules they break.
    fn run(&self, watch: &dyn Watch) -> Result<EvaluateReport, Error> {
        let _out = self.out.as_ref().map(Out::folder).transpose()?;
        // A folder that may not be replaced is refused before there is anything to put there.
        self.folder()?;
        let pair = Pair::load(&self.real, &self.synthetic, watch)?;
        let reference =
            Reference::new(pair.real_sample(), &pair.vocabulary, &CompareOptions::default())?;
        let (comparison, fresh, timed) =
            watched(watch, "comparing", None, || -> Result<_, Error> {
                let timed = timing(&pair.timing_samples(), &TimingOptions::default())?;
                Ok((reference.compare(pair.synthetic_sample())?, pair.fresh(&reference)?, timed))
            })?;
        let files = load::with_own(&self.rules, Some(&self.real), self.no_own_rules);
        let rules = match files.is_empty() {
            true => None,
            false => Some(rules_over(&files, &pair, self.unknown_codes)?),
        };
        let broken = match &rules {
            Some(loaded) => Some(BrokenRecords::find(&loaded.rules, Selection::all(&pair.real))?),
            None => None,
        };
        let (judged, files, warnings) = match &rules {
            Some(loaded) => {
                let judged = judged(&pair, loaded, watch)?;
                let warnings = loaded.warnings.iter().map(|warning| warning.render()).collect();
                (Some(judged), loaded.files.clone(), warnings)
            }
            None => (None, Vec::new(), Vec::new()),
        };
        let obedience = judged.as_ref().map(Obedience::of);
        let deep = match &self.out {
            Some(_) => Some(watched(watch, "measuring utility and privacy", None, || {
                let samples = pair.samples();
                let useful = utility(&samples, &UtilityOptions::default())?;
                Ok::<_, Error>(Deeper {
                    utility: useful,
                    privacy: privacy(&samples, &PrivacyOptions::default())?,
                })
            })?),
            None => None,
        };
        let report = EvaluateReport {
            real: self.real.shown(),
            synthetic: self.synthetic.shown(),
            of_train_split: pair.of_train_split,
            codes: pair.codes.clone(),
            copies: pair.copies(),
            comparison,
            fresh,
            timing: timed,
            files,
            broken,
            obedience,
            violations: judged,
            deep,
            report: self.out.as_ref().map(|out| out.inside(REPORT_FILE).shown()),
            warnings,
        };
        if let (Some(out), Some(folder)) = (&self.out, self.folder()?) {
            let rules = rules.as_ref().map(|loaded| &loaded.rules);
            let html =
                watched(watch, "writing the report", None, || page(&report, &pair, rules))?.html();
            for (name, text) in [(METRICS_FILE, report.json()?), (REPORT_FILE, html)] {
                let path = folder.path().join(name);
                write_atomically(path, |file| file.write_all(text.as_bytes()))
                    .map_err(|error| error.told_of(&out.path))?;
            }
            folder.commit()?;
        }
        Ok(report)
    }
}

impl Report for EvaluateReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn found(&self) -> bool {
        self.obedience.is_some_and(|obedience| obedience.violations > 0)
    }
}

impl EvaluateTask {
    /// Without rules, and without a report to read.
    pub fn new(real: impl Into<CohortInput>, synthetic: impl Into<CohortInput>) -> Self {
        Self {
            real: real.into(),
            synthetic: synthetic.into(),
            rules: Vec::new(),
            unknown_codes: UnknownCodes::default(),
            no_own_rules: false,
            out: None,
        }
    }

    /// The folder for the report, to be filled and put in place whole.
    fn folder(&self) -> Result<Option<AtomicFolder>, StoreError> {
        let is_part: Belongs = |name| name == REPORT_FILE || name == METRICS_FILE;
        let begin = |out: &Out| match out.force {
            true => AtomicFolder::replacing(&out.path, is_part),
            false => AtomicFolder::create(&out.path),
        };
        self.out.as_ref().map(begin).transpose()
    }
}

/// How the generated records obey rules.
pub(crate) fn judged(
    pair: &Pair,
    loaded: &LoadedRules,
    watch: &dyn Watch,
) -> Result<Violations, Error> {
    let limits = CompileLimits::default();
    let found = watched(watch, "auditing", None, || {
        violations(pair.synthetic_sample(), &loaded.rules, &limits)
    });
    found.map_err(|error| match error {
        ViolationsError::Rules(error) => Error::compile(&loaded.rules, error),
        ViolationsError::Record(bad) => bad.into(),
    })
}

/// The rules, over the codes of both cohorts.
pub(crate) fn rules_over(
    files: &[RuleInput],
    pair: &Pair,
    unknown_codes: UnknownCodes,
) -> Result<LoadedRules, Error> {
    let options = RuleOptions {
        vocabulary: Some(Arc::clone(&pair.vocabulary)),
        unknown_codes,
        ..RuleOptions::default()
    };
    load::rules_over(files, &options, &CodeSource::Cohort(pair.names.clone()))
        .map_err(Error::without_vocabulary)
}

impl Obedience {
    pub(crate) fn of(found: &Violations) -> Self {
        Self {
            hard_rules: found.hard.len(),
            records: found.records,
            valid_records: found.all.valid_records,
            violations: found.all.violations,
            broken_rules: found.hard.iter().filter(|rule| rule.violations > 0).count(),
        }
    }
}
