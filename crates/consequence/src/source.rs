//! What the pipelines are given: rule files, and the codes they speak of.

use std::path::PathBuf;
use std::sync::Arc;

use consequence_record::{Kind, Vocabulary};
use consequence_rules::UnknownCodes;
use serde::Serialize;

use crate::load::{self, LoadedCohort, LoadedRules, RuleOptions};
use crate::{Error, Watch};

/// Rule files, and where their codes come from.
///
/// ```
/// use consequence::check::{CheckOptions, check};
/// use consequence::{Inputs, UnknownCodes, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [rules, vocabulary] = ["a.rules", "codes.json"].map(|name| folder.path().join(name));
/// std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES")?;
/// std::fs::write(&vocabulary, r#"{"static": [], "encounter": ["ASTHMA"]}"#)?;
/// let options = CheckOptions::default();
///
/// // The codes are those that the rules name, or those of a file, which may lack some of them.
/// let alone = Inputs { rules: vec![rules], ..Inputs::default() };
/// assert_eq!(check(&alone, &options, &Unwatched)?.codes.encounters, 1);
/// let known = Inputs { vocabulary: Some(vocabulary), ..alone };
/// let refused = check(&known, &options, &Unwatched).unwrap_err();
/// assert!(refused.to_string().contains("unknown code `DIABETES`"));
/// let lenient = Inputs { unknown_codes: UnknownCodes::Absent, ..known };
/// assert!(check(&lenient, &options, &Unwatched)?.is_proved());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The rule files.
    pub rules: Vec<PathBuf>,
    /// A cohort: JSON lines, or a MEDS dataset. Rules can be checked without one; all work on records
    /// is refused.
    pub cohort: Option<PathBuf>,
    /// A vocabulary file.
    pub vocabulary: Option<PathBuf>,
    /// What a code means that a rule names and neither of the two has.
    pub unknown_codes: UnknownCodes,
}

/// The inputs, loaded.
#[derive(Debug)]
pub(crate) struct Opened {
    pub rules: LoadedRules,
    pub cohort: Option<LoadedCohort>,
    pub codes: CodeSummary,
}

impl Inputs {
    pub(crate) fn open(&self, watch: &dyn Watch) -> Result<Opened, Error> {
        let Codes { options, source, cohort } = self.codes(watch)?;
        let rules = load::rules_over(&self.rules, &options, &source)?;
        let codes = CodeSummary::new(&rules.rules.vocabulary, source);
        Ok(Opened { rules, cohort, codes })
    }

    /// Opens inputs of work on records: without a cohort there is none to do.
    pub(crate) fn open_records(
        &self,
        work: &'static str,
        watch: &dyn Watch,
    ) -> Result<(LoadedRules, LoadedCohort), Error> {
        if self.cohort.is_none() {
            return Err(Error::NoCohort { work });
        }
        match self.open(watch)? {
            Opened { rules, cohort: Some(cohort), .. } => Ok((rules, cohort)),
            Opened { cohort: None, .. } => Err(Error::NoCohort { work }),
        }
    }

    /// Finds out which codes there are, before any rule is read.
    pub(crate) fn codes(&self, watch: &dyn Watch) -> Result<Codes, Error> {
        let given = self.vocabulary.as_deref().map(load::vocabulary_file).transpose()?;
        let cohort = match &self.cohort {
            Some(path) => Some(load::cohort(path, given.clone(), watch)?),
            None => None,
        };
        let options = RuleOptions {
            vocabulary: cohort.as_ref().map(|loaded| Arc::clone(&loaded.vocabulary)).or(given),
            numbered: self.vocabulary.is_some(),
            unknown_codes: self.unknown_codes,
            ..RuleOptions::default()
        };
        let source = match (&self.vocabulary, &self.cohort) {
            (Some(path), _) => CodeSource::Vocabulary(path.display().to_string()),
            (None, Some(path)) => CodeSource::Cohort(path.display().to_string()),
            (None, None) => CodeSource::Rules,
        };
        Ok(Codes { options, source, cohort })
    }
}

/// The codes there are, and the cohort if they were looked for in one.
#[derive(Debug)]
pub(crate) struct Codes {
    /// How to read rules over them.
    pub options: RuleOptions,
    pub source: CodeSource,
    pub cohort: Option<LoadedCohort>,
}

/// The codes that rules were read over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeSummary {
    /// Static codes.
    pub statics: usize,
    /// Codes of encounters, `END` not counted.
    pub encounters: usize,
    /// Where they come from.
    pub source: CodeSource,
}

/// Where codes come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "from", content = "file")]
pub enum CodeSource {
    /// From the rules themselves.
    Rules,
    /// From a cohort; a vocabulary could have been given instead.
    Cohort(String),
    /// From cohorts alone.
    Cohorts(String),
    /// From a vocabulary file.
    Vocabulary(String),
    /// From a model.
    Model(String),
}

impl CodeSummary {
    fn new(vocabulary: &Vocabulary, source: CodeSource) -> Self {
        let statics =
            vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static).count();
        Self { statics, encounters: vocabulary.len() - statics - 1, source }
    }
}
