//! A cohort from the tables that people have.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_import::{Import, open};
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{CohortFigures, Error, HeldCohort, Out, Report, Task, Watch, watched};
use consequence_record::{Cohort, CohortDetails, DetailsView};
use consequence_tables::meds::{Subject, WriterOptions};
use consequence_tables::{CohortWriter, Dataset};
use serde::Serialize;

pub use consequence_import::{
    CodeColumns, CodeMap, CsvColumns, ImportError, ImportLimits, ImportOptions, ImportProblem,
    ImportSummary, JoinedCohort, JoinedConcept, JoinedOptions, JoinedRecords, JoinedRows, Reason,
    Source, Titles, UnitTable,
};

/// What to import, and where to.
///
/// ```
/// use consequence::import::{CsvColumns, ImportOptions, ImportTask, Source};
/// use consequence::{Dataset, Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [path, out] = ["visits.csv", "cohort"].map(|name| folder.path().join(name));
/// std::fs::write(&path, "subject_id,time,code\n7,2024-01-31,ICD9CM//250.01\n")?;
/// let task = ImportTask {
///     options: ImportOptions { truncate: Some(3), ..ImportOptions::default() },
///     ..ImportTask::new(Source::Csv(CsvColumns::default()), path, &out)
/// };
/// assert_eq!(task.run(&Unwatched)?.summary.patients, 1);
/// assert!(Dataset::open(&out)?.vocabulary.code("ICD9CM//250").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImportTask {
    /// The kind of source.
    pub source: Source,
    /// The folder or file it is in.
    pub path: PathBuf,
    /// What becomes of its codes, visits and subjects.
    pub options: ImportOptions,
    /// The folder to write, or the file if its name ends in `.jsonl`; none: the cohort is given by
    /// [`imported`](Self::imported) alone.
    pub out: Option<Out>,
}

impl ImportTask {
    /// With the usual options.
    pub fn new(source: Source, path: impl Into<PathBuf>, out: impl Into<Out>) -> Self {
        Self { out: Some(out.into()), ..Self::in_memory(source, path) }
    }

    /// The same, and nothing is written.
    pub fn in_memory(source: Source, path: impl Into<PathBuf>) -> Self {
        Self { source, path: path.into(), options: ImportOptions::default(), out: None }
    }
}

/// What was imported, and what was left out and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The kind of source.
    pub kind: &'static str,
    /// The folder or file it is in.
    pub source: String,
    /// The cohort that was written, if one was.
    pub out: Option<String>,
    /// What was kept, and what was left out.
    #[serde(flatten)]
    pub summary: ImportSummary,
}

impl Task for ImportTask {
    type Report = ImportReport;

    /// Imports a cohort. Records go to disk one after the other; what is in memory is the list of
    /// subjects, the list of codes, and a batch of rows.
    fn run(&self, watch: &dyn Watch) -> Result<ImportReport, Error> {
        let Some(out) = &self.out else { return Ok(self.imported(watch)?.1) };
        let _out = out.cohort()?;
        let import = self.open(watch)?;
        let summary = watched(watch, "writing", None, || write(&import, out, watch))?;
        Ok(self.report(summary))
    }
}

impl ImportTask {
    /// Imports a cohort and gives it. Nothing is written.
    pub fn imported(&self, watch: &dyn Watch) -> Result<(HeldCohort, ImportReport), Error> {
        let import = self.open(watch)?;
        let (dataset, summary) = watched(watch, "reading records", None, || held(&import, watch))?;
        let name = self.path.display().to_string();
        let own_rules = import.own_rules().map(Into::into);
        let held = HeldCohort { own_rules, ..HeldCohort::new(name, dataset) };
        Ok((held, self.report(summary)))
    }

    fn open(&self, watch: &dyn Watch) -> Result<Import, Error> {
        let opened = open(&self.source, &self.path, &self.options, watch);
        // A table that could not be read was begun and not finished.
        watch.finish();
        Ok(opened?)
    }

    fn report(&self, summary: ImportSummary) -> ImportReport {
        ImportReport {
            kind: self.source.name(),
            source: self.path.display().to_string(),
            out: self.out.as_ref().map(Out::shown),
            summary,
        }
    }
}

/// All records of an import.
fn held(import: &Import, watch: &dyn Watch) -> Result<(Dataset, ImportSummary), Error> {
    let (mut cohort, mut splits) = (Cohort::default(), Vec::new());
    let mut details = CohortDetails::default();
    let mut records = import.records();
    for record in &mut records {
        let record = record?;
        cohort.push(&record.id, &record.record);
        splits.push(record.split);
        details.push(record.details.view());
        watch.advance(1);
    }
    let known = (0..details.len()).any(|index| details.of(index) != DetailsView::default());
    let dataset = Dataset {
        splits,
        titles: import.titles().clone(),
        concepts: import.concepts().clone(),
        scales: import.scales().clone(),
        details: known.then_some(details),
        ..Dataset::new(cohort, import.vocabulary())
    };
    Ok((dataset, records.summary().clone()))
}

impl Report for ImportReport {}

/// Writes the records one after the other.
fn write(import: &Import, out: &Out, watch: &dyn Watch) -> Result<ImportSummary, Error> {
    let options = WriterOptions {
        replace: out.force,
        titles: import.titles().clone(),
        own_rules: import.own_rules(),
        concepts: import.concepts().clone(),
        scales: import.scales().clone(),
        ..WriterOptions::default()
    };
    let mut writer = CohortWriter::create(&out.path, import.vocabulary(), options)?;
    let mut records = import.records();
    for record in &mut records {
        let record = record?;
        let subject = Subject {
            id: &record.id,
            split: record.split,
            ended: record.record.ended,
            details: record.details.view(),
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
        if let Some(cohort) = &self.out {
            write!(out, "{cohort}: ")?;
        }
        writeln!(out, "{patients} imported from {source} ({kind})")?;
        CohortFigures::from(summary).fmt(out)?;
        if summary.empty_visits > 0 {
            writeln!(out, "  {} without a code", count(summary.empty_visits, "encounter"))?;
        }
        if let Some((first, last)) = summary.years {
            let births = count(summary.births, "birth");
            let ends = count(summary.ends, "end");
            writeln!(out, "  years {first} to {last}; {births} and {ends} of encounters known")?;
        }
        if summary.tests + summary.texts > 0 {
            let (values, tests) = (count(summary.values, "value"), count(summary.tests, "test"));
            let texts = count(summary.texts, "result");
            writeln!(out, "  {values} of {tests}, {texts} in words")?;
        }
        if summary.after_death > 0 {
            writeln!(out, "  {} after a death", count(summary.after_death, "encounter"))?;
        }
        if summary.told_late > 0 {
            let days = count(summary.told_late, "day");
            writeln!(out, "  {days} of paperwork after a death, joined to its encounter")?;
        }
        if summary.cut > 0 {
            writeln!(out, "  {} cut, and so without an end", count(summary.cut, "record"))?;
        }
        if summary.repaired_years > 0 {
            let years = count(summary.repaired_years, "year");
            writeln!(out, "  {years} of two digits completed by the dates near them")?;
        }
        for (reason, &left_out) in &summary.dropped {
            writeln!(out, "  left out: {reason} ({})", number(left_out))?;
        }
        if !summary.unread_tables.is_empty() {
            writeln!(out, "  tables not read: {}", summary.unread_tables.join(", "))?;
        }
        for (table, columns) in &summary.unread_columns {
            writeln!(out, "  columns not read of {table}: {}", columns.join(", "))?;
        }
        Ok(())
    }
}
