//! Cohorts written record by record, in either format.

use std::path::Path;
use std::sync::Arc;

use consequence_record::{Code, Vocabulary};
use consequence_store::{AtomicFile, StoreError};

use crate::meds::{self, Subject, WriterOptions};
use crate::{Format, WriteError, jsonl};

/// Writes a cohort record by record: as JSON lines if the name says so, else as a MEDS dataset.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Code, Kind, Split, Vocabulary};
/// use consequence_tables::meds::{Subject, WriterOptions};
/// use consequence_tables::{CohortWriter, Dataset};
///
/// let vocabulary = Arc::new(Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?);
/// let directory = tempfile::tempdir()?;
/// for name in ["cohort", "cohort.jsonl"] {
///     let path = directory.path().join(name);
///     let mut writer = CohortWriter::create(&path, Arc::clone(&vocabulary), WriterOptions::default())?;
///     let subject = Subject { id: "p1", split: Split::Train, ended: true, times: None };
///     writer.push(subject, [&[][..], &[Code(0)]])?;
///     writer.finish()?;
///     assert_eq!(Dataset::open(&path)?.cohort.len(), 1);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CohortWriter(Inner);

#[derive(Debug)]
enum Inner {
    Lines(Box<jsonl::Writer>),
    Meds(Box<meds::Writer>),
}

impl CohortWriter {
    /// Begins a cohort; nothing is at `path` before [`finish`](Self::finish). JSON lines have no
    /// room for titles and truth.
    pub fn create(
        path: impl AsRef<Path>,
        vocabulary: Arc<Vocabulary>,
        options: WriterOptions,
    ) -> Result<Self, WriteError> {
        let path = path.as_ref();
        Ok(Self(match Format::to_write(path) {
            Format::Lines => Inner::Lines(Box::new(match options.replace {
                true => jsonl::Writer::create(path, &vocabulary)?,
                false => jsonl::Writer::create_new(path, &vocabulary)?,
            })),
            Format::Meds => Inner::Meds(Box::new(meds::Writer::create(path, vocabulary, options)?)),
        }))
    }

    /// Refuses a path where no cohort could be written, before there is one to write. Nothing is
    /// left there.
    pub fn try_path(path: impl AsRef<Path>, replace: bool) -> Result<(), StoreError> {
        let path = path.as_ref();
        match Format::to_write(path) {
            Format::Lines => {
                let begin = |path: &Path| match replace {
                    true => AtomicFile::create(path).map(drop),
                    false => AtomicFile::create_new(path).map(drop),
                };
                begin(&jsonl::codes_path(path))?;
                begin(path)
            }
            Format::Meds => meds::try_path(path, replace),
        }
    }

    /// Appends a record: its static visit, then its encounters, of which there is at least one.
    /// After an error the writer is of no more use.
    pub fn push<'a, V>(&mut self, subject: Subject<'_>, visits: V) -> Result<(), WriteError>
    where
        V: IntoIterator<Item = &'a [Code]>,
        V::IntoIter: ExactSizeIterator,
    {
        match &mut self.0 {
            Inner::Lines(writer) => writer.push(subject.id, subject.ended, visits),
            Inner::Meds(writer) => writer.push(subject, visits),
        }
    }

    /// Puts the cohort in place.
    pub fn finish(self) -> Result<(), WriteError> {
        match self.0 {
            Inner::Lines(writer) => writer.finish(),
            Inner::Meds(writer) => writer.finish(),
        }
    }
}
