//! Training a model on a cohort.

mod fit;
mod lesson;
mod report;
mod settings;
mod task;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use consequence_model::{
    CARD_FILE, CHECKPOINT_FILE, CONCEPTS_FILE, Card, DETAILS_FILE, Markov, Model, TABLES_FILE,
    Trained, WEIGHTS_FILE,
};
use consequence_pipeline::{Advice, Error, Out, Task, Watch, watched};
use consequence_record::Selection;
use consequence_store::{RunError, RunFolder, Site, StoreError, digest, remove_file};

use fit::Outcome;
use lesson::Lesson;

use crate::broken::BrokenRecords;

pub use consequence_model::{Epoch, HaloSizes, NetworkSizes, RecurrentSizes};
pub use consequence_train::{
    DeviceChoice, NetworkKind, NoSuchPreset, Precision, Preset, SilentUnits, Size, TrainMode,
    TrainOptions,
};
pub use report::{EpochSeconds, TrainReport, TrainRules, TrainedEpoch, TrainedNetwork};
pub use settings::NetworkSettings;
pub use task::{ModelChoice, NetworkTask, TrainTask};

/// The number of the format of the folder that a model is trained in.
const RUN_FORMAT: u32 = 2;

/// Whether a name is that of a part of a model, or of something that a killed run left among them.
fn is_part(name: &OsStr) -> bool {
    let files =
        [CARD_FILE, WEIGHTS_FILE, TABLES_FILE, DETAILS_FILE, CONCEPTS_FILE, CHECKPOINT_FILE];
    files.iter().any(|file| name == *file) || name.to_string_lossy().starts_with(".partial-")
}

impl Task for TrainTask {
    type Report = TrainReport;

    /// Trains a model on the train split of a cohort, and writes it. The tuning split tells a network
    /// when to stop.
    ///
    /// The rules are compiled and proved first, and the model decides codes in their order. Records that
    /// break a hard rule are counted and told of before training begins; they are trained on all the same,
    /// but for what rules decide. A rule that more than one in a hundred breaks is refused. While a network trains, all that is needed to go on is in a folder beside its
    /// own, with `.unfinished` after the name: a run that was stopped and resumed ends in the same bytes as one
    /// that was not. The model is put in place whole, and one that it replaces stays there until then.
    fn run(&self, watch: &dyn Watch) -> Result<TrainReport, Error> {
        self.refuse_old_run()?;
        let options = self.out.run_options(Site::Beside(is_part), RUN_FORMAT);
        let reserved = RunFolder::reserve(&self.out.path, &options)?;
        let lesson = Lesson::prepare(self, watch)?;
        if lesson.broken.records > 0 {
            watch.note(&broken_note(&lesson.broken));
        }
        if !self.accept_broken {
            lesson.broken.refuse_often_broken(lesson.broken.often_broken())?;
        }
        let card = lesson.card(self);
        let fingerprint = fingerprint(&card);
        if self.out.resume && self.out.path.join(CARD_FILE).exists() {
            match finished(&self.out.path, &fingerprint) {
                Ok(model) => return Ok(TrainReport::new(self, &lesson, &model, None)),
                Err(_) if self.out.force => {}
                Err(error) => return Err(error),
            }
        }
        let run = reserved.begin_without_manifest()?;
        let checkpoint = run.path(CHECKPOINT_FILE);
        // Killed once it was trained, and before it was put in place.
        if let Ok(model) = finished(&run.path(""), &fingerprint) {
            put_in_place(run, &model.trained)?;
            return Ok(TrainReport::new(self, &lesson, &model, None));
        }
        let outcome = fit(self, &lesson, (checkpoint.clone(), fingerprint), watch);
        let (trained, history, taken) = match outcome {
            Ok(trained) => trained,
            Err(error) => {
                // What is worth nothing is not left for anyone to find.
                if !checkpoint.exists() {
                    let _ = run.discard();
                }
                return Err(error);
            }
        };
        let (details, concepts) = (lesson.details.clone(), lesson.concepts.clone());
        let mut model = Model { card: Card { history, ..card }, trained, details, concepts };
        model.write(&run.path(""))?;
        put_in_place(run, &model.trained)?;
        Ok(TrainReport::new(self, &lesson, &model, taken))
    }
}

impl TrainTask {
    /// Trains a model and gives it. What a stopped run would be resumed from is in a folder that is gone
    /// afterwards; [`out`](Self::out) is not written, and its path is what the report calls the model.
    ///
    /// ```
    /// use consequence::train::{ModelChoice, TrainTask};
    /// use consequence::Unwatched;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cohort = folder.path().join("cohort.jsonl");
    /// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"B\"]]}}\n");
    /// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
    /// let task = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort, "model") };
    /// let (model, report) = task.trained(&Unwatched)?;
    /// assert_eq!((model.trained.max_visits(), &*report.out), (2, "model"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trained(&self, watch: &dyn Watch) -> Result<(Model, TrainReport), Error> {
        let failed = |error| StoreError::new(&std::env::temp_dir(), error);
        let folder = tempfile::tempdir().map_err(failed)?;
        let path = folder.path().join("model");
        let report = Self { out: path.clone().into(), ..self.clone() }.run(watch)?;
        Ok((Model::open(&path)?, TrainReport { out: self.out.shown(), ..report }))
    }

    /// Refuses a run in the folder of the model itself, where older versions trained.
    fn refuse_old_run(&self) -> Result<(), Error> {
        let path = self.out.path.join(CHECKPOINT_FILE);
        if self.out.force || !path.exists() {
            return Ok(());
        }
        let ours = env!("CARGO_PKG_VERSION").to_owned();
        Err(RunError::OtherVersion { path, version: None, format: None, ours }.into())
    }
}

/// Writes a model to a folder, whole or not at all.
///
/// ```
/// use consequence::train::{ModelChoice, TrainTask, save};
/// use consequence::{Model, Out, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, out] = ["cohort.jsonl", "model"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"B\"]]}}\n");
/// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
/// let task = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort, "model") };
/// let (model, _) = task.trained(&Unwatched)?;
/// save(&model, &Out::new(&out))?;
/// assert_eq!(Model::open(&out)?.trained.max_visits(), 2);
/// assert!(save(&model, &Out::new(&out)).is_err(), "it is there");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(model: &Model, out: &Out) -> Result<(), Error> {
    let options = out.run_options(Site::Beside(is_part), RUN_FORMAT);
    let run = RunFolder::reserve(&out.path, &options)?.begin_without_manifest()?;
    let mut model = model.clone();
    model.write(&run.path(""))?;
    put_in_place(run, &model.trained)
}

/// Tells of records to train on that break a rule.
fn broken_note(broken: &BrokenRecords) -> String {
    format!(
        "warning: {broken}  = help: nothing is trained where a rule decides; see them with `consequence \
         audit`, repair them with `consequence enforce`\n"
    )
}

/// Trains a model, from where the checkpoint left it.
fn fit(
    task: &TrainTask,
    lesson: &Lesson,
    (checkpoint, fingerprint): (PathBuf, String),
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    match &task.model_kind {
        ModelChoice::Network(network) => {
            let checkpoint = (checkpoint, task.checkpoint_every, fingerprint);
            fit::network(lesson, (network, task.device, task.precision), checkpoint, watch)
        }
        ModelChoice::Markov => {
            let (codes, records) = (lesson.codes.clone(), &lesson.train);
            let markov = watched(watch, "counting", None, || {
                Markov::fit(codes, Selection::new(&lesson.cohort, records), lesson.max_visits)
            });
            Ok((Trained::Markov(Box::new(markov)), Vec::new(), None))
        }
    }
}

/// Puts a model that is complete in place, with nothing but the files that it is made of.
fn put_in_place(run: RunFolder, trained: &Trained) -> Result<(), Error> {
    let other = match trained {
        Trained::Network(_) => TABLES_FILE,
        Trained::Markov(_) => WEIGHTS_FILE,
    };
    for name in [other, CHECKPOINT_FILE] {
        remove_file(&run.path(name))?;
    }
    Ok(run.finish()?)
}

/// The model in a folder, if it is the one that is asked for.
fn finished(folder: &Path, wanted: &str) -> Result<Model, Error> {
    let model = Model::open(folder)?;
    match fingerprint(&model.card) == wanted {
        true => Ok(model),
        false => Err(Error::Refused {
            what: "the model that is there was made with other records, rules or settings".into(),
            path: Some(folder.to_path_buf()),
            advice: Advice::new("choose another name, or give {force} to replace it"),
        }),
    }
}

/// What a model depends on: records, their dates and values, rules, the way that they take part, and settings.
fn fingerprint(card: &Card) -> String {
    let Card { data, rules, writing_rules, train_mode, training, details_digest, .. } = card;
    let text = format!(
        "{}\n{rules}{writing_rules}\n{train_mode}\n{training}\n{details_digest}",
        data.digest
    );
    digest(text.as_bytes())
}
