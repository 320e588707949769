//! `consequence audit`

use std::path::PathBuf;

use clap::Args;
use consequence::audit::AuditTask;
use consequence::{Error, Split};

use super::{Outcome, inputs};
use crate::args::{CodeArguments, number, split};

#[derive(Debug, Args)]
pub struct AuditArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// Rule files
    #[arg(long, required = true, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    #[command(flatten)]
    pub codes: CodeArguments,
    /// Rules to list, the most broken first
    #[arg(long, default_value = "20", value_name = "NUMBER", value_parser = number)]
    pub top: usize,
    /// Only records of this split: train, tuning or held_out
    #[arg(long, value_parser = split)]
    pub split: Option<Split>,
    /// Name patients in the examples
    #[arg(long)]
    pub show_ids: bool,
    /// Have the naive referee judge every record again, and fail if it disagrees
    #[arg(long)]
    pub referee: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &AuditArguments) -> Result<Outcome, Error> {
    let task = AuditTask {
        top: arguments.top,
        show_ids: arguments.show_ids,
        referee: arguments.referee,
        split: arguments.split,
        ..AuditTask::new(inputs(&arguments.rules, &arguments.cohort, &arguments.codes))
    };
    super::run(&task, arguments.json)
}
