//! Cohorts as MEDS datasets: the format for cohorts of any size.
//!
//! A dataset is a folder. Its events are in `data`, sorted by subject and time; what is known of
//! codes and subjects is in `metadata`. Each encounter has one event `VISIT`, so that an empty one
//! survives, and a record that was cut has an event `CUT` in its last encounter. A birth is an event of no
//! encounter, and an encounter whose end is known has an event `VISIT_END` then. `docs/files.md` has the rest.
//!
//! Datasets of other tools are read too, and so is a single file of events. There an encounter is
//! what shares a `visit_id`, or else a `hadm_id`, or else a day; a code without a time is static.
//! A code used both with and without a time becomes two: its static use is named `STATIC//...`. `MEDS_BIRTH`
//! is when the patient was born and no encounter, and `MEDS_DEATH` is the code `DEATH`.
//!
//! ```
//! use std::sync::Arc;
//! use consequence_record::{Cohort, Kind, Record, Vocabulary};
//! use consequence_tables::{Dataset, meds};
//!
//! let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
//! let diabetes = vocabulary.code("ICD9CM//250").unwrap();
//! let mut cohort = Cohort::default();
//! cohort.push("p1", &Record::new(vec![vec![], vec![diabetes], vec![]]).cut());
//! let dataset = Dataset::new(cohort, Arc::new(vocabulary));
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("cohort");
//! meds::write(&path, &dataset)?;
//! assert_eq!(Dataset::open(&path)?.cohort, dataset.cohort);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod assemble;
pub(crate) mod codebook;
pub(crate) mod columns;
pub(crate) mod concepts;
pub(crate) mod encode;
mod events;
mod files;
pub(crate) mod layout;
pub(crate) mod metadata;
mod problem;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod scales;
mod shards;
mod subjects;
pub(crate) mod table;
pub(crate) mod times;
pub(crate) mod write;

use std::path::{Path, PathBuf};

pub(crate) use encode::failure as parquet_failure;
pub(crate) use write::try_path;

pub use events::RawEvent;
pub use files::Files;
pub use problem::MedsProblem;
pub use read::{MedsOptions, Stream, Streamed, read};
pub use shards::{CodeFacts, Shards};
pub use write::{Subject, Writer, WriterOptions, write, write_with};

/// The file of rules that every record of a dataset obeys by the way it was imported, if it has one.
pub fn own_rules(dataset: &Path) -> Option<PathBuf> {
    Some(dataset.join(layout::OWN_RULES)).filter(|path| path.is_file())
}
