//! Cohorts in and out of files.
//!
//! - [`jsonl`]: one record a line, the simplest format to make and to read.
//! - [`meds`]: a MEDS dataset, ours or another tool's: the format for cohorts of any size.
//! - [`arrow`]: tables of events in memory, and streams of them, for programs that have Arrow.
//! - [`export`]: JSON lines, a long table, or OMOP tables from a cohort.
//! - [`vocabulary`]: the list of codes a cohort is read with.
//!
//! Readers are strict. What they refuse they refuse with the file, the line, the column where there
//! is one, and a sentence on what to do; a message names codes, and nothing else of a patient.
#![forbid(unsafe_code)]

pub mod arrow;
mod dataset;
mod details;
mod document;
mod error;
pub mod export;
pub mod jsonl;
pub mod meds;
pub mod vocabulary;

pub use dataset::{CohortWriter, Dataset, Format};
pub use document::{Limits, shown};
pub use error::{Problem, TableError};
pub use jsonl::WriteError;
