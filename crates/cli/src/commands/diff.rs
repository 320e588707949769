//! `consequence diff`

use std::path::PathBuf;

use clap::Args;
use consequence::Error;
use consequence::diff::DiffTask;

use super::Outcome;
use crate::args::{TitleArguments, number};

#[derive(Debug, Args)]
pub struct DiffArguments {
    /// One cohort (JSON lines, or a MEDS dataset)
    pub a: PathBuf,
    /// The other
    pub b: PathBuf,
    /// Codes and tests to tell of, those that differ most first
    #[arg(long, default_value = "20", value_name = "NUMBER", value_parser = number)]
    pub top: usize,
    #[command(flatten)]
    pub titles: TitleArguments,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &DiffArguments) -> Result<Outcome, Error> {
    let task = DiffTask {
        titles: arguments.titles.titles.clone(),
        top: arguments.top,
        ..DiffTask::new(&arguments.a, &arguments.b)
    };
    super::run(&task, arguments.json)
}
