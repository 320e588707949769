//! `consequence rules common-sense`

use std::path::PathBuf;

use clap::Args;
use consequence::common_sense::CommonSenseTask;
use consequence::{Error, Out};

use super::Outcome;

#[derive(Debug, Args)]
pub struct CommonSenseArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// The rule file to write
    #[arg(long)]
    pub out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &CommonSenseArguments) -> Result<Outcome, Error> {
    let out = Out::new(&arguments.out).replacing(arguments.force);
    super::run(&CommonSenseTask { cohort: arguments.cohort.clone(), out }, arguments.json)
}
