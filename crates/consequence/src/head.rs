//! The first records of a cohort, to be read.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_pipeline::{CohortInput, Error, Report, Task, Watch};
use consequence_record::Split;
use serde::Serialize;

use crate::look::{ReadRecord, Room, Source};

/// A cohort whose first records are to be read.
///
/// ```
/// use consequence::head::HeadTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let cohort = folder.path().join("a.jsonl");
/// let line = r#"{"id": "p1", "static": ["SEX//F"], "visits": [["A1C"]], "times": ["2001-05-31"], "values": [{"A1C": 9.1}]}"#;
/// std::fs::write(&cohort, line)?;
/// let report = HeadTask::new(cohort).run(&Unwatched)?;
/// let text = report.to_string();
/// assert!(text.contains("visit 1, 2001-05-31\n    A1C  = 9.1\n") && !text.contains("p1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HeadTask {
    /// The cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: CohortInput,
    /// How many records.
    pub records: usize,
    /// Lists of codes with titles, for codes that the cohort gives none.
    pub titles: Vec<PathBuf>,
    /// Only records of this split; none: all records.
    pub split: Option<Split>,
    /// Whether records are named by their patients, rather than by their numbers alone.
    pub show_ids: bool,
    /// Encounters written of a record; the rest are counted.
    pub visits: usize,
    /// Codes written of a visit; the rest are counted.
    pub codes: usize,
}

impl HeadTask {
    /// The first five, with ten encounters of each and forty codes of each encounter.
    pub fn new(cohort: impl Into<CohortInput>) -> Self {
        Self {
            cohort: cohort.into(),
            records: 5,
            titles: Vec::new(),
            split: None,
            show_ids: false,
            visits: 10,
            codes: 40,
        }
    }
}

/// The first records of a cohort.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// The records, whole.
    pub records: Vec<ReadRecord>,
    #[serde(skip)]
    visits: usize,
    #[serde(skip)]
    codes: usize,
}

impl Report for HeadReport {}

impl Task for HeadTask {
    type Report = HeadReport;

    /// Reads no further than it must.
    fn run(&self, watch: &dyn Watch) -> Result<HeadReport, Error> {
        let source = Source::open(&self.cohort, &self.titles, watch)?;
        let mut records = Vec::new();
        source.each(watch, |seen| {
            if records.len() < self.records && self.split.is_none_or(|split| split == seen.split) {
                records.push(ReadRecord::of(&seen, source.lexicon(), self.show_ids));
            }
            records.len() < self.records
        })?;
        if let Some(split) = self.split.filter(|_| records.is_empty() && self.records > 0) {
            let what = format!("no record is in the {split} split");
            let advice = "look at another split, or at all records";
            return Err(Error::refused_at(&self.cohort, what, advice));
        }
        let cohort = self.cohort.shown();
        Ok(HeadReport { cohort, records, visits: self.visits, codes: self.codes })
    }
}

impl Display for HeadReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (number, record) in self.records.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            record.write(out, Room { visits: self.visits, codes: self.codes })?;
        }
        Ok(())
    }
}
