//! `consequence synthesize`

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use consequence::import::Source;
use consequence::synthesize::{Origin, SynthesizeTask};
use consequence::{Error, Out};

use super::train::TrainingArguments;
use super::{Outcome, unknown_codes};
use crate::args::records;
use crate::stop;

#[derive(Debug, Args)]
pub struct SynthesizeArguments {
    /// A cohort (JSON lines, or a MEDS dataset), or with --from the tables to import one from
    pub source: PathBuf,
    /// The kind of tables; to choose how they are read, use import first
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub from: Option<Source>,
    /// The folder for everything that is made
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Rule files to obey, rather than rules that are mined
    #[arg(long, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// A folder of tables that experts publish [default: `packs` beside the source, if it is there]
    #[arg(long, value_name = "FOLDER")]
    pub packs: Option<PathBuf>,
    /// Leave out the rules of common sense: one sex, one age, nothing after death
    #[arg(long)]
    pub no_common_sense: bool,
    /// Leave out the rules that the cohort brings along from its import
    #[arg(long)]
    pub no_own_rules: bool,
    /// Keep rules that more than 1 real record in 100 breaks, rather than stop
    #[arg(long)]
    pub accept_broken: bool,
    /// Take codes that only the rules name as never present, rather than as mistakes
    #[arg(long)]
    pub allow_unknown: bool,
    /// Records to generate [default: as many as the cohort has]
    #[arg(long, value_name = "NUMBER", value_parser = records)]
    pub records: Option<u64>,
    #[command(flatten)]
    pub training: TrainingArguments,
    /// Go on with a run that was stopped
    #[arg(long)]
    pub resume: bool,
    /// Replace what is there
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &SynthesizeArguments, seed: u64) -> Result<Outcome, Error> {
    let path = arguments.source.clone();
    let origin = match arguments.from.clone() {
        None => Origin::Cohort(path),
        Some(kind) => Origin::Tables { kind, path },
    };
    let out = Out::new(&arguments.out).replacing(arguments.force).resuming(arguments.resume);
    let task = SynthesizeTask {
        rules: arguments.rules.clone(),
        packs: arguments.packs.clone(),
        no_common_sense: arguments.no_common_sense,
        no_own_rules: arguments.no_own_rules,
        accept_broken: arguments.accept_broken,
        unknown_codes: unknown_codes(arguments.allow_unknown),
        records: arguments.records,
        seed,
        ..SynthesizeTask::new(origin, out, arguments.training.model_kind(seed)?)
    };
    stop::gently(|| super::run(&task, arguments.json))
}

/// Kinds of tables, by name.
fn kinds() -> impl TypedValueParser<Value = Source> {
    let names = Source::all().map(|kind| kind.name());
    PossibleValuesParser::new(names)
        .try_map(|name| name.parse::<Source>().map_err(|()| "no kind of tables"))
}
