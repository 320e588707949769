//! Rules, cohorts and vocabularies from files, or from what the caller holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use consequence_feedback::{Watch, watched};
use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::language::TitledCodes;
use consequence_rules::{
    Diagnostic, LanguageLimits, ResolveOptions, RuleFile, RuleSet, TupleFile, UnknownCodes, parse,
    resolve,
};
use consequence_tables::jsonl::{self, ReadOptions};
use consequence_tables::meds::{self, MedsOptions};
use consequence_tables::{Dataset, Format, Limits, vocabulary};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::inputs::CodeSource;
use crate::{CohortInput, Error, RuleInput};

/// How to load rules.
#[derive(Clone, Debug, Default)]
pub struct RuleOptions {
    /// The codes there are; without it, those that the rules name.
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// Whether the order of the vocabulary was given on purpose, so that code numbers in tuples
    /// may count it.
    pub numbered: bool,
    /// What a code means that the vocabulary does not have.
    pub unknown_codes: UnknownCodes,
    /// What codes of the vocabulary mean, for messages that name them.
    pub titles: BTreeMap<Code, String>,
    /// How much of a rule file to take in before refusing.
    pub limits: LanguageLimits,
}

impl RuleOptions {
    /// The codes of each title, where a vocabulary is given.
    pub fn titled_codes(&self) -> TitledCodes {
        let titles = self.titles.iter().filter(|_| self.vocabulary.is_some());
        TitledCodes::new(titles.map(|(&code, title)| (code, &**title)))
    }
}

/// Rules that were loaded.
#[derive(Clone, Debug)]
pub struct LoadedRules {
    /// The rules of all files, in order.
    pub rules: Arc<RuleSet>,
    /// What looked odd.
    pub warnings: Vec<Diagnostic>,
    /// The files, as the user named them.
    pub files: Vec<String>,
}

/// Loads the rules of several files into one set.
///
/// A file whose name ends in `.json` holds rules as JSON or the reference's tuples, told apart by
/// content; any other file holds the rule language.
///
/// ```
/// use consequence_pipeline::load::{RuleOptions, rules};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("lifelong.rules");
/// std::fs::write(&path, "rule lifelong: ICD9CM//741 in previous => ICD9CM//741")?;
/// let loaded = rules(&[path.into()], &RuleOptions::default())?;
/// assert_eq!(loaded.rules.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rules(inputs: &[RuleInput], options: &RuleOptions) -> Result<LoadedRules, Error> {
    let mut files = Vec::new();
    let mut own_vocabularies = Vec::new();
    for input in inputs {
        let (file, own) = rule_file(input, options)?;
        files.push(file);
        own_vocabularies.extend(own);
    }
    let vocabulary = match (&options.vocabulary, own_vocabularies.as_slice()) {
        (Some(given), _) => Some(Arc::clone(given)),
        // Numbers without names mean something in the order of their own file alone.
        (None, [own]) if files.len() == 1 => Some(Arc::clone(own)),
        _ => None,
    };
    let resolve_options = ResolveOptions {
        unknown_codes: options.unknown_codes,
        titles: options.titled_codes(),
        limits: options.limits.clone(),
    };
    let title = |name: &str| {
        let code = options.vocabulary.as_ref()?.code(name)?;
        options.titles.get(&code).cloned()
    };
    let resolved = resolve(&files, vocabulary, &resolve_options)
        .map_err(|diagnostics| diagnostics.with_titles(title))?;
    Ok(LoadedRules {
        rules: Arc::new(resolved.rules),
        warnings: resolved.warnings,
        files: inputs.iter().map(RuleInput::to_string).collect(),
    })
}

/// Loads rules; where they name codes that are not known, the error says where the known ones come
/// from.
pub fn rules_over(
    inputs: &[RuleInput],
    options: &RuleOptions,
    from: &CodeSource,
) -> Result<LoadedRules, Error> {
    rules(inputs, options).map_err(|error| match error {
        Error::Rules(diagnostics) if diagnostics.iter().any(|one| one.lacks_code) => {
            Error::UnknownCodes { diagnostics, from: from.clone(), vocabulary_possible: true }
        }
        other => other,
    })
}

/// The rules, after those that a cohort brings along.
///
/// ```
/// use consequence_pipeline::load::with_own;
///
/// let folder = tempfile::tempdir()?;
/// let own = folder.path().join("metadata/own.rules");
/// std::fs::create_dir(folder.path().join("metadata"))?;
/// std::fs::write(&own, "rule own-one-SEX: at most one of SEX//F, SEX//M")?;
/// let (given, cohort) = (["clinic.rules".into()], folder.path().into());
/// assert_eq!(with_own(&given, Some(&cohort), false), [own.into(), "clinic.rules".into()]);
/// assert_eq!(with_own(&given, Some(&cohort), true), given);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn with_own(
    rules: &[RuleInput],
    cohort: Option<&CohortInput>,
    leave_out: bool,
) -> Vec<RuleInput> {
    let own = cohort.filter(|_| !leave_out).and_then(CohortInput::own_rules);
    own.into_iter().chain(rules.iter().cloned()).collect()
}

/// Reads one file of rules; for tuples, also the vocabulary that the file brings.
pub fn rule_file(
    input: &RuleInput,
    options: &RuleOptions,
) -> Result<(RuleFile, Option<Arc<Vocabulary>>), Error> {
    let name = input.to_string();
    let path = Path::new(&name);
    let limits = &options.limits;
    let bytes = match input {
        RuleInput::Path(path) => Cow::Owned(read_bounded(path, limits.file_bytes)?),
        RuleInput::Text { text, .. } => {
            refuse_long(path, text.len() as u64, limits.file_bytes)?;
            Cow::Borrowed(text.as_bytes())
        }
    };
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if !is_json {
        return Ok((parse(&name, &bytes, limits)?, None));
    }
    match shape(&bytes) {
        Shape::Statements => Ok((RuleFile::from_json(&name, &bytes, limits)?, None)),
        Shape::NamedTuples => {
            let file = TupleFile::read(&name, &bytes, None, limits)?;
            Ok((file.rules, Some(file.vocabulary)))
        }
        Shape::NumberedTuples(_) if !TupleFile::numbers_codes(&name, &bytes, limits)? => {
            Ok((TupleFile::read(&name, &bytes, None, limits)?.rules, None))
        }
        Shape::NumberedTuples(counts) => {
            let numbering = match &options.vocabulary {
                Some(given) => Some(
                    numbering(given, options.numbered, counts)
                        .map_err(|(what, advice)| Error::refused_at(path, what, advice))?,
                ),
                None => None,
            };
            let file = TupleFile::read(&name, &bytes, numbering, limits)?;
            Ok((file.rules, Some(file.vocabulary)))
        }
    }
}

/// The codes in the order that tuples number them: those of encounters, then static ones.
fn numbering(
    given: &Vocabulary,
    numbered: bool,
    counts: [Option<u64>; 2],
) -> Result<Arc<Vocabulary>, (String, &'static str)> {
    if !numbered {
        return Err((
            "the tuples number their codes and do not name them".into(),
            "give {vocabulary} a file that lists the codes in the order of the numbers, add their \
             `names` to the tuples, or write names in place of the numbers",
        ));
    }
    let of_kind = |kind: Kind| -> Vec<(&str, Kind)> {
        let codes = given.codes().filter(|&code| code != given.end() && given.kind(code) == kind);
        codes.map(|code| (given.name(code), kind)).collect()
    };
    let lists = [of_kind(Kind::Encounter), of_kind(Kind::Static)];
    for (list, (count, thing)) in
        lists.iter().zip(counts.into_iter().zip(["encounter codes", "static codes"]))
    {
        if let Some(count) = count.filter(|&count| count != list.len() as u64) {
            return Err((
                format!("the tuples number {count} {thing}; the vocabulary has {}", list.len()),
                "give {vocabulary} the file that these tuples were made with",
            ));
        }
    }
    Vocabulary::new(lists.concat())
        .map(Arc::new)
        .map_err(|error| (error.to_string(), "correct the vocabulary"))
}

/// What a JSON file of rules holds.
enum Shape {
    Statements,
    NamedTuples,
    /// Tuples without a list of names: they number their codes, or name them in place. With how many
    /// encounter codes and static codes the file says that it numbers.
    NumberedTuples([Option<u64>; 2]),
}

/// Looks at the outermost level only; what is no rule file at all is left to the reader of
/// statements, whose errors point at the text.
fn shape(bytes: &[u8]) -> Shape {
    #[derive(Deserialize)]
    struct Keys {
        rules: Option<IgnoredAny>,
        names: Option<IgnoredAny>,
        codes: Option<Value>,
        labels: Option<Value>,
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Shape::NumberedTuples([None; 2]);
    }
    match serde_json::from_slice::<Keys>(bytes) {
        Ok(Keys { rules: Some(_), names: Some(_), .. }) => Shape::NamedTuples,
        Ok(Keys { rules: Some(_), names: None, codes, labels }) => Shape::NumberedTuples(
            [codes, labels].map(|count| count.and_then(|count| count.as_u64())),
        ),
        _ => Shape::Statements,
    }
}

/// Reads a file, unless it is longer than the limit.
fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Error> {
    let fail = |what: String, advice| Error::refused_at(path, what, advice);
    let unreadable = |error: io::Error| {
        let help = match error.kind() {
            io::ErrorKind::NotFound => {
                "check the name; the path is relative to the current directory"
            }
            _ => "check that this is a file you may read",
        };
        fail(format!("cannot read the rule file: {error}"), help)
    };
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    refuse_long(path, size, limit)?;
    let mut bytes = Vec::new();
    // The size of a pipe is not known before it is read.
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    refuse_long(path, bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// The text of a rule file.
pub(crate) fn rule_text(path: &Path) -> Result<String, Error> {
    let bytes = read_bounded(path, LanguageLimits::default().file_bytes)?;
    String::from_utf8(bytes)
        .map_err(|_| Error::refused_at(path, "the rule file is not UTF-8", "save it as UTF-8"))
}

fn refuse_long(path: &Path, size: u64, limit: usize) -> Result<(), Error> {
    if size <= limit as u64 {
        return Ok(());
    }
    let what = format!("the rule file has {size} bytes or more; {limit} is the most");
    Err(Error::refused_at(path, what, "split the rules into several files"))
}

/// A cohort with all that is known of it; without details where they were not asked for.
#[derive(Clone, Debug)]
pub struct LoadedCohort {
    dataset: Arc<Dataset>,
    /// Whether record N is line N of the file.
    pub records_are_lines: bool,
}

impl LoadedCohort {
    /// The records and what is known of them, copied if somebody else holds them too.
    pub fn into_dataset(self) -> Dataset {
        Arc::unwrap_or_clone(self.dataset)
    }
}

impl Deref for LoadedCohort {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.dataset
    }
}

impl From<Dataset> for LoadedCohort {
    fn from(dataset: Dataset) -> Self {
        Self { dataset: Arc::new(dataset), records_are_lines: false }
    }
}

/// Loads a cohort, over the given vocabulary or over its own codes. One that is held in memory over the same
/// codes is not copied.
///
/// ```
/// use consequence_pipeline::{Unwatched, load};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("cohort.jsonl");
/// std::fs::write(&path, r#"{"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250"]]}"#)?;
/// assert_eq!(load::cohort(&path.into(), None, &Unwatched)?.cohort.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cohort(
    input: &CohortInput,
    vocabulary: Option<Arc<Vocabulary>>,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    read_cohort(input, vocabulary, false, watch)
}

/// The same with dates, stays, births and values.
pub fn detailed_cohort(
    input: &CohortInput,
    vocabulary: Option<Arc<Vocabulary>>,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    read_cohort(input, vocabulary, true, watch)
}

fn read_cohort(
    input: &CohortInput,
    vocabulary: Option<Arc<Vocabulary>>,
    details: bool,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    let limits = Limits::default();
    let path = match input {
        CohortInput::Held(held) => {
            return Ok(match vocabulary {
                Some(given) if given != held.dataset.vocabulary => {
                    held.dataset.over(given, &held.name)?.into()
                }
                _ => LoadedCohort { dataset: Arc::clone(&held.dataset), records_are_lines: false },
            });
        }
        CohortInput::Path(path) => path,
    };
    watched(watch, "reading the cohort", None, || match Format::of(path)? {
        Format::Meds => Ok(meds::read(path, &MedsOptions { vocabulary, details, limits })?.into()),
        Format::Lines => {
            let loaded = jsonl::read(path, &ReadOptions { vocabulary, details, limits })?;
            let records_are_lines = loaded.summary.blank_lines == 0;
            let details = loaded.details;
            let dataset = Dataset { details, ..Dataset::new(loaded.cohort, loaded.vocabulary) };
            Ok(LoadedCohort { dataset: Arc::new(dataset), records_are_lines })
        }
    })
}

/// Loads a vocabulary file: `{"static": [...], "encounter": [...]}`.
pub fn vocabulary_file(path: &Path) -> Result<Arc<Vocabulary>, Error> {
    Ok(Arc::new(vocabulary::read(path, &Limits::default())?))
}
