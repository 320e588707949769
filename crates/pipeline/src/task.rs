//! The shape of a pipeline: a task that is run, watched, and ends in a report.

use std::fmt::Display;

use serde::Serialize;

use crate::{Error, Watch};

/// All that a pipeline is given. Run, it does the work and reports it.
///
/// A new command is a task and its report, and a file in a face that fills in the one and shows the
/// other:
///
/// ```
/// use std::fmt::{self, Display, Formatter};
/// use consequence_pipeline::{CohortInput, Error, Report, Task, Unwatched, Watch, load};
///
/// /// Counts the records of a cohort.
/// struct CountTask {
///     cohort: CohortInput,
/// }
///
/// #[derive(serde::Serialize)]
/// struct CountReport {
///     records: usize,
/// }
///
/// impl Task for CountTask {
///     type Report = CountReport;
///
///     fn run(&self, watch: &dyn Watch) -> Result<CountReport, Error> {
///         let loaded = load::cohort(&self.cohort, None, watch)?;
///         Ok(CountReport { records: loaded.cohort.len() })
///     }
/// }
///
/// impl Display for CountReport {
///     fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
///         writeln!(out, "{} records", self.records)
///     }
/// }
///
/// impl Report for CountReport {}
///
/// let folder = tempfile::tempdir()?;
/// let cohort = folder.path().join("a.jsonl");
/// std::fs::write(&cohort, r#"{"id": 1, "static": [], "visits": [["A"]]}"#)?;
/// let report = CountTask { cohort: cohort.into() }.run(&Unwatched)?;
/// assert_eq!(report.to_string(), "1 records\n");
/// assert_eq!(report.json()?, "{\n  \"format\": 2,\n  \"records\": 1\n}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Task {
    /// What it ends in.
    type Report: Report;

    /// Does the work.
    fn run(&self, watch: &dyn Watch) -> Result<Self::Report, Error>;
}

/// What a task did: for people as text, for programs as JSON.
pub trait Report: Serialize + Display {
    /// What looked odd on the way, rendered.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Whether the task was to look for something, and found it: a violation, a contradiction.
    fn found(&self) -> bool {
        false
    }

    /// The report as JSON, with the number of its format before everything else.
    fn json(&self) -> Result<String, Error>
    where
        Self: Sized,
    {
        report_json(self)
    }
}

/// The number of the format of reports. It counts up when a field of a report goes or comes to mean
/// something else; a new field changes nothing for who reads the others.
pub const REPORT_FORMAT: u32 = 2;

#[derive(Serialize)]
struct Numbered<'a, T> {
    format: u32,
    #[serde(flatten)]
    report: &'a T,
}

/// A report as JSON, with the number of its format before everything else.
pub fn report_json(report: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(&Numbered { format: REPORT_FORMAT, report })?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A value that JSON has no form for.
    #[derive(Serialize)]
    struct Odd {
        pairs: BTreeMap<(u8, u8), u8>,
    }

    #[test]
    fn what_has_no_json_form_is_an_error() {
        let odd = Odd { pairs: BTreeMap::from([((1, 2), 3)]) };
        let error = report_json(&odd).unwrap_err();
        assert!(error.to_string().starts_with("a report cannot be written as JSON: "), "{error}");
        assert!(error.advice().is_some());
    }
}
