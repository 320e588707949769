//! Cohorts as the tables that other programs read.
//!
//! - [`jsonl()`]: JSON lines, which lose nothing but times and titles.
//! - [`csv()`]: one long table, a row for each code of each visit.
//! - [`omop()`]: tables of the OMOP common data model, version 5.4.
//!
//! Where a cohort has no times, codes that tell the time between visits (`GAP//7-30d`) become times
//! again: the middle of the band, after a first visit on the first of January 2000.

mod demographics;
mod long;
mod omop;
mod omop_tables;
mod rows;
mod timeline;

use std::path::Path;

use crate::{Dataset, WriteError};

pub use long::csv;
pub use omop::omop;

/// How to export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// Whether to replace a file that is there, or a folder that holds nothing but tables of OMOP.
    pub replace: bool,
}

/// Writes a cohort as JSON lines.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_tables::export::{self, ExportOptions};
/// use consequence_tables::Dataset;
///
/// let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![], vec![vocabulary.code("ICD9CM//250").unwrap()]]));
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("cohort.jsonl");
/// let dataset = Dataset::new(cohort, Arc::new(vocabulary));
/// export::jsonl(&path, &dataset, &ExportOptions::default())?;
/// let line = std::fs::read_to_string(&path)?;
/// assert_eq!(line, "{\"id\":\"p1\",\"static\":[],\"visits\":[[\"ICD9CM//250\"]]}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn jsonl(
    path: impl AsRef<Path>,
    dataset: &Dataset,
    options: &ExportOptions,
) -> Result<(), WriteError> {
    let Dataset { cohort, vocabulary, .. } = dataset;
    match options.replace {
        true => crate::jsonl::write(path, cohort, vocabulary),
        false => crate::jsonl::write_new(path, cohort, vocabulary),
    }
}
