//! Models in memory: trained, read, written, and asked for records.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use consequence::generate::{GenerateTask, Mode};
use consequence::train::{
    DeviceChoice, ModelChoice, NetworkKind, NetworkSettings, Precision, Size, TrainMode, TrainTask,
    save,
};
use consequence::{Error, HeldCohort, ModelInput, Out, Task};
use pyo3::prelude::*;

use crate::call::{Call, Waiting};
use crate::cohort::Cohort;
use crate::errors;
use crate::given::{CohortGiven, ModelGiven, RulesGiven, Settings};
use crate::report::Finished;
use crate::rules::{NamedCode, named_codes, unknown_codes};
use crate::verbs::record_inputs;

/// A model in memory. Immutable, and shared by all threads.
#[pyclass(frozen, module = "conseq._native")]
pub struct Model {
    name: String,
    model: Arc<consequence::Model>,
}

impl Model {
    /// A model for Python.
    pub fn new(name: impl Into<String>, model: impl Into<Arc<consequence::Model>>) -> Self {
        Self { name: name.into(), model: model.into() }
    }

    /// The model as tasks take it.
    pub fn input(&self) -> ModelInput {
        ModelInput::Held { name: self.name.clone(), model: Arc::clone(&self.model) }
    }

    /// The model itself.
    pub fn model(&self) -> &Arc<consequence::Model> {
        &self.model
    }
}

#[pymethods]
impl Model {
    /// Reads the folder of a model; with a digest, only the model that has it.
    #[staticmethod]
    #[pyo3(signature = (path, call, digest = None))]
    fn load(py: Python<'_>, path: PathBuf, call: Call, digest: Option<String>) -> PyResult<Self> {
        call.run(py, move |_| {
            let model = match digest {
                Some(digest) => consequence::Model::open_same(&path, &digest)?,
                None => consequence::Model::open(&path)?,
            };
            Ok(Self::new(path.display().to_string(), model))
        })
    }

    /// Writes the folder of a model.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool, call: Call) -> PyResult<()> {
        let model = Arc::clone(&self.model);
        call.run(py, move |_| save(&model, &Out::new(path).replacing(force)))
    }

    /// What reports and messages call it.
    fn name(&self) -> &str {
        &self.name
    }

    /// The same under another name.
    fn renamed(&self, name: String) -> Self {
        Self::new(name, Arc::clone(&self.model))
    }

    /// The card, as JSON.
    fn card(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.model.card)
            .map_err(|error| errors::raised(py, &Error::Json(error)))
    }

    /// The codes, with whether each is static; `END` is left out.
    fn codes(&self) -> Vec<NamedCode> {
        named_codes(self.model.trained.codes().vocabulary())
    }

    /// The rules that the model was trained with, as text.
    fn rules(&self) -> &str {
        &self.model.card.rules
    }

    /// The most encounters of a record.
    fn max_visits(&self) -> usize {
        self.model.trained.max_visits()
    }
}

/// What is set of a network.
pub fn network_settings(settings: &Settings<'_>) -> PyResult<NetworkSettings> {
    let networks = [("recurrent", NetworkKind::Recurrent), ("halo", NetworkKind::Halo)];
    let sizes = [
        ("tiny", Size::Tiny),
        ("small", Size::Small),
        ("large", Size::Large),
        ("paper", Size::Paper),
    ];
    Ok(NetworkSettings {
        network: settings.choice("network", &networks)?,
        size: settings.choice("size", &sizes)?,
        epochs: settings.get("epochs")?,
        batch: settings.get("batch")?,
        rate: settings.get("rate")?,
        patience: settings.get("patience")?,
        decay: settings.get("decay")?,
        width: settings.get("width")?,
        head_width: settings.get("head_width")?,
        head_units: settings.get("head_units")?,
        layers: settings.get("layers")?,
        heads: settings.get("heads")?,
        dropout: settings.get("dropout")?,
    })
}

/// What is to be trained.
pub fn model_choice(py: Python<'_>, settings: &Settings<'_>) -> PyResult<ModelChoice> {
    let modes =
        [("causal", TrainMode::Causal), ("paper", TrainMode::Paper), ("off", TrainMode::Off)];
    let network = network_settings(settings)?;
    let mode = settings.choice("train_mode", &modes)?;
    let seed = settings.get("seed")?.unwrap_or(1);
    let counts = settings.choice("generator", &[("network", false), ("markov", true)])?;
    let chosen = match counts {
        Some(true) => ModelChoice::markov(&network, mode),
        _ => ModelChoice::network(&network, mode, seed),
    };
    chosen.map_err(|error| errors::raised(py, &error))
}

/// Where a network is to train.
pub(crate) fn device(py: Python<'_>, settings: &Settings<'_>) -> PyResult<DeviceChoice> {
    let Some(given) = settings.get::<String>("device")? else { return Ok(DeviceChoice::Auto) };
    let unknown = |error: &dyn std::fmt::Display| errors::input(py, &error.to_string(), None);
    given.parse().map_err(|error| unknown(&error))
}

/// How a GPU is to multiply.
fn precision(settings: &Settings<'_>) -> PyResult<Option<Precision>> {
    settings.choice("precision", &Precision::ALL.map(|one| (one.name(), one)))
}

/// Trains a model, and gives it with the report.
#[pyfunction]
pub fn train(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    rules: RulesGiven,
    writing_rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<(Model, Finished)> {
    let out = settings.out("out")?;
    let inputs = record_inputs(cohort, rules, &settings)?;
    let mut task = TrainTask {
        writing_rules: writing_rules.into(),
        model_kind: model_choice(py, &settings)?,
        device: device(py, &settings)?,
        precision: precision(&settings)?.unwrap_or(Precision::Fast),
        max_visits: settings.get("max_visits")?,
        accept_broken: settings.is_on("accept_broken")?,
        ..TrainTask::new(inputs.cohort.clone(), out.clone().unwrap_or_else(|| Out::new(TRAINED)))
    };
    task.inputs = inputs;
    if let Some(seconds) = settings.get("checkpoint_every")? {
        task.checkpoint_every = Duration::from_secs(seconds);
    }
    call.run(py, move |watch| {
        let (model, report) = match out {
            // Nothing is kept that could be resumed.
            None => task.trained(watch).map_err(|error| match error {
                Error::Interrupted { .. } => {
                    Error::refused(STOPPED, "give {out} to keep checkpoints")
                }
                other => other,
            })?,
            Some(out) => {
                let report = task.run(watch)?;
                (consequence::Model::open(&out.path)?, report)
            }
        };
        Ok((Model::new(task.out.shown(), model), Finished::new(&report)?))
    })
}

/// Generation as it is set.
pub fn generate_task(
    py: Python<'_>,
    model: ModelGiven<'_>,
    prefix: Option<CohortGiven<'_>>,
    rules: RulesGiven,
    settings: &Settings<'_>,
) -> PyResult<GenerateTask> {
    let modes = Mode::ALL.map(|mode| (mode.name(), mode));
    let mut task = GenerateTask::in_memory(model, settings.get("records")?.unwrap_or(0));
    task.out = settings.out("out")?;
    task.mode = settings.choice("mode", &modes)?.unwrap_or_default();
    task.rules = rules.into();
    task.unknown_codes = unknown_codes(settings.is_on("allow_unknown")?);
    task.given = settings.get("given")?;
    task.groups = settings.rules("groups")?;
    task.prefix = prefix.map(Into::into);
    settings.put("temperature", &mut task.temperature)?;
    settings.put("proposals", &mut task.proposals)?;
    settings.put("attempts", &mut task.attempts)?;
    settings.put("shard_records", &mut task.shard_records)?;
    settings.put("seed", &mut task.seed)?;
    task.device = device(py, settings)?;
    task.precision = precision(settings)?.unwrap_or(Precision::Full);
    Ok(task)
}

/// Generates records into files.
#[pyfunction]
pub fn generate(
    py: Python<'_>,
    model: ModelGiven<'_>,
    prefix: Option<CohortGiven<'_>>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let task = generate_task(py, model, prefix, rules, &settings)?;
    call.run(py, move |watch| Finished::new(&task.run(watch)?))
}

/// Generates records, and gives them with the report.
#[pyfunction]
pub fn sample(
    py: Python<'_>,
    model: ModelGiven<'_>,
    prefix: Option<CohortGiven<'_>>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<(Cohort, Finished)> {
    let task = generate_task(py, model, prefix, rules, &settings)?;
    call.run(py, move |watch| {
        let (dataset, report) = task.generated(watch)?;
        Ok((Cohort::new(HeldCohort::new(SAMPLED, dataset)), Finished::new(&report)?))
    })
}

const STOPPED: &str = "training was stopped, and the model was in memory alone";

/// What models and records in memory are called.
const TRAINED: &str = "model";
const SAMPLED: &str = "generated records";

/// Generates records that are taken a part at a time.
#[pyfunction]
pub fn stream(
    py: Python<'_>,
    model: ModelGiven<'_>,
    prefix: Option<CohortGiven<'_>>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Parts> {
    let task = generate_task(py, model, prefix, rules, &settings)?;
    let size = settings.get("stream_batch")?.unwrap_or(1000);
    // One part waits while the next is written.
    let (sender, receiver) = sync_channel(1);
    let waiting = call.begin(py, move |watch| {
        task.each_part(size, watch, |part| {
            let held = HeldCohort::new(SAMPLED, part);
            // Whoever stopped taking parts needs no more of them.
            sender.send(Cohort::new(held)).map_err(|_| Error::halted(SAMPLED))
        })?;
        Ok(())
    })?;
    Ok(Parts { state: Mutex::new(Some(Streaming { receiver, waiting })) })
}

/// Records on their way, a part at a time.
#[pyclass(frozen, module = "conseq._native")]
pub struct Parts {
    /// None once it is over, and while somebody waits for the next part.
    state: Mutex<Option<Streaming>>,
}

struct Streaming {
    receiver: Receiver<Cohort>,
    waiting: Waiting<()>,
}

#[pymethods]
impl Parts {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Cohort>> {
        // Not held while the interpreter's lock is given away.
        let state = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Streaming { receiver, waiting }) = state().take() else { return Ok(None) };
        match waiting.next(py, receiver)? {
            Some((part, receiver)) => {
                *state() = Some(Streaming { receiver, waiting });
                Ok(Some(part))
            }
            None => waiting.finish(py).map(|()| None),
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(streaming) = state {
            streaming.waiting.stop();
        }
    }
}
