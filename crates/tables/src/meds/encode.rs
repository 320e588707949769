//! The events of records as columns, and columns into Parquet files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, new_null_array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use consequence_record::{AgeBand, Code, DetailsView, Kind, Vocabulary};
use consequence_store::{AtomicFile, StoreError};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::layout::{CODE, NUMBER, SUBJECT, TIME, VISIT, age_name, ordinal_time};
use crate::details;

/// The events of one data file, column by column.
#[derive(Debug)]
pub(crate) struct Shard {
    subjects: Vec<i64>,
    times: Vec<i64>,
    /// Static events have no time and no visit; the others have both.
    timed: BooleanBufferBuilder,
    codes: Vec<i32>,
    visits: Vec<i64>,
    /// The rows that have a time and no visit: births.
    visitless: Vec<usize>,
    /// The rows with a value.
    values: Vec<(usize, f32)>,
    /// The names of events that tell an age. Their numbers follow those of the markers.
    ages: Vec<(AgeBand, String)>,
    /// The rows of the record that is being written.
    rows: Vec<Row>,
}

/// An event of a record.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// None for a static event.
    time: Option<i64>,
    /// The number of its encounter.
    visit: Option<i64>,
    code: i32,
    value: Option<f32>,
}

impl Shard {
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            subjects: Vec::with_capacity(rows),
            times: Vec::with_capacity(rows),
            timed: BooleanBufferBuilder::new(rows),
            codes: Vec::with_capacity(rows),
            visits: Vec::with_capacity(rows),
            visitless: Vec::new(),
            values: Vec::new(),
            ages: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub fn rows(&self) -> usize {
        self.subjects.len()
    }

    /// Appends an event of a subject.
    fn push(&mut self, subject: i64, row: Row) {
        if row.visit.is_none() && row.time.is_some() {
            self.visitless.push(self.rows());
        }
        if let Some(value) = row.value {
            self.values.push((self.rows(), value));
        }
        self.subjects.push(subject);
        self.times.push(row.time.unwrap_or_default());
        self.timed.append(row.time.is_some());
        self.codes.push(row.code);
        self.visits.push(row.visit.unwrap_or_default());
    }

    /// Which of the events that tell an age is that of a band.
    fn age(&mut self, band: AgeBand, vocabulary: &Vocabulary) -> i32 {
        let known = self.ages.iter().position(|(age, _)| *age == band);
        let index = known.unwrap_or_else(|| {
            self.ages.push((band, age_name(vocabulary, band)));
            self.ages.len() - 1
        });
        index as i32
    }

    /// Writes the events to a file; `names` are the codes by number.
    pub fn write(self, path: &Path, names: &Arc<StringArray>) -> Result<(), StoreError> {
        self.fill(path, names)?.commit()
    }

    /// Writes the events to a file that is not in place yet.
    pub fn fill(self, path: &Path, names: &Arc<StringArray>) -> Result<AtomicFile, StoreError> {
        fill_tables(path, event_fields(coded()), std::iter::once(self.columns(names)))
    }

    /// The events as columns; `names` are the codes by number.
    pub fn columns(mut self, names: &Arc<StringArray>) -> Result<Vec<ArrayRef>, ArrowError> {
        let rows = self.rows();
        let timed = Some(NullBuffer::new(self.timed.finish()));
        let numbered = match self.visitless.as_slice() {
            [] => timed.clone(),
            visitless => {
                let mut numbered = BooleanBufferBuilder::new(rows);
                for row in 0..rows {
                    numbered.append(timed.as_ref().is_some_and(|timed| timed.is_valid(row)));
                }
                visitless.iter().for_each(|&row| numbered.set_bit(row, false));
                Some(NullBuffer::new(numbered.finish()))
            }
        };
        let values = match self.values.is_empty() {
            true => Float32Array::new_null(rows),
            false => {
                let mut column = vec![None; rows];
                self.values.iter().for_each(|&(row, value)| column[row] = Some(value));
                Float32Array::from(column)
            }
        };
        let names = match self.ages.is_empty() {
            true => Arc::clone(names),
            false => {
                let ages = self.ages.iter().map(|(_, name)| name.as_str());
                Arc::new(self::names(names.iter().flatten().chain(ages)))
            }
        };
        let keys = Int32Array::new(self.codes.into(), None);
        let codes = DictionaryArray::<Int32Type>::try_new(keys, names as ArrayRef)?;
        Ok(vec![
            Arc::new(Int64Array::new(self.subjects.into(), None)),
            Arc::new(TimestampMicrosecondArray::new(self.times.into(), timed)),
            Arc::new(codes),
            Arc::new(values),
            Arc::new(Int64Array::new(self.visits.into(), numbered)),
        ])
    }
}

/// The columns of events, with codes of a type.
pub(crate) fn event_fields(code: DataType) -> Vec<Field> {
    vec![
        Field::new(SUBJECT, DataType::Int64, false),
        Field::new(TIME, DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new(CODE, code, false),
        Field::new(NUMBER, DataType::Float32, true),
        Field::new(VISIT, DataType::Int64, true),
    ]
}

/// The type that codes are made as: numbers of the names that there are.
pub(crate) fn coded() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The names of codes as a column.
pub(crate) fn names<'n>(names: impl Iterator<Item = &'n str>) -> StringArray {
    StringArray::from_iter_values(names)
}

/// An empty list of strings for each of `rows` rows.
pub(super) fn no_lists(rows: usize) -> (DataType, ArrayRef) {
    let kind = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
    let column = new_null_array(&kind, rows);
    (kind, column)
}

/// Writes a table of columns to a file: whole and under its name, or not at all.
pub(super) fn write_table(
    path: &Path,
    fields: Vec<Field>,
    columns: Result<Vec<ArrayRef>, ArrowError>,
) -> Result<(), StoreError> {
    write_tables(path, fields, std::iter::once(columns))
}

/// Writes tables of the same columns, one below the other, to a file.
pub(super) fn write_tables(
    path: &Path,
    fields: Vec<Field>,
    tables: impl Iterator<Item = Result<Vec<ArrayRef>, ArrowError>>,
) -> Result<(), StoreError> {
    fill_tables(path, fields, tables)?.commit()
}

/// The same, to a file that is not in place yet.
fn fill_tables(
    path: &Path,
    fields: Vec<Field>,
    tables: impl Iterator<Item = Result<Vec<ArrayRef>, ArrowError>>,
) -> Result<AtomicFile, StoreError> {
    let schema = Arc::new(Schema::new(fields));
    let mut batches = tables.map(|columns| {
        columns
            .and_then(|columns| RecordBatch::try_new(Arc::clone(&schema), columns))
            .map_err(ParquetError::from)
    });
    // Without the note on arrow types, codes read as the strings that MEDS asks for, and not as
    // the dictionary they are written from.
    let options = ArrowWriterOptions::new()
        .with_properties(properties().map_err(|error| failure(path, error))?)
        .with_skip_arrow_metadata(true);
    let mut file = AtomicFile::create(path)?;
    ArrowWriter::try_new_with_options(&mut file, Arc::clone(&schema), options)
        .and_then(|mut writer| {
            batches.try_for_each(|batch| writer.write(&batch?))?;
            writer.close()
        })
        .map_err(|error| failure(path, error))?;
    Ok(file)
}

fn properties() -> Result<WriterProperties, ParquetError> {
    let column = |name: &str| ColumnPath::new(vec![name.to_owned()]);
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("consequence ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Used where a column has too many different values for a dictionary, as real times have.
        .set_column_encoding(column(SUBJECT), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding(column(TIME), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding(column(VISIT), Encoding::DELTA_BINARY_PACKED)
        .set_column_statistics_enabled(column(CODE), EnabledStatistics::None)
        .build())
}

/// What the system said, where it was the system; a full disk is told as such.
pub(crate) fn failure(path: &Path, error: ParquetError) -> StoreError {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => StoreError::new(path, *error),
            Err(source) => StoreError::new(path, io::Error::other(source)),
        },
        error => StoreError::new(path, io::Error::other(error)),
    }
}

/// What the events of a record say beside its visits.
pub(crate) struct Events<'t> {
    /// The number of the subject.
    pub number: i64,
    pub ended: bool,
    /// What is known of it beside its codes.
    pub details: DetailsView<'t>,
}

impl Events<'_> {
    /// Appends the events of a record to a shard: static ones, then all others in the order of their
    /// times, and of those of one time the birth before encounters, and encounters in their order. What
    /// is no record is refused with what is wrong with it.
    pub fn push<'a, V>(
        &self,
        shard: &mut Shard,
        vocabulary: &Vocabulary,
        visits: V,
    ) -> Result<(), &'static str>
    where
        V: IntoIterator<Item = &'a [Code]>,
        V::IntoIter: ExactSizeIterator,
    {
        let mut rows = std::mem::take(&mut shard.rows);
        rows.clear();
        self.gather(shard, &mut rows, vocabulary, visits.into_iter())?;
        if !rows.is_sorted_by_key(|row| row.time) {
            rows.sort_by_key(|row| row.time);
        }
        for &row in &rows {
            shard.push(self.number, row);
        }
        shard.rows = rows;
        Ok(())
    }

    fn gather<'a>(
        &self,
        shard: &mut Shard,
        rows: &mut Vec<Row>,
        vocabulary: &Vocabulary,
        visits: impl ExactSizeIterator<Item = &'a [Code]>,
    ) -> Result<(), &'static str> {
        let Self { ended, details, .. } = *self;
        let count = visits.len();
        if count < 2 {
            return Err("has no encounter");
        }
        details::check(details, count - 1)?;
        // The numbers of the markers follow those of the codes; `END` has none.
        let [visit_mark, cut_mark, birth_mark, end_mark, age_marks] =
            [0, 1, 2, 3, 4].map(|mark| vocabulary.end().0 as i32 + mark);
        let mut told = 0;
        for (visit, codes) in visits.enumerate() {
            let begin = (visit > 0).then(|| details.time(visit).unwrap_or(ordinal_time(visit)));
            let number = (visit > 0).then_some(visit as i64);
            let mark = |code| Row { time: begin, visit: number, code, value: None };
            if visit > 0 {
                rows.push(mark(visit_mark));
            }
            if !ended && visit + 1 == count {
                rows.push(mark(cut_mark));
            }
            if let Some(&Some(band)) =
                visit.checked_sub(1).and_then(|index| details.ages.get(index))
            {
                rows.push(mark(age_marks + shard.age(band, vocabulary)));
            }
            for &code in codes {
                if code >= vocabulary.end() {
                    return Err("has a code that is not of the vocabulary, or stores `END`");
                }
                if vocabulary.kind(code) != Kind::of_visit(visit) {
                    return Err("has a static code in an encounter, or the reverse");
                }
                let mut row = mark(code.0 as i32);
                if let Some(event) = details.event(visit, code) {
                    row.time = event.time.or(begin);
                    row.value = event.value;
                    told += 1;
                }
                rows.push(row);
            }
            if let Some(end) = details.end(visit) {
                rows.push(Row { time: Some(end), ..mark(end_mark) });
            }
            if visit == 0
                && let Some(birth) = details.birth
            {
                let code = birth_mark;
                rows.push(Row { time: Some(birth), visit: None, code, value: None });
            }
        }
        if told != details.events.len() { Err(details::STRAY) } else { Ok(()) }
    }
}
