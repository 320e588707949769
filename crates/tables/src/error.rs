//! A problem and where it was met.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use consequence_advice::{Advice, Advise};

use crate::Problem;
use crate::problem::Document;

/// Why a file could not be read: what, and where.
///
/// ```
/// use consequence_advice::{Advice, Advise};
/// use consequence_tables::jsonl::{self, ReadOptions};
///
/// let text = "{\"id\": \"p1\", \"static\": []}\n";
/// let error = jsonl::read_from(text.as_bytes(), "cohort.jsonl", &ReadOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "missing field `visits`\n  --> cohort.jsonl:1:26");
/// assert_eq!(
///     error.advice(),
///     Some(Advice::new("each line is {\"id\": ..., \"static\": [...], \"visits\": [[...], ...]}"))
/// );
/// ```
#[derive(Debug)]
pub struct TableError {
    /// What is wrong.
    pub problem: Problem,
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line, counted from 1, or the row of a Parquet file; none where the problem is the whole
    /// file's.
    pub line: Option<u64>,
    /// The byte in the line, counted from 1: where the value starts or ends, or the text stops
    /// making sense.
    pub column: Option<u64>,
    pub(crate) document: Document,
}

impl TableError {
    /// A problem of a whole Parquet file or folder.
    pub(crate) fn of_file(path: &Path, problem: impl Into<Problem>) -> Self {
        Self {
            problem: problem.into(),
            file: path.display().to_string().into(),
            line: None,
            column: None,
            document: Document::Parquet,
        }
    }

    /// A problem of a row of a Parquet file, counted from 1.
    pub(crate) fn of_row(path: &Path, row: u64, problem: impl Into<Problem>) -> Self {
        Self { line: Some(row), ..Self::of_file(path, problem) }
    }
}

impl Advise for TableError {
    fn advice(&self) -> Option<Advice> {
        Some(Advice::new(self.problem.help(self.document)))
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}\n  --> {}", self.problem, self.file)?;
        match (self.document, self.line, self.column) {
            (_, None, _) => Ok(()),
            (Document::Parquet, Some(row), None) => write!(out, ", row {row}"),
            (_, Some(line), None) => write!(out, ":{line}"),
            (_, Some(line), Some(column)) => write!(out, ":{line}:{column}"),
        }
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
