//! The events of another tool's dataset one after the other, with all that is said of each.

use std::path::Path;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use consequence_record::Code;
use rustc_hash::FxHashSet;

use super::MedsProblem;
use super::codebook::Meaning;
use super::columns::{Strings, integers, numbers, strings};
use super::layout::{ADMISSION, CODE, SUBJECT, TIME, VISIT};
use super::read::{Met, Stream, number_column};
use super::table::Table;
use super::times::times;
use crate::{Problem, TableError};

/// What an event says in words.
const TEXT: &str = "text_value";

/// An event as it was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawEvent<'e> {
    /// The number of its subject.
    pub subject: i64,
    /// When it was; none for a static event.
    pub time: Option<i64>,
    /// The visit or admission that it is said to belong to.
    pub visit: Option<i64>,
    /// Its code; none for a birth. The static use of a code that has a timed one too is a code of its
    /// own, and a death is `DEATH`.
    pub code: Option<Code>,
    /// Its value; one that is infinite is handed on as such.
    pub number: Option<f32>,
    /// What it says in words.
    pub text: Option<&'e str>,
}

impl Stream {
    /// Hands on each event in the order of the files, and the bytes of each data file once it is done.
    /// The events of a subject are in one piece and in the order of their times, or refused. Codes that say
    /// how a record of ours is built are passed over.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use consequence_record::{Cohort, Kind, Record, Vocabulary};
    /// use consequence_tables::meds::{self, MedsOptions, Stream};
    /// use consequence_tables::{Dataset, TableError};
    ///
    /// let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter)])?;
    /// let diabetes = vocabulary.code("ICD9CM//250").unwrap();
    /// let mut cohort = Cohort::default();
    /// cohort.push("7", &Record::new(vec![vec![], vec![diabetes]]));
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("cohort");
    /// meds::write(&path, &Dataset::new(cohort, Arc::new(vocabulary)))?;
    ///
    /// // A dataset of ours is one like any other, if what it says of its codes is not looked at.
    /// let stream = Stream::open(&path.join("data/000000.parquet"), &MedsOptions::default())?;
    /// assert!(!stream.own());
    /// let mut codes = Vec::new();
    /// let take = |event: meds::RawEvent<'_>| -> Result<(), TableError> {
    ///     codes.extend(event.code.map(|code| stream.vocabulary().name(code).to_owned()));
    ///     Ok(())
    /// };
    /// stream.each_event(take, |_| ())?;
    /// assert!(codes.contains(&"ICD9CM//250".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn each_event<E: From<TableError>>(
        &self,
        mut take: impl FnMut(RawEvent<'_>) -> Result<(), E>,
        done: impl Fn(u64),
    ) -> Result<(), E> {
        let mut met = Met::default();
        for file in &self.known.files {
            met.begin(file);
            self.each_of_file(file, &mut met, &mut take)?;
            done(file.metadata().map_or(0, |file| file.len()));
        }
        Ok(())
    }

    fn each_of_file<E: From<TableError>>(
        &self,
        path: &Path,
        met: &mut Met,
        take: &mut impl FnMut(RawEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let table = Table::open(path)?;
        let mut columns = vec![SUBJECT, TIME, CODE];
        for column in &columns {
            table.require(column)?;
        }
        table.bound_strings(CODE, self.limits.code_bytes)?;
        table.bound_strings(TEXT, self.limits.line_bytes)?;
        let visit_column = [VISIT, ADMISSION].into_iter().find(|name| table.kind(name).is_some());
        columns.extend(visit_column);
        let number_column = number_column(&table);
        columns.extend(number_column);
        columns.extend(Some(TEXT).filter(|name| table.kind(name).is_some()));
        let position = |name: &str| columns.iter().position(|column| *column == name);
        let (visits_at, numbers_at, texts_at) =
            (visit_column.and_then(position), number_column.and_then(position), position(TEXT));
        let mut order = Order::default();
        table.each_batch_or(&columns, |arrays, before| {
            let fail = |problem| TableError::of_file(path, problem);
            let subjects = integers(SUBJECT, &arrays[0]).map_err(fail)?;
            let times = times(TIME, &arrays[1]).map_err(|error| fail(error.problem))?;
            let codes = strings(CODE, &arrays[2]).map_err(fail)?;
            let visits = match visits_at.zip(visit_column) {
                Some((at, column)) => Some(integers(column, &arrays[at]).map_err(fail)?),
                None => None,
            };
            let numbers = match numbers_at.zip(number_column) {
                Some((at, column)) => Some(numbers(column, &arrays[at]).map_err(fail)?),
                None => None,
            };
            let texts = texts_at.map(|at| words(&arrays[at])).transpose().map_err(fail)?.flatten();
            let mut meanings: Vec<Option<[Meaning; 2]>> = vec![None; codes.count()];
            for row in 0..arrays[0].len() {
                let at = before + row as u64 + 1;
                let at_row = |problem: Problem| TableError::of_row(path, at, problem);
                let missing = |column| at_row(MedsProblem::null(column).into());
                let subject = subjects.get(row).ok_or_else(|| missing(SUBJECT))?;
                let key = codes.key(row).ok_or_else(|| missing(CODE))?;
                let time = times.get(row);
                if order.begins(subject, time).map_err(|problem| at_row(problem.into()))? {
                    met.meet(subject, at)?;
                }
                let meaning = meanings[key]
                    .get_or_insert_with(|| self.known.codebook.meanings(codes.value(key)));
                let code = match meaning[usize::from(time.is_some())] {
                    Meaning::Code(code) => Some(code),
                    Meaning::Birth => None,
                    Meaning::Nothing => {
                        let name = codes.value(key);
                        return Err(at_row(self.known.codebook.refusal(name, &self.limits)).into());
                    }
                    // Those of our own that say how a record is built.
                    _ => continue,
                };
                take(RawEvent {
                    subject,
                    time,
                    visit: visits.as_ref().and_then(|visits| visits.get(row)),
                    code,
                    number: numbers
                        .as_ref()
                        .and_then(|numbers| numbers.get(row).unwrap_or(Some(f32::INFINITY))),
                    text: texts.as_ref().and_then(|texts| texts.get(row)),
                })?;
            }
            Ok(())
        })
    }
}

/// Sees that the events of a file are in order.
#[derive(Default)]
struct Order {
    subject: Option<i64>,
    finished: FxHashSet<i64>,
    last: Option<i64>,
}

impl Order {
    /// Whether a subject begins with an event.
    fn begins(&mut self, subject: i64, time: Option<i64>) -> Result<bool, MedsProblem> {
        let begins = self.subject != Some(subject);
        if begins {
            self.finished.extend(self.subject);
            if self.finished.contains(&subject) {
                return Err(MedsProblem::ScatteredSubject);
            }
            (self.subject, self.last) = (Some(subject), None);
        }
        if time.is_some() && time < self.last {
            return Err(MedsProblem::Unsorted);
        }
        self.last = time.or(self.last);
        Ok(begins)
    }
}

/// A column of words; none where every one is missing.
fn words(array: &ArrayRef) -> Result<Option<Strings<'_>>, MedsProblem> {
    match array.data_type() {
        DataType::Null => Ok(None),
        // All are missing in some datasets, whatever type they then have.
        _ if array.null_count() == array.len() => Ok(None),
        _ => strings(TEXT, array).map(Some),
    }
}
