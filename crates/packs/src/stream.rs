//! Tables of OMOP that are too large to be held: their rows pass by.

use std::io::{BufRead, BufReader, Read};

use csv::{ByteRecord, ReaderBuilder};
use flate2::read::MultiGzDecoder;

use crate::error::{PackError, shown};

/// A row that passes by, with the columns that were asked for.
pub(crate) struct Row<'a> {
    file: &'a str,
    columns: &'a [&'static str],
    places: &'a [usize],
    cells: &'a ByteRecord,
}

impl Row<'_> {
    fn cell(&self, column: usize) -> &[u8] {
        self.cells.get(self.places[column]).unwrap_or_default().trim_ascii()
    }

    /// The number of a concept.
    pub fn concept(&self, column: usize) -> Result<u64, PackError> {
        let number = str::from_utf8(self.cell(column)).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.fault(column, "the number of a concept"))
    }

    /// A text.
    pub fn text(&self, column: usize) -> Result<&str, PackError> {
        str::from_utf8(self.cell(column)).map_err(|_| self.fault(column, "UTF-8 text"))
    }

    fn fault(&self, column: usize, expected: &'static str) -> PackError {
        PackError::Value {
            file: self.file.to_owned(),
            line: self.cells.position().map_or(0, csv::Position::line),
            column: self.columns[column].to_owned(),
            value: shown(&String::from_utf8_lossy(self.cell(column))),
            expected,
        }
    }
}

/// Calls `each` for every row of a table, separated by tabs or commas, gzip or plain. `help` says which table
/// was expected.
pub(crate) fn rows(
    file: &str,
    input: impl Read,
    columns: &[&'static str],
    help: &'static str,
    mut each: impl FnMut(&Row<'_>) -> Result<(), PackError>,
) -> Result<(), PackError> {
    let failed = |cause| PackError::Read { file: file.to_owned(), cause };
    let mut input = BufReader::new(input);
    if input.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
        let unpacked = BufReader::new(MultiGzDecoder::new(input));
        let damaged = |cause| PackError::Gzip { file: file.to_owned(), cause };
        return plain_rows(file, unpacked, (columns, help), &mut each, damaged);
    }
    plain_rows(file, input, (columns, help), &mut each, failed)
}

fn plain_rows(
    file: &str,
    mut input: impl BufRead,
    (columns, help): (&[&'static str], &'static str),
    each: &mut impl FnMut(&Row<'_>) -> Result<(), PackError>,
    failed: impl Fn(std::io::Error) -> PackError,
) -> Result<(), PackError> {
    let start = input.fill_buf().map_err(&failed)?;
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let tabs = first.contains(&b'\t');
    // With tabs a quote is a character of a title.
    let mut reader = ReaderBuilder::new()
        .delimiter(if tabs { b'\t' } else { b',' })
        .quoting(!tabs)
        .flexible(true)
        .from_reader(input);
    let fault = |cause: csv::Error| match cause.into_kind() {
        csv::ErrorKind::Io(cause) => failed(cause),
        other => failed(std::io::Error::other(format!("{other:?}"))),
    };
    let header = reader.byte_headers().map_err(&fault)?.clone();
    let place = |column: &&'static str| {
        let named = |cell: &[u8]| {
            cell.strip_prefix(b"\xef\xbb\xbf")
                .unwrap_or(cell)
                .eq_ignore_ascii_case(column.as_bytes())
        };
        header.iter().position(named).ok_or_else(|| {
            let cells = header.iter().take(8);
            let cells = cells.map(|cell| format!("`{}`", shown(&String::from_utf8_lossy(cell))));
            let found = cells.collect::<Vec<_>>().join(", ");
            let found = if found.is_empty() { "nothing".to_owned() } else { found };
            let (file, missing) = (file.to_owned(), format!("`{column}`"));
            PackError::MissingColumn { file, missing, found, help }
        })
    };
    let places = columns.iter().map(place).collect::<Result<Vec<usize>, _>>()?;
    let mut cells = ByteRecord::new();
    while reader.read_byte_record(&mut cells).map_err(&fault)? {
        each(&Row { file, columns, places: &places, cells: &cells })?;
    }
    Ok(())
}
