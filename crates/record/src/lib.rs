//! The words of the project as types: codes, vocabularies, visits, records and cohorts.
//!
//! A record is visit 0, the *static visit* (sex, age band, ...), followed by encounters `1..=T` in
//! time order. A visit is a sorted set of [`Code`]s. `END` is a code of the last encounter; it is
//! derived from being last and never stored.
//!
//! ```
//! use consequence_record::{Cohort, Kind, Record, Vocabulary};
//!
//! let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//250", Kind::Encounter)])?;
//! let female = vocabulary.code("SEX//F").unwrap();
//! let diabetes = vocabulary.code("ICD9CM//250").unwrap();
//!
//! let mut cohort = Cohort::default();
//! cohort.push("p1", &Record::new(vec![vec![female], vec![], vec![diabetes]]));
//! assert_eq!(cohort.record(0).visit(2), [diabetes]);
//! assert!(cohort.record(0).ends_at(2));
//! # Ok::<(), consequence_record::VocabularyError>(())
//! ```
#![forbid(unsafe_code)]

mod bands;
pub mod calendar;
mod cohort;
mod concept;
mod details;
mod editions;
mod endings;
mod lists;
mod selection;
mod split;
mod vocabulary;

pub use bands::{AgeBand, DayBand, GAP_PREFIX, STAY_PREFIX};
pub use cohort::{Cohort, Record, RecordView};
pub use concept::{Concept, Domain};
pub use details::{CohortDetails, Details, DetailsView, EventDetail, Scale};
pub use editions::{EDITION_PREFIX, edition};
pub use endings::{DEATH, EXPIRED, ends_stay_in_death, says_dead, stands_at_end};
pub use lists::Lists;
pub use selection::Selection;
pub use split::Split;
pub use vocabulary::{Code, END_NAME, Kind, Part, Vocabulary, VocabularyError};
