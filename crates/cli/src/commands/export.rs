//! `consequence export`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consequence::Error;
use consequence::export::{ExportForm, export};

use super::Outcome;
use crate::bar::Bar;
use crate::output;

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// What to write it as
    pub form: FormName,
    /// The file to write; a folder for omop
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
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
    let ExportArguments { cohort, out, force, .. } = arguments;
    let report = export(cohort, form, out, *force, &Bar::default())?;
    if arguments.json {
        output::json(&report)?;
    } else {
        output::data(&report.to_string());
    }
    Ok(Outcome::Done)
}
