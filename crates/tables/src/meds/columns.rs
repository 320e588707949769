//! Columns out of Parquet files, whatever their exact type.

use std::borrow::Cow;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

use super::MedsProblem;
use crate::{Problem, TableError};
use consequence_record::calendar::DAY;

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1 << 16;

/// A Parquet file that was opened and whose columns are known.
pub(super) struct Table {
    pub path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
}

impl Table {
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let file =
            File::open(path).map_err(|error| TableError::of_file(path, Problem::Open(error)))?;
        guarded(path, || {
            // The types are those of Parquet; what some program made of them does not matter.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let metadata = ArrowReaderMetadata::load(&file, options)
                .map_err(|error| TableError::of_file(path, damage(&error)))?;
            Ok(Self { path: path.to_path_buf(), file, metadata })
        })
    }

    /// The type of a column, if the file has it.
    pub fn kind(&self, column: &str) -> Option<&DataType> {
        self.metadata.schema().field_with_name(column).ok().map(Field::data_type)
    }

    /// Refuses a file that lacks a column.
    pub fn require(&self, column: &'static str) -> Result<(), TableError> {
        match self.kind(column) {
            Some(_) => Ok(()),
            None => {
                let fields = self.metadata.schema().fields().iter();
                let found = fields.map(|field| format!("`{}`", field.name())).collect();
                let problem = MedsProblem::MissingColumn { column, found };
                Err(TableError::of_file(&self.path, problem))
            }
        }
    }

    /// Refuses a column of strings in which some must be longer than `limit`, before any of it is
    /// in memory.
    pub fn bound_strings(&self, column: &str, limit: usize) -> Result<(), TableError> {
        for group in self.metadata.metadata().row_groups() {
            for chunk in group.columns() {
                if chunk.column_path().parts() != [column] {
                    continue;
                }
                let most = group.num_rows().max(0) as u128 * (limit as u128 + 8) + (1 << 20);
                if chunk.uncompressed_size().max(0) as u128 > most {
                    let problem = Problem::LongCode { start: String::new(), limit };
                    return Err(TableError::of_file(&self.path, problem));
                }
            }
        }
        Ok(())
    }

    /// Gives the named columns, batch by batch and in the order named, with the number of rows
    /// before the batch. Strings come as a dictionary where the file holds them so.
    pub fn each_batch(
        self,
        columns: &[&'static str],
        take: impl FnMut(&[ArrayRef], u64) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        self.each_batch_or(columns, take)
    }

    /// The same for a caller with an error type of its own.
    pub fn each_batch_or<E: From<TableError>>(
        self,
        columns: &[&'static str],
        mut take: impl FnMut(&[ArrayRef], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { path, file, metadata } = self;
        let fail = |error: &ParquetError| TableError::of_file(&path, damage(error));
        guarded(&path, || {
            let options = ArrowReaderOptions::new().with_schema(as_dictionaries(&metadata));
            let metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
                .unwrap_or(metadata);
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            let reader = builder
                .with_projection(mask)
                .with_batch_size(BATCH_ROWS)
                .build()
                .map_err(|error| fail(&error))?;
            let mut before = 0;
            for batch in reader {
                let batch: RecordBatch = batch.map_err(|error| fail(&error.into()))?;
                let arrays: Option<Vec<ArrayRef>> =
                    columns.iter().map(|name| batch.column_by_name(name).cloned()).collect();
                let Some(arrays) = arrays else {
                    let problem = MedsProblem::Damaged("a column is missing".into());
                    return Err(TableError::of_file(&path, problem).into());
                };
                take(&arrays, before)?;
                before += batch.num_rows() as u64;
            }
            Ok(())
        })
    }
}

/// The columns of a file with its strings as dictionaries, so that each is met once.
fn as_dictionaries(metadata: &ArrowReaderMetadata) -> Arc<Schema> {
    let fields = metadata.schema().fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::Utf8 => {
                DataType::Dictionary(Box::new(DataType::Int32), DataType::Utf8.into())
            }
            other => other.clone(),
        };
        field.as_ref().clone().with_data_type(kind)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Runs a decoder. One that gives up in a panic on a file that is damaged counts as an error.
fn guarded<T, E: From<TableError>>(
    path: &Path,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| {
        let problem = MedsProblem::Damaged("it cannot be decoded".into());
        Err(TableError::of_file(path, problem).into())
    })
}

fn damage(error: &ParquetError) -> MedsProblem {
    let text = error.to_string();
    if text.contains("Disabled feature") {
        return MedsProblem::Compression(text);
    }
    MedsProblem::Damaged(text.lines().next().unwrap_or_default().to_owned())
}

/// A column of whole numbers.
pub(super) struct Integers<'a> {
    pub values: Cow<'a, [i64]>,
    nulls: Option<&'a NullBuffer>,
}

impl Integers<'_> {
    /// The value of a row, if it has one.
    pub fn get(&self, row: usize) -> Option<i64> {
        match self.nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(self.values[row]),
        }
    }

    /// The first row without a value.
    pub fn first_null(&self) -> Option<usize> {
        self.nulls.and_then(|nulls| (0..nulls.len()).find(|&row| nulls.is_null(row)))
    }
}

/// A column that numbers subjects or visits. Floating-point numbers, as some programs write where
/// values are missing, are told apart by their bits.
pub(super) fn integers<'a>(
    column: &'static str,
    array: &'a ArrayRef,
) -> Result<Integers<'a>, MedsProblem> {
    let values = match array.data_type() {
        DataType::Int64 => Cow::Borrowed(&array.as_primitive::<Int64Type>().values()[..]),
        DataType::Int32 => owned(array.as_primitive::<Int32Type>().values(), |&value| value.into()),
        DataType::UInt32 => {
            owned(array.as_primitive::<UInt32Type>().values(), |&value| value.into())
        }
        DataType::Float64 => {
            owned(array.as_primitive::<Float64Type>().values(), |value| value.to_bits() as i64)
        }
        other => return Err(wrong_type(column, "whole numbers of 64 bits", other)),
    };
    Ok(Integers { values, nulls: array.nulls() })
}

/// A column of values.
pub(super) struct Numbers<'a> {
    values: Cow<'a, [f32]>,
    nulls: Option<&'a NullBuffer>,
}

impl Numbers<'_> {
    /// The value of a row, if it has one; what is not a number is none. One without bounds is refused.
    pub fn get(&self, row: usize) -> Result<Option<f32>, MedsProblem> {
        match self.values.get(row) {
            Some(_) if self.nulls.is_some_and(|nulls| nulls.is_null(row)) => Ok(None),
            Some(value) if value.is_infinite() => Err(MedsProblem::InfiniteValue),
            Some(&value) => Ok((!value.is_nan()).then_some(value)),
            None => Ok(None),
        }
    }
}

/// A column of values, as numbers of 32 bits.
pub(super) fn numbers<'a>(
    column: &'static str,
    array: &'a ArrayRef,
) -> Result<Numbers<'a>, MedsProblem> {
    let values = match array.data_type() {
        DataType::Float32 => Cow::Borrowed(&array.as_primitive::<Float32Type>().values()[..]),
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values();
            values.iter().map(|&value| value as f32).collect()
        }
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>().values();
            values.iter().map(|&value| value as f32).collect()
        }
        DataType::Int32 => {
            let values = array.as_primitive::<Int32Type>().values();
            values.iter().map(|&value| value as f32).collect()
        }
        // A column without any value has no type.
        DataType::Null => Cow::Borrowed(&[][..]),
        other => return Err(wrong_type(column, "numbers, as float32,", other)),
    };
    Ok(Numbers { values, nulls: array.nulls() })
}

/// A column of times, in microseconds.
pub(super) fn times<'a>(
    column: &'static str,
    array: &'a ArrayRef,
) -> Result<Integers<'a>, MedsProblem> {
    let values = match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Cow::Borrowed(&array.as_primitive::<TimestampMicrosecondType>().values()[..])
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            owned(array.as_primitive::<TimestampNanosecondType>().values(), |value| {
                value.div_euclid(1000)
            })
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            scaled(array, array.as_primitive::<TimestampMillisecondType>().values(), 1000)?
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            scaled(array, array.as_primitive::<TimestampSecondType>().values(), 1_000_000)?
        }
        DataType::Date32 => {
            owned(array.as_primitive::<Date32Type>().values(), |&value| i64::from(value) * DAY)
        }
        other => return Err(wrong_type(column, "times, as timestamp[us]", other)),
    };
    Ok(Integers { values, nulls: array.nulls() })
}

fn owned<'a, T>(values: &[T], convert: impl Fn(&T) -> i64) -> Cow<'a, [i64]> {
    Cow::Owned(values.iter().map(convert).collect())
}

fn scaled<'a>(
    array: &ArrayRef,
    values: &[i64],
    factor: i64,
) -> Result<Cow<'a, [i64]>, MedsProblem> {
    let scale = |(row, value): (usize, &i64)| match value.checked_mul(factor) {
        Some(value) => Ok(value),
        // Where there is no value, anything can stand.
        None if array.is_null(row) => Ok(0),
        None => Err(MedsProblem::FarTime),
    };
    values.iter().enumerate().map(scale).collect::<Result<_, _>>().map(Cow::Owned)
}

/// A column of strings: those there are, and which of them each row holds.
pub(super) struct Strings<'a> {
    pub values: &'a StringArray,
    keys: Keys<'a>,
}

enum Keys<'a> {
    Dictionary(&'a [i32], Option<&'a NullBuffer>),
    /// Each row its own.
    Rows,
}

impl<'a> Strings<'a> {
    /// Which value a row holds, if any.
    pub fn key(&self, row: usize) -> Option<usize> {
        let key = match self.keys {
            Keys::Rows => row,
            Keys::Dictionary(_, Some(nulls)) if nulls.is_null(row) => return None,
            Keys::Dictionary(keys, _) => keys[row] as usize,
        };
        (key < self.values.len() && self.values.is_valid(key)).then_some(key)
    }

    /// The string of a row, if it has one.
    pub fn get(&self, row: usize) -> Option<&'a str> {
        self.key(row).map(|key| self.values.value(key))
    }
}

/// A column of strings.
pub(super) fn strings<'a>(
    column: &'static str,
    array: &'a ArrayRef,
) -> Result<Strings<'a>, MedsProblem> {
    if let Some(values) = array.as_string_opt::<i32>() {
        return Ok(Strings { values, keys: Keys::Rows });
    }
    array
        .as_dictionary_opt::<Int32Type>()
        .and_then(|dictionary| {
            let values = dictionary.values().as_string_opt::<i32>()?;
            let keys = Keys::Dictionary(&dictionary.keys().values()[..], array.nulls());
            Some(Strings { values, keys })
        })
        .ok_or_else(|| wrong_type(column, "strings", array.data_type()))
}

fn wrong_type(column: &'static str, expected: &'static str, found: &DataType) -> MedsProblem {
    let found = match found {
        DataType::Utf8 | DataType::Dictionary(..) => "strings".to_owned(),
        DataType::Struct(_) | DataType::List(_) | DataType::Map(..) => "nested values".to_owned(),
        other => other.to_string(),
    };
    MedsProblem::ColumnType { column, expected, found }
}
