//! What to train, and on what.

use std::time::Duration;

use consequence_model::{NetworkSizes, Sizes};
use consequence_pipeline::{CohortInput, Out, RecordInputs, RuleInput};
use consequence_train::{DeviceChoice, Precision, Preset, TrainMode, TrainOptions};
use serde_json::{Value, json};

/// How often a checkpoint is written if nothing else is said.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(120);

/// What to train, and on what.
///
/// ```
/// use consequence::train::{ModelChoice, TrainTask};
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, rules, out] =
///     ["cohort.jsonl", "a.rules", "model"].map(|name| folder.path().join(name));
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\"], [\"A\", \"B\"]]}}\n");
/// std::fs::write(&cohort, (0..50).map(line).collect::<String>())?;
/// std::fs::write(&rules, "rule lifelong: A in previous => A")?;
///
/// let mut task = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(cohort, &out) };
/// task.inputs.rules = vec![rules.into()];
/// let report = task.run(&Unwatched)?;
/// assert_eq!((report.max_visits, report.rules.hard, report.rules.broken.records), (2, 1, 0));
/// assert!(out.join("model.json").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TrainTask {
    /// The cohort to train on, and the rules that the model is to obey, if any.
    pub inputs: RecordInputs,
    /// Rule files that the model obeys when it writes, and that have no part in training or in what it
    /// predicts.
    pub writing_rules: Vec<RuleInput>,
    /// The folder to write.
    pub out: Out,
    /// What is to be trained.
    pub model_kind: ModelChoice,
    /// Where a network trains.
    pub device: DeviceChoice,
    /// How a GPU multiplies.
    pub precision: Precision,
    /// The most encounters that a record may have; none: as many as the longest record has.
    pub max_visits: Option<u16>,
    /// Whether to train with rules that more than one record in a hundred breaks.
    pub accept_broken: bool,
    /// How often to write what a stopped run can be taken up from.
    pub checkpoint_every: Duration,
}

impl TrainTask {
    /// The usual network for a cohort, without rules.
    pub fn new(cohort: impl Into<CohortInput>, out: impl Into<Out>) -> Self {
        Self {
            inputs: RecordInputs::new(cohort),
            writing_rules: Vec::new(),
            out: out.into(),
            model_kind: ModelChoice::Network(NetworkTask::of(Preset::default())),
            device: DeviceChoice::Auto,
            precision: Precision::Fast,
            max_visits: None,
            accept_broken: false,
            checkpoint_every: CHECKPOINT_EVERY,
        }
    }
}

/// A kind of model that can be trained.
#[derive(Clone, Debug)]
pub enum ModelChoice {
    /// A network.
    Network(NetworkTask),
    /// Counts of codes and of pairs of codes. Rules have no part in training them.
    Markov,
}

/// How a network is to be trained.
#[derive(Clone, Debug)]
pub struct NetworkTask {
    /// Its sizes.
    pub sizes: NetworkSizes,
    /// How rules take part.
    pub mode: TrainMode,
    /// How long and how fast.
    pub options: TrainOptions,
}

impl NetworkTask {
    /// A network with the sizes and settings of a preset.
    pub fn of(preset: Preset) -> Self {
        Self { sizes: preset.sizes(), mode: TrainMode::default(), options: preset.options() }
    }

    /// The sizes for records of so many encounters at most.
    pub fn sizes_for(&self, max_visits: usize) -> Sizes {
        Sizes { max_visits, network: self.sizes }
    }

    /// All that the result depends on, apart from records, rules and the way that they take part.
    pub fn settings(&self) -> Value {
        json!({ "sizes": self.sizes, "options": self.options })
    }
}
