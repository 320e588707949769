//! Rows of separated text, of bounded length.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::unpack::Stop;

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
