//! `consequence compare`

use std::path::PathBuf;

use clap::Args;
use consequence::train::{DeviceChoice, Size};
use consequence::{Error, Out};
use consequence_comparison::{ComparisonTask, Effort, Method, UnknownMethod};

use super::train::NetworkArguments;
use super::{Outcome, unknown_codes};
use crate::args::{positive, records};
use crate::stop;

#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The cohort that every method trains on (JSON lines, or a MEDS dataset)
    pub cohort: PathBuf,
    /// The folder for the report and for what it is made of
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Rule files that the methods are to keep, rather than rules that are mined
    #[arg(long, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// Take codes that only the rules name as never present, rather than as mistakes
    #[arg(long)]
    pub allow_unknown: bool,
    /// Leave out the rules that the cohort brings along from its import
    #[arg(long)]
    pub no_own_rules: bool,
    /// Only these methods [default: all of the paper's]
    #[arg(long, value_name = "METHOD", num_args = 1.., value_parser = method)]
    pub methods: Vec<Method>,
    /// Minutes on two cores: a tiny network, 4,000 records, 3 generations of 1,000 records
    #[arg(long)]
    pub quick: bool,
    /// Trainings of each method, with this many seeds from --seed on: intervals then cover trainings too
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = positive)]
    pub seeds: usize,
    /// Train vanilla and consequence on the published network too, of the same size; of the options of
    /// networks, --epochs, --batch and --patience hold for it
    #[arg(long)]
    pub also_halo: bool,
    /// Learning rates to try for each method, as multiples of the usual one, such as 0.5 1 2: each takes
    /// the one that predicts the tuning split best
    #[arg(long, value_name = "TIMES", num_args = 1..)]
    pub rates: Vec<f32>,
    /// Generations of each method, spread over its trainings [default: 25, as in the paper]
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    pub runs: Option<usize>,
    /// Records of each generation [default: 10,000, as in the paper]
    #[arg(long, value_name = "NUMBER", value_parser = records)]
    pub records: Option<u64>,
    /// Generations that are also asked for utility and privacy [default: 5]
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    pub deep_runs: Option<usize>,
    /// The most records to train on [default: the whole train split]
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    pub train_records: Option<usize>,
    #[command(flatten)]
    pub network: NetworkArguments,
    /// Where networks train: auto, cpu, or a GPU: cuda:0, cuda:1 and so on [default: auto, a GPU if there is
    /// one]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
    /// Go on with a comparison that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Replace what is there
    #[arg(long)]
    pub force: bool,
    /// Write the figures as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &CompareArguments, seed: u64) -> Result<Outcome, Error> {
    let (usual, effort) = match arguments.quick {
        true => (Size::Tiny, Effort::QUICK),
        false => (Size::Small, Effort::PAPER),
    };
    let settings = arguments.network.settings();
    let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let out = Out::new(&arguments.out).replacing(arguments.force).resuming(arguments.resume);
    let mut task = ComparisonTask {
        rules: arguments.rules.clone(),
        unknown_codes: unknown_codes(arguments.allow_unknown),
        no_own_rules: arguments.no_own_rules,
        network: settings.task(usual, seed)?,
        also: match arguments.also_halo {
            true => Some(settings.halo_beside(usual)?),
            false => None,
        },
        rates: arguments.rates.clone(),
        device: arguments.device.unwrap_or_default(),
        effort: Effort {
            trainings: short(arguments.seeds),
            runs: arguments.runs.map_or(effort.runs, short),
            records: arguments.records.unwrap_or(effort.records),
            deep_runs: arguments.deep_runs.map_or(effort.deep_runs, short),
            train_records: arguments.train_records.or(effort.train_records),
        },
        seed,
        ..ComparisonTask::new(&arguments.cohort, out)
    };
    if !arguments.methods.is_empty() {
        task.methods.retain(|method| arguments.methods.contains(method));
    }
    stop::gently(|| super::run(&task, arguments.json))
}

fn method(name: &str) -> Result<Method, String> {
    name.parse().map_err(|error: UnknownMethod| error.to_string())
}
