//! Reading a cohort, line by line; lines are of bounded length.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use consequence_record::{Cohort, CohortDetails, DetailsView, Vocabulary};
use rustc_hash::FxHashMap;

use super::codes;
use super::codes::Codes;
use super::line::{LineParser, ParsedLine};
use crate::error::Document;
use crate::{Limits, Problem, TableError};

const BUFFER_BYTES: usize = 1 << 18;

/// How to read a cohort.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The codes the file may hold; without it they are those of the file and those listed beside
    /// it (see [`codes_path`](super::codes_path)), static codes first and each kind sorted by name.
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// Whether dates, births and values are read too, rather than skipped.
    pub details: bool,
    /// How much to take in before refusing.
    pub limits: Limits,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { vocabulary: None, details: true, limits: Limits::default() }
    }
}

/// A cohort and the vocabulary it is numbered by.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The records, in the order of the file.
    pub cohort: Cohort,
    /// The vocabulary given, or the one made from the file.
    pub vocabulary: Arc<Vocabulary>,
    /// Dates, stays, births and values; none where no record has any, or where they were not asked for.
    pub details: Option<CohortDetails>,
    /// What was read.
    pub summary: Summary,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Records.
    pub records: u64,
    /// Lines skipped because they were blank.
    pub blank_lines: u64,
    /// Times with an offset from UTC, which was left out.
    pub offsets: u64,
}

/// Reads the file at `path`, with the codes listed beside it unless a vocabulary is given.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Loaded, TableError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let file =
        File::open(path).map_err(|error| of_lines(&name, Problem::Open(error), None, None))?;
    let listed = match &options.vocabulary {
        Some(_) => None,
        None => codes::read_listed(path, &options.limits)?,
    };
    read_with(BufReader::with_capacity(BUFFER_BYTES, file), &name, options, listed.as_ref())
}

/// Reads from a stream; `name` is what messages call it.
pub fn read_from(
    reader: impl BufRead,
    name: &str,
    options: &ReadOptions,
) -> Result<Loaded, TableError> {
    read_with(reader, name, options, None)
}

fn read_with(
    reader: impl BufRead,
    name: &str,
    options: &ReadOptions,
    listed: Option<&Vocabulary>,
) -> Result<Loaded, TableError> {
    let mut codes = Codes { given: options.vocabulary.clone(), ..Codes::default() };
    let mut cohort = Cohort::default();
    let mut details = CohortDetails::default();
    let mut any = false;
    let (limits, detailed) = (&options.limits, options.details);
    let summary = each_line(reader, name, &mut codes, limits, detailed, |record, _| {
        cohort.push_visits(&record.id, record.visits(), record.ended);
        if detailed {
            any |= record.details() != DetailsView::default();
            details.push(record.details());
        }
        Ok::<_, TableError>(())
    })?;
    let details = any.then_some(details);
    let Codes { given, mut met } = codes;
    let (cohort, details, vocabulary) = match given {
        Some(vocabulary) => (cohort, details, vocabulary),
        None => {
            let fail = |problem| of_lines(name, problem, None, None);
            listed.map_or(Ok(()), |listed| met.add(listed)).map_err(fail)?;
            let settled = met.settle(&cohort, details.as_ref());
            let (cohort, details, vocabulary) = settled.map_err(|error| fail(error.into()))?;
            (cohort, details, Arc::new(vocabulary))
        }
    };
    Ok(Loaded { cohort, vocabulary, details, summary })
}

/// Reads the records of a stream one after the other, and hands each on with the codes met so far.
/// One line is in memory at a time, and the ids.
pub fn each_record<E: From<TableError>>(
    reader: impl BufRead,
    name: &str,
    codes: &mut Codes,
    limits: &Limits,
    take: impl FnMut(&ParsedLine, &Codes) -> Result<(), E>,
) -> Result<Summary, E> {
    each_line(reader, name, codes, limits, true, take)
}

fn each_line<E: From<TableError>>(
    reader: impl BufRead,
    name: &str,
    codes: &mut Codes,
    limits: &Limits,
    detailed: bool,
    mut take: impl FnMut(&ParsedLine, &Codes) -> Result<(), E>,
) -> Result<Summary, E> {
    let fail = |problem, line, column| E::from(of_lines(name, problem, line, column));
    let mut parser = LineParser::new(codes, limits, detailed);
    let mut lines = Lines::new(reader, limits.line_bytes);
    let mut summary = Summary::default();
    let mut lines_by_id: FxHashMap<Box<str>, u64> = FxHashMap::default();
    loop {
        let next = lines.advance();
        let number = lines.number();
        // What cannot be read at all, such as a directory, has no line to point at.
        let stopped_at = (number > 1).then_some(number);
        match next.map_err(|error| fail(Problem::Read(error), stopped_at, None))? {
            Next::Line => {}
            Next::TooLong => {
                let problem = Problem::LongLine { limit: limits.line_bytes };
                return Err(fail(problem, Some(number), None));
            }
            Next::Finished => break,
        }
        let text = std::str::from_utf8(lines.bytes()).map_err(|error| {
            let column = error.valid_up_to() as u64 + 1;
            fail(Problem::InvalidUtf8, Some(number), Some(column))
        })?;
        if text.trim().is_empty() {
            summary.blank_lines += 1;
            continue;
        }
        let (record, codes) = parser
            .parse(text, number)
            .map_err(|(problem, column)| fail(problem, Some(number), Some(column)))?;
        if let Some(first_line) = lines_by_id.insert(record.id.as_str().into(), number) {
            return Err(fail(Problem::RepeatedId { first_line }, Some(number), None));
        }
        summary.offsets += record.offsets;
        take(record, codes)?;
    }
    summary.records = lines_by_id.len() as u64;
    if summary.records == 0 {
        return Err(fail(Problem::NoRecords, None, None));
    }
    Ok(summary)
}

fn of_lines(name: &str, problem: Problem, line: Option<u64>, column: Option<u64>) -> TableError {
    TableError { problem, file: name.into(), line, column, document: Document::Records }
}

/// What is left of a stream, line by line.
pub(super) struct Lines<R> {
    reader: R,
    limit: usize,
    line: Vec<u8>,
    number: u64,
}

/// The outcome of reading a line.
pub(super) enum Next {
    /// A line; see [`Lines::bytes`].
    Line,
    /// A line longer than the limit. What was read of it is dropped.
    TooLong,
    /// There are no more lines.
    Finished,
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R, limit: usize) -> Self {
        Self { reader, limit, line: Vec::new(), number: 0 }
    }

    /// The number of the current line, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The current line, without its end and without a byte order mark.
    pub fn bytes(&self) -> &[u8] {
        match self.line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if self.number == 1 => rest,
            _ => &self.line,
        }
    }

    /// Reads the next line, never holding more than the limit and one buffer of it.
    pub fn advance(&mut self) -> io::Result<Next> {
        self.line.clear();
        self.number += 1;
        let mut started = false;
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                filled => filled?,
            };
            if available.is_empty() {
                return Ok(if started { Next::Line } else { Next::Finished });
            }
            started = true;
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if part.len() > self.limit - self.line.len() {
                self.line = Vec::new();
                return Ok(Next::TooLong);
            }
            self.line.extend_from_slice(part);
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Next::Line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read(text: &str, limit: usize, buffer: usize) -> Vec<String> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()), limit);
        let mut found = Vec::new();
        loop {
            match lines.advance().unwrap() {
                Next::Line => found.push(String::from_utf8_lossy(lines.bytes()).into_owned()),
                Next::TooLong => found.push("too long".into()),
                Next::Finished => return found,
            }
            if found.last().is_some_and(|last| last == "too long") {
                return found;
            }
        }
    }

    #[test]
    fn lines_are_the_same_whatever_the_buffer() {
        for buffer in 1..12 {
            assert_eq!(read("ab\n\ncde\nf", 3, buffer), ["ab", "", "cde", "f"]);
            assert_eq!(read("ab\n", 3, buffer), ["ab"]);
            assert_eq!(read("", 3, buffer), [""; 0]);
            assert_eq!(read("ab\nabcd\n", 3, buffer), ["ab", "too long"]);
            assert_eq!(read("\u{feff}ab\n\u{feff}", 5, buffer), ["ab", "\u{feff}"]);
        }
    }

    #[test]
    fn an_endless_line_is_given_up() {
        let mut lines = Lines::new(BufReader::new(io::repeat(b'x')), 1 << 20);
        assert!(matches!(lines.advance(), Ok(Next::TooLong)));
    }
}
