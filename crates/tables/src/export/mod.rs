//! Cohorts as the tables that other programs read.
//!
//! - [`jsonl()`]: JSON lines, which lose nothing but times and titles.
//! - [`csv()`]: one long table, a row for each code of each visit.
//! - [`omop()`]: tables of the OMOP common data model, version 5.4.
//!
//! Where a cohort has no times, codes that tell the time between visits (`GAP//7-30d`) become times
//! again: the middle of the band, after a first visit on the first of January 2000.

use std::path::Path;

use consequence_record::{Code, RecordView};

use crate::{Dataset, WriteError};
use consequence_record::calendar::{DAY, UNDATED_START};

pub use long::{Rows, csv};
pub use omop::omop;

mod long;
mod omop;
mod omop_tables;

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
    if options.replace {
        crate::jsonl::write(path, cohort, vocabulary)
    } else {
        crate::jsonl::write_new(path, cohort, vocabulary)
    }
}

const GAP_PREFIX: &str = "GAP//";

/// Finds the times of encounters: those recorded, or those that the codes of gaps tell.
pub(super) struct Timeline<'d> {
    dataset: &'d Dataset,
    /// The days that each code of the vocabulary tells to have passed, if it is such a code.
    gaps: Vec<Option<i64>>,
}

impl<'d> Timeline<'d> {
    pub fn new(dataset: &'d Dataset) -> Self {
        let vocabulary = &dataset.vocabulary;
        let gaps = vocabulary.codes().map(|code| gap_days(vocabulary.name(code))).collect();
        Self { dataset, gaps }
    }

    /// Whether anything is known of times beyond the order of encounters.
    pub fn known(&self) -> bool {
        !self.dataset.ordinal_time() || self.gaps.iter().any(Option::is_some)
    }

    /// Whether a code tells the time since the visit before, and no more than that.
    pub fn is_gap(&self, code: Code) -> bool {
        self.gaps.get(code.index()).is_some_and(Option::is_some)
    }

    /// The times of a record's encounters. Without any hint they are a day apart.
    pub fn times(&self, index: usize, record: RecordView<'_>, times: &mut Vec<i64>) {
        times.clear();
        let recorded = self.dataset.details_of(index).times;
        if recorded.len() + 1 == record.len() {
            times.extend_from_slice(recorded);
            return;
        }
        let mut now = UNDATED_START;
        for (visit, codes) in record.visits().enumerate().skip(1) {
            if visit > 1 {
                let gap = codes.iter().find_map(|code| self.gaps.get(code.index()).copied()?);
                now = now.saturating_add(gap.unwrap_or(1).saturating_mul(DAY));
            }
            times.push(now);
        }
    }
}

/// The days that the name of a code tells: the middle of `GAP//7-30d`, the start of `GAP//365d+`.
fn gap_days(name: &str) -> Option<i64> {
    let band = name.strip_prefix(GAP_PREFIX)?;
    let number = |text: &str| text.parse::<u32>().ok().map(i64::from);
    if let Some(from) = band.strip_suffix("d+") {
        return number(from);
    }
    match band.strip_suffix('d')?.split_once('-') {
        Some((from, to)) => Some((number(from)? + number(to)?) / 2),
        None => number(band.strip_suffix('d')?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_of_gaps() {
        assert_eq!(gap_days("GAP//7-30d"), Some(18));
        assert_eq!(gap_days("GAP//0-7d"), Some(3));
        assert_eq!(gap_days("GAP//365d+"), Some(365));
        assert_eq!(gap_days("GAP//1d"), Some(1));
        for name in ["GAP//", "GAP//d", "GAP//7", "GAP//x-yd", "7-30d", "GAP//-3d"] {
            assert_eq!(gap_days(name), None, "{name}");
        }
    }
}
