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
use crate::{CodeColumns, ImportError, ImportLimits, ImportProblem};

/// A column to read: the names it goes by, and whether it must be there.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    names: Vec<String>,
    needed: bool,
    /// The setting that says which column it is.
    setting: Option<&'static str>,
    /// For columns that are all that fit a pattern.
    like: Option<CodeColumns>,
}

impl Column {
    /// A column that must be there, by one of its names.
    pub fn needed(names: &[&str]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self { names, needed: true, setting: None, like: None }
    }

    /// The same, with the setting that says which column it is.
    pub fn said_by(self, setting: &'static str) -> Self {
        Self { setting: Some(setting), ..self }
    }

    /// All columns that fit a pattern, of which there must be one. They stand after all others.
    pub fn like(columns: &CodeColumns) -> Self {
        let like = Some(columns.clone());
        Self { like, ..Self::needed(&[&columns.pattern]).said_by("code_columns") }
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
    /// The columns of files without a line of names.
    orders: Vec<Vec<&'static str>>,
    /// The columns of the file that are not read, and in which nothing was met so far.
    unread: Vec<(usize, String)>,
    /// Those of all files that hold something.
    passed_over: Vec<String>,
    /// Times that had an offset from UTC.
    offsets: Cell<u64>,
    /// Years of two digits that were completed.
    repaired: Cell<u64>,
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
    /// `first` is the row that was read in search of a line of names.
    Text {
        rows: Box<TextRows<'a>>,
        width: usize,
        first: Option<ByteRecord>,
    },
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
        let orders = parts.orders;
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
            orders,
            unread: Vec::new(),
            passed_over: Vec::new(),
            offsets: Cell::new(0),
            repaired: Cell::new(0),
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
            orders: Vec::new(),
            unread: Vec::new(),
            passed_over: Vec::new(),
            offsets: Cell::new(0),
            repaired: Cell::new(0),
            record: ByteRecord::new(),
        };
        watch.begin(file, None);
        table.part = Some(table.text_part(Box::new(bytes))?);
        Ok(table)
    }

    fn open_next(&mut self) -> Result<bool, ImportError> {
        let Some(path) = self.waiting.pop() else { return Ok(false) };
        self.file = files::called(&path).into();
        self.line = 0;
        let file = Arc::clone(&self.file);
        let whole = |problem| ImportError::whole(Arc::clone(&file), problem);
        self.part = Some(if ParquetRows::recognises(&path).map_err(whole)? {
            let (rows, header) = ParquetRows::open(&path).map_err(whole)?;
            self.spread(&header);
            let positions = self.positions(&header)?;
            self.note_unread(&positions, &header);
            // What they hold is never looked at.
            self.passed_over.extend(self.unread.drain(..).map(|(_, name)| name));
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
    fn text_part(&mut self, bytes: Box<dyn Read + 'a>) -> Result<Part<'a>, ImportError> {
        let rows = TextRows::new(bytes, self.limits.row_bytes);
        let mut rows = Box::new(rows.map_err(|error| self.fail(explained(error)))?);
        let mut first = ByteRecord::new();
        rows.advance(&mut first).map_err(|error| self.csv_problem(error))?;
        let mut header: Vec<String> =
            first.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
        let order = self.standard_order(&header);
        let first = order.is_some().then_some(first);
        if let Some(order) = order {
            header = order;
        }
        self.spread(&header);
        let positions = self.positions(&header)?;
        self.note_unread(&positions, &header);
        let names = self.names(&positions, &header);
        Ok(Part { rows: Rows::Text { rows, width: header.len(), first }, positions, names })
    }

    /// The columns of a file whose first line holds values, where a standard orders so many.
    fn standard_order(&self, first: &[String]) -> Option<Vec<String>> {
        let order = self.orders.iter().find(|order| order.len() == first.len())?;
        let named =
            first.iter().any(|field| order.iter().any(|name| field.eq_ignore_ascii_case(name)));
        (!named).then(|| order.iter().map(|&name| name.to_owned()).collect())
    }

    /// Keeps the names of columns that are not read.
    fn note_unread(&mut self, positions: &[Option<usize>], header: &[String]) {
        let unread = |&(at, name): &(usize, &String)| {
            let is_index = name.is_empty() || name.starts_with("Unnamed:");
            !positions.contains(&Some(at)) && !is_index && !self.passed_over.contains(name)
        };
        let columns = header.iter().enumerate().filter(unread);
        self.unread = columns.map(|(at, name)| (at, name.clone())).collect();
    }

    /// Finds columns that hold something and are not read. A 0 tells no concept.
    fn pass_over(&mut self) {
        let (record, found) = (&self.record, &mut self.passed_over);
        self.unread.retain(|(at, name)| {
            let empty = matches!(record.get(*at), None | Some(b"" | b"0"));
            if !empty {
                found.push(name.clone());
            }
            empty
        });
    }

    /// The columns that are not read though they hold something, as far as that is known.
    pub fn unread(&self) -> &[String] {
        &self.passed_over
    }

    /// That a year of two digits was completed.
    pub fn repair_year(&self) {
        self.repaired.set(self.repaired.get() + 1);
    }

    /// The years so far that were completed.
    pub fn repaired_years(&self) -> u64 {
        self.repaired.get()
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

    /// Puts each column that fits a pattern in the place of the pattern.
    fn spread(&mut self, header: &[String]) {
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in std::mem::take(&mut self.columns) {
            let Some(like) = &column.like else {
                columns.push(column);
                continue;
            };
            let fitting = header.iter().filter(|name| like.fits(name));
            let before = columns.len();
            columns.extend(fitting.map(|name| Column::needed(&[name])));
            if columns.len() == before {
                columns.push(column);
            }
        }
        self.columns = columns;
    }

    /// The names of the columns that are read.
    pub fn columns(&self) -> &[String] {
        self.part.as_ref().map_or(&[], |part| &part.names)
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
                let problem = missing(column.names.join("` or `"), header, column.setting);
                return Err(self.fail(problem));
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
                Rows::Text { rows, width, first } => {
                    let more = match first.take() {
                        Some(first) => {
                            self.record = first;
                            Ok(true)
                        }
                        None => rows.advance(&mut self.record),
                    };
                    self.line = rows.line();
                    // Empty fields after the last column hold nothing that could be lost.
                    let beyond = |record: &ByteRecord| {
                        record.len() < *width || record.iter().skip(*width).any(|f| !f.is_empty())
                    };
                    match more {
                        Ok(true) if beyond(&self.record) => {
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
                if !self.unread.is_empty() {
                    self.pass_over();
                }
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
fn missing(column: String, header: &[String], setting: Option<&'static str>) -> ImportProblem {
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
    ImportProblem::MissingColumn { column, found, setting }
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
