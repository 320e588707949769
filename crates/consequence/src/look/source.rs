//! The records of a cohort one after the other. A dataset of any size is read without being held; JSON
//! lines are read whole, as their codes are known at their end.

use std::collections::BTreeMap;
use std::path::PathBuf;

use consequence_pipeline::load::{self, LoadedCohort};
use consequence_pipeline::{CohortInput, Error, Watch};
use consequence_record::{Code, DetailsView, RecordView, Scale, Split, Vocabulary};
use consequence_tables::meds::{MedsOptions, Stream};
use consequence_tables::{Format, TableError};

use super::Titles;

/// A cohort whose records can be seen one after the other.
pub(crate) struct Source {
    path: PathBuf,
    inner: Inner,
    /// What its codes mean.
    pub titles: Titles,
}

enum Inner {
    Stream(Box<Stream>),
    Whole(LoadedCohort),
}

/// What codes are called, mean and measure.
#[derive(Clone, Copy)]
pub(crate) struct Lexicon<'a> {
    pub vocabulary: &'a Vocabulary,
    pub titles: &'a Titles,
    pub scales: &'a BTreeMap<Code, Scale>,
}

/// A record, as it is seen.
pub(crate) struct Seen<'a> {
    /// Its index in the cohort.
    pub index: usize,
    pub id: &'a str,
    pub split: Split,
    pub record: RecordView<'a>,
    pub details: DetailsView<'a>,
}

/// Why no further record is read.
enum Halt {
    Enough,
    Failed(TableError),
}

impl From<TableError> for Halt {
    fn from(error: TableError) -> Self {
        Self::Failed(error)
    }
}

impl Source {
    /// Opens a cohort, with titles from these files for codes that it gives none.
    pub fn open(input: &CohortInput, titles: &[PathBuf], watch: &dyn Watch) -> Result<Self, Error> {
        let inner = match input {
            CohortInput::Path(path) if Format::of(path)? == Format::Meds => {
                Inner::Stream(Box::new(Stream::open(path, &MedsOptions::default())?))
            }
            _ => Inner::Whole(load::detailed_cohort(input, None, watch)?),
        };
        let mut source = Self { path: input.into(), inner, titles: Titles::default() };
        let known = match &source.inner {
            Inner::Stream(stream) => stream.titles(),
            Inner::Whole(loaded) => &loaded.titles,
        };
        source.titles = Titles::new(source.vocabulary(), known, titles)?;
        Ok(source)
    }

    /// The codes that the records are numbered by.
    pub fn vocabulary(&self) -> &Vocabulary {
        match &self.inner {
            Inner::Stream(stream) => stream.vocabulary(),
            Inner::Whole(loaded) => &loaded.vocabulary,
        }
    }

    /// What its codes are called, mean and measure.
    pub fn lexicon(&self) -> Lexicon<'_> {
        let (vocabulary, titles, scales) = (self.vocabulary(), &self.titles, self.scales());
        Lexicon { vocabulary, titles, scales }
    }

    /// What the values of codes are.
    pub fn scales(&self) -> &BTreeMap<Code, Scale> {
        match &self.inner {
            Inner::Stream(stream) => stream.scales(),
            Inner::Whole(loaded) => &loaded.scales,
        }
    }

    /// Sees every record, until `take` wants no more.
    pub fn each(
        &self,
        watch: &dyn Watch,
        mut take: impl FnMut(Seen<'_>) -> bool,
    ) -> Result<(), Error> {
        let mut index = 0;
        match &self.inner {
            Inner::Whole(loaded) => {
                for (index, record) in loaded.cohort.records().enumerate() {
                    let details = loaded.details.as_ref();
                    let details = details.map_or_else(DetailsView::default, |all| all.of(index));
                    let (id, split) = (loaded.cohort.id(index), loaded.splits[index]);
                    if !take(Seen { index, id, split, record, details }) {
                        break;
                    }
                }
                Ok(())
            }
            Inner::Stream(stream) => {
                watch.begin("reading the cohort", Some(stream.bytes()));
                let seen = stream.each_record(
                    |one| {
                        let split = one.split.unwrap_or_else(|| Split::of(one.id));
                        let (id, record, details) = (one.id, one.record, one.details);
                        let more = take(Seen { index, id, split, record, details });
                        index += 1;
                        if more { Ok(()) } else { Err(Halt::Enough) }
                    },
                    |bytes| watch.advance(bytes),
                );
                watch.finish();
                match seen {
                    Err(Halt::Failed(error)) => Err(error.into()),
                    Ok(()) | Err(Halt::Enough) if index == 0 => {
                        let advice = "a dataset has a patient with an encounter or more";
                        Err(Error::refused_at(&self.path, "the dataset holds no records", advice))
                    }
                    Ok(()) | Err(Halt::Enough) => Ok(()),
                }
            }
        }
    }
}
