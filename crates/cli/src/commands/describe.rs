//! `consequence describe`

use std::path::PathBuf;

use clap::Args;
use consequence::describe::DescribeTask;
use consequence::parts::{CountTask, Work};
use consequence::{Error, Out, Split};

use super::Outcome;
use super::parts::PartArguments;
use crate::args::{TitleArguments, number, split};

#[derive(Debug, Args)]
pub struct DescribeArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// Codes and tests to tell of, the commonest first
    #[arg(long, default_value = "20", value_name = "NUMBER", value_parser = number)]
    pub top: usize,
    /// Only records of this split: train, tuning or held_out
    #[arg(long, value_parser = split)]
    pub split: Option<Split>,
    #[command(flatten)]
    pub titles: TitleArguments,
    /// Do not tell what fewer patients than this have, nor smallest and largest numbers
    #[arg(long, default_value = "0", value_name = "NUMBER", value_parser = consequence::parse_count)]
    pub hide_below: u64,
    #[command(flatten)]
    pub parts: PartArguments,
    /// Write a page for the browser, too
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub html: Option<PathBuf>,
    /// Replace the page, if it is there
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &DescribeArguments) -> Result<Outcome, Error> {
    let work = || {
        let split = arguments.split.map(|split| split.name().to_owned());
        Ok(Work::Describe { top: arguments.top, split, hide_below: arguments.hide_below })
    };
    if let Some(task) = arguments.parts.task(work, &[&arguments.cohort], arguments.force)? {
        let titles = arguments.titles.titles.clone();
        return super::run(&CountTask { titles, ..task }, arguments.json);
    }
    let html = arguments.html.as_ref();
    let task = DescribeTask {
        titles: arguments.titles.titles.clone(),
        top: arguments.top,
        split: arguments.split,
        hide_below: arguments.hide_below,
        html: html.map(|page| Out::new(page).replacing(arguments.force)),
        ..DescribeTask::new(&arguments.cohort)
    };
    super::run(&task, arguments.json)
}
