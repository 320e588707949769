//! Cohorts from the tables that people have.
//!
//! A source is a folder of tables or a file. Its rows may come in any order: they are taken apart
//! into small events, sorted by subject in files without names, and made into records one subject
//! at a time. What is in memory is the list of subjects, the list of codes, and one batch.
//!
//! ```
//! use consequence_feedback::Unwatched;
//! use consequence_import::{CsvColumns, ImportOptions, Source, open};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("events.csv");
//! std::fs::write(&path, "subject_id,time,code\n7,2024-03-01,B\n7,2024-01-31,A\n2,2024-02-01,A\n")?;
//! let source = Source::Csv(CsvColumns::default());
//! let import = open(&source, &path, &ImportOptions::default(), &Unwatched)?;
//! let vocabulary = import.vocabulary();
//! let mut records = import.records();
//! let second = records.nth(1).unwrap()?;
//! assert_eq!(second.id, "7");
//! assert_eq!(second.record.visits[1], [vocabulary.code("A").unwrap()]);
//! assert_eq!(second.record.visits[2], ["B", "GAP//30-45d"].map(|name| vocabulary.code(name).unwrap()));
//! assert_eq!(records.summary().visits, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Static codes are those of the first encounter: sex as `SEX//F` or `SEX//M`, the age band as
//! `AGE//40-60`. Where one is asked for and a subject has none, the subject is left out and
//! counted. Encounters after the first have a code for the days since the one before, and those whose
//! end is known one for the days they took; the dates themselves, births, and the values of
//! measurements are in the [details](consequence_record::Details) of a record. Times are what clocks on
//! the wall showed: an offset from UTC is dropped and counted. The split of a subject is the one that a MEDS
//! dataset gives it, or tables of OMOP that this program wrote, and everywhere else that of
//! [`Split::of`](consequence_record::Split::of).

mod build;
mod code_map;
mod codes;
mod collector;
mod encounters;
mod error;
mod event;
mod files;
mod finals;
mod joined;
mod known;
mod opened;
mod options;
mod own_rules;
mod parquet;
mod records;
mod runs;
mod sources;
mod summary;
mod table;
mod tally;
mod titles;
mod units;

pub use code_map::CodeMap;
pub use error::{ImportError, ImportProblem};
pub use joined::{JoinedCohort, JoinedConcept, JoinedOptions, JoinedRecords, JoinedRows};
pub use opened::{Import, open};
pub use options::{CodeColumns, CsvColumns, ImportLimits, ImportOptions, Source};
pub use records::{ImportedRecord, Records};
pub use summary::{ImportSummary, Reason};
pub use titles::Titles;
pub use units::UnitTable;
