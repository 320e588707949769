//! A cohort for other programs.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_pipeline::words::count;
use consequence_pipeline::{Error, Out, Report, Task, Watch, watched};
use consequence_tables::Dataset;
use consequence_tables::export::{self, ExportOptions};
use serde::Serialize;

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

/// Which cohort to export, and as what.
///
/// ```
/// use consequence::export::{ExportForm, ExportTask};
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, table] = ["a.jsonl", "a.csv"].map(|name| folder.path().join(name));
/// std::fs::write(&cohort, r#"{"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250"]]}"#)?;
/// let task = ExportTask { cohort, form: ExportForm::Csv, out: table.clone().into() };
/// assert_eq!(task.run(&Unwatched)?.records, 1);
/// assert_eq!(
///     std::fs::read_to_string(table)?,
///     "subject_id,visit,code,static,ended\np1,0,SEX//F,1,1\np1,1,ICD9CM//250,0,1\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExportTask {
    /// The cohort: JSON lines, or a MEDS dataset.
    pub cohort: PathBuf,
    /// What to export it as.
    pub form: ExportForm,
    /// The file or folder to write.
    pub out: Out,
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
    /// Whether dates that were written are made up, as there were none.
    pub dates_made_up: bool,
}

impl Task for ExportTask {
    type Report = ExportReport;

    /// Exports a cohort.
    fn run(&self, watch: &dyn Watch) -> Result<ExportReport, Error> {
        let _out = match self.form {
            ExportForm::Jsonl => self.out.lines()?,
            ExportForm::Csv => self.out.file()?,
            ExportForm::Omop => self.out.folder()?,
        };
        let dataset = watched(watch, "reading the cohort", None, || Dataset::open(&self.cohort))?;
        let (out, options) = (&*self.out.path, ExportOptions { replace: self.out.force });
        watched(watch, "writing", None, || match self.form {
            ExportForm::Jsonl => export::jsonl(out, &dataset, &options),
            ExportForm::Csv => export::csv(out, &dataset, &options),
            ExportForm::Omop => export::omop(out, &dataset, &options),
        })?;
        Ok(ExportReport {
            cohort: self.cohort.display().to_string(),
            form: self.form.name(),
            out: self.out.path.clone(),
            records: dataset.cohort.len() as u64,
            dated: !dataset.ordinal_time(),
            dates_made_up: match self.form {
                ExportForm::Jsonl => false,
                ExportForm::Csv => export::makes_up_dates(&dataset, false),
                ExportForm::Omop => export::makes_up_dates(&dataset, true),
            },
        })
    }
}

impl Report for ExportReport {}

impl Display for ExportReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let records = count(self.records, "record");
        writeln!(out, "{}: {records} of {} as {}", self.out.display(), self.cohort, self.form)?;
        if self.dates_made_up {
            writeln!(out, "the cohort has no dates: those that were written are made up")?;
        }
        Ok(())
    }
}
