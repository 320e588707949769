//! Rules, cohorts and vocabularies from files, or from what the caller holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use consequence_feedback::{Advice, Watch, watched};
use consequence_record::{Code, Kind, Selection, Vocabulary};
use consequence_rules::language::{Knows, TitledCodes};
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
    /// What the cohort knows of days, ages and values, if there is one.
    pub knows: Option<Knows>,
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
    resolved(inputs, &files, &own_vocabularies, options)
}

fn resolved(
    inputs: &[RuleInput],
    files: &[RuleFile],
    own_vocabularies: &[Arc<Vocabulary>],
    options: &RuleOptions,
) -> Result<LoadedRules, Error> {
    let vocabulary = match (&options.vocabulary, own_vocabularies) {
        (Some(given), _) => Some(Arc::clone(given)),
        // Numbers without names mean something in the order of their own file alone.
        (None, [own]) if files.len() == 1 => Some(Arc::clone(own)),
        _ => None,
    };
    let resolve_options = ResolveOptions {
        unknown_codes: options.unknown_codes,
        titles: options.titled_codes(),
        knows: options.knows.clone(),
        limits: options.limits.clone(),
    };
    let title = |name: &str| {
        let code = options.vocabulary.as_ref()?.code(name)?;
        options.titles.get(&code).cloned()
    };
    let resolved = resolve(files, vocabulary, &resolve_options)
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
    rules(inputs, options).map_err(|error| with_source(error, from))
}

fn with_source(error: Error, from: &CodeSource) -> Error {
    match error {
        Error::Rules(diagnostics) if diagnostics.iter().any(|one| one.lacks_code) => {
            Error::UnknownCodes { diagnostics, from: from.clone(), vocabulary_possible: true }
        }
        other => other,
    }
}

/// Names that were loaded as groups of records.
#[derive(Clone, Debug)]
pub struct LoadedGroups {
    /// A rule for each name: a record with a visit at which it is true is of the group.
    pub rules: LoadedRules,
    /// The names that no other name of their file is made of.
    pub outer: Vec<String>,
}

impl LoadedGroups {
    /// The groups with these names, in the order of the files; without names, the outer ones.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<usize>, Error> {
        let all = || self.rules.rules.iter().map(|rule| &*rule.name);
        if let Some(unknown) = names.iter().find(|name| all().all(|one| one != name.as_str())) {
            let what = format!("no group is called `{unknown}`");
            let known: Vec<&str> = all().take(8).collect();
            let advice = match known.is_empty() {
                true => "give files that define names in {groups}".to_owned(),
                false => format!("there is {}", known.join(", ")),
            };
            return Err(Error::Refused { what, path: None, advice: Advice::new(advice) });
        }
        let wanted = if names.is_empty() { &self.outer } else { names };
        let is_wanted = |&(_, name): &(usize, &str)| wanted.iter().any(|one| one == name);
        Ok(all().enumerate().filter(is_wanted).map(|(group, _)| group).collect())
    }
}

/// Loads the names of files as groups of records; the rules of these files are left out.
///
/// ```
/// use consequence_pipeline::{CodeSource, load};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("groups.rules");
/// std::fs::write(&path, "let insulin = RX//glargine, RX//lispro  let treated = insulin in past")?;
/// let groups = load::groups(&[path.into()], &load::RuleOptions::default(), &CodeSource::Rules)?;
/// assert_eq!(groups.rules.rules.len(), 2);
/// assert_eq!(groups.outer, ["treated"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn groups(
    inputs: &[RuleInput],
    options: &RuleOptions,
    from: &CodeSource,
) -> Result<LoadedGroups, Error> {
    let (mut files, mut outer) = (Vec::new(), Vec::new());
    for input in inputs {
        let (file, _) = rule_file(input, options)?;
        let names = file.outer_names();
        if names.is_empty() {
            let advice = "name groups by `let`, such as `let diabetes = ICD9CM//250`";
            let path = input.to_string();
            return Err(Error::refused_at(path.as_str(), "the file defines no name", advice));
        }
        outer.extend(names.into_iter().map(str::to_owned));
        files.push(file.groups());
    }
    let rules = resolved(inputs, &files, &[], options).map_err(|error| with_source(error, from))?;
    Ok(LoadedGroups { rules, outer })
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
    /// Whether dates, births and values were asked for.
    detailed: bool,
    /// Whether record N is line N of the file.
    pub records_are_lines: bool,
}

impl LoadedCohort {
    /// What rules can ask of its days, ages and values. What was not read is not known to be missing.
    pub fn knows(&self) -> Knows {
        let Dataset { vocabulary, scales, details, .. } = &*self.dataset;
        let scales = scales.clone();
        match (details, self.detailed) {
            (Some(details), _) => Knows::new(vocabulary, scales, Some(details)),
            (None, true) => Knows { scales, ..Knows::without_details(vocabulary) },
            (None, false) => Knows::new(vocabulary, scales, None),
        }
    }

    /// Whether dates, births and values were asked for.
    pub fn is_detailed(&self) -> bool {
        self.detailed
    }

    /// All records, with what is known of them beside their codes.
    pub fn records(&self) -> Selection<'_> {
        Selection::all(&self.cohort).detailed(self.details.as_ref())
    }

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
        Self { dataset: Arc::new(dataset), detailed: true, records_are_lines: false }
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
    let asked = if is_read_once(input) { Asked::All } else { Asked::Codes };
    read_cohort(input, vocabulary, asked, watch)
}

/// Whether a cohort comes through a pipe: it cannot be read again for dates, should rules ask for them.
fn is_read_once(input: &CohortInput) -> bool {
    let CohortInput::Path(path) = input else { return false };
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The same with dates, stays, births and values.
pub fn detailed_cohort(
    input: &CohortInput,
    vocabulary: Option<Arc<Vocabulary>>,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    read_cohort(input, vocabulary, Asked::All, watch)
}

/// The same with births and dates, and of the rest what comes with them.
pub fn dated_cohort(input: &CohortInput, watch: &dyn Watch) -> Result<LoadedCohort, Error> {
    read_cohort(input, None, Asked::Dates, watch)
}

/// What is asked of a cohort.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Codes,
    Dates,
    All,
}

fn read_cohort(
    input: &CohortInput,
    vocabulary: Option<Arc<Vocabulary>>,
    asked: Asked,
    watch: &dyn Watch,
) -> Result<LoadedCohort, Error> {
    let limits = Limits::default();
    let (details, values) = (asked != Asked::Codes, asked == Asked::All);
    let path = match input {
        CohortInput::Held(held) => {
            return Ok(match vocabulary {
                Some(given) if given != held.dataset.vocabulary => {
                    held.dataset.over(given, &held.name)?.into()
                }
                _ => LoadedCohort {
                    dataset: Arc::clone(&held.dataset),
                    detailed: true,
                    records_are_lines: false,
                },
            });
        }
        CohortInput::Path(path) => path,
    };
    watched(watch, "reading the cohort", None, || match Format::of(path)? {
        Format::Meds => {
            let dataset = meds::read(path, &MedsOptions { vocabulary, details, values, limits })?;
            Ok(LoadedCohort { detailed: values, ..dataset.into() })
        }
        Format::Lines => {
            let loaded = jsonl::read(path, &ReadOptions { vocabulary, details, limits })?;
            let records_are_lines = loaded.summary.blank_lines == 0;
            let dataset = Dataset {
                details: loaded.details,
                ..Dataset::new(loaded.cohort, loaded.vocabulary)
            };
            Ok(LoadedCohort { dataset: Arc::new(dataset), detailed: details, records_are_lines })
        }
    })
}

/// Loads a vocabulary file: `{"static": [...], "encounter": [...]}`.
pub fn vocabulary_file(path: &Path) -> Result<Arc<Vocabulary>, Error> {
    Ok(Arc::new(vocabulary::read(path, &Limits::default())?))
}
