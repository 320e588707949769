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
    /// A file for codes that no patient of a sex has: for `train --writing-rules`
    #[arg(long, value_name = "FILE")]
    pub never_seen: Option<PathBuf>,
    /// Replace the files if they are there
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &CommonSenseArguments) -> Result<Outcome, Error> {
    let out = |path: &PathBuf| Out::new(path).replacing(arguments.force);
    let task = CommonSenseTask {
        never_seen: arguments.never_seen.as_ref().map(out),
        ..CommonSenseTask::new(&arguments.cohort, out(&arguments.out))
    };
    super::run(&task, arguments.json)
}
