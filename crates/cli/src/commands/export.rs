//! `consequence export`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consequence::export::{ExportForm, ExportTask};
use consequence::{Error, Out};

use super::Outcome;
use crate::bar::Bar;
use crate::output;

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// What to write it as
    pub form: FormName,
    /// The file to write; a folder for omop; - is standard output, for csv and jsonl
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// Tables of OMOP as files of Parquet, rather than CSV
    #[arg(long)]
    pub parquet: bool,
    /// Replace what is there, if it is of the same kind
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// What a cohort can be exported as.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormName {
    /// JSON lines: a record a line
    Jsonl,
    /// One long table: a row for each code of each visit
    Csv,
    /// Tables of the OMOP common data model, version 5.4
    Omop,
}

pub fn run(arguments: &ExportArguments) -> Result<Outcome, Error> {
    let form = match arguments.form {
        FormName::Jsonl => ExportForm::Jsonl,
        FormName::Csv => ExportForm::Csv,
        FormName::Omop => ExportForm::Omop,
    };
    let cohort = arguments.cohort.clone();
    let out = Out::new(&arguments.out).replacing(arguments.force);
    let task = ExportTask { cohort: cohort.into(), form, parquet: arguments.parquet, out };
    if arguments.out.as_os_str() == "-" {
        let report = task.run_into(&mut std::io::stdout().lock(), &Bar::default())?;
        output::message(&report.to_string());
        return Ok(Outcome::Done);
    }
    super::run(&task, arguments.json)
}
