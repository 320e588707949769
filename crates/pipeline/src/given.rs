//! What a task reads: something at a path, or what the caller holds in memory already.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_feedback::Watch;
use consequence_model::Model;
use consequence_tables::meds::{self, WriterOptions};
use consequence_tables::{Dataset, Format, WriteError, jsonl};

use crate::{Error, Out, load};

/// A cohort that a task reads.
///
/// ```
/// use std::sync::Arc;
/// use consequence_pipeline::{CohortInput, HeldCohort, Unwatched, load};
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_tables::Dataset;
///
/// let vocabulary = Vocabulary::new([("DIABETES", Kind::Encounter)])?;
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![], vec![vocabulary.code("DIABETES").unwrap()]]));
/// let held = HeldCohort::new("patients", Dataset::new(cohort, Arc::new(vocabulary)));
/// let loaded = load::cohort(&CohortInput::from(held), None, &Unwatched)?;
/// assert_eq!(loaded.cohort.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum CohortInput {
    /// JSON lines, or a MEDS dataset.
    Path(PathBuf),
    /// A cohort in memory.
    Held(Arc<HeldCohort>),
}

/// A cohort in memory, and what it is called.
#[derive(Clone, Debug)]
pub struct HeldCohort {
    /// What reports and messages call it.
    pub name: String,
    /// The records and what is known of them.
    pub dataset: Arc<Dataset>,
    /// Rules that every record obeys by the way it was imported, as text.
    pub own_rules: Option<Arc<str>>,
}

impl HeldCohort {
    /// What messages call the rules that a cohort of this name brings along.
    pub fn own_rules_of(name: &str) -> String {
        format!("the own rules of {name}")
    }

    /// A cohort that brings no rules along.
    pub fn new(name: impl Into<String>, dataset: impl Into<Arc<Dataset>>) -> Self {
        Self { name: name.into(), dataset: dataset.into(), own_rules: None }
    }

    /// Reads a cohort with dates, stays, births and values, and the rules that it brings along.
    ///
    /// ```
    /// use consequence_pipeline::{HeldCohort, Out, Unwatched};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let [lines, dataset] = ["a.jsonl", "dataset"].map(|name| folder.path().join(name));
    /// std::fs::write(&lines, r#"{"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250"]]}"#)?;
    /// let held = HeldCohort::open(&lines, &Unwatched)?;
    /// held.save(&Out::new(&dataset), None)?;
    /// assert_eq!(HeldCohort::open(&dataset, &Unwatched)?.dataset.cohort, held.dataset.cohort);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path, watch: &dyn Watch) -> Result<Self, Error> {
        let input = CohortInput::from(path);
        let dataset = load::detailed_cohort(&input, None, watch)?.into_dataset();
        let own_rules = match meds::own_rules(path) {
            Some(file) => Some(load::rule_text(&file)?.into()),
            None => None,
        };
        Ok(Self { own_rules, ..Self::new(input.shown(), dataset) })
    }

    /// Writes it: JSON lines or a dataset, as the name says. A dataset keeps the rules that it brings along, and
    /// those that are known to hold, if any are given.
    pub fn save(&self, out: &Out, truth: Option<&str>) -> Result<(), Error> {
        let _out = out.cohort()?;
        let written: Result<(), WriteError> = match Format::to_write(&out.path) {
            Format::Lines => jsonl::write_dataset(&out.path, &self.dataset, out.force),
            Format::Meds => {
                let options = WriterOptions {
                    replace: out.force,
                    own_rules: self.own_rules.as_deref().map(str::to_owned),
                    truth: truth.map(str::to_owned),
                    ..WriterOptions::default()
                };
                meds::write_with(&out.path, &self.dataset, &options)
            }
        };
        Ok(written?)
    }
}

impl CohortInput {
    /// What reports and messages call it.
    pub fn shown(&self) -> String {
        self.to_string()
    }

    /// The rules that it brings along.
    pub(crate) fn own_rules(&self) -> Option<RuleInput> {
        match self {
            Self::Path(path) => meds::own_rules(path).map(RuleInput::Path),
            Self::Held(held) => held.own_rules.as_ref().map(|text| RuleInput::Text {
                name: HeldCohort::own_rules_of(&held.name),
                text: Arc::clone(text),
            }),
        }
    }
}

impl Default for CohortInput {
    fn default() -> Self {
        Self::Path(PathBuf::new())
    }
}

impl Display for CohortInput {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(out),
            Self::Held(held) => held.name.fmt(out),
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for CohortInput {
    fn from(path: &P) -> Self {
        Self::Path(path.as_ref().to_path_buf())
    }
}

impl From<PathBuf> for CohortInput {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<HeldCohort> for CohortInput {
    fn from(held: HeldCohort) -> Self {
        Self::Held(Arc::new(held))
    }
}

/// Where a message points: its path, or what it is called.
impl From<&CohortInput> for PathBuf {
    fn from(input: &CohortInput) -> Self {
        match input {
            CohortInput::Path(path) => path.clone(),
            CohortInput::Held(held) => PathBuf::from(&held.name),
        }
    }
}

/// Rules that a task reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleInput {
    /// A file.
    Path(PathBuf),
    /// Text in memory.
    Text {
        /// What messages call it; one that ends in `.json` holds JSON.
        name: String,
        /// The rules.
        text: Arc<str>,
    },
}

impl RuleInput {
    /// Text in memory, and what messages call it.
    pub fn text(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self::Text { name: name.into(), text: text.into() }
    }

    /// What messages call them, and their text.
    pub fn read(&self) -> Result<(String, Arc<str>), Error> {
        match self {
            Self::Path(path) => Ok((self.to_string(), load::rule_text(path)?.into())),
            Self::Text { name, text } => Ok((name.clone(), Arc::clone(text))),
        }
    }
}

impl Display for RuleInput {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(out),
            Self::Text { name, .. } => name.fmt(out),
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for RuleInput {
    fn from(path: &P) -> Self {
        Self::Path(path.as_ref().to_path_buf())
    }
}

impl From<PathBuf> for RuleInput {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

/// A model that a task reads.
#[derive(Clone, Debug)]
pub enum ModelInput {
    /// The folder of a model.
    Path(PathBuf),
    /// The same, where no other model may be than the one of this [digest](Model::digest_at).
    Same {
        /// The folder.
        folder: PathBuf,
        /// The digest.
        digest: String,
    },
    /// A model in memory.
    Held {
        /// What reports and messages call it.
        name: String,
        /// The model.
        model: Arc<Model>,
    },
}

impl Display for ModelInput {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) | Self::Same { folder: path, .. } => path.display().fmt(out),
            Self::Held { name, .. } => name.fmt(out),
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for ModelInput {
    fn from(path: &P) -> Self {
        Self::Path(path.as_ref().to_path_buf())
    }
}

impl From<PathBuf> for ModelInput {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}
