//! The records of a dataset one after the other, never all in memory.

use std::collections::BTreeMap;
use std::path::Path;

use consequence_record::{Code, RecordView, Split, Vocabulary};

use super::MedsOptions;
use super::assemble::{Assembler, Part};
use super::read::{Known, Met, read_file};
use crate::{Limits, TableError};

/// A dataset whose records are handed on as they are read, a batch of events in memory at a time.
pub struct Stream {
    known: Known,
    limits: Limits,
}

/// A record as it was read.
pub struct Streamed<'s> {
    /// Its identifier.
    pub id: &'s str,
    /// The split that the dataset puts it into, if it is one that we know.
    pub split: Option<Split>,
    /// Its visits.
    pub record: RecordView<'s>,
    /// When its encounters were; none where only the order is known.
    pub times: Option<&'s [i64]>,
}

impl Stream {
    /// Reads all but the events.
    pub fn open(path: &Path, options: &MedsOptions) -> Result<Self, TableError> {
        Ok(Self { known: Known::of(path, options)?, limits: options.limits })
    }

    /// The codes that the records are numbered by.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.known.codebook.vocabulary
    }

    /// What codes mean, for those of which it is known.
    pub fn titles(&self) -> &BTreeMap<Code, String> {
        &self.known.titles
    }

    /// Whether times are real, and not only an order.
    pub fn dated(&self) -> bool {
        self.known.dated
    }

    /// The bytes of all data files.
    pub fn bytes(&self) -> u64 {
        self.known.files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    /// Hands on each record, and the bytes of each data file once it is done.
    pub fn each_record<E: From<TableError>>(
        &self,
        mut take: impl FnMut(Streamed<'_>) -> Result<(), E>,
        done: impl Fn(u64),
    ) -> Result<(), E> {
        let Known { files, codebook, dated, splits, ids, .. } = &self.known;
        let mut met = Met::default();
        let mut hand_on = |part: Part, met: &mut Met| -> Result<(), E> {
            for (index, (record, &(subject, row))) in
                part.cohort.records().zip(&part.subjects).enumerate()
            {
                met.meet(subject, row)?;
                take(Streamed {
                    id: part.cohort.id(index),
                    split: splits.get(&subject).copied(),
                    record,
                    times: dated.then(|| part.times.of(index)),
                })?;
            }
            Ok(())
        };
        for file in files {
            met.begin(file);
            let mut assembler = Assembler::new(ids, &self.limits, *dated);
            read_file(file, codebook, &mut assembler, &self.limits, |assembler| {
                hand_on(assembler.drain(), &mut met)
            })?;
            hand_on(assembler.finish(), &mut met)?;
            done(file.metadata().map_or(0, |file| file.len()));
        }
        Ok(())
    }
}
