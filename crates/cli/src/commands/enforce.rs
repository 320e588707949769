//! `consequence enforce`

use consequence::enforce::EnforceTask;
use consequence::{Error, Out};

use super::{Outcome, inputs};
use crate::args::EnforceArguments;

pub fn run(arguments: &EnforceArguments, seed: u64) -> Result<Outcome, Error> {
    let task = EnforceTask {
        inputs: inputs(&arguments.rules, &arguments.cohort, &arguments.codes),
        out: Out::new(&arguments.out).replacing(arguments.force),
        soft: arguments.soft,
        seed,
    };
    super::run(&task, arguments.json)
}
