//! From a source to generated records in one go.

mod manifest;
mod report;

use std::fs;
use std::path::{Path, PathBuf};

use consequence_record::Split;
use consequence_rules::UnknownCodes;
use consequence_tables::import::{ImportOptions, Source};

use crate::check::{CheckOptions, check};
use crate::evaluate::{CompareTask, PerplexityTask, compare, perplexity};
use crate::generate::{GenerateTask, generate};
use crate::import::{ImportTask, import};
use crate::load::{self, LoadedCohort};
use crate::mine::{MineOptions, mine};
use crate::notes::write_report;
use crate::place::Out;
use crate::train::{ModelChoice, TrainTask, train};
use crate::watch::Watch;
use crate::{CodeSource, Error, Inputs};

pub use report::{SynthesizeReport, SynthesizeRules};

/// What to make generated records of.
#[derive(Clone, Debug)]
pub struct SynthesizeTask {
    /// A cohort, or the tables to import one from.
    pub source: PathBuf,
    /// What kind of tables they are; none: the source is a cohort.
    pub from: Option<Source>,
    /// The folder for everything that is made.
    pub out: PathBuf,
    /// Rule files; none: rules are mined.
    pub rules: Vec<PathBuf>,
    /// What a code means that a rule names and the cohort does not have.
    pub unknown_codes: UnknownCodes,
    /// How many records to generate; none: as many as the cohort has.
    pub records: Option<u64>,
    /// What is trained.
    pub model_kind: ModelChoice,
    /// Whether to go on with what an earlier run left.
    pub resume: bool,
    /// Whether to replace what is there.
    pub force: bool,
    /// What the generated records depend on.
    pub seed: u64,
}

/// Where everything is that is made.
struct Places {
    cohort: PathBuf,
    rules: PathBuf,
    model: PathBuf,
    synthetic: PathBuf,
    summary: PathBuf,
    report: PathBuf,
    manifest: PathBuf,
}

/// Imports a cohort where that is asked for, mines rules where none are given, proves them, trains a
/// model, generates records, audits them, and measures model and records.
///
/// ```
/// use consequence::Unwatched;
/// use consequence::simulate::{Preset, SimulateOptions, simulate};
/// use consequence::synthesize::{SynthesizeTask, synthesize};
/// use consequence::train::ModelChoice;
///
/// let folder = tempfile::tempdir()?;
/// let [source, out] = ["cohort", "synthesis"].map(|name| folder.path().join(name));
/// let preset = Preset::Inpatient;
/// let simulated =
///     SimulateOptions { preset, patients: Some(300), out: source.clone(), force: false, seed: 7 };
/// simulate(&simulated, &Unwatched)?;
///
/// let task = SynthesizeTask { records: Some(100), ..SynthesizeTask::new(source, &out, ModelChoice::Markov) };
/// let report = synthesize(&task, &Unwatched)?;
/// assert_eq!(report.obedience.unwrap().violations, 0);
/// assert!(out.join("synthetic/data/000000.parquet").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn synthesize(task: &SynthesizeTask, watch: &dyn Watch) -> Result<SynthesizeReport, Error> {
    let _out = Out::filled_in_place(&task.out, task.force || task.resume)?;
    let file = |name: &str| task.out.join(name);
    let places = Places {
        cohort: file("cohort"),
        rules: file("mined.rules"),
        model: file("model"),
        synthetic: file("synthetic"),
        summary: file("summary.json"),
        report: file("report"),
        manifest: file("task.json"),
    };
    manifest::settle(task, &places)?;
    let cohort = task.cohort(&places, watch)?;
    let rules = task.rules(&places, &cohort, watch)?;
    task.go_on(watch)?;
    let inputs = Inputs {
        rules: rules.clone(),
        cohort: Some(cohort.clone()),
        unknown_codes: task.unknown_codes,
        ..Inputs::default()
    };
    let checked = check(&inputs, &CheckOptions::default(), watch).map_err(without_vocabulary)?;
    task.go_on(watch)?;
    let trained = train(
        &TrainTask {
            inputs,
            force: task.force,
            resume: task.resume,
            model_kind: task.model_kind.clone(),
            ..TrainTask::new(&cohort, &places.model)
        },
        watch,
    )?;
    let (in_all, held_out) = {
        let LoadedCohort { cohort, splits, .. } = load::cohort(&cohort, None, watch)?;
        (cohort.len() as u64, splits.contains(&Split::HeldOut))
    };
    let records = task.records.unwrap_or(in_all);
    let generated = generate(
        &GenerateTask {
            resume: task.resume,
            force: task.force,
            seed: task.seed,
            ..GenerateTask::new(&places.model, records, &places.synthetic)
        },
        watch,
    )?;
    task.go_on(watch)?;
    let predicted = match held_out {
        true => Some(perplexity(&PerplexityTask::new(&places.model, &cohort), watch)?),
        false => None,
    };
    let compared = compare(
        &CompareTask {
            real: cohort.clone(),
            synthetic: places.synthetic.clone(),
            rules: rules.clone(),
            unknown_codes: task.unknown_codes,
            out: Some(places.report.clone()),
            force: true,
        },
        watch,
    )?;
    let shown = |path: &Path| path.display().to_string();
    let rules = SynthesizeRules {
        files: rules.iter().map(|path| shown(path)).collect(),
        mined: task.rules.is_empty(),
        hard: trained.rules.hard,
        soft: trained.rules.soft,
        conflicts: checked.conflicts.len(),
        proof: checked.verdict,
    };
    let report = SynthesizeReport {
        out: shown(&task.out),
        cohort: shown(&cohort),
        rules,
        model: trained,
        synthetic: generated,
        likelihood: predicted.map(|predicted| predicted.likelihood),
        comparison: compared.comparison.all,
        fresh: compared.fresh,
        obedience: compared.obedience,
        report: compared.report,
        summary: shown(&places.summary),
    };
    write_report(&places.summary, &report)?;
    Ok(report)
}

impl SynthesizeTask {
    /// Mined rules, and as many records as the cohort has.
    pub fn new(
        source: impl Into<PathBuf>,
        out: impl Into<PathBuf>,
        model_kind: ModelChoice,
    ) -> Self {
        Self {
            source: source.into(),
            from: None,
            out: out.into(),
            rules: Vec::new(),
            unknown_codes: UnknownCodes::default(),
            records: None,
            model_kind,
            resume: false,
            force: false,
            seed: 1,
        }
    }

    /// The cohort: the source itself, or what is imported of it.
    fn cohort(&self, places: &Places, watch: &dyn Watch) -> Result<PathBuf, Error> {
        let Some(source) = &self.from else { return Ok(self.source.clone()) };
        if !(self.resume && is_there(&places.cohort)) {
            let task = ImportTask {
                source: source.clone(),
                path: self.source.clone(),
                options: ImportOptions::default(),
                out: places.cohort.clone(),
                force: self.force,
            };
            import(&task, watch)?;
        }
        Ok(places.cohort.clone())
    }

    /// The rule files: those given, or the one that is mined.
    fn rules(
        &self,
        places: &Places,
        cohort: &Path,
        watch: &dyn Watch,
    ) -> Result<Vec<PathBuf>, Error> {
        if !self.rules.is_empty() {
            return Ok(self.rules.clone());
        }
        if !(self.resume && is_there(&places.rules)) {
            let options = MineOptions {
                cohort: cohort.to_path_buf(),
                out: places.rules.clone(),
                force: self.force,
                ..MineOptions::default()
            };
            mine(&options, watch)?;
        }
        Ok(vec![places.rules.clone()])
    }

    /// Ends here if that was asked for.
    fn go_on(&self, watch: &dyn Watch) -> Result<(), Error> {
        if watch.wants_stop() { Err(Error::Halted(self.out.clone())) } else { Ok(()) }
    }
}

/// No vocabulary can be given here, so none is proposed.
fn without_vocabulary(error: Error) -> Error {
    match error {
        Error::UnknownCodes { diagnostics, from: CodeSource::Cohort(file) } => {
            Error::UnknownCodes { diagnostics, from: CodeSource::Cohorts(file) }
        }
        other => other,
    }
}

/// Files and folders appear whole, so what is there is finished.
fn is_there(path: &Path) -> bool {
    fs::metadata(path).is_ok()
}
