//! `consequence check`

use consequence::check::CheckTask;
use consequence::{Error, Inputs};

use super::{Outcome, unknown_codes};
use crate::args::CheckArguments;

pub fn run(arguments: &CheckArguments) -> Result<Outcome, Error> {
    let inputs = Inputs {
        rules: arguments.rules.clone(),
        cohort: arguments.cohort.clone(),
        vocabulary: arguments.codes.vocabulary.clone(),
        unknown_codes: unknown_codes(arguments.codes.allow_unknown),
    };
    let task = CheckTask {
        inputs,
        max_visits: arguments.max_visits,
        explain: arguments.explain.clone(),
        ..CheckTask::default()
    };
    super::run(&task, arguments.json)
}
