//! The codes of a cohort, searched by name or title.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_pipeline::words::{count, number};
use consequence_pipeline::{CohortInput, Error, Report, Task, Watch};
use consequence_record::{Code, Split};
use consequence_rules::language::matches;
use serde::Serialize;

use crate::describe::{CodeFigures, described};
use crate::look::{Grid, Source, share, shortened};

/// What codes to look for, and where.
///
/// ```
/// use consequence::codes::CodesTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let cohort = folder.path().join("a.jsonl");
/// std::fs::write(&cohort, r#"{"id": 1, "static": ["SEX//F"], "visits": [["ICD9CM//25001", "RX//insulin"]]}"#)?;
/// let found = |words: &[&str]| {
///     let words = words.iter().map(|word| word.to_string()).collect();
///     let report = CodesTask { words, ..CodesTask::new(&cohort) }.run(&Unwatched).unwrap();
///     report.found.into_iter().map(|one| one.code).collect::<Vec<_>>()
/// };
/// assert_eq!(found(&["INSULIN"]), ["RX//insulin"]);
/// assert_eq!(found(&["250.01"]), ["ICD9CM//25001"]);
/// assert_eq!(found(&["icd9cm//25*"]), ["ICD9CM//25001"]);
/// assert_eq!(found(&["female"]), ["SEX//F"]);
/// assert!(found(&["insulin", "female"]).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CodesTask {
    /// The cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: CohortInput,
    /// What the name or the title has, all of it and in any letter case. `*` and `?` stand for parts of
    /// a name. Nothing: all codes.
    pub words: Vec<String>,
    /// Lists of codes with titles, for codes that the cohort gives none.
    pub titles: Vec<PathBuf>,
    /// Only records of this split are counted; none: all records.
    pub split: Option<Split>,
    /// Codes written; the rest are counted.
    pub top: usize,
    /// Codes of fewer patients than this are not told.
    pub hide_below: u64,
}

impl CodesTask {
    /// All codes of all records.
    pub fn new(cohort: impl Into<CohortInput>) -> Self {
        Self {
            cohort: cohort.into(),
            words: Vec::new(),
            titles: Vec::new(),
            split: None,
            top: 50,
            hide_below: 0,
        }
    }
}

/// The codes that were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodesReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// What was looked for.
    pub words: Vec<String>,
    /// Patients that were counted.
    pub patients: u64,
    /// Encounters that were counted.
    pub encounters: u64,
    /// The codes, the commonest first.
    pub found: Vec<CodeFigures>,
    #[serde(skip)]
    top: usize,
}

impl Report for CodesReport {}

impl Task for CodesTask {
    type Report = CodesReport;

    /// Counts every code, and tells of those that have the words.
    fn run(&self, watch: &dyn Watch) -> Result<CodesReport, Error> {
        let source = Source::open(&self.cohort, &self.titles, watch)?;
        let (vocabulary, titles) = (source.vocabulary(), &source.titles);
        let described = described(&source, self.split, watch)?;
        let words: Vec<String> = self.words.iter().map(|word| word.to_lowercase()).collect();
        let wanted = |&code: &Code| {
            let name = vocabulary.name(code).to_lowercase();
            let title = titles.of(code).unwrap_or_default().to_lowercase();
            code != vocabulary.end() && words.iter().all(|word| has(word, &name, &title))
        };
        let found = vocabulary.codes().filter(wanted);
        let found = found.map(|code| CodeFigures::of(code, vocabulary, titles, &described));
        let mut found: Vec<CodeFigures> =
            found.filter(|one| one.patients >= self.hide_below).collect();
        found.sort_by(|one, other| {
            let key = |one: &CodeFigures| std::cmp::Reverse((one.patients, one.visits));
            key(one).cmp(&key(other)).then_with(|| one.code.cmp(&other.code))
        });
        Ok(CodesReport {
            cohort: self.cohort.shown(),
            words: self.words.clone(),
            patients: described.patients,
            encounters: described.encounters,
            found,
            top: self.top,
        })
    }
}

/// Whether a name or title has a word, all in lower case. A dot in a code says nothing where the name
/// has none.
fn has(word: &str, name: &str, title: &str) -> bool {
    if word.contains(['*', '?']) {
        return matches(word, name)
            || name.split_once("//").is_some_and(|(_, code)| matches(word, code));
    }
    name.contains(word)
        || title.contains(word)
        || (word.contains('.') && name.contains(&word.replace('.', "")))
}

impl Display for CodesReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let found = self.found.len() as u64;
        let words = match self.words.as_slice() {
            [] => String::new(),
            words => format!(" with {}", words.join(" and ")),
        };
        writeln!(
            out,
            "{}: {}{words}, of {} and {}",
            self.cohort,
            count(found, "code"),
            count(self.patients, "patient"),
            count(self.encounters, "encounter")
        )?;
        if found == 0 {
            return Ok(());
        }
        let mut grid = Grid::new(&["patients", "", "visits", "<code", "<title"]);
        for one in self.found.iter().take(self.top) {
            grid.row(vec![
                number(one.patients),
                share(one.patients, self.patients),
                number(one.visits),
                one.code.clone(),
                shortened(one.title.as_deref()),
            ]);
        }
        write!(out, "{grid}")?;
        match found.saturating_sub(self.top as u64) {
            0 => Ok(()),
            more => writeln!(out, "  and {}", count(more, "more code")),
        }
    }
}
