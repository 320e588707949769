//! `consequence check`

use consequence::Error;
use consequence::check::{CheckOptions, check};

use super::{Outcome, inputs};
use crate::args::CheckArguments;
use crate::bar::Bar;
use crate::output;

pub fn run(arguments: &CheckArguments) -> Result<Outcome, Error> {
    let inputs = inputs(&arguments.rules, arguments.cohort.as_ref(), &arguments.codes);
    let options = CheckOptions {
        max_visits: arguments.max_visits,
        explain: arguments.explain.clone(),
        ..CheckOptions::default()
    };
    let report = check(&inputs, &options, &Bar::default())?;
    if arguments.json {
        output::json(&report)?;
    } else {
        output::warnings(&report.warnings);
        output::data(&report.to_string());
    }
    Ok(Outcome::found(!report.is_proved()))
}
