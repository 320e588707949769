//! The rows of a table, whatever file it is in; rows of separated text are of bounded length.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use consequence_feedback::Watch;
use consequence_record::calendar;
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use crate::files::{self, Parts, Stop, explained, known};
use crate::parquet::ParquetRows;
use crate::{ImportError, ImportLimits, ImportProblem};

/// A column to read: the names it goes by, and whether it must be there.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    names: Vec<String>,
    needed: bool,
}

impl Column {
    /// A column that must be there, by one of its names.
    pub fn needed(names: &[&str]) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect(), needed: true }
    }

    /// A column that is empty where it is missing.
    pub fn optional(names: &[&str]) -> Self {
        Self { needed: false, ..Self::needed(names) }
    }
}

/// A table being read, one row at a time.
pub(crate) struct Table<'a> {
    columns: Vec<Column>,
    limits: ImportLimits,
    watch: &'a dyn Watch,
    /// The files still to come, the next one last.
    waiting: Vec<PathBuf>,
    part: Option<Part<'a>>,
    file: Arc<str>,
    line: u64,
    rows: u64,
    /// Times that had an offset from UTC.
    offsets: Cell<u64>,
    record: ByteRecord,
}

/// One file of a table.
struct Part<'a> {
    rows: Rows<'a>,
    /// Where in a row each column stands.
    positions: Vec<Option<usize>>,
    /// What the columns are called here.
    names: Vec<String>,
}

enum Rows<'a> {
    Text { rows: Box<TextRows<'a>>, width: usize },
    Parquet(Box<ParquetRows>),
}

impl<'a> Table<'a> {
    /// A table of one or more files.
    pub fn open(
        parts: Parts,
        columns: Vec<Column>,
        limits: &ImportLimits,
        watch: &'a dyn Watch,
    ) -> Result<Self, ImportError> {
        let total =
            parts.files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len());
        watch.begin(parts.table, known(total.sum()));
        let mut waiting = parts.files;
        waiting.reverse();
        let mut table = Self {
            columns,
            limits: *limits,
            watch,
            waiting,
            part: None,
            file: "".into(),
            line: 0,
            rows: 0,
            offsets: Cell::new(0),
            record: ByteRecord::new(),
        };
        table.open_next()?;
        Ok(table)
    }

    /// A table that is already open, as one unpacked from an archive; `file` is what messages
    /// call it.
    pub fn of_bytes(
        bytes: impl Read + 'a,
        file: &str,
        columns: Vec<Column>,
        limits: &ImportLimits,
        watch: &'a dyn Watch,
    ) -> Result<Self, ImportError> {
        let mut table = Self {
            columns,
            limits: *limits,
            watch,
            waiting: Vec::new(),
            part: None,
            file: file.into(),
            line: 0,
            rows: 0,
            offsets: Cell::new(0),
            record: ByteRecord::new(),
        };
        watch.begin(file, None);
        table.part = Some(table.text_part(Box::new(bytes))?);
        Ok(table)
    }

    fn open_next(&mut self) -> Result<bool, ImportError> {
        let Some(path) = self.waiting.pop() else { return Ok(false) };
        self.file = path.display().to_string().into();
        self.line = 0;
        let whole = |problem| ImportError::whole(Arc::clone(&self.file), problem);
        self.part = Some(if ParquetRows::recognises(&path).map_err(whole)? {
            let (rows, header) = ParquetRows::open(&path).map_err(whole)?;
            let positions = self.positions(&header)?;
            let rows = Rows::Parquet(Box::new(rows.keep(&positions).map_err(whole)?));
            let names = self.names(&positions, &header);
            Part { positions: (0..positions.len()).map(Some).collect(), rows, names }
        } else {
            let bytes = files::open(&path, &self.limits, self.watch).map_err(whole)?;
            self.text_part(bytes)?
        });
        Ok(true)
    }

    /// Reads the header of a text file.
    fn text_part(&self, bytes: Box<dyn Read + 'a>) -> Result<Part<'a>, ImportError> {
        let rows = TextRows::new(bytes, self.limits.row_bytes);
        let mut rows = Box::new(rows.map_err(|error| self.fail(explained(error)))?);
        let mut header = ByteRecord::new();
        rows.advance(&mut header).map_err(|error| self.csv_problem(error))?;
        let header: Vec<String> =
            header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
        let positions = self.positions(&header)?;
        let names = self.names(&positions, &header);
        Ok(Part { rows: Rows::Text { rows, width: header.len() }, positions, names })
    }

    /// What the columns are called in a header.
    fn names(&self, positions: &[Option<usize>], header: &[String]) -> Vec<String> {
        let called =
            |position: &Option<usize>| position.and_then(|position| header.get(position)).cloned();
        let columns = self.columns.iter().zip(positions);
        columns
            .map(|(column, position)| {
                called(position).unwrap_or_else(|| column.names.join("` or `"))
            })
            .collect()
    }

    /// Where the columns stand, by a header.
    fn positions(&self, header: &[String]) -> Result<Vec<Option<usize>>, ImportError> {
        let find = |name: &String| {
            let mut same = (0..header.len()).filter(|&at| header[at].eq_ignore_ascii_case(name));
            match (same.next(), same.next()) {
                (Some(_), Some(_)) => Err(ImportProblem::RepeatedColumn { column: name.clone() }),
                (position, _) => Ok(position),
            }
        };
        let mut positions = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let mut position = None;
            for name in &column.names {
                position = position.or(find(name).map_err(|problem| self.fail(problem))?);
            }
            if position.is_none() && column.needed {
                return Err(self.fail(missing(column.names.join("` or `"), header)));
            }
            positions.push(position);
        }
        Ok(positions)
    }

    /// Moves to the next row; false when there is none.
    pub fn advance(&mut self) -> Result<bool, ImportError> {
        loop {
            let Some(part) = &mut self.part else { return Ok(false) };
            let more = match &mut part.rows {
                Rows::Text { rows, width } => {
                    let more = rows.advance(&mut self.record);
                    self.line = rows.line();
                    match more {
                        Ok(true) if self.record.len() != *width => {
                            let (expected, found) = (*width as u64, self.record.len() as u64);
                            return Err(self.fail(ImportProblem::Ragged { expected, found }));
                        }
                        Ok(more) => more,
                        Err(error) => return Err(self.csv_problem(error)),
                    }
                }
                Rows::Parquet(rows) => {
                    self.line += 1;
                    let more = rows.advance(&mut self.record);
                    more.map_err(|problem| self.fail(problem))?
                }
            };
            if more {
                self.rows += 1;
                return Ok(true);
            }
            self.part = None;
            if !self.open_next()? {
                self.watch.finish();
                return Ok(false);
            }
        }
    }

    /// The rows read so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The times read so far that had an offset from UTC, which was dropped.
    pub fn offsets(&self) -> u64 {
        self.offsets.get()
    }

    /// The file being read, and the line of the current row.
    pub fn location(&self) -> (&Arc<str>, u64) {
        (&self.file, self.line)
    }

    /// The text of a field without blanks around it; nothing for what databases write for nothing.
    pub fn text(&self, column: usize) -> Result<&str, ImportError> {
        let position =
            self.part.as_ref().and_then(|part| part.positions.get(column).copied().flatten());
        let bytes = position.and_then(|position| self.record.get(position)).unwrap_or_default();
        let text = std::str::from_utf8(bytes)
            .map_err(|_| self.fail(ImportProblem::InvalidUtf8 { column: self.name(column) }))?
            .trim();
        Ok(if text == "NULL" || text == "\\N" { "" } else { text })
    }

    /// The text of a field that must not be empty.
    pub fn needed_text(&self, column: usize) -> Result<&str, ImportError> {
        match self.text(column)? {
            "" => Err(self.fail(ImportProblem::Empty { column: self.name(column) })),
            text => Ok(text),
        }
    }

    /// A time on the clock of the wall; none where the field is empty.
    pub fn time(&self, column: usize) -> Result<Option<i64>, ImportError> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(None);
        }
        match calendar::parse_with_offset(text) {
            Some((time, offset)) => {
                self.offsets.set(self.offsets.get() + u64::from(offset));
                Ok(Some(time))
            }
            None => Err(self.bad_date(column)),
        }
    }

    /// That a field is no date.
    pub fn bad_date(&self, column: usize) -> ImportError {
        self.fail(ImportProblem::BadDate { column: self.name(column) })
    }

    /// A whole number; none where the field is empty.
    pub fn integer(&self, column: usize) -> Result<Option<i64>, ImportError> {
        let text = self.text(column)?;
        // Tables that went through a data frame write whole numbers as 2008.0.
        let whole = text.strip_suffix(".0").unwrap_or(text);
        match whole {
            "" => Ok(None),
            whole => whole
                .parse()
                .map(Some)
                .map_err(|_| self.fail(ImportProblem::BadNumber { column: self.name(column) })),
        }
    }

    /// The name of a column, for messages.
    pub fn name(&self, column: usize) -> String {
        let names = self.part.as_ref().and_then(|part| part.names.get(column));
        names.cloned().unwrap_or_default()
    }

    /// A problem of the current row.
    pub fn fail(&self, problem: impl Into<ImportProblem>) -> ImportError {
        let line = (self.line > 0).then_some(self.line);
        ImportError { problem: problem.into(), file: Arc::clone(&self.file), line }
    }

    fn csv_problem(&self, error: csv::Error) -> ImportError {
        let at = error.position().map(csv::Position::line);
        let problem = match error.into_kind() {
            ErrorKind::Io(error) => explained(error),
            other => ImportProblem::Damaged(format!("{other:?}")),
        };
        let line = at.or((self.line > 0).then_some(self.line));
        ImportError { problem, file: Arc::clone(&self.file), line }
    }
}

/// A column that is not there. The other names are shown, unless the line looks like values.
fn missing(column: String, header: &[String]) -> ImportProblem {
    let is_value = |name: &String| {
        let mut bytes = name.bytes();
        bytes.all(|byte| !byte.is_ascii_alphabetic()) && !name.is_empty()
    };
    if header.iter().any(is_value) {
        return ImportProblem::NoHeader;
    }
    let is_word = |name: &&String| {
        (1..=40).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- .".contains(&byte))
    };
    let found = header.iter().filter(is_word).cloned().collect();
    ImportProblem::MissingColumn { column, found }
}

/// The rows of a text file, whatever separates their fields.
pub(crate) struct TextRows<'a> {
    reader: Reader<Box<dyn Read + 'a>>,
    since: Rc<Cell<usize>>,
    last_byte: Rc<Cell<u8>>,
    line: u64,
    /// Whether the last field of the row goes over several lines.
    folded: bool,
}

impl<'a> TextRows<'a> {
    /// Finds out from the first line what separates the fields: commas, tabs, semicolons or bars.
    pub fn new(bytes: Box<dyn Read + 'a>, row_bytes: usize) -> io::Result<Self> {
        let since = Rc::new(Cell::new(0));
        let last_byte = Rc::new(Cell::new(0));
        let fence = Fence {
            inner: bytes,
            since: Rc::clone(&since),
            last_byte: Rc::clone(&last_byte),
            limit: row_bytes,
        };
        let mut fenced = BufReader::new(fence);
        let mut first = Vec::new();
        fenced.read_until(b'\n', &mut first)?;
        let there = |mark: u8| first.iter().filter(|byte| **byte == mark).count();
        let (_, delimiter) = [b'|', b';', b'\t', b',']
            .into_iter()
            .map(|mark| (there(mark), mark))
            // Of marks that are there equally often, the last named.
            .max_by_key(|(count, _)| *count)
            .unwrap_or((0, b','));
        let unread = Cursor::new(first).chain(Cursor::new(fenced.buffer().to_vec()));
        let all: Box<dyn Read + 'a> = Box::new(unread.chain(fenced.into_inner()));
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(all);
        Ok(Self { reader, since, last_byte, line: 1, folded: false })
    }

    /// Puts the next row into `record`; false when there is none.
    pub fn advance(&mut self, record: &mut ByteRecord) -> Result<bool, csv::Error> {
        self.since.set(0);
        let before = self.line;
        self.line = self.reader.position().line();
        let more = self.reader.read_byte_record(record)?;
        if let Some(start) = record.position().filter(|_| more) {
            self.line = start.line();
        }
        // A quote that is never closed takes in the rest of the file.
        if !more && self.folded && self.last_byte.get() != b'"' {
            self.line = before;
            return Err(io::Error::other(Stop::OpenQuote).into());
        }
        let last_field = record.len().checked_sub(1).and_then(|last| record.get(last));
        self.folded = more && last_field.is_some_and(|field| field.contains(&b'\n'));
        Ok(more)
    }

    /// The line on which the current row begins, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }
}

/// Stops a reader that takes in too much for one row.
struct Fence<'a> {
    inner: Box<dyn Read + 'a>,
    since: Rc<Cell<usize>>,
    /// The last byte that ends no line.
    last_byte: Rc<Cell<u8>>,
    limit: usize,
}

impl Read for Fence<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > self.limit {
            return Err(io::Error::other(Stop::LongRow(self.limit)));
        }
        let count = self.inner.read(buffer)?;
        self.since.set(self.since.get().saturating_add(count));
        let ends_no_line = |byte: &&u8| !matches!(byte, b'\n' | b'\r');
        if let Some(&byte) = buffer[..count].iter().rev().find(ends_no_line) {
            self.last_byte.set(byte);
        }
        Ok(count)
    }
}
