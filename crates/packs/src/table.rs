//! Tables of cells with a header.

use csv::{ReaderBuilder, StringRecord};

use crate::error::{PackError, shown};

/// Lines that may stand above the header.
const PREAMBLE: usize = 5;

/// A table read whole, with the columns that were asked for.
#[derive(Debug)]
pub(crate) struct Table {
    pub file: String,
    /// Each row: its line, and the cells of the columns asked for, in that order.
    pub rows: Vec<(u64, Vec<String>)>,
    columns: Vec<&'static str>,
}

impl Table {
    /// Reads a table that has the given columns, in any order and letter case. `help` says which
    /// file was expected.
    pub fn read(
        file: &str,
        text: &str,
        columns: &[&'static str],
        help: &'static str,
    ) -> Result<Self, PackError> {
        let tabs = text.lines().take(PREAMBLE).any(|line| line.contains('\t'));
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(if tabs { b'\t' } else { b',' })
            .quoting(!tabs)
            .from_reader(text.as_bytes());
        let mut found: Option<(Vec<usize>, usize)> = None;
        let mut first: Option<StringRecord> = None;
        let mut rows = Vec::new();
        for (number, record) in reader.records().enumerate() {
            let record = record.map_err(|cause| PackError::Read {
                file: file.to_owned(),
                cause: std::io::Error::other(cause),
            })?;
            let line = record.position().map_or(0, csv::Position::line);
            match &found {
                None if number < PREAMBLE => {
                    let indices = columns.iter().map(|column| {
                        record.iter().position(|cell| bare(cell).eq_ignore_ascii_case(column))
                    });
                    found = indices
                        .collect::<Option<Vec<usize>>>()
                        .map(|indices| (indices, record.len()));
                    first.get_or_insert(record);
                }
                None => break,
                Some((indices, expected)) => {
                    if record.len() != *expected {
                        return Err(PackError::Ragged {
                            file: file.to_owned(),
                            line,
                            expected: *expected,
                            found: record.len(),
                        });
                    }
                    let cells = indices.iter().map(|&index| bare(&record[index]).to_owned());
                    rows.push((line, cells.collect()));
                }
            }
        }
        if found.is_none() {
            return Err(missing(file, columns, first.as_ref(), help));
        }
        if rows.is_empty() {
            return Err(PackError::Empty { file: file.to_owned() });
        }
        Ok(Self { file: file.to_owned(), rows, columns: columns.to_vec() })
    }

    /// An error about a cell.
    pub fn fault(
        &self,
        line: u64,
        column: usize,
        value: &str,
        expected: &'static str,
    ) -> PackError {
        PackError::Value {
            file: self.file.clone(),
            line,
            column: self.columns[column].to_owned(),
            value: shown(value),
            expected,
        }
    }
}

/// A cell without the blanks and single quotes that some tables put around it.
fn bare(cell: &str) -> &str {
    let cell = cell.trim();
    let inner = cell.strip_prefix('\'').and_then(|cell| cell.strip_suffix('\''));
    inner.map_or(cell, str::trim)
}

fn missing(
    file: &str,
    columns: &[&str],
    first: Option<&StringRecord>,
    help: &'static str,
) -> PackError {
    let has = |column: &&&str| {
        first.is_some_and(|first| first.iter().any(|cell| bare(cell).eq_ignore_ascii_case(column)))
    };
    let missing: Vec<String> =
        columns.iter().filter(|column| !has(column)).map(|column| format!("`{column}`")).collect();
    let found = match first {
        Some(first) if !first.is_empty() => {
            let cells = first.iter().take(8).map(|cell| format!("`{}`", shown(bare(cell))));
            cells.collect::<Vec<_>>().join(", ")
        }
        _ => "nothing".to_owned(),
    };
    PackError::MissingColumn { file: file.to_owned(), missing: missing.join(", "), found, help }
}
