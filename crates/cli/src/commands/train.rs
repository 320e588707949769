//! `consequence train`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use consequence::train::{
    ModelChoice, NetworkKind, NetworkSizes, NetworkTask, Preset, Size, TrainMode, TrainOptions,
    TrainTask,
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
        max_visits: arguments.max_visits,
        checkpoint_every: Duration::from_secs(arguments.checkpoint_every as u64),
        ..TrainTask::new(&arguments.cohort, out)
    };
    stop::gently(|| super::run(&task, arguments.json))
}

impl TrainingArguments {
    pub fn model_kind(&self, seed: u64) -> Result<ModelChoice, Error> {
        match self.generator {
            Kind::Network => {
                let mut task = self.network.task(Size::default(), seed)?;
                task.mode = match self.train_mode {
                    Some(ModeName::Causal) | None => TrainMode::Causal,
                    Some(ModeName::Paper) => TrainMode::Paper,
                    Some(ModeName::Off) => TrainMode::Off,
                };
                Ok(ModelChoice::Network(task))
            }
            Kind::Markov => match self.of_networks() {
                Some(option) => Err(Error::refused(
                    format!("--{option} is for networks, and a Markov model has none"),
                    "leave the option out, or choose {generator=network}",
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
    pub fn task(&self, usual: Size, seed: u64) -> Result<NetworkTask, Error> {
        let mut task = NetworkTask::of(self.preset(usual)?);
        let (sizes, options) = (&mut task.sizes, &mut task.options);
        options.seed = seed;
        let set = |given: Option<usize>, setting: &mut usize| *setting = given.unwrap_or(*setting);
        match sizes {
            NetworkSizes::Recurrent(sizes) => {
                refuse_foreign(
                    "recurrent",
                    &self.of_halo(),
                    "leave it out, or choose {network=halo}",
                )?;
                set(self.head_width, &mut sizes.head);
                set(self.width, &mut sizes.width);
            }
            NetworkSizes::Halo(sizes) => {
                let foreign = [(self.head_width.is_some(), "head-width")];
                refuse_foreign("halo", &foreign, "leave it out, or choose {network=recurrent}")?;
                set(self.width, &mut sizes.width);
                set(self.layers, &mut sizes.layers);
                set(self.heads, &mut sizes.heads);
                set(self.head_units, &mut sizes.head_units);
            }
        }
        self.set_length(options);
        options.rate = self.rate.unwrap_or(options.rate);
        options.decay = self.decay.unwrap_or(options.decay);
        options.dropout = self.dropout.unwrap_or(options.dropout);
        Ok(task)
    }

    /// The published network of the same size: it trains as long, and at a rate of its own.
    pub fn halo_beside(&self, usual: Size) -> Result<NetworkTask, Error> {
        let preset = Preset::new(NetworkKind::Halo, self.size(usual))
            .map_err(|error| Error::refused(error.to_string(), "choose {size=small}"))?;
        let mut task = NetworkTask::of(preset);
        self.set_length(&mut task.options);
        Ok(task)
    }

    /// How long, and how much at once.
    fn set_length(&self, options: &mut TrainOptions) {
        let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        options.batch = self.batch;
        options.epochs = self.epochs.map_or(options.epochs, short);
        options.patience = self.patience.map_or(options.patience, short);
    }

    fn size(&self, usual: Size) -> Size {
        match self.size {
            Some(SizeName::Tiny) => Size::Tiny,
            Some(SizeName::Small) => Size::Small,
            Some(SizeName::Large) => Size::Large,
            Some(SizeName::Paper) => Size::Paper,
            None => usual,
        }
    }

    fn preset(&self, usual: Size) -> Result<Preset, Error> {
        let size = self.size(usual);
        let kind = match (self.network, size) {
            (Some(NetworkName::Recurrent), _) => NetworkKind::Recurrent,
            (Some(NetworkName::Halo), _) | (None, Size::Paper) => NetworkKind::Halo,
            (None, _) => NetworkKind::Recurrent,
        };
        Preset::new(kind, size).map_err(|error| {
            let advice = match size {
                Size::Paper => "the published size is that of {network=halo}",
                _ => "choose {size=small}",
            };
            Error::refused(error.to_string(), advice)
        })
    }

    /// The options that only HALO has.
    fn of_halo(&self) -> [(bool, &'static str); 4] {
        [
            (self.head_units.is_some(), "head-units"),
            (self.layers.is_some(), "layers"),
            (self.heads.is_some(), "heads"),
            (self.dropout.is_some(), "dropout"),
        ]
    }

    /// The first option that was given.
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.network.is_some(), "network"),
            (self.size.is_some(), "size"),
            (self.epochs.is_some(), "epochs"),
            (self.batch.is_some(), "batch"),
            (self.rate.is_some(), "rate"),
            (self.patience.is_some(), "patience"),
            (self.decay.is_some(), "decay"),
            (self.width.is_some(), "width"),
            (self.head_width.is_some(), "head-width"),
        ];
        let all = given.into_iter().chain(self.of_halo());
        all.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

/// Refuses the first option given that means nothing for a network.
fn refuse_foreign(
    network: &str,
    options: &[(bool, &str)],
    advice: &'static str,
) -> Result<(), Error> {
    match options.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Error::refused(
            format!("--{option} means nothing for the {network} network"),
            advice,
        )),
        None => Ok(()),
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
