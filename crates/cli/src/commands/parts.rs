//! Parts of cohorts: `--shard`, `--state` and `--after` of commands that count, and `consequence merge`.

use std::path::{Path, PathBuf};

use clap::Args;
use consequence::parts::{CountTask, MergeTask, Work};
use consequence::{Error, Out, Task};

use super::Outcome;
use crate::bar::Bar;
use crate::output;

/// A part of a cohort, to be counted by itself.
#[derive(Debug, Args)]
pub struct PartArguments {
    /// Count only this part of the cohort, such as 3/8, into the file of --state; `merge` adds up all parts
    #[arg(long, value_name = "PART", value_parser = part, requires = "state")]
    pub shard: Option<(u32, u32)>,
    /// The file for what is counted of a part
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub state: Option<PathBuf>,
    /// What was counted in the rounds before, as `merge` wrote it
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub after: Option<PathBuf>,
}

impl PartArguments {
    /// The task of counting a part, if one is asked for.
    pub fn task(
        &self,
        work: impl FnOnce() -> Result<Work, Error>,
        cohorts: &[&Path],
        force: bool,
    ) -> Result<Option<CountTask>, Error> {
        let (Some(shard), Some(state)) = (self.shard, &self.state) else { return Ok(None) };
        Ok(Some(CountTask {
            work: work()?,
            cohorts: cohorts.iter().map(|&cohort| cohort.into()).collect(),
            vocabulary: None,
            titles: Vec::new(),
            shard,
            state: Out::new(state).replacing(force),
            after: self.after.clone(),
            out: None,
        }))
    }
}

/// A part such as 3/8.
pub fn part(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once('/').and_then(|(number, of)| {
        let (number, of) = (number.trim().parse().ok()?, of.trim().parse().ok()?);
        Some((number, of))
    });
    match numbers {
        Some((number, of)) if (1..=of).contains(&number) => Ok((number, of)),
        _ => Err("a part is a number and how many there are, from 1/8 to 8/8".into()),
    }
}

#[derive(Debug, Args)]
pub struct MergeArguments {
    /// The files that all parts were counted into
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The file to go on with, where records are to be counted again
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The file for the rules of `mine`
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Replace the files if they are there
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn merge(arguments: &MergeArguments) -> Result<Outcome, Error> {
    let out = |path: &PathBuf| Out::new(path).replacing(arguments.force);
    let task = MergeTask {
        files: arguments.files.clone(),
        out: arguments.out.as_ref().map(out),
        rules: arguments.rules.as_ref().map(out),
    };
    let report = task.run(&Bar::default())?;
    let shown = output::report(&report, arguments.json)?;
    if report.finished {
        return Ok(shown);
    }
    if let (false, Some(after)) = (arguments.json, &report.out) {
        output::data(&format!(
            "  count every part again, each with --after {after}, and merge what that gives\n"
        ));
    }
    Ok(Outcome::Counting)
}
