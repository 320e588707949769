//! One file a command: arguments in, a pipeline called, a report out.

pub mod audit;
pub mod check;
pub mod codes;
pub mod common_sense;
pub mod compare;
pub mod convert;
pub mod demo;
pub mod describe;
pub mod diff;
pub mod enforce;
pub mod evaluate;
pub mod export;
pub mod generate;
pub mod head;
pub mod import;
pub mod manual;
pub mod mine;
pub mod parts;
pub mod release;
pub mod rules_from;
pub mod simulate;
pub mod synthesize;
pub mod train;

use std::path::{Path, PathBuf};

use consequence::{Error, RecordInputs, RuleInput, Task, UnknownCodes};

use crate::args::CodeArguments;
use crate::bar::Bar;
use crate::output;

/// How a command that did not fail came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and nothing to complain of.
    Done,
    /// Checked, and something was found.
    Found,
    /// Added up, and records are to be counted again.
    Counting,
}

/// Runs a task with a progress bar, and shows its report.
fn run(task: &impl Task, json: bool) -> Result<Outcome, Error> {
    output::report(&task.run(&Bar::default())?, json)
}

fn inputs(rules: &[PathBuf], cohort: &Path, codes: &CodeArguments) -> RecordInputs {
    RecordInputs {
        rules: rule_inputs(rules),
        cohort: cohort.into(),
        vocabulary: codes.vocabulary.clone(),
        unknown_codes: unknown_codes(codes.allow_unknown),
        no_own_rules: codes.no_own_rules,
    }
}

fn rule_inputs(files: &[PathBuf]) -> Vec<RuleInput> {
    files.iter().map(RuleInput::from).collect()
}

fn unknown_codes(allowed: bool) -> UnknownCodes {
    if allowed { UnknownCodes::Absent } else { UnknownCodes::Refuse }
}
