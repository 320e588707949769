//! Records out of a stream of batches, each as soon as it is whole.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use consequence_record::{DetailsView, Vocabulary};
use rustc_hash::FxHashMap;

use super::columns::Found;
use super::read::{EVENTS, ReadOptions, is_ordinal};
use super::splits::Splits;
use crate::TableError;
use crate::error::Origin;
use crate::meds::assemble::{Assembler, Keeping, Part};
use crate::meds::codebook::{Codebook, ListedCodes};
use crate::meds::rows::{Carried, Putter, Reading, Rows};
use crate::meds::table::Table;
use crate::meds::{MedsProblem, Streamed};

/// Reads batches of events as they come, and hands on each record once it is whole.
///
/// The rows of a subject are together and in the order of their times; a batch may end anywhere. A subject
/// whose rows come back after another's is refused, and so are times that go back, whatever
/// [`RowOrder`](super::RowOrder) the options have. Beside the open
/// record, only the ids of subjects that were met stay in memory.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
/// use consequence_record::{Kind, Vocabulary};
/// use consequence_tables::arrow::{ReadOptions, RecordStream};
/// use consequence_tables::{TableError, meds::Streamed};
///
/// let events = RecordBatch::try_from_iter([
///     ("subject_id", Arc::new(Int64Array::from(vec![7, 7, 8])) as ArrayRef),
///     ("time", Arc::new(Date32Array::from(vec![None, Some(0), Some(1)]))),
///     ("code", Arc::new(StringArray::from(vec!["SEX//F", "A", "A"]))),
/// ])?;
/// let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("A", Kind::Encounter)])?;
/// let mut stream = RecordStream::new(Arc::new(vocabulary), &ReadOptions::default());
/// let mut ids = Vec::new();
/// let mut take = |record: Streamed<'_>| -> Result<(), TableError> {
///     ids.push(record.id.to_owned());
///     Ok(())
/// };
/// stream.push(&events, &mut take)?;
/// stream.finish(&mut take)?;
/// assert_eq!(ids, ["7", "8"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RecordStream {
    codebook: Codebook,
    ids: FxHashMap<i64, Box<str>>,
    options: ReadOptions,
    begun: Option<Begun>,
    carried: Carried,
    /// The splits of subjects that were not handed on yet, where a column tells them.
    splits: Splits,
    rows: u64,
}

/// What is known from the first batch on.
struct Begun {
    schema: SchemaRef,
    found: Found,
    assembler: Assembler,
}

impl RecordStream {
    /// A stream of events over a vocabulary, read as those of another tool: no code is a marker.
    pub fn new(vocabulary: Arc<Vocabulary>, options: &ReadOptions) -> Self {
        Self::over(Codebook::foreign(vocabulary), options)
    }

    /// A stream of events that a [table of codes](super::Tables::codes) tells the meaning of, markers
    /// among them. A vocabulary in the options goes before that of the table.
    pub fn with_codes(codes: RecordBatch, options: &ReadOptions) -> Result<Self, TableError> {
        let table = Table::in_memory(super::read::CODES, codes);
        let origin = table.origin.clone();
        let listed = ListedCodes::read(table, &options.limits)?;
        let own = listed.codebook(&origin, &options.limits)?;
        Self::listed(own, &origin, options)
    }

    /// The same of codes and markers with what each is, as [`Files::listed_codes`](crate::meds::Files::listed_codes)
    /// gives them.
    pub fn with_listed_codes(
        listed: &[(String, String)],
        options: &ReadOptions,
    ) -> Result<Self, TableError> {
        let origin = Origin::Memory(super::read::CODES);
        let own = ListedCodes::of(listed).codebook(&origin, &options.limits)?;
        Self::listed(own, &origin, options)
    }

    fn listed(
        own: Option<Codebook>,
        origin: &Origin,
        options: &ReadOptions,
    ) -> Result<Self, TableError> {
        let codebook = match (&options.vocabulary, own) {
            (Some(given), own) => Codebook::over(Arc::clone(given), own),
            (None, Some(own)) => own,
            (None, None) => return Err(origin.fail(MedsProblem::NoKinds)),
        };
        Ok(Self::over(codebook, options))
    }

    fn over(codebook: Codebook, options: &ReadOptions) -> Self {
        let (ids, carried, splits) = Default::default();
        Self { codebook, ids, options: options.clone(), begun: None, carried, splits, rows: 0 }
    }

    /// The rows that were read so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The codes that the records are numbered by.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.codebook.vocabulary
    }

    /// Reads a batch, and hands on the records that are whole by then. After an error the stream cannot
    /// be used any more.
    pub fn push<E: From<TableError>>(
        &mut self,
        batch: &RecordBatch,
        take: impl FnMut(Streamed<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { codebook, ids, options, begun, carried, splits, rows: before } = self;
        let schema = batch.schema_ref();
        let begun = match begun {
            Some(begun) => {
                if !Arc::ptr_eq(&begun.schema, schema) {
                    let checked = begun.found.check(&begun.schema, schema);
                    checked.map_err(|problem| EVENTS.fail(problem))?;
                }
                begun
            }
            None => {
                let found = Found::of(&options.columns, schema, options.details)
                    .map_err(|problem| EVENTS.fail(problem))?;
                let dated = !is_ordinal(options, &found, schema);
                let keeping = Keeping {
                    details: options.details,
                    values: true,
                    dated,
                    death: codebook.loose_death(),
                };
                let assembler = Assembler::new(options.limits, keeping);
                begun.insert(Begun { schema: Arc::clone(schema), found, assembler })
            }
        };
        let Begun { found, assembler, .. } = begun;
        let rows = decode(found, batch, *before)?;
        let reading = Reading { codebook, limits: &options.limits, ids };
        let mut putter = Putter::new(&rows, reading);
        for row in 0..rows.len() {
            let at = *before + row as u64 + 1;
            putter
                .put(row, at, carried, assembler)
                .map_err(|problem| EVENTS.at_row(at, problem))?;
        }
        splits.take((found, batch), (&rows, *before), carried)?;
        *before += rows.len() as u64;
        let part = assembler.drain();
        hand_on(&part, options.details, splits, take)?;
        for (subject, _) in &part.subjects {
            splits.forget(*subject);
        }
        Ok(())
    }

    /// Hands on the last record.
    pub fn finish<E>(self, take: impl FnMut(Streamed<'_>) -> Result<(), E>) -> Result<(), E> {
        match self.begun {
            Some(begun) => {
                hand_on(&begun.assembler.finish(), self.options.details, &self.splits, take)
            }
            None => Ok(()),
        }
    }
}

/// The rows of a batch that so many stand before.
pub(super) fn decode<'a>(
    found: &'a Found,
    batch: &'a RecordBatch,
    before: u64,
) -> Result<Rows<'a>, TableError> {
    Rows::in_memory(found.named(), &found.arrays(batch)).map_err(|error| match error.row {
        Some(row) => EVENTS.at_row(before + row as u64 + 1, error.problem),
        None => EVENTS.fail(error.problem),
    })
}

fn hand_on<E>(
    part: &Part,
    details: bool,
    splits: &Splits,
    mut take: impl FnMut(Streamed<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for (index, record) in part.cohort.records().enumerate() {
        let details = if details { part.details.of(index) } else { DetailsView::default() };
        let split = splits.of(part.subjects[index].0);
        take(Streamed { id: part.cohort.id(index), split, record, details })?;
    }
    Ok(())
}
