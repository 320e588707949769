//! `consequence train`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use consequence::train::{
    DeviceChoice, ModelChoice, NetworkKind, NetworkSettings, Precision, Size, TrainMode, TrainTask,
};
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
    /// Rule files that the model obeys when it writes, with no part in training or in what it predicts
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub writing_rules: Vec<PathBuf>,
    /// The folder to write
    #[arg(long, value_name = "MODEL")]
    pub out: PathBuf,
    #[command(flatten)]
    pub training: TrainingArguments,
    /// Where a network trains: auto, cpu, or a GPU: cuda:0, cuda:1 and so on [default: auto, a GPU if
    /// there is one]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
    /// How a GPU multiplies: full, in 32 bits as the CPU does, or fast, with factors rounded to 10 bits [default: fast]
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<Precision>,
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
    /// Keep rules that more than 1 real record in 100 breaks, rather than stop
    #[arg(long)]
    pub accept_broken: bool,
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
    #[arg(long, value_name = "KIND", default_value = "network")]
    pub generator: Kind,
    /// How rules take part in training [default: causal]
    #[arg(long, value_name = "MODE")]
    pub train_mode: Option<ModeName>,
    #[command(flatten)]
    pub network: NetworkArguments,
}

/// Which network, how large it is, and how it trains.
#[derive(Debug, Args)]
pub struct NetworkArguments {
    /// Which network [default: recurrent, or halo for the size paper]
    #[arg(long, value_name = "NETWORK")]
    pub network: Option<NetworkName>,
    /// How large the network is [default: small]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<SizeName>,
    /// The most times that every record is seen
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    pub epochs: Option<usize>,
    /// Visits that are trained on at once [default: by the size of the cohort]
    #[arg(long, value_name = "VISITS", value_parser = positive)]
    pub batch: Option<usize>,
    /// The highest learning rate [default: by network]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true)]
    pub rate: Option<f32>,
    /// Epochs that gain little before the learning rate falls [default: 1]
    #[arg(long, value_name = "EPOCHS", value_parser = positive)]
    pub patience: Option<usize>,
    /// How much smaller each step makes the weights of single codes, times the rate [default: by
    /// network]
    #[arg(long, value_name = "NUMBER", value_parser = decay, help_heading = "For experts")]
    pub decay: Option<f32>,
    /// Numbers that the history of a record is kept in [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub width: Option<usize>,
    /// Recurrent: numbers that the state of a visit has [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub head_width: Option<usize>,
    /// HALO: hidden units of the head for each code [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub head_units: Option<usize>,
    /// HALO: blocks of attention [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub layers: Option<usize>,
    /// HALO: heads of attention [default: by size]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = "For experts")]
    pub heads: Option<usize>,
    /// HALO: the part of the head's units that is left out of each step [default: 0]
    #[arg(long, value_name = "PART", value_parser = part, help_heading = "For experts")]
    pub dropout: Option<f32>,
}

/// A kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A network
    Network,
    /// Counts of codes and of pairs of codes: trained in a moment
    Markov,
}

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetworkName {
    /// A running average over visits and one state a visit: learns best, and any number of codes
    Recurrent,
    /// The published network: a transformer over visits and two triangular layers
    Halo,
}

/// A size of network.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SizeName {
    /// For a first look
    Tiny,
    /// As usual
    Small,
    /// Twice as wide, and twice as slow
    Large,
    /// The published network at its published size: about 96 million parameters
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
        accept_broken: arguments.accept_broken,
        writing_rules: super::rule_inputs(&arguments.writing_rules),
        inputs: inputs(&arguments.rules, &arguments.cohort, &arguments.codes),
        model_kind: arguments.training.model_kind(seed)?,
        device: arguments.device.unwrap_or_default(),
        precision: arguments.precision.unwrap_or(Precision::Fast),
        max_visits: arguments.max_visits,
        checkpoint_every: Duration::from_secs(arguments.checkpoint_every as u64),
        ..TrainTask::new(&arguments.cohort, out)
    };
    stop::gently(|| super::run(&task, arguments.json))
}

impl TrainingArguments {
    /// What is to be trained.
    pub fn model_kind(&self, seed: u64) -> Result<ModelChoice, Error> {
        let settings = self.network.settings();
        let mode = self.train_mode.map(|mode| match mode {
            ModeName::Causal => TrainMode::Causal,
            ModeName::Paper => TrainMode::Paper,
            ModeName::Off => TrainMode::Off,
        });
        match self.generator {
            Kind::Network => ModelChoice::network(&settings, mode, seed),
            Kind::Markov => ModelChoice::markov(&settings, mode),
        }
    }
}

impl NetworkArguments {
    /// What is set of the network.
    pub fn settings(&self) -> NetworkSettings {
        let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        NetworkSettings {
            network: self.network.map(|network| match network {
                NetworkName::Recurrent => NetworkKind::Recurrent,
                NetworkName::Halo => NetworkKind::Halo,
            }),
            size: self.size.map(|size| match size {
                SizeName::Tiny => Size::Tiny,
                SizeName::Small => Size::Small,
                SizeName::Large => Size::Large,
                SizeName::Paper => Size::Paper,
            }),
            epochs: self.epochs.map(short),
            batch: self.batch,
            rate: self.rate,
            patience: self.patience.map(short),
            decay: self.decay,
            width: self.width,
            head_width: self.head_width,
            head_units: self.head_units,
            layers: self.layers,
            heads: self.heads,
            dropout: self.dropout,
        }
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
