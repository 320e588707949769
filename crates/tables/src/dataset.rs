//! A cohort with all that is known of it, read from any format, and one written record by record in
//! either.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use consequence_record::{
    Code, Cohort, CohortDetails, Concept, DetailsView, Record, Scale, Split, Vocabulary,
};
use consequence_store::{AtomicFile, StoreError};

use crate::document::shown;
use crate::jsonl::{self, ReadOptions};
use crate::meds::{self, MedsOptions, Subject, WriterOptions};
use crate::{Problem, TableError, WriteError};

/// A cohort with its vocabulary, the split of every record, titles, and what is known of dates and values.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
/// use consequence_tables::Dataset;
///
/// let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//250", Kind::Encounter)])?;
/// let mut cohort = Cohort::default();
/// let codes = ["SEX//F", "ICD9CM//250"].map(|name| vocabulary.code(name).unwrap());
/// cohort.push("p1", &Record::new(vec![vec![codes[0]], vec![codes[1]]]));
/// let dataset = Dataset::new(cohort, Arc::new(vocabulary));
/// assert_eq!(dataset.splits, [Split::of("p1")]);
/// assert!(dataset.ordinal_time());
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The records.
    pub cohort: Cohort,
    /// The codes the cohort is numbered by.
    pub vocabulary: Arc<Vocabulary>,
    /// The split of each record, in the order of the cohort.
    pub splits: Vec<Split>,
    /// What codes mean, for those of which it is known.
    pub titles: BTreeMap<Code, String>,
    /// The OMOP concepts that codes stand for, for those of which it is known.
    pub concepts: BTreeMap<Code, Concept>,
    /// What the values of codes are, for those that have any.
    pub scales: BTreeMap<Code, Scale>,
    /// Dates, stays, births and values; none where they are not known, or were not asked for.
    pub details: Option<CohortDetails>,
}

impl Dataset {
    /// A dataset without titles, dates and values, each record in the split that its id gives.
    pub fn new(cohort: Cohort, vocabulary: Arc<Vocabulary>) -> Self {
        let splits = Split::of_records(&cohort);
        let (titles, concepts) = (BTreeMap::new(), BTreeMap::new());
        let (scales, details) = (BTreeMap::new(), None);
        Self { cohort, vocabulary, splits, titles, concepts, scales, details }
    }

    /// Whether only the order of the encounters is known, and not when they were.
    pub fn ordinal_time(&self) -> bool {
        !self.details.as_ref().is_some_and(CohortDetails::dated)
    }

    /// What is known of a record beside its codes.
    pub fn details_of(&self, record: usize) -> DetailsView<'_> {
        let details = self.details.as_ref().filter(|details| record < details.len());
        details.map_or_else(DetailsView::default, |details| details.of(record))
    }

    /// The same records over another vocabulary, which has to have every code that they have. `name` is what
    /// an error calls the cohort.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use consequence_record::{Cohort, Kind, Record, Vocabulary};
    /// use consequence_tables::Dataset;
    ///
    /// let own = Vocabulary::new([("A", Kind::Encounter)])?;
    /// let mut cohort = Cohort::default();
    /// cohort.push("p1", &Record::new(vec![vec![], vec![own.code("A").unwrap()]]));
    /// let dataset = Dataset::new(cohort, Arc::new(own));
    ///
    /// let wider = Arc::new(Vocabulary::new([("B", Kind::Encounter), ("A", Kind::Encounter)])?);
    /// let over = dataset.over(wider, "patients").unwrap();
    /// assert_eq!(over.vocabulary.name(over.cohort.record(0).visit(1)[0]), "A");
    /// let other = Arc::new(Vocabulary::new([("B", Kind::Encounter)])?);
    /// let refused = dataset.over(other, "patients").unwrap_err();
    /// assert_eq!(refused.to_string(), "unknown code `A`\n  --> patients");
    /// # Ok::<(), consequence_record::VocabularyError>(())
    /// ```
    pub fn over(&self, vocabulary: Arc<Vocabulary>, name: &str) -> Result<Self, TableError> {
        let numbers: Vec<Result<Code, Problem>> =
            self.vocabulary.codes().map(|code| self.number(code, &vocabulary)).collect();
        let number = |code: Code| numbers.get(code.index()).and_then(|number| number.as_ref().ok());
        let mut cohort = Cohort::default();
        for (index, record) in self.cohort.records().enumerate() {
            if let Some(lost) = record.visits().flatten().find(|code| number(**code).is_none())
                && let Err(problem) = self.number(*lost, &vocabulary)
            {
                return Err(TableError::of_file(name.as_ref(), problem));
            }
            let visits = record.visits();
            let visits = visits.map(|visit| visit.iter().filter_map(|&code| number(code).copied()));
            let again = Record::new(visits.map(Iterator::collect).collect());
            let again = if record.ended() { again } else { again.cut() };
            cohort.push(self.cohort.id(index), &again);
        }
        let details = self.details.as_ref().map(|details| {
            let mut renumbered = CohortDetails::default();
            for index in 0..details.len() {
                let mut again = details.of(index).to_details();
                again.events.retain_mut(|event| {
                    let now = number(event.code).copied();
                    event.code = now.unwrap_or(event.code);
                    now.is_some()
                });
                again.events.sort_by_key(|event| (event.visit, event.code));
                renumbered.push(again.view());
            }
            renumbered
        });
        Ok(Self {
            cohort,
            splits: self.splits.clone(),
            titles: renumbered(&self.titles, number),
            concepts: renumbered(&self.concepts, number),
            scales: renumbered(&self.scales, number),
            details,
            vocabulary,
        })
    }

    /// The number of a code in another vocabulary.
    fn number(&self, code: Code, vocabulary: &Vocabulary) -> Result<Code, Problem> {
        let name = self.vocabulary.name(code);
        match vocabulary.code(name) {
            Some(number) if vocabulary.kind(number) == self.vocabulary.kind(code) => Ok(number),
            Some(number) => {
                Err(Problem::Misplaced { code: shown(name), kind: vocabulary.kind(number) })
            }
            None => Err(Problem::UnknownCode { code: shown(name) }),
        }
    }

    /// Opens a cohort of any format: a folder or a `.parquet` file is MEDS, all else JSON lines.
    ///
    /// ```
    /// use consequence_tables::Dataset;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("cohort.jsonl");
    /// std::fs::write(&path, r#"{"id": 7, "static": [], "visits": [["ICD9CM//250"]]}"#)?;
    /// assert_eq!(Dataset::open(&path)?.cohort.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TableError> {
        Self::open_with(path, &MedsOptions::default())
    }

    /// Opens a cohort of any format over a given vocabulary, or with other limits.
    pub fn open_with(path: impl AsRef<Path>, options: &MedsOptions) -> Result<Self, TableError> {
        let path = path.as_ref();
        match Format::of(path)? {
            Format::Meds => meds::read(path, options),
            Format::Lines => {
                let MedsOptions { vocabulary, details, limits, .. } = options.clone();
                let loaded = jsonl::read(path, &ReadOptions { vocabulary, details, limits })?;
                let details = loaded.details;
                Ok(Self { details, ..Self::new(loaded.cohort, loaded.vocabulary) })
            }
        }
    }
}

/// What is known of codes, by their new numbers.
fn renumbered<'a, T: Clone>(
    known: &BTreeMap<Code, T>,
    number: impl Fn(Code) -> Option<&'a Code>,
) -> BTreeMap<Code, T> {
    known.iter().filter_map(|(&code, what)| Some((*number(code)?, what.clone()))).collect()
}

/// The formats a cohort can be read from without saying which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A MEDS dataset, or one Parquet file of its events.
    Meds,
    /// JSON lines.
    Lines,
}

impl Format {
    /// The format of what is at a path: folders and names that end in `.parquet` are MEDS, and
    /// other files are JSON lines.
    ///
    /// ```
    /// use consequence_tables::Format;
    ///
    /// let folder = tempfile::tempdir()?;
    /// assert_eq!(Format::of(folder.path())?, Format::Meds);
    /// assert!(Format::of(&folder.path().join("nowhere.jsonl")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(path: &Path) -> Result<Self, TableError> {
        let metadata = std::fs::metadata(path)
            .map_err(|error| TableError::of_file(path, Problem::Open(error)))?;
        let parquet = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet"));
        Ok(if metadata.is_dir() || parquet { Self::Meds } else { Self::Lines })
    }

    /// The format that a cohort is written in: JSON lines if the name ends in `.jsonl`, else a
    /// MEDS dataset.
    ///
    /// ```
    /// use std::path::Path;
    /// use consequence_tables::Format;
    ///
    /// assert_eq!(Format::to_write(Path::new("cohort.jsonl")), Format::Lines);
    /// assert_eq!(Format::to_write(Path::new("cohort")), Format::Meds);
    /// ```
    pub fn to_write(path: &Path) -> Self {
        let lines = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("jsonl"));
        if lines { Self::Lines } else { Self::Meds }
    }
}

/// Writes a cohort record by record: as JSON lines if the name says so, else as a MEDS dataset.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Code, DetailsView, Kind, Split, Vocabulary};
/// use consequence_tables::meds::{Subject, WriterOptions};
/// use consequence_tables::{CohortWriter, Dataset};
///
/// let vocabulary = Arc::new(Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?);
/// let directory = tempfile::tempdir()?;
/// for name in ["cohort", "cohort.jsonl"] {
///     let path = directory.path().join(name);
///     let mut writer = CohortWriter::create(&path, Arc::clone(&vocabulary), WriterOptions::default())?;
///     let details = DetailsView::default();
///     let subject = Subject { id: "p1", split: Split::Train, ended: true, details };
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
    /// room for titles, concepts, scales and truth.
    pub fn create(
        path: impl AsRef<Path>,
        vocabulary: Arc<Vocabulary>,
        options: WriterOptions,
    ) -> Result<Self, WriteError> {
        let path = path.as_ref();
        Ok(Self(match Format::to_write(path) {
            Format::Lines => Inner::Lines(Box::new(if options.replace {
                jsonl::Writer::create(path, &vocabulary)?
            } else {
                jsonl::Writer::create_new(path, &vocabulary)?
            })),
            Format::Meds => Inner::Meds(Box::new(meds::Writer::create(path, vocabulary, options)?)),
        }))
    }

    /// Refuses a path where no cohort could be written, before there is one to write. Nothing is
    /// left there.
    ///
    /// ```
    /// use consequence_tables::CohortWriter;
    ///
    /// let directory = tempfile::tempdir()?;
    /// assert!(CohortWriter::try_path(directory.path().join("cohort"), false).is_ok());
    /// assert!(CohortWriter::try_path(directory.path().join("none/cohort"), false).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_path(path: impl AsRef<Path>, replace: bool) -> Result<(), StoreError> {
        let path = path.as_ref();
        match Format::to_write(path) {
            Format::Lines => {
                let begin = |path: &Path| {
                    if replace {
                        AtomicFile::create(path).map(drop)
                    } else {
                        AtomicFile::create_new(path).map(drop)
                    }
                };
                begin(&jsonl::codes_path(path))?;
                begin(path)
            }
            Format::Meds => meds::try_path(path, replace),
        }
    }

    /// Appends a record: its static visit, then its encounters, of which there is at least one.
    /// After an error the writer cannot be used any more.
    pub fn push<'a, V>(&mut self, subject: Subject<'_>, visits: V) -> Result<(), WriteError>
    where
        V: IntoIterator<Item = &'a [Code]>,
        V::IntoIter: ExactSizeIterator,
    {
        match &mut self.0 {
            Inner::Lines(writer) => {
                writer.push_detailed(subject.id, subject.ended, subject.details, visits)
            }
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
