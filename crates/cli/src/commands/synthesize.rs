//! `consequence synthesize`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consequence::import::{CsvColumns, Source};
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
    #[arg(long, value_name = "KIND")]
    pub from: Option<Tables>,
    /// The folder for everything that is made
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Rule files to obey, rather than rules that are mined
    #[arg(long, num_args = 1..)]
    pub rules: Vec<PathBuf>,
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

/// A kind of tables.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Tables {
    /// MIMIC-III
    Mimic3,
    /// MIMIC-IV
    Mimic4,
    /// OMOP common data model
    Omop,
    /// Synthea
    Synthea,
    /// The diabetes data of 130 US hospitals
    UciDiabetes,
    /// A table with one code a row
    Csv,
    /// JSON lines, compressed by gzip or not
    Jsonl,
    /// A MEDS dataset
    Meds,
}

pub fn run(arguments: &SynthesizeArguments, seed: u64) -> Result<Outcome, Error> {
    let path = arguments.source.clone();
    let tables = |kind| Origin::Tables { kind, path: path.clone() };
    let origin = match arguments.from {
        None => Origin::Cohort(path),
        Some(Tables::Mimic3) => tables(Source::Mimic3),
        Some(Tables::Mimic4) => tables(Source::Mimic4),
        Some(Tables::Omop) => tables(Source::Omop),
        Some(Tables::Synthea) => tables(Source::Synthea),
        Some(Tables::UciDiabetes) => tables(Source::UciDiabetes),
        Some(Tables::Csv) => tables(Source::Csv(CsvColumns::default())),
        Some(Tables::Jsonl) => tables(Source::Jsonl),
        Some(Tables::Meds) => tables(Source::Meds),
    };
    let out = Out::new(&arguments.out).replacing(arguments.force).resuming(arguments.resume);
    let task = SynthesizeTask {
        rules: arguments.rules.clone(),
        unknown_codes: unknown_codes(arguments.allow_unknown),
        records: arguments.records,
        seed,
        ..SynthesizeTask::new(origin, out, arguments.training.model_kind(seed)?)
    };
    stop::gently(|| super::run(&task, arguments.json))
}
