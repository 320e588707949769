//! A table of OMOP as it is written: as CSV, or as Parquet with the types of its columns.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use consequence_record::calendar::{self, DAY, Moment};
use consequence_store::{AtomicFile, StoreError};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::super::long::{Nothing, Rows};
use super::tables::{Table, Type};
use crate::meds::parquet_failure;

/// What stands in a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'v> {
    Nothing,
    Integer(i64),
    Number(f32),
    /// The date of a time.
    Date(i64),
    Moment(i64),
    Text(&'v str),
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Nothing, Self::Integer)
    }
}

impl From<Option<f32>> for Value<'_> {
    fn from(number: Option<f32>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }
}

impl<'v> From<Option<&'v str>> for Value<'v> {
    fn from(text: Option<&'v str>) -> Self {
        text.map_or(Self::Nothing, Self::Text)
    }
}

/// A table that is being written.
pub(super) struct TableFile {
    table: &'static Table,
    rows: u64,
    out: Output,
}

enum Output {
    Csv(Box<Rows<AtomicFile>>),
    Parquet(Box<ParquetFile>),
}

impl TableFile {
    /// Begins a table in a folder.
    pub fn create(folder: &Path, table: &'static Table, parquet: bool) -> Result<Self, StoreError> {
        let path = folder.join(format!("{}.{}", table.name, ending(parquet)));
        let file = AtomicFile::create(&path)?;
        let out = if parquet {
            Output::Parquet(Box::new(
                ParquetFile::new(file, table).map_err(|error| parquet_failure(&path, error))?,
            ))
        } else {
            let mut rows = Rows::new(file);
            for (name, ..) in table.columns {
                rows.field(name);
            }
            rows.end().map_err(|error| StoreError::new(&path, error))?;
            Output::Csv(Box::new(rows))
        };
        Ok(Self { table, rows: 0, out })
    }

    /// The rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The name of the table.
    pub fn name(&self) -> &'static str {
        self.table.name
    }

    /// Appends a row. The fields are in the order of the columns; those that are not named are empty.
    pub fn row(&mut self, fields: &[(&str, Value<'_>)]) -> Result<(), StoreError> {
        self.rows += 1;
        let mut fields = fields.iter().peekable();
        for (index, &(name, _, needed)) in self.table.columns.iter().enumerate() {
            let value = fields.next_if(|(field, _)| *field == name);
            let value = value.map_or(Value::Nothing, |(_, value)| *value);
            // A year of birth is needed, and may not be known all the same.
            let may_lack = !needed || name == "year_of_birth";
            debug_assert!(may_lack || value != Value::Nothing, "{} lacks {name}", self.table.name);
            match &mut self.out {
                Output::Csv(rows) => put(rows, value),
                Output::Parquet(file) => file.columns[index].put(value),
            }
        }
        debug_assert!(fields.next().is_none(), "a field of no column of {}", self.table.name);
        let failed = |error| StoreError::new(Path::new(self.table.name), error);
        match &mut self.out {
            Output::Csv(rows) => rows.end().map_err(failed),
            Output::Parquet(file) => {
                file.end_row().map_err(|error| parquet_failure(Path::new(self.table.name), error))
            }
        }
    }

    /// Puts the table in place.
    pub fn commit(self) -> Result<(), StoreError> {
        match self.out {
            Output::Csv(rows) => rows.into_inner().commit(),
            Output::Parquet(file) => file
                .finish()
                .map_err(|error| parquet_failure(Path::new(self.table.name), error))?
                .commit(),
        }
    }
}

/// What the names of files end in.
pub(super) fn ending(parquet: bool) -> &'static str {
    if parquet { "parquet" } else { "csv" }
}

fn put(rows: &mut Rows<AtomicFile>, value: Value<'_>) {
    match value {
        Value::Nothing => rows.field(Nothing),
        Value::Integer(number) => rows.field(number),
        Value::Number(number) => rows.field(number),
        Value::Date(time) => rows.field(calendar::Date(time)),
        Value::Moment(time) => rows.field(Moment(time)),
        Value::Text(text) => rows.field(text),
    };
}

/// Rows that wait to be written, and the file that they go to.
struct ParquetFile {
    writer: ArrowWriter<AtomicFile>,
    schema: Arc<Schema>,
    columns: Vec<Waiting>,
    rows: usize,
}

/// The rows that wait at a time.
const BATCH_ROWS: usize = 1 << 14;

impl ParquetFile {
    fn new(file: AtomicFile, table: &Table) -> Result<Self, ParquetError> {
        let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
        let fields = table.columns.iter().map(|&(name, kind, _)| {
            let kind = match kind {
                Type::Integer => DataType::Int64,
                Type::Float => DataType::Float64,
                Type::Date => DataType::Date32,
                Type::Datetime => moment.clone(),
                Type::Text(_) => DataType::Utf8,
            };
            Field::new(name, kind, true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("consequence ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?;
        let columns = table.columns.iter().map(|&(_, kind, _)| Waiting::new(kind)).collect();
        Ok(Self { writer, schema, columns, rows: 0 })
    }

    fn end_row(&mut self) -> Result<(), ParquetError> {
        self.rows += 1;
        if self.rows < BATCH_ROWS { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let columns: Vec<ArrayRef> = self.columns.iter_mut().map(Waiting::finish).collect();
        self.rows = 0;
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    fn finish(mut self) -> Result<AtomicFile, ParquetError> {
        self.flush()?;
        self.writer.into_inner()
    }
}

/// The values of a column that wait to be written.
enum Waiting {
    Integers(Int64Builder),
    Numbers(Float64Builder),
    Dates(Date32Builder),
    Moments(TimestampMicrosecondBuilder),
    Texts(StringBuilder),
}

impl Waiting {
    fn new(kind: Type) -> Self {
        match kind {
            Type::Integer => Self::Integers(Int64Builder::new()),
            Type::Float => Self::Numbers(Float64Builder::new()),
            Type::Date => Self::Dates(Date32Builder::new()),
            Type::Datetime => Self::Moments(TimestampMicrosecondBuilder::new()),
            Type::Text(_) => Self::Texts(StringBuilder::new()),
        }
    }

    /// Appends a value; one of another type than the column's is left empty.
    fn put(&mut self, value: Value<'_>) {
        match (self, value) {
            (Self::Integers(column), Value::Integer(number)) => column.append_value(number),
            (Self::Numbers(column), Value::Number(number)) => column.append_value(widened(number)),
            (Self::Dates(column), Value::Date(time)) => {
                column.append_option(i32::try_from(time.div_euclid(DAY)).ok());
            }
            (Self::Moments(column), Value::Moment(time)) => column.append_value(time),
            (Self::Texts(column), Value::Text(text)) => column.append_value(text),
            (Self::Integers(column), _) => column.append_null(),
            (Self::Numbers(column), _) => column.append_null(),
            (Self::Dates(column), _) => column.append_null(),
            (Self::Moments(column), _) => column.append_null(),
            (Self::Texts(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Integers(column) => ArrayBuilder::finish(column),
            Self::Numbers(column) => ArrayBuilder::finish(column),
            Self::Dates(column) => ArrayBuilder::finish(column),
            Self::Moments(column) => ArrayBuilder::finish(column),
            Self::Texts(column) => ArrayBuilder::finish(column),
        }
    }
}

/// A number in 64 bits that reads as it does in 32: 7.2, and not 7.19999980926513671875.
fn widened(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
