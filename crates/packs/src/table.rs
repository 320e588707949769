//! Files as text, compressed or not, and the tables of cells in them.

use std::io::{ErrorKind, Read};

use csv::{ReaderBuilder, StringRecord};
use flate2::read::MultiGzDecoder;

use crate::error::{PackError, shown};

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackLimits {
    /// Bytes of text, after unpacking. Default 64 MiB.
    pub text_bytes: usize,
    /// Codes of a list, and pairs of a concept and one below it. Default a million.
    pub codes: usize,
}

impl Default for PackLimits {
    fn default() -> Self {
        Self { text_bytes: 64 << 20, codes: 1_000_000 }
    }
}

/// Reads a whole file, unpacking it if it is compressed.
pub(crate) fn read_text(
    file: &str,
    mut input: impl Read,
    limits: &PackLimits,
) -> Result<String, PackError> {
    let mut start = [0; 2];
    let mut length = 0;
    while length < start.len() {
        match input.read(&mut start[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(PackError::Read { file: file.to_owned(), cause }),
        }
    }
    let whole = start[..length].chain(input);
    let compressed = start[..length] == [0x1f, 0x8b];
    let mut bytes = Vec::new();
    let most = limits.text_bytes as u64;
    let outcome = if compressed {
        MultiGzDecoder::new(whole).take(most + 1).read_to_end(&mut bytes)
    } else {
        whole.take(most + 1).read_to_end(&mut bytes)
    };
    outcome.map_err(|cause| {
        if compressed {
            PackError::Gzip { file: file.to_owned(), cause }
        } else {
            PackError::Read { file: file.to_owned(), cause }
        }
    })?;
    if bytes.len() > limits.text_bytes {
        return Err(PackError::TooLarge { file: file.to_owned(), most: limits.text_bytes });
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Ok(text)
        }
        Err(fault) => {
            let valid = &fault.as_bytes()[..fault.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(PackError::Encoding { file: file.to_owned(), line })
        }
    }
}

/// Lines that may stand above the header.
const PREAMBLE: usize = 5;

/// A reader of the rows of a text, by tabs if there are any.
fn rows(text: &str) -> csv::Reader<&[u8]> {
    let tabs = text.lines().take(PREAMBLE).any(|line| line.contains('\t'));
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(if tabs { b'\t' } else { b',' })
        .quoting(!tabs)
        .from_reader(text.as_bytes())
}

/// Where columns are in a row, if it has all of them.
fn indices(row: &StringRecord, columns: &[&str]) -> Option<Vec<usize>> {
    let index = |column: &&str| row.iter().position(|cell| bare(cell).eq_ignore_ascii_case(column));
    columns.iter().map(index).collect()
}

/// Whether one of the first rows has these columns.
pub(crate) fn has_columns(text: &str, columns: &[&str]) -> bool {
    let mut reader = rows(text);
    let first = reader.records().take(PREAMBLE).map_while(Result::ok);
    first.into_iter().any(|row| indices(&row, columns).is_some())
}

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
        let mut reader = rows(text);
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
                    found = indices(&record, columns).map(|indices| (indices, record.len()));
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
