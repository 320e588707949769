//! Cohorts into tables in memory.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use consequence_record::Split;
use consequence_store::StoreError;

use super::{TIME_KEY, Tables};
use crate::meds::encode::{self, Events, Shard, coded, event_fields};
use crate::meds::layout::{AGE_KIND, ORIGINAL, SPLIT, SUBJECT, age_named};
use crate::meds::metadata::{self, Extent, NewTable};
use crate::meds::write::Numbering;
use crate::meds::{concepts, scales};
use crate::{Dataset, WriteError};

/// How to make tables of a cohort.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// The rows after which a batch is full; a subject is never split. 65 536 by default.
    pub batch_rows: usize,
    /// How codes are told.
    pub codes: CodeType,
    /// Whether subjects are told by their ids, rather than by numbers that ids have.
    pub text_subjects: bool,
}

/// How the codes of events are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeType {
    /// As a dictionary: numbers of 32 bits, and each name once a batch.
    #[default]
    Dictionary,
    /// As strings.
    Text,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { batch_rows: 1 << 16, codes: CodeType::default(), text_subjects: false }
    }
}

/// The events of a cohort, batch by batch: the rows that [`meds::write`](crate::meds::write) puts into
/// files. After an error nothing comes.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_tables::Dataset;
/// use consequence_tables::arrow::{EventBatches, TableOptions};
///
/// let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
/// let mut cohort = Cohort::default();
/// for id in ["a", "b", "c"] {
///     cohort.push(id, &Record::new(vec![vec![], vec![]]));
/// }
/// let dataset = Dataset::new(cohort, Arc::new(vocabulary));
/// let options = TableOptions { batch_rows: 1, ..TableOptions::default() };
/// let batches = EventBatches::new(&dataset, &options)?;
/// assert_eq!(batches.schema().field(2).name(), "code");
/// assert_eq!(batches.of_records(1..3).count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventBatches<'d> {
    dataset: &'d Dataset,
    options: TableOptions,
    schema: SchemaRef,
    /// The names of all codes, the markers last.
    names: Arc<StringArray>,
    /// The number of each subject.
    numbers: Arc<[i64]>,
    records: Range<usize>,
}

impl<'d> EventBatches<'d> {
    /// The events of all records.
    pub fn new(dataset: &'d Dataset, options: &TableOptions) -> Result<Self, WriteError> {
        let mut numbering = Numbering::default();
        let number = |index: usize| {
            let reason = "has the id of an earlier one";
            let number = numbering.number(dataset.cohort.id(index));
            number.ok_or(WriteError::Record { number: index + 1, reason })
        };
        let records = 0..dataset.cohort.len();
        let time = if dataset.ordinal_time() { "ordinal" } else { "recorded" };
        let mut fields = event_fields(match options.codes {
            CodeType::Dictionary => coded(),
            CodeType::Text => DataType::Utf8,
        });
        if options.text_subjects {
            fields[0] = Field::new(SUBJECT, DataType::Utf8, false);
        }
        let said = HashMap::from([(TIME_KEY.to_owned(), time.to_owned())]);
        Ok(Self {
            dataset,
            options: *options,
            schema: Arc::new(Schema::new_with_metadata(fields, said)),
            names: Arc::new(metadata::names(&dataset.vocabulary)),
            numbers: records.clone().map(number).collect::<Result<_, _>>()?,
            records,
        })
    }

    /// The events of some of the records, those that there are. Subjects keep their numbers.
    pub fn of_records(&self, records: Range<usize>) -> Self {
        let end = records.end.min(self.numbers.len());
        Self {
            records: records.start.min(end)..end,
            schema: Arc::clone(&self.schema),
            names: Arc::clone(&self.names),
            numbers: Arc::clone(&self.numbers),
            ..*self
        }
    }

    /// The columns of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn batch(&mut self) -> Result<RecordBatch, WriteError> {
        let mut shard = Shard::with_capacity(self.options.batch_rows.min(1 << 16));
        let dated = !self.dataset.ordinal_time();
        // The rows of each record, where subjects are told by their ids.
        let mut rows_of: Vec<(usize, usize)> = Vec::new();
        for index in self.records.by_ref() {
            let record = self.dataset.cohort.record(index);
            let details = self.dataset.details_of(index);
            let fail = |reason| WriteError::Record { number: index + 1, reason };
            if dated == details.times.is_empty() {
                return Err(fail("has times where others have none, or the reverse"));
            }
            let events = Events { number: self.numbers[index], ended: record.ended(), details };
            let before = shard.rows();
            events.push(&mut shard, &self.dataset.vocabulary, record.visits()).map_err(fail)?;
            rows_of.push((index, shard.rows() - before));
            if shard.rows() >= self.options.batch_rows {
                break;
            }
        }
        let mut columns = shard.columns(&self.names).map_err(unmade)?;
        if self.options.text_subjects {
            let ids = rows_of.iter().flat_map(|&(index, rows)| {
                std::iter::repeat_n(self.dataset.cohort.id(index), rows)
            });
            columns[0] = Arc::new(encode::names(ids));
        }
        if self.options.codes == CodeType::Text {
            columns[2] = Arc::new(spelled(&columns[2]).map_err(unmade)?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(unmade)
    }
}

impl Iterator for EventBatches<'_> {
    type Item = Result<RecordBatch, WriteError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.records.is_empty() {
            return None;
        }
        let batch = self.batch();
        if batch.is_err() {
            self.records = 0..0;
        }
        Some(batch)
    }
}

/// The strings of a dictionary, row by row.
fn spelled(codes: &ArrayRef) -> Result<StringArray, ArrowError> {
    let codes = codes.as_dictionary::<Int32Type>();
    let names = codes.values().as_string::<i32>();
    let name = |&key: &i32| names.value(key as usize);
    let bytes: usize = codes.keys().values().iter().map(|key| name(key).len()).sum();
    if i32::try_from(bytes).is_err() {
        return Err(ArrowError::OffsetOverflowError(bytes));
    }
    Ok(encode::names(codes.keys().values().iter().map(name)))
}

/// A batch that Arrow does not make, for a string too many in it.
pub(super) fn unmade(error: ArrowError) -> WriteError {
    WriteError::Store(StoreError::new(Path::new("a batch of events"), std::io::Error::other(error)))
}

/// Makes the tables that tell all that is known of a cohort.
pub fn tables(dataset: &Dataset, options: &TableOptions) -> Result<Tables, WriteError> {
    let mut extent = Extent { detailed: !dataset.scales.is_empty(), ..Extent::default() };
    (0..dataset.cohort.len()).for_each(|index| extent.take(dataset.details_of(index)));
    let events = EventBatches::new(dataset, options)?;
    let subjects = batch(subjects(dataset, &events.numbers))?;
    let tables = told(dataset, &events.names, &extent)?;
    Ok(Tables { subjects: Some(subjects), events: events.collect::<Result<_, _>>()?, ..tables })
}

/// Makes the tables that tell what codes mean, with every marker that their events may have; `listed` is what a list of
/// codes said of the source, by which ages are known.
pub fn code_tables(
    dataset: &Dataset,
    listed: Option<&[(String, String)]>,
) -> Result<Tables, WriteError> {
    let marked = listed.into_iter().flatten().filter(|(_, kind)| kind == AGE_KIND);
    let ages = marked.filter_map(|(name, _)| age_named(name)).collect();
    let names = metadata::names(&dataset.vocabulary);
    told(dataset, &names, &Extent { detailed: true, ages })
}

fn told(dataset: &Dataset, names: &StringArray, extent: &Extent) -> Result<Tables, WriteError> {
    let vocabulary = &dataset.vocabulary;
    let codes = metadata::list_codes(vocabulary, names, &dataset.titles, extent);
    let concepts =
        (!dataset.concepts.is_empty()).then(|| concepts::table(vocabulary, &dataset.concepts));
    let scales = (!dataset.scales.is_empty()).then(|| scales::table(vocabulary, &dataset.scales));
    Ok(Tables {
        codes: Some(batch(codes)?),
        concepts: concepts.map(batch).transpose()?,
        scales: scales.map(batch).transpose()?,
        ..Tables::default()
    })
}

fn batch((fields, columns): NewTable) -> Result<RecordBatch, WriteError> {
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(unmade)
}

/// The id, the number and the split of each record.
fn subjects(dataset: &Dataset, numbers: &[i64]) -> NewTable {
    let ids = || (0..numbers.len()).map(|index| dataset.cohort.id(index));
    let splits = ids().enumerate().map(|(index, id)| {
        dataset.splits.get(index).copied().unwrap_or_else(|| Split::of(id)).name()
    });
    let columns: Vec<ArrayRef> = vec![
        Arc::new(encode::names(ids())),
        Arc::new(Int64Array::from_iter_values(numbers.iter().copied())),
        Arc::new(encode::names(splits)),
    ];
    let fields = vec![
        Field::new(ORIGINAL, DataType::Utf8, false),
        Field::new(SUBJECT, DataType::Int64, false),
        Field::new(SPLIT, DataType::Utf8, false),
    ];
    (fields, columns)
}
