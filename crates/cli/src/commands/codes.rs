//! `consequence codes`

use std::path::PathBuf;

use clap::Args;
use consequence::codes::CodesTask;
use consequence::{Error, Split};

use super::Outcome;
use crate::args::{TitleArguments, number, split};

#[derive(Debug, Args)]
pub struct CodesArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// What the code or its title has, all of it; `*` and `?` stand for parts of a code [default: all codes]
    pub words: Vec<String>,
    /// Codes to list, the commonest first
    #[arg(long, default_value = "50", value_name = "NUMBER", value_parser = number)]
    pub top: usize,
    /// Count only records of this split: train, tuning or held_out
    #[arg(long, value_parser = split)]
    pub split: Option<Split>,
    #[command(flatten)]
    pub titles: TitleArguments,
    /// Leave out codes of fewer patients than this
    #[arg(long, default_value = "0", value_name = "NUMBER", value_parser = consequence::parse_count)]
    pub hide_below: u64,
    /// Write the codes as JSON, all of them
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &CodesArguments) -> Result<Outcome, Error> {
    let task = CodesTask {
        words: arguments.words.clone(),
        titles: arguments.titles.titles.clone(),
        split: arguments.split,
        top: arguments.top,
        hide_below: arguments.hide_below,
        ..CodesTask::new(&arguments.cohort)
    };
    super::run(&task, arguments.json)
}
