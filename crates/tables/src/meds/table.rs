//! Tables of columns: Parquet files, and batches in memory.

use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;

use super::MedsProblem;
use crate::error::Origin;
use crate::{Problem, TableError};

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1 << 16;

/// A table whose columns are known: a Parquet file that was opened, or a batch in memory.
pub(crate) struct Table {
    pub origin: Origin,
    source: Source,
}

enum Source {
    /// A file, and the groups of rows that are read.
    Parquet {
        file: File,
        metadata: ArrowReaderMetadata,
        groups: Range<usize>,
    },
    Batch(RecordBatch),
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
            let origin = Origin::File(path.to_path_buf());
            let groups = 0..metadata.metadata().num_row_groups();
            Ok(Self { origin, source: Source::Parquet { file, metadata, groups } })
        })
    }

    /// A batch in memory; `name` is what messages call it.
    pub fn in_memory(name: &'static str, batch: RecordBatch) -> Self {
        Self { origin: Origin::Memory(name), source: Source::Batch(batch) }
    }

    fn schema(&self) -> &Schema {
        match &self.source {
            Source::Parquet { metadata, .. } => metadata.schema(),
            Source::Batch(batch) => batch.schema_ref(),
        }
    }

    /// The type of a column, if the table has it.
    pub fn kind(&self, column: &str) -> Option<&DataType> {
        self.schema().field_with_name(column).ok().map(Field::data_type)
    }

    /// Refuses a table that lacks a column.
    pub fn require(&self, column: &str) -> Result<(), TableError> {
        match self.kind(column) {
            Some(_) => Ok(()),
            None => Err(self.origin.fail(missing_column(column, self.schema()))),
        }
    }

    /// Refuses a column of strings in which some must be longer than `limit`, before any of it is
    /// in memory.
    pub fn bound_strings(&self, column: &str, limit: usize) -> Result<(), TableError> {
        let Source::Parquet { metadata, .. } = &self.source else { return Ok(()) };
        for group in metadata.metadata().row_groups() {
            for chunk in group.columns() {
                if chunk.column_path().parts() != [column] {
                    continue;
                }
                let most = group.num_rows().max(0) as u128 * (limit as u128 + 8) + (1 << 20);
                if chunk.uncompressed_size().max(0) as u128 > most {
                    let problem = Problem::LongCode { start: String::new(), limit };
                    return Err(self.origin.fail(problem));
                }
            }
        }
        Ok(())
    }

    /// The lowest and the highest number of a column of whole numbers, if the file says so.
    pub fn bounds(&self, column: &str) -> Option<(i64, i64)> {
        let Source::Parquet { metadata, .. } = &self.source else { return None };
        let groups = metadata.metadata().row_groups().iter();
        let bounds = groups.map(|group| self.bounds_of(group, column));
        bounds.reduce(|one, other| {
            let ((low, high), (least, most)) = (one?, other?);
            Some((low.min(least), high.max(most)))
        })?
    }

    fn bounds_of(&self, group: &RowGroupMetaData, column: &str) -> Option<(i64, i64)> {
        // The bounds of numbers without a sign are in another order.
        if self.kind(column) != Some(&DataType::Int64) {
            return None;
        }
        let chunk = group.columns().iter().find(|one| one.column_path().parts() == [column])?;
        match chunk.statistics()? {
            Statistics::Int64(bounds) => Some((*bounds.min_opt()?, *bounds.max_opt()?)),
            _ => None,
        }
    }

    /// The same table without groups of rows, first and last ones, of which the file says that no number of a column
    /// is in a range.
    #[must_use]
    pub fn narrowed(mut self, column: &str, (least, most): (i64, i64)) -> Self {
        let Source::Parquet { metadata, .. } = &self.source else { return self };
        let reaches = |group: &RowGroupMetaData| {
            self.bounds_of(group, column).is_none_or(|(low, high)| low <= most && high >= least)
        };
        let all = metadata.metadata().row_groups();
        let first = all.iter().position(reaches).unwrap_or(all.len());
        let end = all.iter().rposition(reaches).map_or(first, |last| last + 1);
        if let Source::Parquet { groups, .. } = &mut self.source {
            *groups = first..end;
        }
        self
    }

    /// Gives the named columns, batch by batch and in the order named, with the number of rows
    /// before the batch. Strings come as a dictionary where a file holds them so.
    pub fn each_batch(
        self,
        columns: &[&str],
        take: impl FnMut(&[ArrayRef], u64) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        self.each_batch_or(columns, take)
    }

    /// The same for a caller with an error type of its own.
    pub fn each_batch_or<E: From<TableError>>(
        self,
        columns: &[&str],
        mut take: impl FnMut(&[ArrayRef], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { origin, source } = self;
        let named = |batch: &RecordBatch| -> Result<Vec<ArrayRef>, TableError> {
            let arrays = columns.iter().map(|name| batch.column_by_name(name).cloned());
            arrays
                .collect::<Option<_>>()
                .ok_or_else(|| origin.fail(MedsProblem::Damaged("a column is missing".into())))
        };
        let (file, metadata, groups) = match source {
            Source::Batch(batch) => return take(&named(&batch)?, 0),
            Source::Parquet { file, metadata, groups } => (file, metadata, groups),
        };
        let passed_over = &metadata.metadata().row_groups()[..groups.start];
        let rows = passed_over.iter().map(|group| group.num_rows().max(0) as u64);
        let mut before = rows.fold(0, u64::saturating_add);
        let fail = |error: &ParquetError| origin.fail(damage(error));
        guarded(origin.path(), || {
            let options = ArrowReaderOptions::new().with_schema(as_dictionaries(&metadata));
            let metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
                .unwrap_or(metadata);
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            let reader = builder
                .with_projection(mask)
                .with_row_groups(groups.collect())
                .with_batch_size(BATCH_ROWS)
                .build()
                .map_err(|error| fail(&error))?;
            for batch in reader {
                let batch: RecordBatch = batch.map_err(|error| fail(&error.into()))?;
                take(&named(&batch)?, before)?;
                before += batch.num_rows() as u64;
            }
            Ok(())
        })
    }
}

/// That a table of these columns lacks one.
pub(crate) fn missing_column(column: &str, schema: &Schema) -> MedsProblem {
    let found = schema.fields().iter().map(|field| format!("`{}`", field.name())).collect();
    MedsProblem::MissingColumn { column: column.into(), found }
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
