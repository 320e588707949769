//! Cohorts as the tables that other programs read.
//!
//! - [`jsonl()`]: JSON lines, which lose titles, units, cut points and the times of single codes.
//! - [`csv()`]: one long table, a row for each code of each visit; births are not in it.
//! - [`omop()`]: tables of the OMOP common data model, version 5.4.
//!
//! Where a cohort has no times, codes that tell the time between visits (`GAP//7-14d`) become times
//! again: the middle of the band, after a first visit on the first of January 2000; and so do codes that
//! tell the length of a stay. [`makes_up_dates`] says where that was done.

use std::path::Path;

use consequence_record::calendar::{DAY, UNDATED_START};
use consequence_record::{Code, DayBand, RecordView, Vocabulary};

use crate::{Dataset, WriteError};

pub(crate) use long::LongTable;
pub use long::{Rows, csv};
pub use omop::{
    OMOP_BETWEEN, OMOP_CUT, OMOP_FORMAT, OMOP_SCALE, OMOP_TIME, OMOP_UNUSED, OmopSummary,
    OmopUnused, omop, omop_columns, omop_scale, omop_unused,
};

mod long;
mod omop;

/// How to export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// Whether to replace a file that is there, or a folder that holds nothing but tables of OMOP.
    pub replace: bool,
    /// Whether tables of OMOP are files of Parquet, rather than CSV.
    pub parquet: bool,
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
    crate::jsonl::write_dataset(path, dataset, options.replace)
}

/// Whether dates that an export tells of encounters are made up: the cohort has an order only, and the
/// export either tells dates in any case or has codes to make them of.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Vocabulary};
/// use consequence_tables::{Dataset, export};
///
/// let made_up = |name: &str, always: bool| {
///     let vocabulary = Vocabulary::new([(name, Kind::Encounter)]).unwrap();
///     export::makes_up_dates(&Dataset::new(Cohort::default(), Arc::new(vocabulary)), always)
/// };
/// assert!(made_up("GAP//7-14d", false) && made_up("ICD9CM//250", true));
/// assert!(!made_up("ICD9CM//250", false));
/// ```
pub fn makes_up_dates(dataset: &Dataset, always: bool) -> bool {
    dataset.ordinal_time() && (always || Timeline::new(dataset).known())
}

/// Finds the times of encounters: those recorded, or those that codes tell.
pub(super) struct Timeline<'d> {
    dataset: &'d Dataset,
    /// The days that each code of the vocabulary tells to have passed, if it is such a code.
    gaps: Vec<Option<i64>>,
    /// The days that each code tells a stay to have taken.
    stays: Vec<Option<i64>>,
}

impl<'d> Timeline<'d> {
    pub fn new(dataset: &'d Dataset) -> Self {
        let vocabulary = &dataset.vocabulary;
        let gaps = days(vocabulary, DayBand::of_gap);
        Self { dataset, gaps, stays: days(vocabulary, DayBand::of_stay) }
    }

    /// Whether anything is known of times beyond the order of encounters.
    pub fn known(&self) -> bool {
        !self.dataset.ordinal_time() || self.gaps.iter().any(Option::is_some)
    }

    /// Whether anything is known of the ends of encounters.
    pub fn ends_known(&self) -> bool {
        match &self.dataset.details {
            Some(details) if details.dated() => {
                (0..details.len()).any(|record| !details.of(record).ends.is_empty())
            }
            _ => self.known() && self.stays.iter().any(Option::is_some),
        }
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

    /// When an encounter ended that began at a time; `visit` counts from 1.
    pub fn end(
        &self,
        index: usize,
        record: RecordView<'_>,
        visit: usize,
        begin: i64,
    ) -> Option<i64> {
        let details = self.dataset.details_of(index);
        if !details.times.is_empty() {
            return details.end(visit);
        }
        let stay = |code: &Code| self.stays.get(code.index()).copied()?;
        let days = record.visit(visit).iter().find_map(stay)?;
        Some(begin.saturating_add(days.saturating_mul(DAY)))
    }
}

/// The days that the names of codes tell: the middle of a band, or the start of one without end.
fn days(vocabulary: &Vocabulary, band: impl Fn(&str) -> Option<DayBand>) -> Vec<Option<i64>> {
    let middle = |DayBand { from, to }| match to {
        Some(to) => (i64::from(from) + i64::from(to)) / 2,
        None => from.into(),
    };
    vocabulary.codes().map(|code| band(vocabulary.name(code)).map(middle)).collect()
}

#[cfg(test)]
mod tests {
    use consequence_record::Kind;

    use super::*;

    #[test]
    fn the_days_of_gaps() {
        let names = ["GAP//7-30d", "GAP//0-7d", "GAP//365d+", "GAP//1d", "GAP//d", "STAY//2d"];
        let vocabulary = Vocabulary::new(names.map(|name| (name, Kind::Encounter))).unwrap();
        let gaps = [Some(18), Some(3), Some(365), Some(1), None, None, None];
        assert_eq!(days(&vocabulary, DayBand::of_gap), gaps);
        let stays = [None, None, None, None, None, Some(2), None];
        assert_eq!(days(&vocabulary, DayBand::of_stay), stays);
    }
}
