//! Records that are written a part at a time.

use consequence_pipeline::{Error, Out};
use consequence_tables::meds::{Subject, WriterOptions};
use consequence_tables::{CohortWriter, Dataset};

/// Writes a cohort, some of its records at a time: JSON lines or a dataset, as the name says. Nothing is there under the
/// name until all is written.
pub(crate) struct PartWriter<'a> {
    out: &'a Out,
    writer: Option<CohortWriter>,
}

impl<'a> PartWriter<'a> {
    pub fn new(out: &'a Out) -> Self {
        Self { out, writer: None }
    }

    /// Adds records of the same codes.
    pub fn add(&mut self, dataset: &Dataset) -> Result<(), Error> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let options = WriterOptions {
                    replace: self.out.force,
                    scales: dataset.scales.clone(),
                    titles: dataset.titles.clone(),
                    concepts: dataset.concepts.clone(),
                    ..WriterOptions::default()
                };
                let codes = dataset.vocabulary.clone();
                none.insert(CohortWriter::create(&self.out.path, codes, options)?)
            }
        };
        for (index, record) in dataset.cohort.records().enumerate() {
            let subject = Subject {
                id: dataset.cohort.id(index),
                split: dataset.splits[index],
                ended: record.ended(),
                details: dataset.details_of(index),
            };
            writer.push(subject, record.visits())?;
        }
        Ok(())
    }

    /// Puts the cohort in its place; without any record there is none.
    pub fn finish(self) -> Result<(), Error> {
        match self.writer {
            Some(writer) => Ok(writer.finish()?),
            None => Ok(()),
        }
    }
}
