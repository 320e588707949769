//! One file a command: arguments in, a pipeline called, a report out.

pub mod audit;
pub mod check;
pub mod compare;
pub mod convert;
pub mod demo;
pub mod enforce;
pub mod evaluate;
pub mod export;
pub mod generate;
pub mod import;
pub mod mine;
pub mod rules_from;
pub mod simulate;
pub mod synthesize;
pub mod train;

use std::path::PathBuf;

use consequence::{Inputs, UnknownCodes};

use crate::args::CodeArguments;

/// How a command that did not fail came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and nothing to complain of.
    Done,
    /// Checked, and something was found.
    Violations,
}

impl Outcome {
    fn found(something: bool) -> Self {
        if something { Self::Violations } else { Self::Done }
    }
}

fn inputs(rules: &[PathBuf], cohort: Option<&PathBuf>, codes: &CodeArguments) -> Inputs {
    Inputs {
        rules: rules.to_vec(),
        cohort: cohort.cloned(),
        vocabulary: codes.vocabulary.clone(),
        unknown_codes: unknown_codes(codes.allow_unknown),
    }
}

fn unknown_codes(allowed: bool) -> UnknownCodes {
    if allowed { UnknownCodes::Absent } else { UnknownCodes::Refuse }
}
