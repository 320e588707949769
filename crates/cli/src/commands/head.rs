//! `consequence head`

use std::path::PathBuf;

use clap::Args;
use consequence::head::HeadTask;
use consequence::{Error, Split};

use super::Outcome;
use crate::args::{TitleArguments, number, split};

#[derive(Debug, Args)]
pub struct HeadArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// How many records
    #[arg(long, short = 'n', default_value = "5", value_name = "NUMBER", value_parser = number)]
    pub records: usize,
    /// Encounters to show of a record
    #[arg(long, default_value = "10", value_name = "NUMBER", value_parser = number)]
    pub visits: usize,
    /// Codes to show of an encounter
    #[arg(long, default_value = "40", value_name = "NUMBER", value_parser = number)]
    pub codes: usize,
    /// Only records of this split: train, tuning or held_out
    #[arg(long, value_parser = split)]
    pub split: Option<Split>,
    #[command(flatten)]
    pub titles: TitleArguments,
    /// Name the patients
    #[arg(long)]
    pub show_ids: bool,
    /// Write the records as JSON, whole
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &HeadArguments) -> Result<Outcome, Error> {
    let task = HeadTask {
        records: arguments.records,
        titles: arguments.titles.titles.clone(),
        split: arguments.split,
        show_ids: arguments.show_ids,
        visits: arguments.visits,
        codes: arguments.codes,
        ..HeadTask::new(&arguments.cohort)
    };
    super::run(&task, arguments.json)
}
