//! Data to stdout, messages to stderr and into the log; a reader that went away is no error.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use consequence::store::Journal;
use consequence::{Error, Report, Setting};

use crate::commands::Outcome;

/// Whether nothing but warnings and errors is to be said.
static QUIET: AtomicBool = AtomicBool::new(false);
/// Where all that is said is kept.
static LOG: OnceLock<Journal> = OnceLock::new();

/// Takes note of how to speak, before anything is said; the log begins with the arguments.
pub fn begin(quiet: bool, log: Option<&Path>, given: &[OsString]) -> Result<(), Error> {
    QUIET.store(quiet, Ordering::Relaxed);
    if let Some(path) = log {
        let _ = LOG.set(Journal::open(path)?);
        let words = given.iter().skip(1).map(|word| word.to_string_lossy());
        let words = words.collect::<Vec<_>>().join(" ");
        self::log(&format!("consequence {} {words}", env!("CARGO_PKG_VERSION")));
    }
    Ok(())
}

/// Whether nothing but warnings and errors is to be said.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Adds what is said to the log, each line with the time.
pub fn log(text: &str) {
    let Some(log) = LOG.get() else { return };
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = consequence::calendar::Moment(
        i64::try_from(since.as_secs()).unwrap_or_default() * 1_000_000,
    );
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if log.add(&format!("{now}Z {line}")).is_err() {
            // A log that cannot be written is no reason to lose the work.
            static TOLD: AtomicBool = AtomicBool::new(false);
            if !TOLD.swap(true, Ordering::Relaxed) {
                let _ = io::stderr().lock().write_all(b"warning: the log cannot be written\n");
            }
        }
    }
}

/// Says how it goes, unless that is not wanted.
pub fn say(text: &str) {
    if is_quiet() { log(text) } else { message(text) }
}

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
    log(text);
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes warnings to stderr, a blank line after each.
pub fn warnings(warnings: &[String]) {
    for warning in warnings {
        message(&format!("{warning}\n"));
    }
}
