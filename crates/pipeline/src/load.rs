//! Rules, cohorts and vocabularies from files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_feedback::{Watch, watched};
use consequence_record::{Code, Cohort, CohortDetails, Concept, Kind, Scale, Split, Vocabulary};
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

use crate::Error;
use crate::inputs::CodeSource;

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
/// let loaded = rules(&[path], &RuleOptions::default())?;
/// assert_eq!(loaded.rules.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rules(paths: &[PathBuf], options: &RuleOptions) -> Result<LoadedRules, Error> {
    let mut files = Vec::new();
    let mut own_vocabularies = Vec::new();
    for path in paths {
        let (file, own) = rule_file(path, options)?;
        files.push(file);
        own_vocabularies.extend(own);
    }
    let vocabulary = match (&options.vocabulary, own_vocabularies.as_slice()) {
        (Some(given), _) => Some(Arc::clone(given)),
        // Numbers without names mean something in the order of their own file alone.
        (None, [own]) if files.len() == 1 => Some(Arc::clone(own)),
        _ => None,
    };
    let resolve_options =
        ResolveOptions { unknown_codes: options.unknown_codes, limits: options.limits.clone() };
    let title = |name: &str| {
        let code = options.vocabulary.as_ref()?.code(name)?;
        options.titles.get(&code).cloned()
    };
    let resolved = resolve(&files, vocabulary, &resolve_options)
        .map_err(|diagnostics| diagnostics.with_titles(title))?;
    Ok(LoadedRules {
        rules: Arc::new(resolved.rules),
        warnings: resolved.warnings,
        files: paths.iter().map(|path| path.display().to_string()).collect(),
    })
}

/// Loads rules; where they name codes that are not known, the error says where the known ones come
/// from.
pub fn rules_over(
    paths: &[PathBuf],
    options: &RuleOptions,
    from: &CodeSource,
) -> Result<LoadedRules, Error> {
    rules(paths, options).map_err(|error| match error {
        Error::Rules(diagnostics) if diagnostics.iter().any(|one| one.lacks_code) => {
            Error::UnknownCodes { diagnostics, from: from.clone(), vocabulary_possible: true }
        }
        other => other,
    })
}

/// The rule files, after those that a cohort brings along.
///
/// ```
/// use consequence_pipeline::load::with_own;
///
/// let folder = tempfile::tempdir()?;
/// let own = folder.path().join("metadata/own.rules");
/// std::fs::create_dir(folder.path().join("metadata"))?;
/// std::fs::write(&own, "rule own-one-SEX: at most one of SEX//F, SEX//M")?;
/// let given = ["clinic.rules".into()];
/// assert_eq!(with_own(&given, Some(folder.path()), false), [own, "clinic.rules".into()]);
/// assert_eq!(with_own(&given, Some(folder.path()), true), given);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn with_own(rules: &[PathBuf], cohort: Option<&Path>, leave_out: bool) -> Vec<PathBuf> {
    let own = cohort.filter(|_| !leave_out).and_then(meds::own_rules);
    own.into_iter().chain(rules.iter().cloned()).collect()
}

/// Reads one file of rules; for tuples, also the vocabulary that the file brings.
pub fn rule_file(
    path: &Path,
    options: &RuleOptions,
) -> Result<(RuleFile, Option<Arc<Vocabulary>>), Error> {
    let name = path.display().to_string();
    let limits = &options.limits;
    let bytes = read_bounded(path, limits.file_bytes)?;
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
    let too_long = |size: u64| {
        let what = format!("the rule file has {size} bytes or more; {limit} is the most");
        fail(what, "split the rules into several files")
    };
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    if size > limit as u64 {
        return Err(too_long(size));
    }
    let mut bytes = Vec::new();
    // The size of a pipe is not known before it is read.
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > limit {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// A cohort and the codes it is numbered by.
#[derive(Debug)]
pub struct LoadedCohort {
    /// The records.
    pub cohort: Cohort,
    /// The codes.
    pub vocabulary: Arc<Vocabulary>,
    /// The split of each record, in order.
    pub splits: Vec<Split>,
    /// What codes mean, for those of which it is known.
    pub titles: BTreeMap<Code, String>,
    /// The OMOP concepts that codes stand for, for those of which it is known.
    pub concepts: BTreeMap<Code, Concept>,
    /// What the values of codes are, for those that have any.
    pub scales: BTreeMap<Code, Scale>,
    /// Dates, stays, births and values; none where they are not known, or were not asked for.
    pub details: Option<CohortDetails>,
    /// Whether record N is line N of the file.
    pub records_are_lines: bool,
}

impl LoadedCohort {
    fn of(dataset: Dataset, records_are_lines: bool) -> Self {
        let Dataset { cohort, vocabulary, splits, titles, concepts, scales, details } = dataset;
        Self { cohort, vocabulary, splits, titles, concepts, scales, details, records_are_lines }
    }
}

/// Loads a cohort of JSON lines or a MEDS dataset, over the given vocabulary or over its own codes.
///
/// ```
/// use consequence_pipeline::{Unwatched, load};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("cohort.jsonl");
/// std::fs::write(&path, r#"{"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250"]]}"#)?;
/// assert_eq!(load::cohort(&path, None, &Unwatched)?.cohort.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cohort(
    path: &Path,
    vocabulary: Option<Arc<Vocabulary>>,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    read_cohort(path, vocabulary, false, watch)
}

/// The same with dates, stays, births and values.
pub fn detailed_cohort(
    path: &Path,
    vocabulary: Option<Arc<Vocabulary>>,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    read_cohort(path, vocabulary, true, watch)
}

fn read_cohort(
    path: &Path,
    vocabulary: Option<Arc<Vocabulary>>,
    details: bool,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    let limits = Limits::default();
    watched(watch, "reading the cohort", None, || match Format::of(path)? {
        Format::Meds => {
            let dataset = meds::read(path, &MedsOptions { vocabulary, details, limits })?;
            Ok(LoadedCohort::of(dataset, false))
        }
        Format::Lines => {
            let loaded = jsonl::read(path, &ReadOptions { vocabulary, details, limits })?;
            let records_are_lines = loaded.summary.blank_lines == 0;
            let details = loaded.details;
            let dataset = Dataset { details, ..Dataset::new(loaded.cohort, loaded.vocabulary) };
            Ok(LoadedCohort::of(dataset, records_are_lines))
        }
    })
}

/// Loads a vocabulary file: `{"static": [...], "encounter": [...]}`.
pub fn vocabulary_file(path: &Path) -> Result<Arc<Vocabulary>, Error> {
    Ok(Arc::new(vocabulary::read(path, &Limits::default())?))
}
