//! Data to stdout, messages to stderr; a reader that went away is no error.

use std::io::{self, Write};

use consequence::{Error, Report, Setting};

use crate::commands::Outcome;

/// Writes data to stdout. Whoever closed the pipe has read enough.
pub fn data(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Shows a report, as JSON or as text with its warnings, and tells whether something was found.
pub fn report(report: &impl Report, json: bool) -> Result<Outcome, Error> {
    if json {
        data(&report.json()?);
    } else {
        warnings(report.warnings());
        data(&report.to_string());
    }
    Ok(if report.found() { Outcome::Found } else { Outcome::Done })
}

/// Writes an error to stderr: what, where, and what to do in the words of the command line.
pub fn error(error: &Error) {
    let advice = error.advice().map(|advice| advice.worded(flag));
    message(&match (error, advice) {
        // Diagnostics say themselves what is an error and what a note.
        (Error::Rules(diagnostics), _) => diagnostics.to_string(),
        (Error::UnknownCodes { diagnostics, .. }, Some(advice)) => {
            format!("{diagnostics}\nhelp: {advice}\n")
        }
        (_, Some(advice)) => format!("error: {error}\n  = help: {advice}\n"),
        (_, None) => format!("error: {error}\n"),
    });
}

/// A setting as the command line has it.
fn flag(setting: Setting<'_>) -> String {
    let name = setting.name.replace('_', "-");
    match setting.value {
        Some(value) => format!("--{name} {value}"),
        None => format!("--{name}"),
    }
}

/// Writes a message to stderr.
pub fn message(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes warnings to stderr, a blank line after each.
pub fn warnings(warnings: &[String]) {
    for warning in warnings {
        message(&format!("{warning}\n"));
    }
}
