//! Records of a stream, or of some files, a block at a time: never more in memory than a block.

use arrow_array::RecordBatch;
use consequence_record::{Cohort, CohortDetails, Selection, Split};
use consequence_tables::TableError;
use consequence_tables::arrow::RecordStream;
use consequence_tables::meds::{Files, Streamed};
use consequence_tally::{Block, Blocks, Paused};

use crate::Error;

/// Records of a block at most, and codes: a block takes some tens of megabytes.
const MOST_RECORDS: usize = 16_384;
const MOST_CODES: usize = 2_000_000;

/// Records that wait to be counted.
#[derive(Default)]
struct Buffer {
    cohort: Cohort,
    details: CohortDetails,
    splits: Vec<Split>,
    codes: usize,
}

impl Buffer {
    /// Takes a record, and has the block counted if it is full.
    fn take(
        &mut self,
        one: &Streamed<'_>,
        count: &mut dyn FnMut(&Block<'_>) -> Result<(), Paused>,
    ) -> Result<(), Paused> {
        self.cohort.push_visits(one.id, one.record.visits(), one.record.ended());
        self.details.push(one.details);
        self.splits.push(one.split.unwrap_or_else(|| Split::of(one.id)));
        self.codes += one.record.visits().map(|visit| visit.len() + 1).sum::<usize>();
        if self.splits.len() >= MOST_RECORDS || self.codes >= MOST_CODES {
            self.count(count)?;
        }
        Ok(())
    }

    /// Has what waits counted.
    fn count(
        &mut self,
        count: &mut dyn FnMut(&Block<'_>) -> Result<(), Paused>,
    ) -> Result<(), Paused> {
        let Self { cohort, details, splits, .. } = std::mem::take(self);
        if cohort.is_empty() {
            return Ok(());
        }
        let records = Selection::all(&cohort).detailed(Some(&details));
        count(&Block { records, splits: &splits })
    }
}

/// Why records come no more.
enum Halt {
    Table(TableError),
    Counting(Paused),
}

impl From<TableError> for Halt {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

impl From<Halt> for Paused {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Table(error) => Self::Failed(Box::new(Error::from(error))),
            Halt::Counting(paused) => paused,
        }
    }
}

/// Records of batches of events that come one after the other, once.
pub struct StreamBlocks<'a> {
    stream: Option<RecordStream>,
    batches: &'a mut dyn Iterator<Item = Result<RecordBatch, Error>>,
}

impl<'a> StreamBlocks<'a> {
    /// Of a reader of events and their batches.
    pub fn new(
        stream: RecordStream,
        batches: &'a mut dyn Iterator<Item = Result<RecordBatch, Error>>,
    ) -> Self {
        Self { stream: Some(stream), batches }
    }
}

impl Blocks for StreamBlocks<'_> {
    fn each(
        &mut self,
        count: &mut dyn FnMut(&Block<'_>) -> Result<(), Paused>,
    ) -> Result<(), Paused> {
        let Some(mut stream) = self.stream.take() else { return Ok(()) };
        let mut buffer = Buffer::default();
        for batch in &mut *self.batches {
            let batch = batch.map_err(|error| Paused::Failed(Box::new(error)))?;
            stream.push::<Halt>(&batch, |one| buffer.take(&one, count).map_err(Halt::Counting))?;
        }
        stream.finish(|one| buffer.take(&one, count))?;
        buffer.count(count)
    }
}

/// Records of the data files of a dataset, or of some of them.
pub struct FileBlocks<'a> {
    files: &'a Files,
}

impl<'a> FileBlocks<'a> {
    /// Of a dataset.
    pub fn new(files: &'a Files) -> Self {
        Self { files }
    }
}

impl Blocks for FileBlocks<'_> {
    fn each(
        &mut self,
        count: &mut dyn FnMut(&Block<'_>) -> Result<(), Paused>,
    ) -> Result<(), Paused> {
        let mut buffer = Buffer::default();
        self.files.each_record::<Halt>(|one| buffer.take(&one, count).map_err(Halt::Counting))?;
        buffer.count(count)
    }
}
