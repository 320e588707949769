//! What a task ends in, as Python takes it.

use consequence::parts::PartReport;
use consequence::{Error, Report};
use pyo3::prelude::*;

/// A report: as JSON, as text, and what looked odd.
#[pyclass(frozen, get_all, module = "conseq._native")]
pub struct Finished {
    json: String,
    text: String,
    found: bool,
    warnings: Vec<String>,
}

impl Finished {
    /// A report in every form.
    pub fn new(report: &impl Report) -> Result<Self, Error> {
        Ok(Self {
            json: report.json()?,
            text: report.to_string(),
            found: report.found(),
            warnings: report.warnings().to_vec(),
        })
    }
}

impl From<PartReport> for Finished {
    fn from(report: PartReport) -> Self {
        let PartReport { json, text, found, warnings, .. } = report;
        Self { json, text, found, warnings }
    }
}
