//! `consequence check`

use std::path::PathBuf;

use clap::Args;
use consequence::check::CheckTask;
use consequence::{Error, Inputs};

use super::{Outcome, unknown_codes};
use crate::args::{CodeArguments, TitleArguments, visits};

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Rule files: text, or JSON if the name ends in .json
    #[arg(required = true)]
    pub rules: Vec<PathBuf>,
    /// Take the codes from this cohort (JSON lines, or a MEDS dataset)
    #[arg(long)]
    pub cohort: Option<PathBuf>,
    #[command(flatten)]
    pub codes: CodeArguments,
    /// Explain one rule: what it comes down to, and what is derived from it
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,
    /// The most encounters a record may have [default: 100, or the cohort's longest if that is more]
    #[arg(long, value_name = "NUMBER", value_parser = visits)]
    pub max_visits: Option<u16>,
    #[command(flatten)]
    pub titles: TitleArguments,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &CheckArguments) -> Result<Outcome, Error> {
    let inputs = Inputs {
        rules: super::rule_inputs(&arguments.rules),
        cohort: arguments.cohort.as_ref().map(Into::into),
        vocabulary: arguments.codes.vocabulary.clone(),
        unknown_codes: unknown_codes(arguments.codes.allow_unknown),
        no_own_rules: arguments.codes.no_own_rules,
    };
    let task = CheckTask {
        inputs,
        max_visits: arguments.max_visits,
        explain: arguments.explain.clone(),
        titles: arguments.titles.titles.clone(),
        ..CheckTask::default()
    };
    super::run(&task, arguments.json)
}
