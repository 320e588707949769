//! Whether a synthetic cohort can leave the house: what a steward asks, each with a limit.

mod checks;
mod page;
mod text;

use std::sync::Arc;

use consequence_evaluate::{
    Privacy, PrivacyOptions, Rarity, RarityOptions, Violations, ViolationsError, privacy, rarity,
    violations,
};
use consequence_pipeline::load::{self, LoadedRules};
use consequence_pipeline::parts::rules_of;
use consequence_pipeline::{CohortInput, Error, Out, Report, RuleInput, Task, Watch, watched};
use consequence_record::{Code, Part};
use consequence_rules::{CompileLimits, RuleSet, UnknownCodes};
use consequence_tally::Rounds;
use serde::Serialize;

pub use checks::{Check, CheckKind, Outcome};

use crate::evaluate::{Obedience, Pair};
use page::page;

/// A synthetic cohort that is to be handed on, and the real one that it was learned from.
///
/// ```
/// use consequence::release::ReleaseTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [real, synthetic] = ["real.jsonl", "synthetic.jsonl"].map(|name| folder.path().join(name));
/// let line = |n: usize| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A{}\"]]}}\n", n % 300);
/// std::fs::write(&real, (0..300).map(line).collect::<String>())?;
/// std::fs::write(&synthetic, (1000..1300).map(line).collect::<String>())?;
/// // Every one of them is some patient's record.
/// let report = ReleaseTask::new(real, synthetic).run(&Unwatched)?;
/// assert!(!report.may_leave);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReleaseTask {
    /// The real cohort, with its splits.
    pub real: CohortInput,
    /// The synthetic cohort, from any tool.
    pub synthetic: CohortInput,
    /// Rule files that every synthetic record must obey.
    pub rules: Vec<RuleInput>,
    /// What a code means that a rule names and neither cohort has.
    pub unknown_codes: UnknownCodes,
    /// Whether to leave out the rules that the real cohort brings along.
    pub no_own_rules: bool,
    /// What fewer patients than this have is rare.
    pub rare_below: u32,
    /// How much of each is allowed.
    pub limits: ReleaseLimits,
    /// A page to read and to sign.
    pub page: Option<Out>,
}

impl ReleaseTask {
    /// With the usual limits, without rules but those of the real cohort, and without a page.
    pub fn new(real: impl Into<CohortInput>, synthetic: impl Into<CohortInput>) -> Self {
        Self {
            real: real.into(),
            synthetic: synthetic.into(),
            rules: Vec::new(),
            unknown_codes: UnknownCodes::default(),
            no_own_rules: false,
            rare_below: RarityOptions::default().below,
            limits: ReleaseLimits::default(),
            page: None,
        }
    }
}

/// How much of each thing that gives something away is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReleaseLimits {
    /// The fewest patients to have learned from. Default 100.
    pub patients: u64,
    /// The most violations of hard rules. Default 0.
    pub violations: u64,
    /// The most copies of one patient's record, as a share of the records, above what other real records
    /// are by chance. Default 0.001.
    pub copies: f64,
    /// The most records that are nearer to one trained on than to one held out, as a share. Default 0.55.
    pub nearer: f64,
    /// The most that nearness may tell of who was trained on, as an AUROC. Default 0.55.
    pub membership: f64,
    /// The most that guesses of sensitive codes may gain over what can be guessed of anyone, in F1.
    /// Default 0.05.
    pub attributes: f64,
    /// The most records whose static codes few patients have, as a share. Default 0.01.
    pub small_cells: f64,
    /// The most records with a code that few patients have, as a share. Default 0.05.
    pub rare_codes: f64,
    /// The most values that few patients have, as a share, above those of other real records. Default 0.01.
    pub rare_values: f64,
}

impl Default for ReleaseLimits {
    fn default() -> Self {
        Self {
            patients: 100,
            violations: 0,
            copies: 0.001,
            nearer: 0.55,
            membership: 0.55,
            attributes: 0.05,
            small_cells: 0.01,
            rare_codes: 0.05,
            rare_values: 0.01,
        }
    }
}

/// Whether a synthetic cohort can leave the house, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReleaseReport {
    /// The real cohort, as the user named it.
    pub real: String,
    /// The synthetic cohort.
    pub synthetic: String,
    /// Whether every check was made and passed.
    pub may_leave: bool,
    /// The checks, one by one.
    pub checks: Vec<Check>,
    /// The limits that were set.
    pub limits: ReleaseLimits,
    /// What the rules look at, and what they do not.
    pub coverage: Coverage,
    /// How the synthetic records obey the rules; none without rules.
    pub obedience: Option<Obedience>,
    /// What synthetic records show that few patients have.
    pub rarity: Rarity,
    /// What they give away of those trained on.
    pub privacy: Privacy,
    /// The page that was written.
    pub page: Option<String>,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

/// What rules look at, and what they do not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Coverage {
    /// The rule files.
    pub files: Vec<String>,
    /// Hard rules, which synthetic records are held to.
    pub hard_rules: usize,
    /// Soft rules, which nothing can break.
    pub soft_rules: usize,
    /// Codes that synthetic records have, but for those that tell time or a value.
    pub codes: usize,
    /// Those of them that a hard rule names.
    pub ruled: usize,
    /// The commonest of those that no hard rule names, with their titles.
    pub commonest_free: Vec<String>,
}

/// Codes without a rule that are named.
const NAMED: usize = 10;

impl Task for ReleaseTask {
    type Report = ReleaseReport;

    /// Holds a synthetic cohort against the rules and against the patients that it was learned from.
    fn run(&self, watch: &dyn Watch) -> Result<ReleaseReport, Error> {
        let page_file = self.page.as_ref().map(Out::file).transpose()?;
        let pair = Pair::load(&self.real, &self.synthetic, watch)?;
        let files = load::with_own(&self.rules, Some(&self.real), self.no_own_rules);
        let rules = match files.is_empty() {
            true => None,
            false => {
                let [real, _] = pair.blocks();
                let options = pair.rule_options(self.unknown_codes);
                let loaded = rules_of(&files, options, &pair.outline(), &mut Rounds::whole(real));
                Some(loaded.map_err(Error::without_vocabulary)?)
            }
        };
        let judged = match &rules {
            Some(loaded) => Some(judged(&pair, &loaded.rules, watch)?),
            None => None,
        };
        let rarity = watched(watch, "looking for what is rare", None, || {
            rarity(&pair.timing_samples(), &RarityOptions { below: self.rare_below })
        })?;
        let privacy = watched(watch, "looking for who was trained on", None, || {
            privacy(&pair.samples(), &PrivacyOptions::default())
        })?;
        let obedience = judged.as_ref().map(Obedience::of);
        let checks = checks::checks(&self.limits, obedience.as_ref(), &rarity, &privacy);
        let warnings = rules.iter().flat_map(|loaded| &loaded.warnings);
        let report = ReleaseReport {
            real: self.real.shown(),
            synthetic: self.synthetic.shown(),
            may_leave: checks.iter().all(|check| check.outcome == Outcome::Passed),
            checks,
            limits: self.limits,
            coverage: Coverage::of(&pair, rules.as_ref()),
            obedience,
            rarity,
            privacy,
            page: self.page.as_ref().map(Out::shown),
            warnings: warnings.map(|warning| warning.render()).collect(),
        };
        if let Some(file) = page_file {
            let html = page(&report, &pair).html();
            file.write(|out| out.write_all(html.as_bytes()))?;
        }
        Ok(report)
    }
}

/// How the generated records obey rules.
fn judged(pair: &Pair, rules: &Arc<RuleSet>, watch: &dyn Watch) -> Result<Violations, Error> {
    let found = watched(watch, "auditing", None, || {
        violations(pair.synthetic_sample(), rules, &CompileLimits::default())
    });
    found.map_err(|error| match error {
        ViolationsError::Rules(error) => Error::compile(rules, error),
        ViolationsError::Record(bad) => bad.into(),
    })
}

impl Report for ReleaseReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn found(&self) -> bool {
        !self.may_leave
    }
}

impl Coverage {
    fn of(pair: &Pair, loaded: Option<&LoadedRules>) -> Self {
        let rules = loaded.map(|loaded| &loaded.rules);
        let vocabulary = &pair.vocabulary;
        let mut ruled = vec![false; vocabulary.len()];
        for (_, rule) in rules.iter().flat_map(|rules| rules.hard()) {
            rule.formula().for_each_code(&mut |code, _| ruled[code.index()] = true);
        }
        let mut visits = vec![0_u64; vocabulary.len()];
        for record in pair.synthetic_sample().records() {
            for code in record.visits().flatten() {
                visits[code.index()] += 1;
            }
        }
        let event = |code: &Code| !matches!(vocabulary.part(*code), Part::Time | Part::Values);
        let written = vocabulary.codes().filter(|code| visits[code.index()] > 0).filter(event);
        let (named, mut free): (Vec<Code>, Vec<Code>) =
            written.partition(|code| ruled[code.index()]);
        free.sort_by_key(|code| std::cmp::Reverse(visits[code.index()]));
        let shown = |code: &Code| match pair.titles.get(code) {
            Some(title) => format!("{} ({title})", vocabulary.name(*code)),
            None => vocabulary.name(*code).to_owned(),
        };
        let hard = rules.map_or(0, |rules| rules.hard().count());
        Self {
            files: loaded.map_or_else(Vec::new, |loaded| loaded.files.clone()),
            hard_rules: hard,
            soft_rules: rules.map_or(0, |rules| rules.len() - hard),
            codes: named.len() + free.len(),
            ruled: named.len(),
            commonest_free: free.iter().take(NAMED).map(shown).collect(),
        }
    }
}
