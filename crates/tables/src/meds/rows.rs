//! The rows of a batch of events, one after the other into records: what files and tables in memory share.

use std::borrow::Cow;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use rustc_hash::FxHashMap;

use super::MedsProblem;
use super::assemble::{Assembler, Event};
use super::codebook::{Codebook, Meaning};
use super::columns::{Integers, Numbers, Strings, integers, numbers, strings, whole, wrong_type};
use super::times::{ColumnError, times, visit_numbers};
use crate::{Limits, Problem};

/// What the columns of a table of events are called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'n> {
    pub subject: &'n str,
    pub time: &'n str,
    pub code: &'n str,
    pub visit: Option<&'n str>,
    pub value: Option<&'n str>,
}

/// The columns of a batch of events.
pub(crate) struct Arrays<'a> {
    pub subject: &'a dyn Array,
    pub time: &'a dyn Array,
    pub code: &'a dyn Array,
    pub visit: Option<&'a dyn Array>,
    pub value: Option<&'a dyn Array>,
}

/// A batch of events whose columns are of types that can be read.
pub(crate) struct Rows<'a> {
    named: Named<'a>,
    subjects: Subjects<'a>,
    pub times: Integers<'a>,
    /// Whether the times are numbers of visits.
    ordinal: bool,
    pub codes: Strings<'a>,
    visits: Visits<'a>,
    values: Option<Numbers<'a>>,
    count: usize,
}

enum Subjects<'a> {
    Numbers(Integers<'a>),
    /// Numbers that may be beyond those with a sign.
    Unsigned(Integers<'a>),
    Texts(Strings<'a>),
}

enum Visits<'a> {
    Unknown,
    Numbers(Integers<'a>),
    Floats(Cow<'a, [f64]>, Option<&'a NullBuffer>),
    Texts(Strings<'a>),
}

impl<'a> Rows<'a> {
    /// The rows of a batch of a file. Subjects are numbers there, and times are times.
    pub fn of_file(named: Named<'a>, columns: &Arrays<'a>) -> Result<Self, ColumnError> {
        let subjects = Subjects::Numbers(integers(named.subject, columns.subject)?);
        let times = times(named.time, columns.time)?;
        Self::with(named, columns, subjects, times, false)
    }

    /// The rows of a batch in memory. Subjects may be strings there, and times may be numbers of visits.
    pub fn in_memory(named: Named<'a>, columns: &Arrays<'a>) -> Result<Self, ColumnError> {
        let array = columns.subject;
        let subjects = match whole(array) {
            Some(values) => {
                let numbers = Integers { values, nulls: array.nulls() };
                match array.data_type() {
                    DataType::UInt64 => Subjects::Unsigned(numbers),
                    _ => Subjects::Numbers(numbers),
                }
            }
            None => {
                let expected = "whole numbers or strings";
                let wrong = |_| wrong_type(named.subject, expected, array.data_type());
                Subjects::Texts(strings(named.subject, array).map_err(wrong)?)
            }
        };
        let (times, ordinal) = match (columns.time.data_type(), visit_numbers(columns.time)?) {
            // A column without any value has no type.
            (DataType::Null, _) => (Integers { values: Cow::Borrowed(&[]), nulls: None }, false),
            (_, Some(numbers)) => (numbers, true),
            (_, None) => (times(named.time, columns.time)?, false),
        };
        Self::with(named, columns, subjects, times, ordinal)
    }

    fn with(
        named: Named<'a>,
        columns: &Arrays<'a>,
        subjects: Subjects<'a>,
        times: Integers<'a>,
        ordinal: bool,
    ) -> Result<Self, ColumnError> {
        let visits = match named.visit.zip(columns.visit) {
            Some((name, array)) => Visits::of(name, array)?,
            None => Visits::Unknown,
        };
        let values = match named.value.zip(columns.value) {
            Some((name, array)) => Some(numbers(name, array)?),
            None => None,
        };
        let (codes, count) = (strings(named.code, columns.code)?, columns.code.len());
        Ok(Self { named, subjects, times, ordinal, codes, visits, values, count })
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The number of a row's subject; strings are numbered as they are met.
    pub fn subject(&self, row: usize, carried: &mut Carried) -> Result<i64, MedsProblem> {
        let number = match &self.subjects {
            Subjects::Numbers(numbers) | Subjects::Unsigned(numbers) => numbers.get(row),
            Subjects::Texts(texts) => texts.get(row).map(|id| carried.subject_named(id)),
        };
        number.ok_or_else(|| MedsProblem::null(self.named.subject))
    }

    /// The id of a subject that is not its number.
    fn id(&self, row: usize, subject: i64) -> Option<Cow<'a, str>> {
        match &self.subjects {
            Subjects::Numbers(_) => None,
            Subjects::Unsigned(_) => {
                (subject < 0).then(|| Cow::Owned((subject as u64).to_string()))
            }
            Subjects::Texts(texts) => texts.get(row).map(Cow::Borrowed),
        }
    }
}

impl<'a> Visits<'a> {
    fn of(column: &str, array: &'a dyn Array) -> Result<Self, MedsProblem> {
        Ok(match array.data_type() {
            DataType::Null => Self::Unknown,
            DataType::Float64 => {
                let values = &array.as_primitive::<Float64Type>().values()[..];
                Self::Floats(Cow::Borrowed(values), array.nulls())
            }
            DataType::Float32 => {
                let values = array.as_primitive::<Float32Type>().values();
                Self::Floats(values.iter().map(|&value| value.into()).collect(), array.nulls())
            }
            other => match whole(array) {
                Some(values) => Self::Numbers(Integers { values, nulls: array.nulls() }),
                None => {
                    let wrong = |_| wrong_type(column, "whole numbers or strings", other);
                    Self::Texts(strings(column, array).map_err(wrong)?)
                }
            },
        })
    }

    /// What tells the visit of a row from others of its subject, if it is said to be of one.
    #[inline]
    fn get(&self, row: usize, carried: &mut Carried) -> Option<i64> {
        match self {
            Self::Unknown => None,
            Self::Numbers(numbers) => numbers.get(row),
            Self::Floats(..) if self.is_null(row) => None,
            // Both zeros are one.
            Self::Floats(values, _) => Some((values[row] + 0.0).to_bits() as i64),
            Self::Texts(texts) => texts.get(row).map(|name| carried.visit_named(name)),
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Floats(values, nulls) => {
                nulls.is_some_and(|nulls| nulls.is_null(row)) || values[row].is_nan()
            }
            _ => false,
        }
    }
}

/// What is remembered from batch to batch: the numbers of ids and visits that are strings.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    subject: Option<i64>,
    subjects: FxHashMap<Box<str>, i64>,
    last_subject: Option<(Box<str>, i64)>,
    /// The visits of the open subject.
    visits: FxHashMap<Box<str>, i64>,
}

impl Carried {
    fn subject_named(&mut self, id: &str) -> i64 {
        if let Some((last, number)) = &self.last_subject
            && **last == *id
        {
            return *number;
        }
        let number = numbered(&mut self.subjects, id);
        self.last_subject = Some((id.into(), number));
        number
    }

    fn visit_named(&mut self, name: &str) -> i64 {
        numbered(&mut self.visits, name)
    }
}

fn numbered(known: &mut FxHashMap<Box<str>, i64>, name: &str) -> i64 {
    if let Some(&number) = known.get(name) {
        return number;
    }
    let number = known.len() as i64;
    known.insert(name.into(), number);
    number
}

/// What rows are read with.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'k> {
    pub codebook: &'k Codebook,
    pub limits: &'k Limits,
    /// The ids of subjects that are not their number.
    pub ids: &'k FxHashMap<i64, Box<str>>,
}

/// Puts the rows of a batch into records, in whatever order they are asked for.
pub(crate) struct Putter<'r, 'a> {
    rows: &'r Rows<'a>,
    reading: Reading<'r>,
    meanings: Meanings,
}

/// What the codes that were met mean. A few rows of a large dictionary, as a table in many pieces has
/// them, do not take the memory of all of it.
enum Meanings {
    Listed(Vec<Option<[Meaning; 2]>>),
    Met(FxHashMap<usize, [Meaning; 2]>),
}

impl Meanings {
    fn of(rows: &Rows<'_>) -> Self {
        let codes = rows.codes.count();
        match codes <= 2 * rows.len() + 64 {
            true => Self::Listed(vec![None; codes]),
            false => Self::Met(FxHashMap::default()),
        }
    }

    #[inline]
    fn get(&mut self, key: usize, ask: impl FnOnce() -> [Meaning; 2]) -> [Meaning; 2] {
        match self {
            Self::Listed(all) => *all[key].get_or_insert_with(ask),
            Self::Met(met) => *met.entry(key).or_insert_with(ask),
        }
    }
}

impl<'r, 'a> Putter<'r, 'a> {
    pub fn new(rows: &'r Rows<'a>, reading: Reading<'r>) -> Self {
        Self { rows, reading, meanings: Meanings::of(rows) }
    }

    /// Puts a row into a record; `at` is its number in the table.
    #[inline]
    pub fn put(
        &mut self,
        row: usize,
        at: u64,
        carried: &mut Carried,
        assembler: &mut Assembler,
    ) -> Result<(), Problem> {
        let Self { rows, reading, meanings } = self;
        let Reading { codebook, limits, ids } = *reading;
        let subject = rows.subject(row, carried)?;
        let Some(key) = rows.codes.key(row) else {
            return Err(MedsProblem::null(rows.named.code).into());
        };
        let meaning = meanings.get(key, || codebook.meanings(rows.codes.value(key)));
        let mut time = rows.times.get(row);
        let meaning = meaning[usize::from(time.is_some())];
        if meaning == Meaning::Nothing {
            return Err(codebook.refusal(rows.codes.value(key), limits));
        }
        if rows.ordinal && meaning == Meaning::Birth {
            // The number of a visit is no date of birth.
            time = None;
        }
        let begins = carried.subject != Some(subject);
        if begins {
            carried.subject = Some(subject);
            carried.visits.clear();
        }
        let visit = rows.visits.get(row, carried);
        let value = rows.values.as_ref().map_or(Ok(None), |values| values.get(row))?;
        assembler.take(Event { subject, time, visit, value }, meaning, at)?;
        if begins {
            match rows.id(row, subject) {
                Some(id) => assembler.name(&id),
                None => ids.get(&subject).into_iter().for_each(|id| assembler.name(id)),
            }
        }
        Ok(())
    }
}
