//! Training a model on a cohort.

mod broken;
mod fit;
mod lesson;
mod place;
mod report;
mod task;
mod text;

use std::path::{Path, PathBuf};

use consequence_model::{CHECKPOINT_FILE, Card, Markov, Model, TABLES_FILE, Trained, WEIGHTS_FILE};
use consequence_record::Selection;
use consequence_store::{WorkingFolder, digest, remove_file};

use crate::Error;
use crate::place::Out;
use crate::watch::{Watch, watched};
use fit::Outcome;
use lesson::Lesson;
use place::Place;

pub use broken::{BrokenBy, BrokenRecords};
pub use consequence_model::Epoch;
pub use consequence_train::{Preset, TrainMode, TrainOptions};
pub use report::{TrainReport, TrainRules, TrainedNetwork};
pub use task::{ModelChoice, NetworkSizes, NetworkTask, TrainTask};

/// Trains a model on the train split of a cohort, and writes it. The tuning split tells a network
/// when to stop.
///
/// The rules are compiled and proved first, and the model decides codes in their order. Records that
/// break a hard rule are counted and told of before training begins; they are trained on all the same,
/// but for what rules decide. While a network trains, all that is needed to go on is in a folder beside its
/// own, with `.unfinished` after the name: a run that was stopped and resumed ends in the same bytes as one
/// that was not. The model is put in place whole, and one that it replaces stays there until then.
///
/// ```
/// use consequence::Unwatched;
/// use consequence::train::{ModelChoice, TrainTask, train};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, rules, out] =
///     ["cohort.jsonl", "a.rules", "model"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"A\", \"B\"]]}}\n");
/// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
/// std::fs::write(&rules, "rule lifelong: A in previous => A")?;
///
/// let mut task = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort, &out) };
/// task.inputs.rules = vec![rules];
/// let report = train(&task, &Unwatched)?;
/// assert_eq!((report.max_visits, report.rules.hard, report.rules.broken.records), (2, 1, 0));
/// assert!(out.join("model.json").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train(task: &TrainTask, watch: &dyn Watch) -> Result<TrainReport, Error> {
    let _out = Out::lock(&task.out, task.force)?;
    let place = Place::look(&task.out)?;
    place.refuse(task.resume, task.force)?;
    let lesson = Lesson::prepare(task, watch)?;
    if lesson.broken.records > 0 {
        watch.note(&lesson.broken.to_string());
    }
    let card = lesson.card(task);
    let fingerprint = fingerprint(&card);
    if task.resume && place.has_model {
        match finished(&task.out, &fingerprint) {
            Ok(model) => return Ok(TrainReport::new(task, &lesson, &model, None)),
            Err(_) if task.force => {}
            Err(error) => return Err(error),
        }
    }
    let folder = place.open(task.resume, task.force)?;
    let checkpoint = folder.path().join(CHECKPOINT_FILE);
    // Killed once it was trained, and before it was put in place.
    if let Ok(model) = finished(folder.path(), &fingerprint) {
        put_in_place(folder, &model.trained)?;
        return Ok(TrainReport::new(task, &lesson, &model, None));
    }
    let (trained, history, run) = match fit(task, &lesson, (checkpoint.clone(), fingerprint), watch)
    {
        Ok(trained) => trained,
        Err(error) => {
            // What is worth nothing is not left for anyone to find.
            if !checkpoint.exists() {
                let _ = folder.discard();
            }
            return Err(error);
        }
    };
    let mut model = Model { card: Card { history, ..card }, trained };
    model.write(folder.path())?;
    put_in_place(folder, &model.trained)?;
    Ok(TrainReport::new(task, &lesson, &model, run))
}

/// Trains a model, from where the checkpoint left it.
fn fit(
    task: &TrainTask,
    lesson: &Lesson,
    (checkpoint, fingerprint): (PathBuf, String),
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    match &task.model_kind {
        ModelChoice::Halo(network) => {
            let checkpoint = (checkpoint, task.checkpoint_every, fingerprint);
            fit::network(lesson, network, checkpoint, watch)
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
fn put_in_place(folder: WorkingFolder, trained: &Trained) -> Result<(), Error> {
    let other = match trained {
        Trained::Network(_) => TABLES_FILE,
        Trained::Markov(_) => WEIGHTS_FILE,
    };
    for name in [other, CHECKPOINT_FILE] {
        remove_file(&folder.path().join(name))?;
    }
    Ok(folder.commit()?)
}

/// The model in a folder, if it is the one that is asked for.
fn finished(folder: &Path, wanted: &str) -> Result<Model, Error> {
    let model = Model::open(folder)?;
    match fingerprint(&model.card) == wanted {
        true => Ok(model),
        false => Err(Error::OtherModel(folder.to_path_buf())),
    }
}

/// What a model depends on: records, rules, the way that they take part, and settings.
fn fingerprint(card: &Card) -> String {
    let Card { data, rules, train_mode, training, .. } = card;
    digest(format!("{}\n{rules}\n{train_mode}\n{training}\n", data.digest).as_bytes())
}
