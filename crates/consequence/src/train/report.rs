//! The report of a training.

use std::fmt::{self, Display, Formatter};

use consequence_model::{
    Epoch, HaloSizes, Model, ModelKind, NetworkSizes, RecurrentSizes, Trained,
};
use consequence_network::Shape;
use consequence_pipeline::Report;
use consequence_pipeline::words::{count, number};
use consequence_train::SilentUnits;
use serde::Serialize;

use super::TrainTask;
use super::fit::Run;
use super::lesson::Lesson;
use crate::broken::BrokenRecords;

/// What was trained, and on what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// The folder that was written.
    pub out: String,
    /// What kind of model it is.
    pub generator: ModelKind,
    /// Whether it was there already, and nothing was to be done.
    pub was_finished: bool,
    /// Records it trained on.
    pub train_records: usize,
    /// Records that told when to stop.
    pub tuning_records: usize,
    /// Static codes.
    pub static_codes: usize,
    /// Codes of encounters, `END` not counted.
    pub encounter_codes: usize,
    /// The most encounters that a record may have.
    pub max_visits: usize,
    /// The sizes of a network.
    pub network: Option<TrainedNetwork>,
    /// The rules that it is to obey.
    pub rules: TrainRules,
    /// What every epoch came to, in mean nats of a record.
    pub epochs: Vec<TrainedEpoch>,
    /// The epoch whose weights were kept: the one with the fewest nats of a tuning record.
    pub best_epoch: Option<u32>,
    /// The share of units of HALO's head that never fire on the tuning split; of a run that trained
    /// a HALO network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_units: Option<SilentUnits>,
    /// Seconds of training in this run.
    pub seconds: Option<f64>,
    /// Records trained on in a second.
    pub records_per_second: Option<f64>,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

/// An epoch, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrainedEpoch {
    /// What it came to.
    #[serde(flatten)]
    pub figures: Epoch,
    /// What it took; none of an epoch of an earlier run.
    #[serde(flatten)]
    pub seconds: Option<EpochSeconds>,
}

/// What an epoch took in this run: less than all of it, if it was resumed half-way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EpochSeconds {
    /// Seconds, with validation and checkpoints in its midst.
    pub seconds: f64,
    /// Seconds of its steps alone.
    pub training_seconds: f64,
}

/// A network in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrainedNetwork {
    /// Its sizes.
    #[serde(flatten)]
    pub sizes: NetworkSizes,
    /// Its parameters.
    pub parameters: usize,
}

/// The rules that a model is to obey, and their part in training.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrainRules {
    /// The rule files.
    pub files: Vec<String>,
    /// Rules that must hold.
    pub hard: usize,
    /// Rules that hold with a probability.
    pub soft: usize,
    /// How they took part: `causal`, `paper` or `off`.
    pub mode: String,
    /// Records to train on that break hard ones.
    pub broken: BrokenRecords,
}

impl Report for TrainReport {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl TrainReport {
    /// The report of a model; without a run, of one that was there already or was merely counted.
    pub(super) fn new(task: &TrainTask, lesson: &Lesson, model: &Model, run: Option<Run>) -> Self {
        let hard = lesson.rules.iter().filter(|rule| rule.is_hard()).count();
        let network = match &model.trained {
            Trained::Network(network) => {
                let sizes = match network.weights().shape() {
                    Shape::Recurrent(shape) => NetworkSizes::Recurrent(RecurrentSizes {
                        head: shape.head,
                        width: shape.width,
                        bottleneck: shape.bottleneck,
                    }),
                    Shape::Halo(shape) => NetworkSizes::Halo(HaloSizes {
                        width: shape.width,
                        layers: shape.layers,
                        heads: shape.heads,
                        head_units: shape.head_units,
                    }),
                };
                Some(TrainedNetwork { sizes, parameters: network.weights().values().len() })
            }
            Trained::Markov(_) => None,
        };
        let history = &model.card.history;
        let best = history.iter().min_by(|a, b| a.tuning_nats.total_cmp(&b.tuning_nats));
        let taken = |epoch: &Epoch| run.as_ref()?.epochs.get(&epoch.epoch).copied();
        let epochs =
            history.iter().map(|epoch| TrainedEpoch { figures: *epoch, seconds: taken(epoch) });
        Self {
            cohort: task.inputs.cohort.shown(),
            out: task.out.shown(),
            generator: model.card.kind,
            was_finished: run.is_none() && network.is_some(),
            train_records: lesson.train.len(),
            tuning_records: lesson.tuning.len(),
            static_codes: lesson.codes.statics(),
            encounter_codes: lesson.codes.len() - lesson.codes.statics() - 1,
            max_visits: lesson.max_visits,
            network,
            rules: TrainRules {
                files: lesson.files.clone(),
                hard,
                soft: lesson.rules.len() - hard,
                mode: lesson.mode.to_string(),
                broken: lesson.broken.clone(),
            },
            best_epoch: best.map(|epoch| epoch.epoch),
            epochs: epochs.collect(),
            silent_units: run.as_ref().and_then(|run| run.silent_units),
            seconds: run.as_ref().map(|run| run.seconds),
            records_per_second: run.as_ref().map(|run| run.records as f64 / run.seconds.max(1e-9)),
            warnings: lesson.warnings.clone(),
        }
    }
}

impl Display for TrainReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let what = match self.generator {
            ModelKind::Recurrent => "a network",
            ModelKind::Halo => "a HALO network",
            ModelKind::Markov => "a Markov model",
        };
        let records = count(self.train_records as u64, "record");
        writeln!(out, "{}: {what} that trained on {records} of {}", self.out, self.cohort)?;
        writeln!(
            out,
            "  {} and {} of encounters; up to {}",
            count(self.static_codes as u64, "static code"),
            number(self.encounter_codes as u64),
            count(self.max_visits as u64, "encounter")
        )?;
        if let Some(network) = self.network {
            writeln!(out, "  {network}")?;
        }
        self.rules.fmt(out)?;
        if self.was_finished {
            writeln!(out, "  it was finished before: nothing was to be done")?;
        }
        self.table(out)?;
        if let Some(SilentUnits { before, after }) = self.silent_units {
            let [before, after] = [before, after].map(|share| 100.0 * share);
            writeln!(
                out,
                "\n  {after:.1}% of the head's units never fire; {before:.1}% before training"
            )?;
        }
        if let (Some(seconds), Some(rate)) = (self.seconds, self.records_per_second) {
            writeln!(out, "\n{seconds:.1} seconds training, {rate:.0} records a second")?;
        }
        Ok(())
    }
}

impl TrainReport {
    fn table(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.epochs.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n  nats a record  {:>9}  {:>9}", "train", "tuning")?;
        for TrainedEpoch { figures, .. } in &self.epochs {
            let Epoch { epoch, train_nats, tuning_nats } = *figures;
            let best = if Some(epoch) == self.best_epoch { "  kept" } else { "" };
            writeln!(out, "  epoch {epoch:>7}  {train_nats:>9.3}  {tuning_nats:>9.3}{best}")?;
        }
        Ok(())
    }
}

impl Display for TrainedNetwork {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.sizes {
            NetworkSizes::Recurrent(sizes) => {
                write!(out, "a head of {}, a history of {}", sizes.head, sizes.width)?;
            }
            NetworkSizes::Halo(sizes) => write!(
                out,
                "{}, width {}, {}, {}",
                count(sizes.layers as u64, "layer"),
                sizes.width,
                count(sizes.heads as u64, "head"),
                count(sizes.head_units as u64, "head unit"),
            )?,
        }
        write!(out, ": {}", count(self.parameters as u64, "parameter"))
    }
}

impl Display for TrainRules {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let rules = self.hard + self.soft;
        if rules == 0 {
            return writeln!(out, "  no rules");
        }
        let part = match self.mode.as_str() {
            "off" => "no part in training".to_owned(),
            mode => format!("training mode {mode}"),
        };
        let (hard, soft) = (number(self.hard as u64), number(self.soft as u64));
        writeln!(out, "  {} ({hard} hard, {soft} soft); {part}", count(rules as u64, "rule"))?;
        match self.broken.records {
            0 => writeln!(out, "  every record to train on obeys every hard rule"),
            records => {
                let breaks = if records == 1 { "breaks" } else { "break" };
                let rules = count(self.broken.rules.len() as u64, "hard rule");
                writeln!(out, "  {} to train on {breaks} {rules}", count(records, "record"))
            }
        }
    }
}
