//! `consequence generate`

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use consequence::generate::{GenerateTask, Mode};
use consequence::train::{DeviceChoice, Precision};
use consequence::{Error, Out};

use super::{Outcome, unknown_codes};
use crate::args::{positive, records};
use crate::stop;

#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// The folder of the model
    pub model: PathBuf,
    /// Records to write
    #[arg(long, value_name = "NUMBER", value_parser = records)]
    pub records: u64,
    /// The folder to write (MEDS), or the file if its name ends in .jsonl
    #[arg(long, value_name = "COHORT")]
    pub out: PathBuf,
    /// How rules and model work together
    #[arg(long, default_value = "guided")]
    pub mode: ModeName,
    /// Rule files to obey instead of the model's own rules
    #[arg(long, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// Take codes that only the rules name as never present, rather than as mistakes
    #[arg(long)]
    pub allow_unknown: bool,
    /// What every record has, or has not: static codes, codes of encounters, groups: 'SEX//F, not SMOKER,
    /// diabetes'
    #[arg(long, value_name = "NAMES")]
    pub given: Option<String>,
    /// Rule files whose `let`s are groups that can be given: records with a visit at which the name is true
    #[arg(long, num_args = 1.., requires = "given", value_name = "FILES")]
    pub groups: Vec<PathBuf>,
    /// Go on with the records of this cohort, over and over until there are enough
    #[arg(long, value_name = "COHORT")]
    pub prefix: Option<PathBuf>,
    /// Below 1 what is likely becomes likelier, above 1 less so
    #[arg(long, default_value = "1", value_name = "NUMBER", allow_negative_numbers = true)]
    pub temperature: f64,
    /// Proposals for each record in mode exact
    #[arg(long, default_value = "16", value_name = "NUMBER", value_parser = tries)]
    pub proposals: u16,
    /// The most attempts at a record in mode reject, or where codes of encounters or groups are given
    #[arg(long, default_value = "1000", value_name = "NUMBER", value_parser = tries)]
    pub attempts: u16,
    /// Records that each thread writes at a time; they do not depend on it
    #[arg(long, default_value = "128", value_name = "NUMBER", value_parser = positive)]
    pub batch: usize,
    /// Where codes are drawn: auto, cpu, or a GPU: cuda:0, cuda:1 and so on [default: auto, every GPU that there is]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
    /// How GPUs multiply: full, in 32 bits, so that nearly every record is that of the CPU, or fast, with factors rounded to 10
    /// bits [default: full]
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<Precision>,
    /// Records of a data file
    #[arg(long, default_value = "10k", value_name = "NUMBER", value_parser = records)]
    pub shard_records: u64,
    /// Write only this part of the records, such as 3/8: a cohort of its own, whose records are those of the whole
    #[arg(long, value_name = "PART", value_parser = super::parts::part, conflicts_with = "resume")]
    pub shard: Option<(u32, u32)>,
    /// Go on with a run that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Replace the cohort if it is there
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// How rules and model work together.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ModeName {
    /// Rules decide codes while the visit is drawn, code by code
    Guided,
    /// The visit is drawn whole, then repaired: the paper's way
    Override,
    /// Several guided proposals for each record, one kept by its weight
    Exact,
    /// Records are drawn freely, and again until one obeys
    Reject,
    /// No rules
    Off,
}

pub fn run(arguments: &GenerateArguments, seed: u64) -> Result<Outcome, Error> {
    let out = Out::new(&arguments.out).replacing(arguments.force).resuming(arguments.resume);
    let task = GenerateTask {
        mode: match arguments.mode {
            ModeName::Guided => Mode::Guided,
            ModeName::Override => Mode::Override,
            ModeName::Exact => Mode::Exact,
            ModeName::Reject => Mode::Reject,
            ModeName::Off => Mode::Off,
        },
        rules: super::rule_inputs(&arguments.rules),
        unknown_codes: unknown_codes(arguments.allow_unknown),
        given: arguments.given.clone(),
        groups: super::rule_inputs(&arguments.groups),
        prefix: arguments.prefix.as_ref().map(Into::into),
        temperature: arguments.temperature,
        proposals: arguments.proposals,
        attempts: arguments.attempts,
        batch: arguments.batch,
        device: arguments.device.unwrap_or_default(),
        precision: arguments.precision.unwrap_or(Precision::Full),
        shard: arguments.shard,
        shard_records: arguments.shard_records,
        seed,
        ..GenerateTask::new(&arguments.model, arguments.records, out)
    };
    let words = match is_lines(&arguments.out) {
        true => "stopped: a file of JSON lines is written in one go, and this one was not",
        false => {
            "stopped: what was written is kept\n  = help: give the same command with --resume to \
             go on"
        }
    };
    stop::at_once(words, || super::run(&task, arguments.json))
}

fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl"))
}

fn tries(text: &str) -> Result<u16, String> {
    let count = positive(text)?;
    u16::try_from(count).map_err(|_| format!("{count} is too many; {} is the most", u16::MAX))
}
