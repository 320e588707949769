//! A dataset written data file by data file, over as many runs of the program as it takes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::StringArray;
use consequence_record::{
    Code, Cohort, CohortDetails, Concept, DetailsView, Scale, Split, Vocabulary,
};
use consequence_store::{AtomicFile, StoreError, WorkingFolder, create_directory};

use super::concepts as code_concepts;
use super::encode::{Events, Shard};
use super::layout::{
    CODES, CONCEPTS, DATA, DESCRIPTION, METADATA, SPLITS, VALUES, data_file, is_part,
};
use super::metadata::{self, Extent};
use super::scales as value_scales;
use crate::WriteError;

/// What is known of codes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeFacts {
    /// What they mean.
    pub titles: BTreeMap<Code, String>,
    /// The OMOP concepts that they stand for.
    pub concepts: BTreeMap<Code, Concept>,
    /// What their values are.
    pub scales: BTreeMap<Code, Scale>,
}

/// A dataset that is written data file by data file, each whole or not at all.
/// What is written stays when the program is killed, and a later run resumes.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
/// use consequence_tables::Dataset;
/// use consequence_tables::meds::{CodeFacts, Shards};
///
/// let vocabulary = Arc::new(Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?);
/// let mut cohort = Cohort::default();
/// cohort.push("7", &Record::new(vec![vec![], vec![]]));
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("cohort");
/// Shards::open(&path, Arc::clone(&vocabulary), false)?.fill(0, &cohort, None)?.commit()?;
/// assert!(!path.exists());
///
/// let shards = Shards::open(&path, vocabulary, false)?;
/// assert!(shards.has(0) && !shards.has(1));
/// shards.describe([(7, Split::Train)], &CodeFacts::default(), false)?;
/// shards.commit()?;
/// assert_eq!(Dataset::open(&path)?.cohort, cohort);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shards {
    folder: WorkingFolder,
    vocabulary: Arc<Vocabulary>,
    names: Arc<StringArray>,
}

impl Shards {
    /// Finds what an earlier run wrote for the dataset at `path`, or begins. A dataset that stands
    /// there may be replaced in the end; any other folder never is.
    pub fn open(
        path: impl AsRef<Path>,
        vocabulary: Arc<Vocabulary>,
        replace: bool,
    ) -> Result<Self, StoreError> {
        let folder = if replace {
            WorkingFolder::replacing(&path, is_part)?
        } else {
            WorkingFolder::open(&path)?
        };
        Self::over(folder, vocabulary)
    }

    /// Takes a dataset that is in place back, so that some of its data files can be written again.
    pub fn reopen(path: impl AsRef<Path>, vocabulary: Arc<Vocabulary>) -> Result<Self, StoreError> {
        Self::over(WorkingFolder::reopen(path)?, vocabulary)
    }

    fn over(folder: WorkingFolder, vocabulary: Arc<Vocabulary>) -> Result<Self, StoreError> {
        for inner in [DATA, METADATA] {
            create_directory(&folder.path().join(inner))?;
        }
        folder.sweep()?;
        Ok(Self { folder, names: Arc::new(metadata::names(&vocabulary)), vocabulary })
    }

    /// The name of a data file in its dataset.
    ///
    /// ```
    /// assert_eq!(consequence_tables::meds::Shards::name(7), "data/000007.parquet");
    /// ```
    pub fn name(file: usize) -> String {
        data_file(file)
    }

    /// The names of all files that are not data files, where codes have what is described and where
    /// they have not.
    ///
    /// ```
    /// use consequence_tables::meds::{CodeFacts, Shards};
    ///
    /// let files = Shards::describing(&CodeFacts::default());
    /// assert!(!files.contains(&"metadata/values.parquet"));
    /// ```
    pub fn describing(facts: &CodeFacts) -> Vec<&'static str> {
        let mut files = vec![CODES, SPLITS, DESCRIPTION];
        files.extend((!facts.scales.is_empty()).then_some(VALUES));
        files.extend((!facts.concepts.is_empty()).then_some(CONCEPTS));
        files
    }

    /// The folder while it is filled.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether a data file is there.
    pub fn has(&self, file: usize) -> bool {
        self.folder.path().join(data_file(file)).is_file()
    }

    /// Writes a data file that is not in place yet, so that its digest can be noted first. The ids
    /// of the records are numbers, and the subjects of one data file are those of no other. Details are
    /// those of the records, in order: all of them have times, or none has. Ages that a source gave at
    /// encounters have no place here, nor have births of records without times.
    pub fn fill(
        &self,
        file: usize,
        cohort: &Cohort,
        details: Option<&CohortDetails>,
    ) -> Result<AtomicFile, WriteError> {
        let mut shard = Shard::with_capacity(cohort.visit_count());
        let dated = details.is_some_and(CohortDetails::dated);
        for (index, record) in cohort.records().enumerate() {
            let fail = |reason| WriteError::Record { number: index + 1, reason };
            let number =
                cohort.id(index).parse().map_err(|_| fail("has an id that is no number"))?;
            let details = match details {
                Some(details) if index < details.len() => details.of(index),
                Some(_) => return Err(fail("has no details where others have them")),
                None => DetailsView::default(),
            };
            if dated == details.times.is_empty() {
                return Err(fail("has times where others have none, or the reverse"));
            }
            if !details.ages.is_empty() || (!dated && details.birth.is_some()) {
                return Err(fail("has ages of its own, or a birth and no times"));
            }
            let events = Events { number, ended: record.ended(), details };
            events.push(&mut shard, &self.vocabulary, record.visits()).map_err(fail)?;
        }
        Ok(shard.fill(&self.folder.path().join(data_file(file)), &self.names)?)
    }

    /// Writes all but the events: the [files](Self::describing) that tell of codes, their values and
    /// subjects. The subjects are those of the data files, in order; `dated` says whether they have times.
    pub fn describe(
        &self,
        subjects: impl IntoIterator<Item = (i64, Split)>,
        facts: &CodeFacts,
        dated: bool,
    ) -> Result<(), StoreError> {
        let folder = self.folder.path();
        let CodeFacts { titles, concepts, scales } = facts;
        // An earlier run may have written the data files, so what they hold is not known here.
        let extent = Extent { detailed: dated || !scales.is_empty(), ..Extent::default() };
        metadata::write_codes(folder, &self.vocabulary, &self.names, titles, &extent)?;
        code_concepts::write(folder, &self.vocabulary, concepts)?;
        value_scales::write(folder, &self.vocabulary, scales)?;
        metadata::write_splits(folder, subjects.into_iter())?;
        metadata::write_description(folder, &self.vocabulary, &extent, dated)
    }

    /// Puts the dataset in place.
    pub fn commit(self) -> Result<(), StoreError> {
        self.folder.commit()
    }

    /// Deletes what was written.
    pub fn discard(self) -> Result<(), StoreError> {
        self.folder.discard()
    }
}
