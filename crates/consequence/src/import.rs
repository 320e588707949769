//! A cohort from the tables that people have.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_tables::CohortWriter;
use consequence_tables::import::{self, Import, Step};
use consequence_tables::meds::{Subject, WriterOptions};
use serde::Serialize;

use crate::Error;
use crate::figures::CohortFigures;
use crate::place::Out;
use crate::watch::{Watch, watched};
use crate::words::{count, number};

pub use consequence_tables::import::{
    CodeMap, CsvColumns, ImportError, ImportLimits, ImportOptions, ImportProblem, ImportSummary,
    Reason, Source,
};

/// What to import, and where to.
#[derive(Clone, Debug)]
pub struct ImportTask {
    /// The kind of source.
    pub source: Source,
    /// The folder or file it is in.
    pub path: PathBuf,
    /// What becomes of its codes, visits and subjects.
    pub options: ImportOptions,
    /// The folder to write, or the file if its name ends in `.jsonl`.
    pub out: PathBuf,
    /// Whether to replace a cohort that is there.
    pub force: bool,
}

/// What was imported, and what was left out and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The kind of source.
    pub kind: &'static str,
    /// The folder or file it is in.
    pub source: String,
    /// The cohort that was written.
    pub out: String,
    /// What was kept, and what was left out.
    #[serde(flatten)]
    pub summary: ImportSummary,
}

/// Imports a cohort. Records go to disk one after the other; what is in memory is the list of
/// subjects, the list of codes, and a batch of rows.
///
/// ```
/// use consequence::import::{CsvColumns, ImportOptions, ImportTask, Source, import};
/// use consequence::{Dataset, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [path, out] = ["visits.csv", "cohort"].map(|name| folder.path().join(name));
/// std::fs::write(&path, "subject_id,time,code\n7,2024-01-31,ICD9CM//250.01\n")?;
/// let task = ImportTask {
///     source: Source::Csv(CsvColumns::default()),
///     path,
///     options: ImportOptions { truncate: Some(3), ..ImportOptions::default() },
///     out: out.clone(),
///     force: false,
/// };
/// assert_eq!(import(&task, &Unwatched)?.summary.patients, 1);
/// assert!(Dataset::open(&out)?.vocabulary.code("ICD9CM//250").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(task: &ImportTask, watch: &dyn Watch) -> Result<ImportReport, Error> {
    let _out = Out::cohort(&task.out, task.force)?;
    let tell = |step: Step<'_>| match step {
        Step::Begin { task, total } => watch.begin(task, (total > 0).then_some(total)),
        Step::Advance(bytes) => watch.advance(bytes),
        Step::Finish => watch.finish(),
    };
    let opened = import::open_telling(&task.source, &task.path, &task.options, &tell);
    // A table that could not be read was begun and not finished.
    watch.finish();
    let summary = watched(watch, "writing", None, || write(&opened?, task, watch))?;
    Ok(ImportReport {
        kind: task.source.name(),
        source: task.path.display().to_string(),
        out: task.out.display().to_string(),
        summary,
    })
}

/// Writes the records one after the other.
fn write(import: &Import, task: &ImportTask, watch: &dyn Watch) -> Result<ImportSummary, Error> {
    let options = WriterOptions {
        replace: task.force,
        titles: import.titles().clone(),
        ..WriterOptions::default()
    };
    let mut writer = CohortWriter::create(&task.out, import.vocabulary(), options)?;
    let mut records = import.records();
    for record in &mut records {
        let record = record?;
        let subject = Subject {
            id: &record.id,
            split: record.split,
            ended: record.record.ended,
            times: record.times.as_deref(),
        };
        writer.push(subject, record.record.visits.iter().map(Vec::as_slice))?;
        watch.advance(1);
    }
    writer.finish()?;
    Ok(records.summary().clone())
}

impl Display for ImportReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { kind, source, summary, .. } = self;
        let patients = count(summary.patients, "patient");
        writeln!(out, "{}: {patients} imported from {source} ({kind})", self.out)?;
        CohortFigures::from(summary).fmt(out)?;
        if summary.empty_visits > 0 {
            writeln!(out, "  {} without a code", count(summary.empty_visits, "encounter"))?;
        }
        if summary.cut > 0 {
            writeln!(out, "  {} cut, and so without an end", count(summary.cut, "record"))?;
        }
        for (reason, &left_out) in &summary.dropped {
            writeln!(out, "  left out: {reason} ({})", number(left_out))?;
        }
        Ok(())
    }
}
