//! The data files of a dataset, each read apart from the others: what a machine that has some of them needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_record::{Code, Concept, Scale, Vocabulary};
use rustc_hash::FxHashSet;

use super::layout::SUBJECT;
use super::read::{Known, Met, RecordReader};
use super::subjects::{self, Subjects};
use super::table::Table;
use super::{MedsOptions, Streamed};
use crate::{Limits, TableError};

/// A dataset some of whose data files are read here, and the others elsewhere. Of the lists of subjects only what they say
/// of the file at hand is in memory.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_tables::meds::{self, Files, MedsOptions};
/// use consequence_tables::{Dataset, TableError};
///
/// let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
/// let mut cohort = Cohort::default();
/// cohort.push("7", &Record::new(vec![vec![], vec![]]));
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("cohort");
/// meds::write(&path, &Dataset::new(cohort, Arc::new(vocabulary)))?;
///
/// let files = Files::open(&path, &MedsOptions::default())?;
/// files.check_subjects()?;
/// assert!(files.apart()?);
/// let mut ids = Vec::new();
/// files.each_record(|one| -> Result<(), TableError> {
///     ids.push(one.id.to_owned());
///     Ok(())
/// })?;
/// assert_eq!(ids, ["7"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Files {
    path: PathBuf,
    known: Known,
    limits: Limits,
    details: bool,
}

impl Files {
    /// Reads what is said of codes.
    pub fn open(path: &Path, options: &MedsOptions) -> Result<Self, TableError> {
        let (limits, details) = (options.limits, options.details);
        Ok(Self { path: path.to_path_buf(), known: Known::of(path, options)?, limits, details })
    }

    /// The codes that the records are numbered by.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.known.codebook.vocabulary
    }

    /// What codes mean, for those of which it is known.
    pub fn titles(&self) -> &BTreeMap<Code, String> {
        &self.known.titles
    }

    /// The OMOP concepts of codes, for those of which they are known.
    pub fn concepts(&self) -> &BTreeMap<Code, Concept> {
        &self.known.concepts
    }

    /// What the values of codes are, for those that have any.
    pub fn scales(&self) -> &BTreeMap<Code, Scale> {
        &self.known.scales
    }

    /// Whether times are real, and not only an order.
    pub fn dated(&self) -> bool {
        self.known.dated
    }

    /// Every code and marker with what it is, as a list of codes says it; none where the dataset is another tool's.
    pub fn listed_codes(&self) -> Option<Vec<(String, String)>> {
        self.known.own().then(|| self.known.codebook.listed())
    }

    /// The files, in the order in which they are read.
    pub fn paths(&self) -> &[PathBuf] {
        &self.known.files
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.known.files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    /// Refuses a dataset that gives two subjects one id.
    pub fn check_subjects(&self) -> Result<(), TableError> {
        Subjects::check_ids(&self.path)
    }

    /// Whether the files themselves say that no two of them have a subject in common.
    pub fn apart(&self) -> Result<bool, TableError> {
        let bounds = self.known.files.iter().map(|file| Ok(Table::open(file)?.bounds(SUBJECT)));
        let Some(mut bounds) = bounds.collect::<Result<Option<Vec<_>>, TableError>>()? else {
            return Ok(false);
        };
        bounds.sort_unstable();
        Ok(bounds.windows(2).all(|pair| pair[0].1 < pair[1].0))
    }

    /// Refuses a subject that two files have, by reading all of their subjects.
    pub fn check_apart(&self) -> Result<(), TableError> {
        let mut met = Met::default();
        for file in &self.known.files {
            met.begin(file);
            let mut here = FxHashSet::default();
            subjects::each_of_file(file, |subject| {
                here.insert(subject);
            })?;
            here.into_iter().try_for_each(|subject| met.meet_in_file(subject))?;
        }
        Ok(())
    }

    /// The same dataset over other codes, among which its own are.
    #[must_use]
    pub fn over(mut self, vocabulary: Arc<Vocabulary>) -> Self {
        self.known.codebook.vocabulary = vocabulary;
        self
    }

    /// The same dataset with only some of its files: those at these places among them.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(usize) -> bool) -> Self {
        let files = std::mem::take(&mut self.known.files).into_iter().enumerate();
        self.known.files = files.filter(|(place, _)| keep(*place)).map(|(_, file)| file).collect();
        self
    }

    /// Hands on each record.
    pub fn each_record<E: From<TableError>>(
        &self,
        mut take: impl FnMut(Streamed<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let reader = RecordReader::new(&self.known, self.limits, self.details);
        let mut met = Met::default();
        for file in &self.known.files {
            met.begin(file);
            let subjects = Subjects::of_file(&self.path, file)?;
            reader.each_of_file(file, &subjects, &mut met, &mut take)?;
        }
        Ok(())
    }
}
