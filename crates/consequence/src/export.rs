//! A cohort for other programs.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use consequence_tables::Dataset;
use consequence_tables::export::{self, ExportOptions};
use serde::Serialize;

use crate::Error;
use crate::place::Out;
use crate::watch::{Watch, watched};
use crate::words::count;

/// What a cohort can be exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// JSON lines.
    Jsonl,
    /// One long table.
    Csv,
    /// A folder with tables of the OMOP common data model.
    Omop,
}

impl ExportForm {
    /// The name of the form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Omop => "omop",
        }
    }
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// The cohort that was read.
    pub cohort: String,
    /// What it was exported as.
    pub form: &'static str,
    /// The file or folder that was written.
    pub out: PathBuf,
    /// Records.
    pub records: u64,
    /// Whether encounters had times of their own, rather than an order only.
    pub dated: bool,
}

/// Exports a cohort; what is there is replaced only if `force` says so.
///
/// ```
/// use consequence::Unwatched;
/// use consequence::export::{ExportForm, export};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, table] = ["a.jsonl", "a.csv"].map(|name| folder.path().join(name));
/// std::fs::write(&cohort, r#"{"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250"]]}"#)?;
/// assert_eq!(export(&cohort, ExportForm::Csv, &table, false, &Unwatched)?.records, 1);
/// assert_eq!(
///     std::fs::read_to_string(table)?,
///     "subject_id,visit,code,static,ended\np1,0,SEX//F,1,1\np1,1,ICD9CM//250,0,1\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(
    cohort: &Path,
    form: ExportForm,
    out: &Path,
    force: bool,
    watch: &dyn Watch,
) -> Result<ExportReport, Error> {
    let _out = match form {
        ExportForm::Jsonl => Out::lines(out, force)?,
        ExportForm::Csv => Out::file(out, force)?,
        ExportForm::Omop => Out::folder(out, force)?,
    };
    let dataset = watched(watch, "reading the cohort", None, || Dataset::open(cohort))?;
    let options = ExportOptions { replace: force };
    watched(watch, "writing", None, || match form {
        ExportForm::Jsonl => export::jsonl(out, &dataset, &options),
        ExportForm::Csv => export::csv(out, &dataset, &options),
        ExportForm::Omop => export::omop(out, &dataset, &options),
    })?;
    Ok(ExportReport {
        cohort: cohort.display().to_string(),
        form: form.name(),
        out: out.to_path_buf(),
        records: dataset.cohort.len() as u64,
        dated: !dataset.ordinal_time(),
    })
}

impl Display for ExportReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let records = count(self.records, "record");
        writeln!(out, "{}: {records} of {} as {}", self.out.display(), self.cohort, self.form)
    }
}
