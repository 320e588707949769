//! Rows of Parquet files, as the text their values would have in a CSV file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use csv::ByteRecord;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::ImportProblem;
use crate::files::is_standard_input;
use consequence_record::calendar::{DAY, civil};

const BATCH_ROWS: usize = 8192;

/// The rows of one Parquet file.
pub(crate) struct ParquetRows {
    builder: Option<ParquetRecordBatchReaderBuilder<File>>,
    reader: Option<ParquetRecordBatchReader>,
    batch: Option<RecordBatch>,
    next: usize,
    /// Where in a batch each column stands.
    columns: Vec<Option<usize>>,
}

impl ParquetRows {
    /// Whether a file is one of Parquet, by how it begins or is named.
    pub fn recognises(path: &Path) -> Result<bool, ImportProblem> {
        if is_standard_input(path) {
            return Ok(false);
        }
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet")) {
            return Ok(true);
        }
        let file = File::open(path).map_err(ImportProblem::Open)?;
        let mut start = Vec::new();
        match file.take(4).read_to_end(&mut start) {
            Err(error) if error.kind() != io::ErrorKind::IsADirectory => {
                Err(ImportProblem::Read(error))
            }
            _ => Ok(start == b"PAR1"),
        }
    }

    /// Opens a file; also the names of its columns.
    pub fn open(path: &Path) -> Result<(Self, Vec<String>), ImportProblem> {
        let file = File::open(path).map_err(ImportProblem::Open)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
        let names = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
        let rows = Self {
            builder: Some(builder),
            reader: None,
            batch: None,
            next: 0,
            columns: Vec::new(),
        };
        Ok((rows, names))
    }

    /// Reads only these columns of the file, in this order.
    pub fn keep(mut self, columns: &[Option<usize>]) -> Result<Self, ImportProblem> {
        let Some(builder) = self.builder.take() else { return Ok(self) };
        let mut kept: Vec<usize> = columns.iter().copied().flatten().collect();
        kept.sort_unstable();
        kept.dedup();
        // A batch has its columns in the order of the file, whatever order they are asked for in.
        self.columns = columns
            .iter()
            .map(|column| column.and_then(|column| kept.binary_search(&column).ok()))
            .collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), kept);
        let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
        self.reader = Some(reader.map_err(damaged)?);
        Ok(self)
    }

    /// Puts the next row into `record`; false when there is none.
    pub fn advance(&mut self, record: &mut ByteRecord) -> Result<bool, ImportProblem> {
        while self.batch.as_ref().is_none_or(|batch| self.next >= batch.num_rows()) {
            let Some(reader) = &mut self.reader else { return Ok(false) };
            match reader.next() {
                None => return Ok(false),
                Some(batch) => self.batch = Some(batch.map_err(damaged)?),
            }
            self.next = 0;
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        record.clear();
        for column in &self.columns {
            let text = match column {
                Some(column) => text(batch.column(*column).as_ref(), self.next)?,
                None => String::new(),
            };
            record.push_field(text.as_bytes());
        }
        self.next += 1;
        Ok(true)
    }
}

/// What the reader of Parquet says of a file. Its words tell of the format, not of values.
fn damaged(error: impl std::fmt::Display) -> ImportProblem {
    ImportProblem::Damaged(error.to_string())
}

/// A value as text; nothing for null.
fn text(array: &dyn Array, row: usize) -> Result<String, ImportProblem> {
    if array.is_null(row) {
        return Ok(String::new());
    }
    Ok(match array.data_type() {
        DataType::Null => String::new(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Boolean => u8::from(array.as_boolean().value(row)).to_string(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).to_string(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).to_string(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).to_string(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float32 => number(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => number(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            number(value as f64 / 10_f64.powi(i32::from(*scale)))
        }
        DataType::Date32 => {
            time(i64::from(array.as_primitive::<Date32Type>().value(row)).saturating_mul(DAY))
        }
        DataType::Date64 => {
            time(array.as_primitive::<Date64Type>().value(row).saturating_mul(1000))
        }
        DataType::Timestamp(unit, _) => time(match unit {
            TimeUnit::Second => {
                array.as_primitive::<TimestampSecondType>().value(row).saturating_mul(1_000_000)
            }
            TimeUnit::Millisecond => {
                array.as_primitive::<TimestampMillisecondType>().value(row).saturating_mul(1000)
            }
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
            TimeUnit::Nanosecond => {
                array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1000)
            }
        }),
        other => {
            let problem = format!("a column of type {other}, which holds no plain values");
            return Err(ImportProblem::Damaged(problem));
        }
    })
}

/// A number; whole ones without a point, as identifiers that passed through a data frame have one.
fn number(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}

/// A time as the readers of dates take it.
fn time(micros: i64) -> String {
    let (year, month, day) = civil(micros.div_euclid(DAY));
    let of_day = micros.rem_euclid(DAY);
    let (seconds, rest) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{:02}.{rest:06}", seconds % 60)
}
