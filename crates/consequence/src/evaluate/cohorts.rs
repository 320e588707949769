//! How close generated records come to real ones.

use std::sync::Arc;

use consequence_evaluate::{
    Comparison, Correlations, Measured, Privacy, Timing, Utility, Violations,
};
use consequence_pipeline::parts::{Outline, rules_of};
use consequence_pipeline::{
    CohortInput, Error, Out, Report, RuleInput, Task, Watch, load, watched,
};
use consequence_rules::UnknownCodes;
use consequence_store::{AtomicFolder, Belongs, StoreError, write_atomically};
use consequence_tally::Rounds;
use serde::Serialize;

use super::counting::Counting;
use super::page::{PageFacts, page};
use super::pair::Pair;
use super::sides::{Both, OnlyIn, Roles};
use super::strata::{Groups, Stratum};
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
    /// Files whose names are groups of patients, for which records are compared by themselves.
    pub groups: Vec<RuleInput>,
    /// The groups to compare; none: all that no other group is made of.
    pub strata: Vec<String>,
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
    /// Patients of the groups that were asked for, in the order of their names in the files.
    pub strata: Vec<Stratum>,
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

/// Real records of other patients, and about as many generated ones: what could be reached, and what was. Of the side
/// that has more, records are taken by keys of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FreshSample {
    /// Real records, of the held-out split and the tuning split.
    pub records: u64,
    /// Generated ones.
    pub synthetic_records: u64,
    /// How far the real records agree with those that were trained on.
    pub real: Correlations,
    /// How far the generated ones do.
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
        let files = load::with_own(&self.rules, Some(&self.real), self.no_own_rules);
        let [real, synthetic] = pair.blocks();
        self.evaluated(&pair, &files, &mut Rounds::both(real, synthetic), watch)
    }
}

impl EvaluateTask {
    /// The same of records that are counted in rounds, in parts or all together.
    pub fn counted(
        &self,
        (real, synthetic): (&Outline, &Outline),
        rounds: &mut Rounds<'_>,
        watch: &dyn Watch,
    ) -> Result<EvaluateReport, Error> {
        let own = real.own_rules.as_ref().filter(|_| !self.no_own_rules);
        let own = own.map(|(name, text)| RuleInput::text(name, Arc::clone(text)));
        let files: Vec<RuleInput> = own.into_iter().chain(self.rules.iter().cloned()).collect();
        self.evaluated(&Both::of(real, synthetic)?, &files, rounds, watch)
    }

    fn evaluated(
        &self,
        both: &Both,
        files: &[RuleInput],
        rounds: &mut Rounds<'_>,
        watch: &dyn Watch,
    ) -> Result<EvaluateReport, Error> {
        let (roles, followed) = Roles::counted(&both.vocabulary, rounds)?;
        let counting = Counting { both, roles, watch };
        let rules = match files.is_empty() {
            true => None,
            false => {
                let options = both.rule_options(self.unknown_codes);
                let loaded = rules_of(files, options, &both.outline(), rounds);
                Some(loaded.map_err(Error::without_vocabulary)?)
            }
        };
        let groups = match self.groups.is_empty() && self.strata.is_empty() {
            true => None,
            false => Some(Groups::load(self, both)?),
        };
        let set = rules.as_ref().map(|loaded| &loaded.rules);
        let compared = counting.compared(set, rounds)?;
        let timed = counting.timed(&followed, rounds)?;
        let of_groups = groups.as_ref().map(|groups| groups.counted(&counting, rounds));
        let of_groups = of_groups.transpose()?;
        let shown = self.out.as_ref().map(|_| counting.shown(set, rounds)).transpose()?;
        // What is worked out here is worked out where all is counted, and not on the way there.
        let deep = self.out.as_ref().map(|_| counting.deep(rounds)).transpose()?;
        let strata = match groups.as_ref().zip(of_groups) {
            Some((groups, counted)) => groups.strata(&counting, counted)?,
            None => Vec::new(),
        };
        let (frequencies, judged) = compared.read(&both.vocabulary, set)?;
        let (timing, copies) = timed.read(both, &roles)?;
        let warnings = rules.iter().map(|loaded| &loaded.warnings);
        let warnings = warnings.chain(groups.iter().map(Groups::warnings)).flatten();
        let comparison = frequencies.reference.compare_with(&frequencies.synthetic);
        let report = EvaluateReport {
            real: self.real.shown(),
            synthetic: self.synthetic.shown(),
            of_train_split: roles.of_train_split,
            codes: both.codes.clone(),
            copies,
            comparison,
            fresh: frequencies.fresh(),
            timing,
            strata,
            files: rules.as_ref().map_or_else(Vec::new, |loaded| loaded.files.clone()),
            broken: judged.as_ref().map(|judged| judged.broken.clone()),
            obedience: judged.as_ref().map(|judged| Obedience::of(&judged.synthetic)),
            violations: judged.as_ref().map(|judged| judged.synthetic.clone()),
            deep,
            report: self.out.as_ref().map(|out| out.inside(REPORT_FILE).shown()),
            warnings: warnings.map(|warning| warning.render()).collect(),
        };
        if let Some((out, shown)) = self.out.as_ref().zip(shown) {
            let facts = PageFacts {
                both,
                roles,
                frequencies: &frequencies,
                judged: judged.as_ref(),
                shown,
            };
            let html =
                watched(watch, "writing the report", None, || page(&report, &facts, set))?.html();
            self.write(out, &report, &html)?;
        }
        Ok(report)
    }

    fn write(&self, out: &Out, report: &EvaluateReport, html: &str) -> Result<(), Error> {
        let Some(folder) = self.folder()? else { return Ok(()) };
        for (name, text) in [(METRICS_FILE, report.json()?.as_str()), (REPORT_FILE, html)] {
            let path = folder.path().join(name);
            write_atomically(path, |file| file.write_all(text.as_bytes()))
                .map_err(|error| error.told_of(&out.path))?;
        }
        Ok(folder.commit()?)
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
            groups: Vec::new(),
            strata: Vec::new(),
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
