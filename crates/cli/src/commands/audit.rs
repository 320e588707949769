//! `consequence audit`

use consequence::Error;
use consequence::audit::{AuditOptions, audit};

use super::{Outcome, inputs};
use crate::args::AuditArguments;
use crate::bar::Bar;
use crate::output;

pub fn run(arguments: &AuditArguments) -> Result<Outcome, Error> {
    let inputs = inputs(&arguments.rules, Some(&arguments.cohort), &arguments.codes);
    let options = AuditOptions {
        top: arguments.top,
        show_ids: arguments.show_ids,
        referee: arguments.referee,
        split: arguments.split,
        ..AuditOptions::default()
    };
    let report = audit(&inputs, &options, &Bar::default())?;
    if arguments.json {
        output::json(&report)?;
    } else {
        output::warnings(&report.warnings);
        output::data(&report.to_string());
    }
    Ok(Outcome::found(report.violations() > 0))
}
