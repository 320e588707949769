//! From code names to numbers: those of a given vocabulary, or as they are met.
//!
//! Lines hold the codes that records happen to have. Which others there are, for rules that name
//! them and for the next reader, is in a vocabulary file beside the lines: `x.codes.json` for
//! `x.jsonl`. The lines come first: a code that only they have is a code all the same, and where
//! the two disagree about its kind, the lines are right. So lines that were edited, or put
//! where others were, are read as what they are, and a list that was left behind adds codes and no
//! more.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_record::{
    Code, Cohort, CohortDetails, DetailsView, Kind, Vocabulary, VocabularyError,
};
use rustc_hash::FxHashMap;

use crate::document::shown;
use crate::error::Document;
use crate::{Limits, Problem, TableError, vocabulary};

/// Where code numbers come from: a vocabulary if one is given, or the order in which codes are met.
#[derive(Default)]
pub struct Codes {
    pub(super) given: Option<Arc<Vocabulary>>,
    pub(super) met: Met,
}

/// Codes numbered as they are met.
#[derive(Default)]
pub(super) struct Met {
    numbers: FxHashMap<Arc<str>, u32>,
    uses: Vec<Use>,
}

struct Use {
    name: Arc<str>,
    kind: Kind,
    first_line: u64,
}

impl Codes {
    /// The number of a code met on a line in a visit of this kind.
    pub(super) fn number(&mut self, name: &str, kind: Kind, line: u64) -> Result<Code, Problem> {
        let Some(vocabulary) = &self.given else { return self.met.number(name, kind, line) };
        match vocabulary.code(name) {
            None => Err(Problem::UnknownCode { code: shown(name) }),
            Some(code) if vocabulary.kind(code) == kind => Ok(code),
            Some(code) => {
                Err(Problem::Misplaced { code: shown(name), kind: vocabulary.kind(code) })
            }
        }
    }

    /// The name of a code that was met.
    pub fn name(&self, code: Code) -> &str {
        match &self.given {
            Some(vocabulary) => vocabulary.name(code),
            None => &self.met.uses[code.index()].name,
        }
    }
}

impl Met {
    /// The most codes; the vocabulary adds `END` to them.
    const MOST: usize = Vocabulary::MAX_CODES - 1;

    fn number(&mut self, name: &str, kind: Kind, line: u64) -> Result<Code, Problem> {
        if let Some(&number) = self.numbers.get(name) {
            let Use { kind: before, first_line, .. } = self.uses[number as usize];
            if before != kind {
                return Err(Problem::TwoKinds { code: shown(name), kind, first_line });
            }
            return Ok(Code(number));
        }
        if self.uses.len() >= Self::MOST {
            return Err(Problem::TooManyCodes { limit: Self::MOST });
        }
        let number = self.uses.len() as u32;
        let name: Arc<str> = name.into();
        self.numbers.insert(Arc::clone(&name), number);
        self.uses.push(Use { name, kind, first_line: line });
        Ok(Code(number))
    }

    /// Adds codes that were not met. One that was met keeps its kind.
    pub fn add(&mut self, listed: &Vocabulary) -> Result<(), Problem> {
        for code in listed.codes().filter(|&code| code != listed.end()) {
            if !self.numbers.contains_key(listed.name(code)) {
                self.number(listed.name(code), listed.kind(code), 0)?;
            }
        }
        Ok(())
    }

    /// The vocabulary of the codes met, static ones first, each kind sorted by name; and the
    /// cohort and what is known beside it in its numbers.
    pub fn settle(
        self,
        met: &Cohort,
        details: Option<&CohortDetails>,
    ) -> Result<(Cohort, Option<CohortDetails>, Vocabulary), VocabularyError> {
        let Self { numbers, uses } = self;
        let mut listed: Vec<(Arc<str>, u32)> = numbers.into_iter().collect();
        listed.sort_unstable_by(|(left, left_number), (right, right_number)| {
            let encounter = |number: &u32| uses[*number as usize].kind == Kind::Encounter;
            (encounter(left_number), left).cmp(&(encounter(right_number), right))
        });
        let mut renumbered = vec![Code(0); uses.len()];
        for (index, (_, number)) in listed.iter().enumerate() {
            renumbered[*number as usize] = Code(index as u32);
        }
        let kinds = listed.iter().map(|(name, number)| (name, uses[*number as usize].kind));
        let vocabulary = Vocabulary::new(kinds)?;
        let details = details.map(|details| renumber_details(details, &renumbered));
        Ok((renumber(met, &renumbered), details, vocabulary))
    }
}

/// The same cohort with every code replaced.
fn renumber(cohort: &Cohort, renumbered: &[Code]) -> Cohort {
    let mut result = Cohort::default();
    let (mut codes, mut ends) = (Vec::new(), Vec::new());
    for (index, record) in cohort.records().enumerate() {
        codes.clear();
        ends.clear();
        for visit in record.visits() {
            let start = codes.len();
            codes.extend(visit.iter().map(|code| renumbered[code.index()]));
            codes[start..].sort_unstable();
            ends.push(codes.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let visits = starts.zip(&ends).map(|(start, &end)| &codes[start..end]);
        result.push_visits(cohort.id(index), visits, record.ended());
    }
    result
}

/// The same details with every code replaced.
fn renumber_details(details: &CohortDetails, renumbered: &[Code]) -> CohortDetails {
    let mut result = CohortDetails::default();
    let mut events = Vec::new();
    for record in 0..details.len() {
        let view = details.of(record);
        events.clear();
        events.extend_from_slice(view.events);
        events.iter_mut().for_each(|event| event.code = renumbered[event.code.index()]);
        events.sort_unstable_by_key(|event| (event.visit, event.code));
        result.push(DetailsView { events: &events, ..view });
    }
    result
}

/// Where the codes of a file of JSON lines are listed: `x.codes.json` for `x.jsonl` and for
/// `x.jsonl.gz`; for a file of another name, that name with `.codes.json` after it.
///
/// ```
/// use std::path::Path;
/// use consequence_tables::jsonl::codes_path;
///
/// assert_eq!(codes_path(Path::new("a/x.jsonl")), Path::new("a/x.codes.json"));
/// assert_eq!(codes_path(Path::new("x.jsonl.gz")), Path::new("x.codes.json"));
/// assert_eq!(codes_path(Path::new("x.2.txt")), Path::new("x.2.txt.codes.json"));
/// ```
pub fn codes_path(path: &Path) -> PathBuf {
    let ends_in = |path: &Path, end: &str| {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(end))
    };
    let unpacked = if ends_in(path, "gz") { path.with_extension("") } else { path.to_path_buf() };
    if ends_in(&unpacked, "jsonl") {
        return unpacked.with_extension("codes.json");
    }
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".codes.json");
    path.with_file_name(name)
}

/// The codes listed beside a file of JSON lines; none if no list is there.
pub(super) fn read_listed(path: &Path, limits: &Limits) -> Result<Option<Vocabulary>, TableError> {
    let path = codes_path(path);
    let name = path.display().to_string();
    let file = match File::open(&path) {
        Ok(file) => file,
        // Also where there is no folder for it, as beside a pipe.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => {
            return Err(TableError {
                problem: Problem::Open(error),
                file: name.into(),
                line: None,
                column: None,
                document: Document::Codes,
            });
        }
    };
    match vocabulary::read_from(file, &name, limits) {
        Ok(listed) => Ok(Some(listed)),
        Err(error) => Err(TableError { document: Document::Codes, ..error }),
    }
}
