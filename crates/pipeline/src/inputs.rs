//! What pipelines are given: rule files, cohorts, and the codes they speak of.

use std::path::PathBuf;
use std::sync::Arc;

use consequence_record::{Kind, Vocabulary};
use consequence_rules::UnknownCodes;
use serde::Serialize;

use crate::load::{self, LoadedCohort, LoadedRules, RuleOptions};
use crate::{CohortInput, Error, RuleInput, Watch};

/// Rule files, and where their codes come from.
///
/// ```
/// use consequence_pipeline::{Inputs, Unwatched};
/// use consequence_rules::UnknownCodes;
///
/// let folder = tempfile::tempdir()?;
/// let [rules, vocabulary] = ["a.rules", "codes.json"].map(|name| folder.path().join(name));
/// std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES")?;
/// std::fs::write(&vocabulary, r#"{"static": [], "encounter": ["ASTHMA"]}"#)?;
///
/// // The codes are those that the rules name, or those of a file, which may lack some of them.
/// let alone = Inputs { rules: vec![rules.into()], ..Inputs::default() };
/// assert_eq!(alone.open(&Unwatched)?.codes.encounters, 1);
/// let known = Inputs { vocabulary: Some(vocabulary), ..alone };
/// let refused = known.open(&Unwatched).unwrap_err();
/// assert!(refused.to_string().contains("unknown code `DIABETES`"));
/// let lenient = Inputs { unknown_codes: UnknownCodes::Absent, ..known };
/// assert!(lenient.open(&Unwatched).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The rules.
    pub rules: Vec<RuleInput>,
    /// A cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: Option<CohortInput>,
    /// A vocabulary file.
    pub vocabulary: Option<PathBuf>,
    /// What a code means that a rule names and neither of the two has.
    pub unknown_codes: UnknownCodes,
    /// Whether to leave out the rules that the cohort brings along.
    pub no_own_rules: bool,
}

/// Inputs that were opened.
#[derive(Debug)]
pub struct Opened {
    /// The rules.
    pub rules: LoadedRules,
    /// The cohort, if one was given.
    pub cohort: Option<LoadedCohort>,
    /// The codes that the rules were read over.
    pub codes: CodeSummary,
}

impl Inputs {
    /// Opens them.
    pub fn open(&self, watch: &dyn Watch) -> Result<Opened, Error> {
        let Codes { mut options, source, mut cohort } = self.codes(watch)?;
        let files = load::with_own(&self.rules, self.cohort.as_ref(), self.no_own_rules);
        let mut rules = load::rules_over(&files, &options, &source)?;
        // Dates, births and values are read only for rules that ask for them.
        let asked =
            rules.rules.ask_details() && !cohort.as_ref().is_some_and(LoadedCohort::is_detailed);
        if let (Some(input), true) = (&self.cohort, asked) {
            let detailed = load::detailed_cohort(input, options.vocabulary.clone(), watch)?;
            options.knows = Some(detailed.knows());
            rules = load::rules_over(&files, &options, &source)?;
            cohort = Some(detailed);
        }
        let codes = CodeSummary::new(rules.rules.vocabulary(), source);
        Ok(Opened { rules, cohort, codes })
    }

    /// Finds out which codes there are, before any rule is read.
    pub fn codes(&self, watch: &dyn Watch) -> Result<Codes, Error> {
        let given = self.vocabulary.as_deref().map(load::vocabulary_file).transpose()?;
        let cohort = match &self.cohort {
            Some(cohort) => Some(load::cohort(cohort, given.clone(), watch)?),
            None => None,
        };
        let source = match (&self.vocabulary, &self.cohort) {
            (Some(path), _) => CodeSource::Vocabulary(path.display().to_string()),
            (None, Some(cohort)) => CodeSource::Cohort(cohort.shown()),
            (None, None) => CodeSource::Rules,
        };
        let options = RuleOptions {
            vocabulary: cohort.as_ref().map(|loaded| Arc::clone(&loaded.vocabulary)).or(given),
            titles: cohort.as_ref().map(|loaded| loaded.titles.clone()).unwrap_or_default(),
            knows: cohort.as_ref().map(LoadedCohort::knows),
            numbered: self.vocabulary.is_some(),
            unknown_codes: self.unknown_codes,
            ..RuleOptions::default()
        };
        Ok(Codes { options, source, cohort })
    }
}

/// A cohort, and the rules that its records are held against.
#[derive(Clone, Debug, Default)]
pub struct RecordInputs {
    /// The cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: CohortInput,
    /// The rules.
    pub rules: Vec<RuleInput>,
    /// A vocabulary file, for codes that the cohort does not have.
    pub vocabulary: Option<PathBuf>,
    /// What a code means that a rule names and neither of the two has.
    pub unknown_codes: UnknownCodes,
    /// Whether to leave out the rules that the cohort brings along.
    pub no_own_rules: bool,
}

/// A cohort and rules over its codes.
#[derive(Debug)]
pub struct OpenedRecords {
    /// The rules.
    pub rules: LoadedRules,
    /// The records.
    pub cohort: LoadedCohort,
}

impl RecordInputs {
    /// A cohort without rules.
    pub fn new(cohort: impl Into<CohortInput>) -> Self {
        Self { cohort: cohort.into(), ..Self::default() }
    }

    /// The same with rules.
    pub fn with_rules(self, rules: impl IntoIterator<Item = impl Into<RuleInput>>) -> Self {
        Self { rules: rules.into_iter().map(Into::into).collect(), ..self }
    }

    /// Opens both.
    pub fn open(&self, watch: &dyn Watch) -> Result<OpenedRecords, Error> {
        self.open_by(load::cohort, watch)
    }

    /// Opens both, the records with dates, stays, births and values.
    pub fn open_detailed(&self, watch: &dyn Watch) -> Result<OpenedRecords, Error> {
        self.open_by(load::detailed_cohort, watch)
    }

    fn open_by(
        &self,
        read: impl Fn(&CohortInput, Option<Arc<Vocabulary>>, &dyn Watch) -> Result<LoadedCohort, Error>,
        watch: &dyn Watch,
    ) -> Result<OpenedRecords, Error> {
        let Self { cohort, rules, vocabulary, unknown_codes, no_own_rules } = self;
        let given = vocabulary.as_deref().map(load::vocabulary_file).transpose()?;
        let mut loaded = read(cohort, given.clone(), watch)?;
        let mut options = RuleOptions {
            vocabulary: Some(Arc::clone(&loaded.vocabulary)),
            titles: loaded.titles.clone(),
            knows: Some(loaded.knows()),
            numbered: vocabulary.is_some(),
            unknown_codes: *unknown_codes,
            ..RuleOptions::default()
        };
        let source = match vocabulary {
            Some(path) => CodeSource::Vocabulary(path.display().to_string()),
            None => CodeSource::Cohort(cohort.shown()),
        };
        let files = load::with_own(rules, Some(cohort), *no_own_rules);
        let mut rules = load::rules_over(&files, &options, &source)?;
        // Dates, births and values are read only where they are needed, or for rules that ask for them.
        if !loaded.is_detailed() && rules.rules.ask_details() {
            loaded = load::detailed_cohort(cohort, given, watch)?;
            options.knows = Some(loaded.knows());
            rules = load::rules_over(&files, &options, &source)?;
        }
        Ok(OpenedRecords { rules, cohort: loaded })
    }
}

/// The codes there are, and the cohort if they were looked for in one.
#[derive(Debug)]
pub struct Codes {
    /// How to read rules over them.
    pub options: RuleOptions,
    /// Where they come from.
    pub source: CodeSource,
    /// The cohort, if they were looked for in one.
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
    /// From a cohort, or from several.
    Cohort(String),
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

#[cfg(test)]
mod tests {
    use consequence_feedback::Unwatched;

    use super::*;

    #[test]
    fn dates_are_read_for_rules_that_ask_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cohort.jsonl");
        let dated = r#""times": ["2001-05-31", "2001-06-02"], "birth": "1950-01-01""#;
        let line =
            |more: &str| format!(r#"{{"id": "p", "static": [], "visits": [["A"], ["B"]]{more}}}"#);
        let open = |line: String, formula: &str| {
            std::fs::write(&path, line).unwrap();
            let rules = RuleInput::text("asked.rules", format!("rule r: {formula}"));
            RecordInputs::new(&path).with_rules([rules]).open(&Unwatched)
        };
        let asked = open(line(&format!(", {dated}")), "A in last 3 days => B").unwrap();
        assert!(asked.cohort.records().record(0).details().time(2).is_some());
        let other = open(line(&format!(", {dated}")), "A at least 2 times in past => B").unwrap();
        assert!(other.cohort.details.is_none(), "nobody asked");
        for (formula, said) in [
            ("A in last 3 days => B", "`last 3 days` in a cohort without dates"),
            ("AGE >= 18 => B", "an age in a cohort without ages"),
        ] {
            let refused = open(line(""), formula).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
            assert!(refused.contains("asked.rules:1:9"), "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_once_whatever_rules_ask() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.jsonl");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let line = r#"{"id": 1, "static": [], "visits": [["A"], ["B"]], "times": ["2020-01-01", "2020-01-03"]}"#;
        let writer = std::thread::spawn({
            let path = path.clone();
            move || std::fs::write(path, line).unwrap()
        });
        let rules = RuleInput::text("asked.rules", "rule r: A in last 3 days => B");
        let opened = RecordInputs::new(&path).with_rules([rules]).open(&Unwatched).unwrap();
        writer.join().unwrap();
        assert!(opened.cohort.records().record(0).details().time(2).is_some());
    }
}
