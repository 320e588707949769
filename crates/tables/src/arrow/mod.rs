//! Cohorts in and out of Arrow record batches: tables of events that are in memory, or come as a stream.
//!
//! A table has a row for each event: who, when, which code, and where it is known the value and the visit.
//! [`read`] makes a cohort of one, by the same rules as a MEDS dataset of another tool is read; [`Columns`]
//! says which column is what. [`RecordStream`] takes batches one after the other and hands on records.
//! [`tables`] and [`EventBatches`] are the way back: the rows are those that [`meds::write`](crate::meds::write)
//! puts into files. [`long_table`] has a row for each code of each visit, for people to look at.
//!
//! | column | types |
//! |---|---|
//! | subject | integers; strings, which then are the ids |
//! | time | timestamps of any unit; days (Date32, Date64); integers, which then are the numbers of visits |
//! | code | strings |
//! | value | integers and floating-point numbers; what is not a number is none, and an infinite one is refused |
//! | visit | integers, strings, or floating-point numbers where some are missing |
//!
//! Strings may be Utf8, LargeUtf8 or Utf8View, and dictionaries of them by keys of any type. Times are what
//! clocks on the wall showed: those of a time zone are converted to what its clocks showed, and not to UTC.
//!
//! ```
//! use std::sync::Arc;
//! use consequence_record::{Cohort, Kind, Record, Vocabulary};
//! use consequence_tables::Dataset;
//! use consequence_tables::arrow::{self, ReadOptions, TableOptions};
//!
//! let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
//! let diabetes = vocabulary.code("ICD9CM//250").unwrap();
//! let mut cohort = Cohort::default();
//! cohort.push("p1", &Record::new(vec![vec![], vec![diabetes], vec![]]).cut());
//! let dataset = Dataset::new(cohort, Arc::new(vocabulary));
//!
//! let tables = arrow::tables(&dataset, &TableOptions::default())?;
//! assert_eq!(tables.events[0].num_rows(), 4);
//! assert_eq!(arrow::read(&tables, &ReadOptions::default())?.cohort, dataset.cohort);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod columns;
mod long;
mod order;
mod read;
mod splits;
mod stream;
mod write;

use arrow_array::RecordBatch;

pub use columns::{Column, Columns};
pub use long::long_table;
pub use read::{ReadOptions, RowOrder, ToldCodes, code_uses, codes_used, read, told_codes};
pub use stream::RecordStream;
pub use write::{CodeType, EventBatches, TableOptions, code_tables, tables};

/// What the schema of our events calls what their times tell: `ordinal`, or `recorded`.
const TIME_KEY: &str = "consequence_time";

/// The tables that a cohort can be told by. Only that of events must be there.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// The events, in batches of the same columns.
    pub events: Vec<RecordBatch>,
    /// The codes: `code`, `description`, `parent_codes` and `kind`. Where it says of each code what kind it is,
    /// those are the codes, and markers among them are no codes.
    pub codes: Option<RecordBatch>,
    /// The subjects: `subject_id`, and where they are known `original_id` and `split`.
    pub subjects: Option<RecordBatch>,
    /// The OMOP concepts of codes.
    pub concepts: Option<RecordBatch>,
    /// What the values of codes are.
    pub scales: Option<RecordBatch>,
}

impl From<Vec<RecordBatch>> for Tables {
    fn from(events: Vec<RecordBatch>) -> Self {
        Self { events, ..Self::default() }
    }
}
