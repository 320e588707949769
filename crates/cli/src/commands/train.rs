//! `consequence train`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use consequence::train::{ModelChoice, NetworkTask, Preset, TrainMode, TrainTask};
use consequence::{Error, Out};

use super::{Outcome, inputs};
use crate::args::{CodeArguments, number, positive, visits};
use crate::stop;

#[derive(Debug, Args)]
pub struct TrainArguments {
    /// The cohort to train on (JSON lines, or a MEDS dataset)
    pub cohort: PathBuf,
    /// Rule files that the model is to obey; without any, it trains alone
    #[arg(long, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// The folder to write
    #[arg(long, value_name = "MODEL")]
    pub out: PathBuf,
    #[command(flatten)]
    pub training: TrainingArguments,
    /// The most encounters that a record may have [default: as many as the longest record has]
    #[arg(long, value_name = "NUMBER", value_parser = visits)]
    pub max_visits: Option<u16>,
    /// Seconds between checkpoints; one is also written after every epoch
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = number)]
    pub checkpoint_every: usize,
    /// Go on with a run that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Replace the model if it is there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub codes: CodeArguments,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is trained, and how.
#[derive(Debug, Args)]
pub struct TrainingArguments {
    /// What is trained
    #[arg(long, value_name = "KIND", default_value = "halo")]
    pub generator: Kind,
    /// How rules take part in training [default: causal]
    #[arg(long, value_name = "MODE")]
    pub train_mode: Option<ModeName>,
    #[command(flatten)]
    pub network: NetworkArguments,
}

/// How large a network is, and how it trains.
#[derive(Debug, Args)]
pub struct NetworkArguments {
    /// Sizes and settings that go together [default: small]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Size>,
    /// The most times that every record is seen [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    pub epochs: Option<usize>,
    /// Records that are trained on at once [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    pub batch: Option<usize>,
    /// The highest learning rate [default: by size]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true)]
    pub rate: Option<f32>,
    /// Epochs without a better network before it stops [default: by size]
    #[arg(long, value_name = "EPOCHS", value_parser = positive)]
    pub patience: Option<usize>,
    /// Hidden units of the head for each code [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub head_units: Option<usize>,
    /// Numbers that a visit is embedded in [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub width: Option<usize>,
    /// Blocks of attention [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub layers: Option<usize>,
    /// Heads of attention [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub heads: Option<usize>,
    /// How much smaller each step makes the weights between codes, times the rate [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = decay, help_heading = "For experts")]
    pub decay: Option<f32>,
    /// The part of the head's units that is left out of each step [default: 0]
    #[arg(long, value_name = "PART", value_parser = part, help_heading = "For experts")]
    pub dropout: Option<f32>,
}

/// A kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A network
    Halo,
    /// Counts of codes and of pairs of codes: trained in a moment
    Markov,
}

/// A size of network.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Size {
    /// Trains in a minute or two, on thousands of records
    Tiny,
    /// Trains in minutes on two cores, on tens of thousands of records
    Small,
    /// The published network: about 96 million parameters
    Paper,
}

/// How rules take part in training.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ModeName {
    /// A rule decides a code from what is already decided when its turn comes
    Causal,
    /// A rule decides its code from the whole true visit, as the paper writes
    Paper,
    /// They do not; for the modes exact, reject and off of generate
    Off,
}

pub fn run(arguments: &TrainArguments, seed: u64) -> Result<Outcome, Error> {
    let out = Out::new(&arguments.out).replacing(arguments.force).resuming(arguments.resume);
    let task = TrainTask {
        inputs: inputs(&arguments.rules, &arguments.cohort, &arguments.codes),
        model_kind: arguments.training.model_kind(seed)?,
        max_visits: arguments.max_visits,
        checkpoint_every: Duration::from_secs(arguments.checkpoint_every as u64),
        ..TrainTask::new(&arguments.cohort, out)
    };
    stop::gently(|| super::run(&task, arguments.json))
}

impl TrainingArguments {
    pub fn model_kind(&self, seed: u64) -> Result<ModelChoice, Error> {
        match self.generator {
            Kind::Halo => {
                let mut task = self.network.task(Preset::Small, seed);
                task.mode = match self.train_mode {
                    Some(ModeName::Causal) | None => TrainMode::Causal,
                    Some(ModeName::Paper) => TrainMode::Paper,
                    Some(ModeName::Off) => TrainMode::Off,
                };
                Ok(ModelChoice::Halo(task))
            }
            Kind::Markov => match self.of_networks() {
                Some(option) => Err(Error::refused(
                    format!("--{option} is for networks, and a Markov model has none"),
                    "leave the option out, or choose {generator=halo}",
                )),
                None => Ok(ModelChoice::Markov),
            },
        }
    }

    /// The first option given that means nothing for counts.
    fn of_networks(&self) -> Option<&'static str> {
        self.train_mode.map(|_| "train-mode").or_else(|| self.network.first_given())
    }
}

impl NetworkArguments {
    /// The network asked for; where nothing is said, of the size that is usual.
    pub fn task(&self, usual: Preset, seed: u64) -> NetworkTask {
        let mut task = NetworkTask::of(match self.size {
            Some(Size::Tiny) => Preset::Tiny,
            Some(Size::Small) => Preset::Small,
            Some(Size::Paper) => Preset::Paper,
            None => usual,
        });
        let (sizes, options) = (&mut task.sizes, &mut task.options);
        options.seed = seed;
        for (given, setting) in [
            (self.width, &mut sizes.width),
            (self.layers, &mut sizes.layers),
            (self.heads, &mut sizes.heads),
            (self.head_units, &mut sizes.head_units),
            (self.batch, &mut options.batch),
        ] {
            *setting = given.unwrap_or(*setting);
        }
        let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        options.epochs = self.epochs.map_or(options.epochs, short);
        options.patience = self.patience.map_or(options.patience, short);
        options.rate = self.rate.unwrap_or(options.rate);
        options.decay = self.decay.unwrap_or(options.decay);
        options.dropout = self.dropout.unwrap_or(options.dropout);
        task
    }

    /// The first option that was given.
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.size.is_some(), "size"),
            (self.epochs.is_some(), "epochs"),
            (self.batch.is_some(), "batch"),
            (self.rate.is_some(), "rate"),
            (self.patience.is_some(), "patience"),
            (self.head_units.is_some(), "head-units"),
            (self.width.is_some(), "width"),
            (self.layers.is_some(), "layers"),
            (self.heads.is_some(), "heads"),
            (self.decay.is_some(), "decay"),
            (self.dropout.is_some(), "dropout"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

fn rate(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err("a rate is a number above 0, such as 0.001".into()),
    }
}

fn decay(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(decay) if (0.0..=100.0).contains(&decay) => Ok(decay),
        _ => Err("a number from 0 to 100, such as 0.3".into()),
    }
}

fn part(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(part) if (0.0..1.0).contains(&part) => Ok(part),
        _ => Err("a number from 0 to less than 1, such as 0.1".into()),
    }
}
