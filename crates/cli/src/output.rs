//! Data to stdout, messages to stderr; a reader that went away is no error.

use std::io::{self, Write};

use consequence::{Error, report_json};
use serde::Serialize;

/// Writes data to stdout. Whoever closed the pipe has read enough.
pub fn data(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a report to stdout as JSON.
pub fn json(report: &impl Serialize) -> Result<(), Error> {
    data(&report_json(report)?);
    Ok(())
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
