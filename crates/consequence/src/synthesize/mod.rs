//! From a source to generated records in one go.

mod report;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use consequence_import::Source;
use consequence_pipeline::{
    CohortInput, Error, Inputs, Out, RecordInputs, Report, RuleInput, Task, Watch, load,
    refuse_cohort, whole_path,
};
use consequence_record::Split;
use consequence_rules::UnknownCodes;
use consequence_store::{RunFolder, RunOptions, Site, create_directory, write_atomically};
use serde_json::{Value, json};

use crate::check::{CheckReport, CheckTask};
use crate::common_sense::{CommonSenseReport, CommonSenseTask};
use crate::evaluate::{EvaluateReport, EvaluateTask, PerplexityReport, PerplexityTask};
use crate::generate::{GenerateReport, GenerateTask};
use crate::import::{ImportReport, ImportTask};
use crate::mine::{MineReport, MineTask};
use crate::packs::{FolderOptions, FolderPacks, from_folder};
use crate::simulate::{Preset, SimulateReport, SimulateTask};
use crate::train::{ModelChoice, TrainReport, TrainTask};

/// The number of the format of the folder.
const RUN_FORMAT: u32 = 2;

/// The files of rules.
const COMMON_SENSE: &str = "common-sense.rules";
const NEVER_SEEN: &str = "never-seen.rules";
const EXPERTS: &str = "experts";
const MINED: &str = "mined.rules";

/// The folder of expert tables that is looked for beside a source.
const PACKS: &str = "packs";

/// The report for programs, which is written last.
const SUMMARY: &str = "summary.json";

use rules::{AnsweredRules, OriginFile, ask_reality};

pub use report::{SynthesizeReport, SynthesizeRules};
pub use rules::{OriginRules, RuleOrigin};

/// What to make generated records of.
///
/// ```
/// use consequence::simulate::Preset;
/// use consequence::synthesize::{Origin, SynthesizeTask};
/// use consequence::train::ModelChoice;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let out = folder.path().join("synthesis");
/// let origin = Origin::Simulated { preset: Preset::Inpatient, patients: 300 };
/// let task = SynthesizeTask {
///     records: Some(100),
///     ..SynthesizeTask::new(origin, &out, ModelChoice::Markov)
/// };
/// assert_eq!(task.run(&Unwatched)?.obedience.unwrap().violations, 0);
/// assert!(out.join("synthetic/data/000000.parquet").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SynthesizeTask {
    /// Where the real records come from.
    pub origin: Origin,
    /// The folder for everything that is made.
    pub out: Out,
    /// Rule files; none: rules are mined.
    pub rules: Vec<PathBuf>,
    /// A folder of tables that experts publish; none: `packs` beside the source, if it is there.
    pub packs: Option<PathBuf>,
    /// Whether to leave out the rules of common sense.
    pub no_common_sense: bool,
    /// Whether to leave out the rules that the cohort brings along.
    pub no_own_rules: bool,
    /// Whether to keep rules of the user that more than one real record in a hundred breaks.
    pub accept_broken: bool,
    /// What a code means that a rule names and the cohort does not have.
    pub unknown_codes: UnknownCodes,
    /// How many records to generate; none: as many as the cohort has.
    pub records: Option<u64>,
    /// What is trained.
    pub model_kind: ModelChoice,
    /// What the generated records depend on.
    pub seed: u64,
}

/// Where the real records come from.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a run has one of them")]
pub enum Origin {
    /// A cohort.
    Cohort(PathBuf),
    /// Tables to import a cohort from.
    Tables {
        /// What kind of tables they are.
        kind: Source,
        /// The folder or file they are in.
        path: PathBuf,
    },
    /// A simulation, to try things on.
    Simulated {
        /// The kind of cohort.
        preset: Preset,
        /// How many patients.
        patients: usize,
    },
}

/// A step of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A cohort is simulated.
    Simulate,
    /// A cohort is imported.
    Import,
    /// Rules of common sense are written.
    CommonSense,
    /// Rules are made of expert tables.
    Experts,
    /// Rules are mined.
    Mine,
    /// The rules are proved.
    Check,
    /// A model is trained.
    Train,
    /// Records are generated.
    Generate,
    /// The model is asked to predict held-out records.
    Predict,
    /// The generated records are held against the real ones.
    Evaluate,
}

/// A step that is over, and its report.
#[derive(Clone, Copy, Debug)]
pub enum Done<'a> {
    /// A cohort was simulated.
    Simulated(&'a SimulateReport),
    /// A cohort was imported.
    Imported(&'a ImportReport),
    /// Rules of common sense were written.
    CommonSense(&'a CommonSenseReport),
    /// Rules were made of expert tables.
    Experts(&'a FolderPacks),
    /// Rules were mined.
    Mined(&'a MineReport),
    /// The rules were proved.
    Checked(&'a CheckReport),
    /// A model was trained.
    Trained(&'a TrainReport),
    /// Records were generated.
    Generated(&'a GenerateReport),
    /// The model was asked to predict held-out records.
    Predicted(&'a PerplexityReport),
    /// The generated records were held against the real ones.
    Evaluated(&'a EvaluateReport),
}

/// Someone who is told of every step, with its report. An error ends the chain.
pub trait Narrator {
    /// A step begins.
    fn begins(&self, _step: Step) -> Result<(), Error> {
        Ok(())
    }

    /// A step is over.
    fn done(&self, _done: Done<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// Nobody narrates.
struct Silence;

impl Narrator for Silence {}

/// The paths of everything that is made in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The cohort, where it is imported or simulated.
    pub cohort: PathBuf,
    /// The rules of common sense.
    pub common_sense: PathBuf,
    /// Codes that a sex never has, for writing alone.
    pub never_seen: PathBuf,
    /// The rules of expert tables, a file for each.
    pub experts: PathBuf,
    /// The mined rules.
    pub rules: PathBuf,
    /// The model.
    pub model: PathBuf,
    /// The generated records.
    pub synthetic: PathBuf,
    /// The report for a reviewer.
    pub report: PathBuf,
    summary: PathBuf,
}

impl Workspace {
    /// The paths in a folder, whether or not anything is there.
    pub fn new(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        Self {
            cohort: file("cohort"),
            common_sense: file(COMMON_SENSE),
            never_seen: file(NEVER_SEEN),
            experts: file(EXPERTS),
            rules: file(MINED),
            model: file("model"),
            synthetic: file("synthetic"),
            report: file("report"),
            summary: file(SUMMARY),
        }
    }
}

impl Task for SynthesizeTask {
    type Report = SynthesizeReport;

    /// Imports or simulates a cohort where that is asked for, mines rules where none are given, adds those
    /// of common sense and of expert tables, holds all against reality, proves them, trains a model, generates
    /// records, audits them, and measures model and records.
    fn run(&self, watch: &dyn Watch) -> Result<SynthesizeReport, Error> {
        self.narrated(&Silence, watch)
    }
}

impl SynthesizeTask {
    /// Mined rules, and as many records as the cohort has.
    pub fn new(origin: Origin, out: impl Into<Out>, model_kind: ModelChoice) -> Self {
        Self {
            origin,
            out: out.into(),
            rules: Vec::new(),
            packs: None,
            no_common_sense: false,
            no_own_rules: false,
            accept_broken: false,
            unknown_codes: UnknownCodes::default(),
            records: None,
            model_kind,
            seed: 1,
        }
    }

    /// As [`run`](Task::run), telling a narrator of every step.
    pub fn narrated(
        &self,
        narrator: &dyn Narrator,
        watch: &dyn Watch,
    ) -> Result<SynthesizeReport, Error> {
        let files = Workspace::new(&self.out.path);
        let run = self.begin(&files)?;
        let chain = Chain { task: self, files: &files, narrator, watch };
        let cohort = chain.cohort()?;
        let mut unchecked = Vec::new();
        let files_of_rules = chain.rules(&cohort, &mut unchecked)?;
        let rules: Vec<PathBuf> = files_of_rules.iter().map(|file| file.path.clone()).collect();
        chain.go_on()?;
        let taught: Vec<PathBuf> =
            rules.iter().filter(|path| **path != files.never_seen).cloned().collect();
        let records = RecordInputs {
            unknown_codes: self.unknown_codes,
            no_own_rules: self.no_own_rules,
            ..RecordInputs::new(&cohort)
        }
        .with_rules(&rules);
        let AnsweredRules { origins, broken } =
            ask_reality(&records, &files_of_rules, self.accept_broken, watch)
                .map_err(Error::without_vocabulary)?;
        if broken.records > 0 {
            watch.note(&format!("note: {broken}"));
        }
        let inputs = Inputs {
            rules: rules.iter().map(RuleInput::from).collect(),
            cohort: Some(CohortInput::from(&cohort)),
            unknown_codes: self.unknown_codes,
            no_own_rules: self.no_own_rules,
            ..Inputs::default()
        };
        let check = CheckTask { inputs, ..CheckTask::default() };
        let checked = chain
            .step(Step::Check, &check, |report| Done::Checked(report))
            .map_err(Error::without_vocabulary)?;
        chain.go_on()?;
        let train = TrainTask {
            inputs: records.with_rules(taught),
            writing_rules: rules
                .iter()
                .filter(|path| **path == files.never_seen)
                .map(RuleInput::from)
                .collect(),
            model_kind: self.model_kind.clone(),
            // Reality was asked above, and of all records.
            accept_broken: true,
            ..TrainTask::new(&cohort, self.out.inside("model"))
        };
        let trained = chain.step(Step::Train, &train, |report| Done::Trained(report))?;
        let (in_all, held_out) = {
            let loaded = load::cohort(&(&cohort).into(), None, watch)?;
            (loaded.cohort.len() as u64, loaded.splits.contains(&Split::HeldOut))
        };
        let records = self.records.unwrap_or(in_all);
        let generate = GenerateTask {
            seed: self.seed,
            ..GenerateTask::new(&files.model, records, self.out.inside("synthetic"))
        };
        let generated = chain.step(Step::Generate, &generate, |report| Done::Generated(report))?;
        chain.go_on()?;
        let predict = PerplexityTask::new(&files.model, &cohort);
        let predicted = match held_out {
            true => Some(chain.step(Step::Predict, &predict, |report| Done::Predicted(report))?),
            false => None,
        };
        let evaluate = EvaluateTask {
            rules: rules.iter().map(RuleInput::from).collect(),
            unknown_codes: self.unknown_codes,
            no_own_rules: self.no_own_rules,
            out: Some(Out::new(&files.report).replacing(true)),
            ..EvaluateTask::new(&cohort, &files.synthetic)
        };
        let compared = chain.step(Step::Evaluate, &evaluate, |report| Done::Evaluated(report))?;
        let shown = |path: &Path| path.display().to_string();
        let rules = SynthesizeRules {
            files: origins.iter().map(|one| one.file.clone()).collect(),
            mined: self.rules.is_empty(),
            origins,
            broken,
            unchecked,
            hard: checked.rules.hard,
            soft: checked.rules.soft,
            conflicts: checked.conflicts.len(),
            proof: checked.verdict,
        };
        let report = SynthesizeReport {
            out: self.out.shown(),
            cohort: shown(&cohort),
            rules,
            model: trained,
            synthetic: generated,
            likelihood: predicted.map(|predicted| predicted.likelihood),
            comparison: compared.comparison.all,
            fresh: compared.fresh,
            obedience: compared.obedience,
            report: compared.report,
            summary: shown(&files.summary),
        };
        let text = report.json()?;
        write_atomically(&files.summary, |file| file.write_all(text.as_bytes()))?;
        run.finish()?;
        Ok(report)
    }
}

impl SynthesizeTask {
    /// Opens the folder, with what an earlier run left or without.
    fn begin(&self, files: &Workspace) -> Result<RunFolder, Error> {
        let makes_cohort = !matches!(self.origin, Origin::Cohort(_));
        if makes_cohort && self.out.force && files.cohort.is_dir() {
            refuse_cohort(&files.cohort, true)?;
        }
        let parts: &[&str] = match makes_cohort {
            true => &[COMMON_SENSE, NEVER_SEEN, EXPERTS, MINED, "cohort"],
            false => &[COMMON_SENSE, NEVER_SEEN, EXPERTS, MINED],
        };
        let options = RunOptions {
            parts,
            last: Some(SUMMARY),
            ..self.out.run_options(Site::InPlace, RUN_FORMAT)
        };
        Ok(RunFolder::open(&self.out.path, &self.manifest(), &options)?)
    }

    /// All that what is made depends on.
    fn manifest(&self) -> Value {
        let model_kind = match &self.model_kind {
            ModelChoice::Network(network) => {
                json!({ "mode": network.mode.to_string(), "network": network.settings() })
            }
            ModelChoice::Markov => json!("markov"),
        };
        let rules: Vec<String> = self.rules.iter().map(|path| whole_path(path)).collect();
        let (source, from) = match &self.origin {
            Origin::Cohort(path) => (whole_path(path), None),
            Origin::Tables { kind, path } => (whole_path(path), Some(format!("{kind:?}"))),
            Origin::Simulated { .. } => (String::new(), Some(format!("{:?}", self.origin))),
        };
        json!({
            "source": source,
            "from": from,
            "rules": rules,
            "packs": self.packs.as_deref().map(whole_path),
            "no_common_sense": self.no_common_sense,
            "no_own_rules": self.no_own_rules,
            "accept_broken": self.accept_broken,
            "unknown_codes": format!("{:?}", self.unknown_codes),
            "records": self.records,
            "learner": model_kind,
            "seed": self.seed,
        })
    }
}

/// A run of the chain.
struct Chain<'a> {
    task: &'a SynthesizeTask,
    files: &'a Workspace,
    narrator: &'a dyn Narrator,
    watch: &'a dyn Watch,
}

impl Chain<'_> {
    /// Runs one step.
    fn step<T: Task>(
        &self,
        step: Step,
        task: &T,
        done: impl FnOnce(&T::Report) -> Done<'_>,
    ) -> Result<T::Report, Error> {
        self.narrator.begins(step)?;
        let report = task.run(self.watch)?;
        self.narrator.done(done(&report))?;
        Ok(report)
    }

    /// The cohort: the origin itself, or what is imported or simulated.
    fn cohort(&self) -> Result<PathBuf, Error> {
        let (task, cohort) = (self.task, &self.files.cohort);
        let is_made = task.out.resume && is_there(cohort);
        let out = task.out.inside("cohort");
        match &task.origin {
            Origin::Cohort(path) => return Ok(path.clone()),
            _ if is_made => {}
            Origin::Tables { kind, path } => {
                let import = ImportTask::new(kind.clone(), path, out);
                self.step(Step::Import, &import, |report| Done::Imported(report))?;
            }
            Origin::Simulated { preset, patients } => {
                let simulate = SimulateTask {
                    patients: Some(*patients),
                    seed: task.seed,
                    ..SimulateTask::new(*preset, out)
                };
                self.step(Step::Simulate, &simulate, |report| Done::Simulated(report))?;
            }
        }
        Ok(cohort.clone())
    }

    /// The rule files: those of common sense, then those given, or the one that is mined. What could not
    /// be checked is added to a list.
    fn rules(&self, cohort: &Path, unchecked: &mut Vec<String>) -> Result<Vec<OriginFile>, Error> {
        let (task, files) = (self.task, self.files);
        let mut found = Vec::new();
        if task.no_common_sense {
            unchecked.push("common sense was left out, as asked".to_owned());
        } else {
            // It takes a moment, so a resumed run looks again rather than remember what it found.
            let out =
                |name: &str| task.out.inside(name).replacing(task.out.force || task.out.resume);
            let sense = CommonSenseTask {
                never_seen: Some(out(NEVER_SEEN)),
                ..CommonSenseTask::new(cohort, out(COMMON_SENSE))
            };
            let report =
                self.step(Step::CommonSense, &sense, |report| Done::CommonSense(report))?;
            unchecked.extend(report.found.missing.iter().cloned());
            unchecked.extend(report.found.left_out().map(|rule| {
                format!(
                    "{}: {} of {} real records break that",
                    rule.sentence, rule.broken, rule.could_break
                )
            }));
            for path in [&files.common_sense, &files.never_seen] {
                let origin = RuleOrigin::CommonSense;
                found.push(OriginFile { origin, path: path.clone() });
            }
        }
        self.experts(cohort, unchecked, &mut found)?;
        if task.rules.is_empty() {
            if !(task.out.resume && is_there(&files.rules)) {
                let mine = MineTask::new(cohort, task.out.inside(MINED));
                self.step(Step::Mine, &mine, |report| Done::Mined(report))?;
            }
            found.push(OriginFile { origin: RuleOrigin::Mined, path: files.rules.clone() });
        }
        let given = task.rules.iter().cloned();
        found.extend(given.map(|path| OriginFile { origin: RuleOrigin::Given, path }));
        Ok(found)
    }

    /// The rules of expert tables, a file for each table. They are made anew by a resumed run.
    fn experts(
        &self,
        cohort: &Path,
        unchecked: &mut Vec<String>,
        found: &mut Vec<OriginFile>,
    ) -> Result<(), Error> {
        let (task, out) = (self.task, &self.files.experts);
        let source = match &task.origin {
            Origin::Cohort(path) | Origin::Tables { path, .. } => Some(path),
            Origin::Simulated { .. } => None,
        };
        let beside = || Some(source?.parent()?.join(PACKS)).filter(|folder| folder.is_dir());
        let Some(folder) = task.packs.clone().or_else(beside) else {
            unchecked.push(
                "what experts know: no folder of packs was given, so no rule knows more of medicine \
                 than these records show"
                    .to_owned(),
            );
            return Ok(());
        };
        self.narrator.begins(Step::Experts)?;
        let loaded = load::cohort(&cohort.into(), None, self.watch)?;
        // How often something stays, the network learns from more than a rule can say.
        let options = FolderOptions { hard_only: true, ..FolderOptions::default() };
        let packs = from_folder(&folder, &loaded, &options, self.watch)?;
        create_directory(out)?;
        for pack in &packs.packs {
            let path = out.join(format!("{}.rules", pack.name));
            write_atomically(&path, |file| file.write_all(pack.text.as_bytes()))?;
            found.push(OriginFile { origin: RuleOrigin::Expert, path });
        }
        if packs.packs.is_empty() {
            let folder = folder.display();
            unchecked.push(format!("what experts know: nothing in {folder} speaks of these codes"));
        }
        self.narrator.done(Done::Experts(&packs))
    }

    /// Ends here if that was asked for.
    fn go_on(&self) -> Result<(), Error> {
        if self.watch.wants_stop() { Err(Error::halted(&self.task.out.path)) } else { Ok(()) }
    }
}

/// Files and folders appear whole, so what is there is finished.
fn is_there(path: &Path) -> bool {
    fs::metadata(path).is_ok()
}
