//! `consequence audit`

use std::path::PathBuf;

use clap::Args;
use consequence::audit::AuditTask;
use consequence::parts::{CountTask, Work, rule_texts};
use consequence::{Error, Out, Split};

use super::parts::PartArguments;
use super::{Outcome, inputs};
use crate::args::{CodeArguments, TitleArguments, number, split};

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
    /// Explain the record of one patient: its id, or `#17` for the record with number 17
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "html", "hide_below", "shard"])]
    pub record: Option<String>,
    /// List every violation in a file: JSON lines (.jsonl) or a table (.csv)
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub all: Option<PathBuf>,
    /// Write a page for the browser, too
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub html: Option<PathBuf>,
    /// Replace the files of --all and --html, if they are there
    #[arg(long)]
    pub force: bool,
    /// Tell nothing of rules that fewer records than this break, but how many they are
    #[arg(long, default_value = "0", value_name = "NUMBER", value_parser = consequence::parse_count)]
    pub hide_below: u64,
    #[command(flatten)]
    pub titles: TitleArguments,
    #[command(flatten)]
    pub parts: PartArguments,
    /// Name patients, and not only the numbers of their records
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
    let work = || {
        Ok(Work::Audit {
            rules: rule_texts(&super::rule_inputs(&arguments.rules))?,
            allow_unknown: arguments.codes.allow_unknown,
            no_own_rules: arguments.codes.no_own_rules,
            top: arguments.top,
            split: arguments.split.map(|split| split.name().to_owned()),
            hide_below: arguments.hide_below,
            referee: arguments.referee,
        })
    };
    if let Some(task) = arguments.parts.task(work, &[&arguments.cohort], arguments.force)? {
        let vocabulary = arguments.codes.vocabulary.clone();
        let titles = arguments.titles.titles.clone();
        return super::run(&CountTask { vocabulary, titles, ..task }, arguments.json);
    }
    let out = |path: &PathBuf| Out::new(path).replacing(arguments.force);
    let task = AuditTask {
        record: arguments.record.clone(),
        all: arguments.all.as_ref().map(out),
        html: arguments.html.as_ref().map(out),
        hide_below: arguments.hide_below,
        titles: arguments.titles.titles.clone(),
        top: arguments.top,
        show_ids: arguments.show_ids,
        referee: arguments.referee,
        split: arguments.split,
        ..AuditTask::new(inputs(&arguments.rules, &arguments.cohort, &arguments.codes))
    };
    super::run(&task, arguments.json)
}
