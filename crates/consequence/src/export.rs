//! A cohort for other programs.

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use consequence_pipeline::words::count;
use consequence_pipeline::{CohortInput, Error, Out, Report, Task, Watch, load, watched};
use consequence_store::StoreError;
use consequence_tables::export::{self, ExportOptions, OmopSummary};
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
/// let task = ExportTask::new(cohort, ExportForm::Csv, &table);
/// assert_eq!(task.run(&Unwatched)?.records, 1);
/// assert_eq!(
///     std::fs::read_to_string(table)?,
///     "subject_id,visit,code,static,ended\np1,0,SEX//F,1,1\np1,1,ICD9CM//250,0,1\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExportTask {
    /// The cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: CohortInput,
    /// What to export it as.
    pub form: ExportForm,
    /// Whether tables of OMOP are files of Parquet, rather than CSV.
    pub parquet: bool,
    /// The file or folder to write.
    pub out: Out,
}

impl ExportTask {
    /// With the usual options.
    pub fn new(cohort: impl Into<CohortInput>, form: ExportForm, out: impl Into<Out>) -> Self {
        Self { cohort: cohort.into(), form, parquet: false, out: out.into() }
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
    /// Whether dates that were written are made up, as there were none.
    pub dates_made_up: bool,
    /// What was written of tables of OMOP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omop: Option<OmopSummary>,
}

impl Task for ExportTask {
    type Report = ExportReport;

    /// Exports a cohort.
    fn run(&self, watch: &dyn Watch) -> Result<ExportReport, Error> {
        if self.parquet && self.form != ExportForm::Omop {
            let what = "only tables of OMOP are written as Parquet";
            return Err(Error::refused(what, "a cohort itself is a folder of Parquet already"));
        }
        let _out = match self.form {
            ExportForm::Jsonl => self.out.lines()?,
            ExportForm::Csv => self.out.file()?,
            ExportForm::Omop => self.out.folder()?,
        };
        let dataset = load::detailed_cohort(&self.cohort, None, watch)?;
        let (out, options) =
            (&*self.out.path, ExportOptions { replace: self.out.force, parquet: self.parquet });
        let omop = watched(watch, "writing", None, || match self.form {
            ExportForm::Jsonl => export::jsonl(out, &dataset, &options).map(|()| None),
            ExportForm::Csv => export::csv(out, &dataset, &options).map(|()| None),
            ExportForm::Omop => export::omop(out, &dataset, &options).map(Some),
        })?;
        Ok(ExportReport {
            cohort: self.cohort.shown(),
            form: self.form.name(),
            out: self.out.path.clone(),
            records: dataset.cohort.len() as u64,
            dated: !dataset.ordinal_time(),
            dates_made_up: match self.form {
                ExportForm::Jsonl => false,
                ExportForm::Csv => export::makes_up_dates(&dataset, false),
                ExportForm::Omop => export::makes_up_dates(&dataset, true),
            },
            omop,
        })
    }
}

impl ExportTask {
    /// Exports a cohort and hands the file on to a writer, such as standard output: all of it, or nothing.
    pub fn run_into(&self, out: &mut dyn Write, watch: &dyn Watch) -> Result<ExportReport, Error> {
        if self.form == ExportForm::Omop {
            let what = "tables of OMOP are a folder, which cannot go to standard output";
            return Err(Error::refused(what, "name a folder with {out}"));
        }
        let failed = |error| Error::from(StoreError::new(&self.out.path, error));
        let folder = tempfile::tempdir().map_err(failed)?;
        let path = folder.path().join(format!("cohort.{}", self.form.name()));
        let report = Self { out: path.clone().into(), ..self.clone() }.run(watch)?;
        let mut file = File::open(&path).map_err(failed)?;
        match io::copy(&mut file, out).and_then(|_| out.flush()) {
            // Whoever closed the pipe has read enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
            _ => Ok(ExportReport { out: self.out.path.clone(), ..report }),
        }
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
        let Some(omop) = &self.omop else { return Ok(()) };
        let tables = omop.tables.iter().filter(|(_, rows)| *rows > 0);
        for (table, rows) in tables {
            writeln!(out, "  {table}: {}", count(*rows, "row"))?;
        }
        if omop.unmapped_codes > 0 {
            let codes = count(omop.unmapped_codes, "code");
            writeln!(out, "{codes} without a concept of OMOP, with source concepts of their own")?;
        }
        if omop.without_birth > 0 {
            let persons = count(omop.without_birth, "person");
            writeln!(out, "{persons} without a year of birth, which OMOP asks for")?;
        }
        if omop.too_long > 0 {
            let names = count(omop.too_long, "code");
            writeln!(out, "{names} or identifiers longer than the 50 characters of their column")?;
        }
        Ok(())
    }
}
