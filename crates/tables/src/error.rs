//! A problem and where it was met.

use std::fmt;
use std::sync::Arc;

use crate::Problem;
use crate::problem::Document;

/// Why a file could not be read: what, where, and what to do.
///
/// ```
/// use consequence_tables::jsonl::{self, ReadOptions};
///
/// let text = "{\"id\": \"p1\", \"static\": []}\n";
/// let error = jsonl::read_from(text.as_bytes(), "cohort.jsonl", &ReadOptions::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "missing field `visits`\n  --> cohort.jsonl:1:26\n  = help: each line is \
///      {\"id\": ..., \"static\": [...], \"visits\": [[...], ...]}"
/// );
/// ```
#[derive(Debug)]
pub struct TableError {
    /// What is wrong.
    pub problem: Problem,
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line, counted from 1; none where the problem is the whole file's.
    pub line: Option<u64>,
    /// The byte in the line, counted from 1: where the value starts or ends, or the text stops
    /// making sense.
    pub column: Option<u64>,
    pub(crate) document: Document,
}

impl TableError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        self.problem.help(self.document)
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}\n  --> {}", self.problem, self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
            if let Some(column) = self.column {
                write!(out, ":{column}")?;
            }
        }
        write!(out, "\n  = help: {}", self.help())
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Open(error) | Problem::Read(error) => Some(error),
            _ => None,
        }
    }
}
