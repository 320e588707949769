//! `consequence enforce`

use consequence::Error;
use consequence::enforce::{EnforceOptions, enforce};

use super::{Outcome, inputs};
use crate::args::EnforceArguments;
use crate::bar::Bar;
use crate::output;

pub fn run(arguments: &EnforceArguments, seed: u64) -> Result<Outcome, Error> {
    let inputs = inputs(&arguments.rules, Some(&arguments.cohort), &arguments.codes);
    let options = EnforceOptions {
        out: arguments.out.clone(),
        force: arguments.force,
        soft: arguments.soft,
        seed,
    };
    let report = enforce(&inputs, &options, &Bar::default())?;
    if arguments.json {
        output::json(&report)?;
    } else {
        output::warnings(&report.warnings);
        output::data(&report.to_string());
    }
    Ok(Outcome::Done)
}
