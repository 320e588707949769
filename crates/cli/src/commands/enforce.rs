//! `consequence enforce`

use std::path::PathBuf;

use clap::Args;
use consequence::enforce::EnforceTask;
use consequence::parts::{CountTask, Work, rule_texts};
use consequence::{Error, Model, Out};

use super::parts::PartArguments;
use super::{Outcome, inputs};
use crate::args::CodeArguments;

#[derive(Debug, Args)]
pub struct EnforceArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// Rule files
    #[arg(long, required = true, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// The folder to write (MEDS), or the file if its name ends in .jsonl; of a part of the cohort, the repaired
    /// records of the part
    #[arg(long, value_name = "COHORT", required_unless_present = "shard")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub parts: PartArguments,
    /// List every code put in or taken out, with record, visit and rules: CSV if the name ends in .csv,
    /// else JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub changes: Option<PathBuf>,
    /// Where a rule leaves a choice of codes, choose by this model; without, by the cohort's own shares
    #[arg(long, value_name = "FOLDER")]
    pub model: Option<PathBuf>,
    /// Replace the cohort if it is there
    #[arg(long)]
    pub force: bool,
    /// Draw the outputs of soft rules anew; without this only hard rules change anything
    #[arg(long)]
    pub soft: bool,
    #[command(flatten)]
    pub codes: CodeArguments,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(arguments: &EnforceArguments, seed: u64) -> Result<Outcome, Error> {
    let out = |path: &PathBuf| Out::new(path).replacing(arguments.force);
    let out = arguments.out.as_ref().map(out);
    let work = || {
        Ok(Work::Enforce {
            rules: rule_texts(&super::rule_inputs(&arguments.rules))?,
            allow_unknown: arguments.codes.allow_unknown,
            no_own_rules: arguments.codes.no_own_rules,
            soft: arguments.soft,
            seed,
            model: arguments.model.clone(),
            model_digest: arguments.model.as_deref().map(Model::digest_at).transpose()?,
        })
    };
    if let Some(task) = arguments.parts.task(work, &[&arguments.cohort], arguments.force)? {
        let vocabulary = arguments.codes.vocabulary.clone();
        return super::run(&CountTask { vocabulary, out, ..task }, arguments.json);
    }
    let task = EnforceTask {
        inputs: inputs(&arguments.rules, &arguments.cohort, &arguments.codes),
        out,
        changes: arguments.changes.clone(),
        model: arguments.model.as_ref().map(Into::into),
        soft: arguments.soft,
        seed,
    };
    super::run(&task, arguments.json)
}
