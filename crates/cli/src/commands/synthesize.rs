//! `consequence synthesize`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consequence::Error;
use consequence::import::{CsvColumns, Source};
use consequence::synthesize::{SynthesizeTask, synthesize};

use super::train::TrainingArguments;
use super::{Outcome, unknown_codes};
use crate::args::records;
use crate::bar::Bar;
use crate::{output, stop};

#[derive(Debug, Args)]
pub struct SynthesizeArguments {
    /// A cohort (JSON lines, or a MEDS dataset), or with --from the tables to import one from
    pub source: PathBuf,
    /// The kind of tables; to choose how they are read, use import first
    #[arg(long, value_name = "KIND")]
    pub from: Option<From>,
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
pub enum From {
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
    let model_kind = arguments.training.model_kind(seed)?;
    let task = SynthesizeTask {
        from: arguments.from.map(|kind| match kind {
            From::Mimic3 => Source::Mimic3,
            From::Mimic4 => Source::Mimic4,
            From::Omop => Source::Omop,
            From::Synthea => Source::Synthea,
            From::UciDiabetes => Source::UciDiabetes,
            From::Csv => Source::Csv(CsvColumns::default()),
            From::Jsonl => Source::Jsonl,
            From::Meds => Source::Meds,
        }),
        rules: arguments.rules.clone(),
        unknown_codes: unknown_codes(arguments.allow_unknown),
        records: arguments.records,
        resume: arguments.resume,
        force: arguments.force,
        seed,
        ..SynthesizeTask::new(&arguments.source, &arguments.out, model_kind)
    };
    let report = stop::gently(|| synthesize(&task, &Bar::default()))?;
    if arguments.json {
        output::json(&report)?;
    } else {
        output::warnings(&report.synthetic.warnings);
        output::data(&report.to_string());
    }
    Ok(Outcome::Done)
}
