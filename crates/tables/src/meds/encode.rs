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
use consequence_record::{Code, DetailsView, Kind, Vocabulary};
use consequence_store::{AtomicFile, StoreError};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::layout::{CODE, NUMBER, SUBJECT, TIME, VISIT, ordinal_time};

/// The events of one data file, column by column.
#[derive(Debug)]
pub(super) struct Shard {
    subjects: Vec<i64>,
    times: Vec<i64>,
    /// Static events have no time and no visit; the others have both.
    timed: BooleanBufferBuilder,
    codes: Vec<i32>,
    visits: Vec<i64>,
}

impl Shard {
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            subjects: Vec::with_capacity(rows),
            times: Vec::with_capacity(rows),
            timed: BooleanBufferBuilder::new(rows),
            codes: Vec::with_capacity(rows),
            visits: Vec::with_capacity(rows),
        }
    }

    pub fn rows(&self) -> usize {
        self.subjects.len()
    }

    /// Appends an event; `visit` is its time and the number of its encounter.
    pub fn push(&mut self, subject: i64, code: i32, visit: Option<(i64, i64)>) {
        let (time, number) = visit.unwrap_or_default();
        self.subjects.push(subject);
        self.times.push(time);
        self.timed.append(visit.is_some());
        self.codes.push(code);
        self.visits.push(number);
    }

    /// Writes the events to a file; `names` are the codes by number.
    pub fn write(self, path: &Path, names: &Arc<StringArray>) -> Result<(), StoreError> {
        self.fill(path, names)?.commit()
    }

    /// Writes the events to a file that is not in place yet.
    pub fn fill(mut self, path: &Path, names: &Arc<StringArray>) -> Result<AtomicFile, StoreError> {
        let rows = self.rows();
        let timed = Some(NullBuffer::new(self.timed.finish()));
        let keys = Int32Array::new(self.codes.into(), None);
        let columns = DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(names) as ArrayRef)
            .map(|codes| -> Vec<ArrayRef> {
                vec![
                    Arc::new(Int64Array::new(self.subjects.into(), None)),
                    Arc::new(TimestampMicrosecondArray::new(self.times.into(), timed.clone())),
                    Arc::new(codes),
                    Arc::new(Float32Array::new_null(rows)),
                    Arc::new(Int64Array::new(self.visits.into(), timed)),
                ]
            });
        let code = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let fields = vec![
            Field::new(SUBJECT, DataType::Int64, false),
            Field::new(TIME, DataType::Timestamp(TimeUnit::Microsecond, None), true),
            Field::new(CODE, code, false),
            Field::new(NUMBER, DataType::Float32, true),
            Field::new(VISIT, DataType::Int64, true),
        ];
        fill_tables(path, fields, std::iter::once(columns))
    }
}

/// The names of codes as a column.
pub(super) fn names<'n>(names: impl Iterator<Item = &'n str>) -> StringArray {
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
fn failure(path: &Path, error: ParquetError) -> StoreError {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => StoreError::new(path, *error),
            Err(source) => StoreError::new(path, io::Error::other(source)),
        },
        error => StoreError::new(path, io::Error::other(error)),
    }
}

/// What the events of a record say beside its visits.
pub(super) struct Events<'t> {
    /// The number of the subject.
    pub number: i64,
    pub ended: bool,
    /// What is known of it beside its codes.
    pub details: DetailsView<'t>,
}

impl Events<'_> {
    /// Appends the events of a record to a shard: the static visit, then the encounters. What is no
    /// record is refused with what is wrong with it.
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
        let Self { number, ended, details } = *self;
        let times = (!details.times.is_empty()).then_some(details.times);
        let visits = visits.into_iter();
        let count = visits.len();
        if count < 2 {
            return Err("has no encounter");
        }
        if let Some(times) = times {
            if times.len() + 1 != count {
                return Err("has more encounters than times, or the reverse");
            }
            if !times.is_sorted() {
                return Err("has encounters that go back in time");
            }
        }
        // The numbers of the markers follow those of the codes; `END` has none.
        let visit_marker = vocabulary.end().0 as i32;
        for (visit, codes) in visits.enumerate() {
            let encounter = (visit > 0).then(|| {
                let time = times.map(|times| times[visit - 1]);
                (time.unwrap_or_else(|| ordinal_time(visit)), visit as i64)
            });
            if visit > 0 {
                shard.push(number, visit_marker, encounter);
            }
            if !ended && visit + 1 == count {
                shard.push(number, visit_marker + 1, encounter);
            }
            for &code in codes {
                if code >= vocabulary.end() {
                    return Err("has a code that is not of the vocabulary, or stores `END`");
                }
                if vocabulary.kind(code) != Kind::of_visit(visit) {
                    return Err("has a static code in an encounter, or the reverse");
                }
                shard.push(number, code.0 as i32, encounter);
            }
        }
        Ok(())
    }
}
