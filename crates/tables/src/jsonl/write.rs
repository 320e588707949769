//! Writing a cohort.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use consequence_feedback::{Advice, Advise};
use consequence_record::calendar::{DAY, Date, Moment, civil};
use consequence_record::{Code, Cohort, CohortDetails, DetailsView, EventDetail, Kind, Vocabulary};
use consequence_store::{AtomicFile, StoreError, remove_file};
use rustc_hash::FxHashSet;
use thiserror::Error;

use super::codes_path;
use super::line::{BIRTH, ENDS, TIMES, VALUES};
use crate::{Dataset, details, vocabulary};

/// Why a cohort could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record that could not be read back: it has no encounter, or a code that its vocabulary
    /// does not have or has in the other kind of visit.
    #[error("record number {number} of the cohort {reason}")]
    Record {
        /// The record's number in the cohort, counted from 1.
        number: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Advise for WriteError {
    fn advice(&self) -> Option<Advice> {
        match self {
            Self::Store(error) => error.advice(),
            Self::Record { .. } => None,
        }
    }
}

/// Writes a cohort as JSON lines: whole and under its name, or not at all. The vocabulary is listed
/// beside it (see [`codes_path`](super::codes_path)).
///
/// Reading the file with the same vocabulary gives the same cohort; one that could not be read back
/// is refused.
pub fn write(
    path: impl AsRef<Path>,
    cohort: &Cohort,
    vocabulary: &Vocabulary,
) -> Result<(), WriteError> {
    filled(Writer::create(path, vocabulary)?, cohort, None)
}

/// The same, but a file that is there is not replaced, whether it was there before or came
/// meanwhile.
pub fn write_new(
    path: impl AsRef<Path>,
    cohort: &Cohort,
    vocabulary: &Vocabulary,
) -> Result<(), WriteError> {
    filled(Writer::create_new(path, vocabulary)?, cohort, None)
}

/// Writes a cohort with its dates, stays, births and values; a file that is there is replaced only if
/// that is asked for. Titles, units and cut points have no place in JSON lines, nor have times of single
/// codes, ages that the source gave at encounters, and values of static codes.
pub fn write_dataset(
    path: impl AsRef<Path>,
    dataset: &Dataset,
    replace: bool,
) -> Result<(), WriteError> {
    let Dataset { cohort, vocabulary, details, .. } = dataset;
    let writer = match replace {
        true => Writer::create(path, vocabulary)?,
        false => Writer::create_new(path, vocabulary)?,
    };
    filled(writer, cohort, details.as_ref())
}

fn filled(
    mut writer: Writer,
    cohort: &Cohort,
    details: Option<&CohortDetails>,
) -> Result<(), WriteError> {
    for (index, record) in cohort.records().enumerate() {
        let details = details.filter(|details| index < details.len());
        let details = details.map_or_else(DetailsView::default, |details| details.of(index));
        writer.push_detailed(cohort.id(index), record.ended(), details, record.visits())?;
    }
    writer.finish()
}

/// Writes JSON lines record by record, in as much memory as the ids take.
///
/// ```
/// use consequence_record::{Code, Kind, Vocabulary};
/// use consequence_tables::jsonl::Writer;
///
/// let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("cohort.jsonl");
/// let mut writer = Writer::create(&path, &vocabulary)?;
/// writer.push("p1", true, [&[][..], &[Code(0)], &[]])?;
/// writer.finish()?;
/// let line = std::fs::read_to_string(&path)?;
/// assert_eq!(line, "{\"id\":\"p1\",\"static\":[],\"visits\":[[\"ICD9CM//250\"],[]]}\n");
/// let codes = std::fs::read_to_string(folder.path().join("cohort.codes.json"))?;
/// assert_eq!(codes, "{\"static\": [],\n\"encounter\": [\"ICD9CM//250\"]}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: AtomicFile,
    /// The list of codes beside it.
    codes: AtomicFile,
    /// Whether nothing is to be replaced.
    new: bool,
    kinds: Vec<Kind>,
    /// Every name as JSON writes it, so that each is quoted once and not once per use.
    names: Vec<String>,
    ids: FxHashSet<Box<str>>,
    /// Whether the encounters have times; known from the first record on.
    dated: Option<bool>,
    line: Vec<u8>,
}

impl Writer {
    /// Begins a file, which appears at `path` with [`finish`](Self::finish); one that is there is
    /// replaced then.
    pub fn create(path: impl AsRef<Path>, vocabulary: &Vocabulary) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let codes = AtomicFile::create(codes_path(path))?;
        Self::begin(path, [AtomicFile::create(path)?, codes], vocabulary, false)
    }

    /// Begins a file where none is; one that comes to be there meanwhile is not replaced.
    pub fn create_new(path: impl AsRef<Path>, vocabulary: &Vocabulary) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let codes = AtomicFile::create_new(codes_path(path))?;
        Self::begin(path, [AtomicFile::create_new(path)?, codes], vocabulary, true)
    }

    fn begin(
        path: &Path,
        [file, mut codes]: [AtomicFile; 2],
        vocabulary: &Vocabulary,
        new: bool,
    ) -> Result<Self, WriteError> {
        vocabulary::write_to(&mut codes, vocabulary)
            .map_err(|error| StoreError::new(&codes_path(path), error))?;
        let quoted = vocabulary.codes().map(|code| serde_json::to_string(vocabulary.name(code)));
        let names = quoted.collect::<Result<_, _>>();
        Ok(Self {
            path: path.to_path_buf(),
            file,
            codes,
            new,
            names: names.map_err(|error| StoreError::new(path, error.into()))?,
            kinds: kinds(vocabulary),
            ids: FxHashSet::default(),
            dated: None,
            line: Vec::new(),
        })
    }

    /// Appends a record: its static visit, then its encounters, of which there is at least one.
    /// After an error the writer cannot be used any more.
    pub fn push<'a, V>(&mut self, id: &str, ended: bool, visits: V) -> Result<(), WriteError>
    where
        V: IntoIterator<Item = &'a [Code]>,
    {
        self.push_detailed(id, ended, DetailsView::default(), visits)
    }

    /// The same with what is known of the record beside its codes, as far as [`write_dataset`] has a
    /// place for it. All records have times, or none has.
    pub fn push_detailed<'a, V>(
        &mut self,
        id: &str,
        ended: bool,
        details: DetailsView<'_>,
        visits: V,
    ) -> Result<(), WriteError>
    where
        V: IntoIterator<Item = &'a [Code]>,
    {
        let number = self.ids.len() + 1;
        let fail = |reason| WriteError::Record { number, reason };
        if !self.ids.insert(id.into()) {
            return Err(fail(REPEATED_ID));
        }
        self.begin_line(id).map_err(|error| StoreError::new(&self.path, error))?;
        let (mut count, mut told) = (0, 0);
        for (visit, codes) in visits.into_iter().enumerate() {
            check_visit(visit, codes, &self.kinds).map_err(fail)?;
            self.write_visit(visit, codes);
            if !details.events.is_empty() {
                told += codes.iter().filter(|&&code| details.event(visit, code).is_some()).count();
            }
            count += 1;
        }
        if count < 2 {
            return Err(fail(NO_ENCOUNTER));
        }
        self.line.extend_from_slice(if ended { b"]" } else { b"],\"ended\":false" });
        details::check(details, count - 1).map_err(fail)?;
        if told != details.events.len() {
            return Err(fail(details::STRAY));
        }
        let dated = !details.times.is_empty();
        if *self.dated.get_or_insert(dated) != dated {
            return Err(fail("has times where others have none, or the reverse"));
        }
        self.write_details(details, count - 1).map_err(fail)?;
        self.line.extend_from_slice(b"}\n");
        Ok(self.file.write_all(&self.line).map_err(|error| StoreError::new(&self.path, error))?)
    }

    fn begin_line(&mut self, id: &str) -> io::Result<()> {
        self.line.clear();
        self.line.extend_from_slice(b"{\"id\":");
        Ok(serde_json::to_writer(&mut self.line, id)?)
    }

    fn write_visit(&mut self, visit: usize, codes: &[Code]) {
        self.line.extend_from_slice(match visit {
            0 => b",\"static\":",
            1 => b",\"visits\":[",
            _ => b",",
        });
        self.line.push(b'[');
        for (index, code) in codes.iter().enumerate() {
            if index > 0 {
                self.line.push(b',');
            }
            self.line.extend_from_slice(self.names[code.index()].as_bytes());
        }
        self.line.push(b']');
    }

    /// Writes the fields that are there only where something is known.
    fn write_details(
        &mut self,
        details: DetailsView<'_>,
        encounters: usize,
    ) -> Result<(), &'static str> {
        let DetailsView { birth, times, ends, events, .. } = details;
        if let Some(birth) = birth {
            self.begin_field(BIRTH);
            self.write_time(birth)?;
        }
        if !times.is_empty() {
            self.begin_field(TIMES);
            self.write_list(times, |writer, &time| writer.write_time(time))?;
        }
        if ends.iter().any(Option::is_some) {
            self.begin_field(ENDS);
            self.write_list(ends, |writer, end| match end {
                Some(end) => writer.write_time(*end),
                None => {
                    writer.line.extend_from_slice(b"null");
                    Ok(())
                }
            })?;
        }
        let valued = |event: &&EventDetail| event.visit > 0 && event.value.is_some();
        if events.iter().any(|event| valued(&event)) {
            self.begin_field(VALUES);
            let visits: Vec<usize> = (1..=encounters).collect();
            self.write_list(&visits, |writer, &visit| {
                writer.line.push(b'{');
                let mut first = true;
                for event in details.events_of(visit).iter().filter(valued) {
                    if !std::mem::take(&mut first) {
                        writer.line.push(b',');
                    }
                    writer.line.extend_from_slice(writer.names[event.code.index()].as_bytes());
                    writer.line.push(b':');
                    serde_json::to_writer(&mut writer.line, &event.value)
                        .map_err(|_| "has a value that cannot be written")?;
                }
                writer.line.push(b'}');
                Ok(())
            })?;
        }
        Ok(())
    }

    fn begin_field(&mut self, name: &str) {
        self.line.extend_from_slice(b",\"");
        self.line.extend_from_slice(name.as_bytes());
        self.line.extend_from_slice(b"\":");
    }

    fn write_list<T>(
        &mut self,
        entries: &[T],
        mut write: impl FnMut(&mut Self, &T) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        for (index, entry) in entries.iter().enumerate() {
            self.line.push(if index == 0 { b'[' } else { b',' });
            write(self, entry)?;
        }
        self.line.push(b']');
        Ok(())
    }

    /// Writes a time as it is read: the day, and the time of day if there is one.
    fn write_time(&mut self, time: i64) -> Result<(), &'static str> {
        if !(1..=9999).contains(&civil(time.div_euclid(DAY)).0) {
            return Err("has a time before the year 1 or after 9999");
        }
        let text = match time.rem_euclid(DAY) {
            0 => format!("\"{}\"", Date(time)),
            _ => format!("\"{}\"", Moment(time)),
        };
        self.line.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// Puts the file in place, and the list of its codes before it: lines are never beside the list
    /// of a file that they replaced. Where the lines are refused because others came meanwhile, the
    /// list goes again.
    pub fn finish(self) -> Result<(), WriteError> {
        self.codes.commit()?;
        let committed = self.file.commit();
        if self.new && committed.is_err() {
            remove_file(&codes_path(&self.path))?;
        }
        Ok(committed?)
    }
}

const REPEATED_ID: &str = "has the id of an earlier one";
const NO_ENCOUNTER: &str = "has no encounter";

/// The kind of each code, `END` last.
fn kinds(vocabulary: &Vocabulary) -> Vec<Kind> {
    vocabulary.codes().map(|code| vocabulary.kind(code)).collect()
}

/// Refuses a visit that could not be read back.
fn check_visit(visit: usize, codes: &[Code], kinds: &[Kind]) -> Result<(), &'static str> {
    for code in codes {
        let Some(&kind) = kinds.get(code.index()) else {
            return Err("has a code that is not of the vocabulary");
        };
        if code.index() + 1 == kinds.len() {
            return Err("stores `END`, which is derived");
        }
        if kind != Kind::of_visit(visit) {
            return Err("has a static code in an encounter, or the reverse");
        }
    }
    Ok(())
}

/// Refuses a cohort that could not be read back.
pub(crate) fn check(cohort: &Cohort, vocabulary: &Vocabulary) -> Result<(), WriteError> {
    let kinds = kinds(vocabulary);
    let mut ids = FxHashSet::default();
    for (index, record) in cohort.records().enumerate() {
        let fail = |reason| WriteError::Record { number: index + 1, reason };
        if !ids.insert(cohort.id(index)) {
            return Err(fail(REPEATED_ID));
        }
        if record.len() < 2 {
            return Err(fail(NO_ENCOUNTER));
        }
        for (visit, codes) in record.visits().enumerate() {
            check_visit(visit, codes, &kinds).map_err(fail)?;
        }
    }
    Ok(())
}
