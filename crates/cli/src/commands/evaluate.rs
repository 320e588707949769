//! `consequence evaluate`

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use consequence::evaluate::{EvaluateTask, PerplexityTask};
use consequence::parts::{Work, rule_texts};
use consequence::{Error, Out, Split};

use super::parts::PartArguments;
use super::{Outcome, unknown_codes};
use crate::args::split;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["perplexity", "synthetic"])))]
pub struct EvaluateArguments {
    /// Measure how well this model predicts real records
    #[arg(long, value_name = "MODEL")]
    pub perplexity: Option<PathBuf>,
    /// Hold these generated records against real ones, from any tool
    #[arg(long, value_name = "COHORT")]
    pub synthetic: Option<PathBuf>,
    /// The real cohort (JSON lines, or a MEDS dataset)
    #[arg(long, value_name = "COHORT")]
    pub real: PathBuf,
    /// Rule files; with --perplexity they take the place of the model's own
    #[arg(long, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// Measure the model alone, without any rules
    #[arg(long, requires = "perplexity", conflicts_with = "rules")]
    pub no_rules: bool,
    /// The split of the real cohort that the model is to predict [default: held_out]
    #[arg(long, requires = "perplexity", value_parser = split)]
    pub split: Option<Split>,
    /// Rule files whose `let`s are groups of patients to compare by themselves: those with a visit at which the
    /// name is true
    #[arg(long, num_args = 1.., requires = "synthetic", value_name = "FILES")]
    pub groups: Vec<PathBuf>,
    /// The groups to compare [default: all that no other group is made of]
    #[arg(long, num_args = 1.., requires = "groups", value_name = "NAMES")]
    pub strata: Vec<String>,
    #[command(flatten)]
    pub parts: PartArguments,
    /// The folder for a report to read (report.html) and the figures for programs (metrics.json), with
    /// utility and privacy
    #[arg(long, value_name = "REPORT", requires = "synthetic")]
    pub out: Option<PathBuf>,
    /// Replace a report that is there, or the file of --state
    #[arg(long)]
    pub force: bool,
    /// Take codes that only the rules name as never present, rather than as mistakes
    #[arg(long)]
    pub allow_unknown: bool,
    /// Leave out the rules that the real cohort brings along from its import
    #[arg(long)]
    pub no_own_rules: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &EvaluateArguments) -> Result<Outcome, Error> {
    let EvaluateArguments { rules, real, json, .. } = arguments;
    let unknown_codes = unknown_codes(arguments.allow_unknown);
    if let Some(model) = &arguments.perplexity {
        let task = PerplexityTask {
            split: arguments.split.unwrap_or(Split::HeldOut),
            rules: super::rule_inputs(rules),
            no_rules: arguments.no_rules,
            unknown_codes,
            ..PerplexityTask::new(model, real)
        };
        return super::run(&task, *json);
    }
    let out = |path| Out::new(path).replacing(arguments.force);
    let synthetic = arguments.synthetic.clone().unwrap_or_default();
    let work = || {
        Ok(Work::Evaluate {
            rules: rule_texts(&super::rule_inputs(rules))?,
            groups: rule_texts(&super::rule_inputs(&arguments.groups))?,
            strata: arguments.strata.clone(),
            allow_unknown: arguments.allow_unknown,
            no_own_rules: arguments.no_own_rules,
            out: arguments.out.clone(),
            force: arguments.force,
        })
    };
    if let Some(task) = arguments.parts.task(work, &[real, &synthetic], arguments.force)? {
        return super::run(&task, *json);
    }
    let task = EvaluateTask {
        rules: super::rule_inputs(rules),
        unknown_codes,
        no_own_rules: arguments.no_own_rules,
        groups: super::rule_inputs(&arguments.groups),
        strata: arguments.strata.clone(),
        out: arguments.out.as_ref().map(out),
        ..EvaluateTask::new(real, synthetic)
    };
    super::run(&task, *json)
}
