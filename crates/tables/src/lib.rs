//! Cohorts in and out of files.
//!
//! - [`jsonl`]: one record a line, the simplest format to make and to read.
//! - [`vocabulary`]: the list of codes a cohort is read with.
//!
//! Readers are strict. What they refuse they refuse with the file, the line, the column where there
//! is one, and a sentence on what to do; a message names codes, and nothing else of a patient.
#![forbid(unsafe_code)]

mod document;
mod error;
pub mod jsonl;
mod limits;
mod problem;
pub mod vocabulary;

pub use error::TableError;
pub use limits::Limits;
pub use problem::Problem;
