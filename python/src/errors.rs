//! Every error of the library as an exception of `conseq.errors`, with advice in Python's words.

use std::any::Any;

use consequence::{Diagnostic, Diagnostics, Error, RuleReference, Setting, Severity};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Settings that are on or off; advice to give one means to turn it on.
const SWITCHES: [&str; 10] = [
    "accept_broken",
    "ages_and_days",
    "allow_unknown",
    "also_halo",
    "force",
    "keep_unknown",
    "no_own_rules",
    "no_soft",
    "resume",
    "show_ids",
];

/// The exception that an error is raised as.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let advice = error.advice().map(|advice| advice.worded(keyword));
    let made = exception(py, class_of(error), error.to_string(), advice).and_then(|exception| {
        match error {
            Error::Rules(found) | Error::UnknownCodes { diagnostics: found, .. } => {
                exception.setattr("diagnostics", diagnostics(py, found)?)?;
            }
            Error::Compile { rules, .. } => exception.setattr("rules", references(py, rules)?)?,
            Error::Interrupted { path, .. } => exception.setattr("path", path)?,
            Error::Table(error) => exception.setattr("disordered", error.is_of_order())?,
            _ => {}
        }
        Ok(exception)
    });
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// The exception of an argument that cannot be used.
pub fn unusable(py: Python<'_>, what: &str, advice: &'static str) -> PyErr {
    raised(py, &Error::refused(what, advice))
}

/// The exception of a panic.
pub fn defect(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    let what = format!("the work failed: {}", said.as_deref().unwrap_or("it did not say why"));
    let advice = "this is a defect of the program; please report it".to_owned();
    let made = exception(py, "InternalError", what, Some(advice));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

fn exception<'py>(
    py: Python<'py>,
    class: &str,
    message: String,
    advice: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("conseq.errors")?.getattr(class)?.call1((message.trim_end(), advice))
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Rules(_) | Error::UnknownCodes { .. } | Error::Tuple(_) => "RulesError",
        Error::Compile { .. } => "CompileError",
        Error::Refused { .. }
        | Error::NoSuchRule { .. }
        | Error::Shape(_)
        | Error::Given(_)
        | Error::Threads { .. } => "InputError",
        Error::Exists(_) => "OutputExistsError",
        Error::Store(_) | Error::Write(_) | Error::Run(_) => "FileError",
        Error::Model(_) | Error::Train(_) | Error::Sample(_) | Error::Weights(_) => "ModelError",
        Error::Interrupted { .. } => "Interrupted",
        Error::Disagreement { .. } | Error::Rejected { .. } | Error::Json(_) => "InternalError",
        _ => "DataError",
    }
}

/// A setting as Python has it.
fn keyword(setting: Setting<'_>) -> String {
    let Setting { name, value } = setting;
    match value {
        Some(value) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
        Some(value) => format!("{name}={value:?}"),
        None if SWITCHES.contains(&name) => format!("{name}=True"),
        None => format!("{name}="),
    }
}

/// Diagnostics as dictionaries.
pub fn diagnostics<'py>(py: Python<'py>, found: &Diagnostics) -> PyResult<Bound<'py, PyList>> {
    let all = found.iter().map(|one| diagnostic(py, one)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, all)
}

fn diagnostic<'py>(py: Python<'py>, one: &Diagnostic) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    let severity = match one.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let location = one.location.as_ref();
    made.set_item("severity", severity)?;
    made.set_item("message", &one.message)?;
    made.set_item("file", location.map(|location| location.file.to_string()))?;
    made.set_item("line", location.map(|location| location.line))?;
    made.set_item("column", location.map(|location| location.column))?;
    made.set_item("help", &one.help)?;
    made.set_item("text", one.render())?;
    Ok(made)
}

fn references<'py>(py: Python<'py>, rules: &[RuleReference]) -> PyResult<Bound<'py, PyList>> {
    let made = rules.iter().map(|rule| {
        let made = PyDict::new(py);
        made.set_item("name", &rule.name)?;
        made.set_item("file", &rule.file)?;
        made.set_item("line", rule.line)?;
        made.set_item("text", &rule.text)?;
        Ok(made)
    });
    PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)
}

/// The exception of an argument that cannot be used, with advice in Python's words.
pub fn input(py: Python<'_>, what: &str, advice: Option<String>) -> PyErr {
    exception(py, "InputError", what.to_owned(), advice)
        .map_or_else(|failed| failed, PyErr::from_value)
}
