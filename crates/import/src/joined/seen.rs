//! What is counted of joined rows before it is known what they become.

use std::collections::BTreeMap;

use consequence_record::{Domain, Split};
use consequence_tally::{Coded, Counts, Damaged, Reader, Writer, counts, key};

use super::rows::{Person, Told};
use crate::codes::{MOST_TEXTS, is_word, sex_word};
use crate::finals::Seen;
use crate::sources::omop_events::EVENTS;
use crate::summary::{Reason, Reasons};

/// What was counted of joined rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// Whether a woman is listed, and a man.
    pub sexes: [bool; 2],
    /// Whether a death is told with its date.
    pub deaths: bool,
    pub concepts: BTreeMap<u64, Use>,
    /// The results of tests that are told in words or by a concept.
    pub results: BTreeMap<u64, Results>,
    /// The values of tests, by unit.
    pub values: BTreeMap<(u64, Unit), Valued>,
    pub left_out: Reasons,
}

counts!(Counted { sexes, deaths, concepts, results, values, left_out });

/// How events use a concept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// The first of the tables it is in.
    pub table: u32,
    /// Whether a row has it as a standard concept.
    pub standard: bool,
}

impl Coded for Use {
    fn write(&self, out: &mut Writer) {
        self.table.write(out);
        self.standard.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Self { table: Coded::read(from)?, standard: Coded::read(from)? })
    }
}

impl Counts for Use {
    fn add(&mut self, other: Self) {
        self.table = self.table.min(other.table);
        self.standard |= other.standard;
    }
}

/// How many rows of a test have which result.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    pub concepts: BTreeMap<u64, u64>,
    pub words: Words,
}

counts!(Results { concepts, words });

/// How many rows have which words: those of [`MOST_TEXTS`] words, by keys of them, and those of all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    pub rows: BTreeMap<String, u64>,
    pub others: u64,
}

impl Words {
    fn see(&mut self, word: &str) {
        match self.rows.get_mut(word) {
            Some(rows) => *rows += 1,
            None if is_word(word) => {
                self.rows.insert(word.to_owned(), 1);
                self.shorten();
            }
            None => self.others += 1,
        }
    }

    fn shorten(&mut self) {
        while self.rows.len() > MOST_TEXTS {
            let highest = self.rows.keys().max_by_key(|word| key(word, 0)).cloned();
            self.others += highest.and_then(|word| self.rows.remove(&word)).unwrap_or_default();
        }
    }
}

impl Coded for Words {
    fn write(&self, out: &mut Writer) {
        self.rows.write(out);
        self.others.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Self { rows: Coded::read(from)?, others: Coded::read(from)? })
    }
}

impl Counts for Words {
    fn add(&mut self, other: Self) {
        self.rows.add(other.rows);
        self.others.add(other.others);
        self.shorten();
    }
}

/// The unit of a value, as a row tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Unit {
    /// In words; empty where there is none.
    Told(String),
    /// By its concept alone.
    Concept(u64),
}

impl Unit {
    /// That of a row.
    pub fn of(told: &Told) -> Self {
        match (&told.unit, told.unit_concept) {
            (None, Some(concept)) => Self::Concept(concept),
            (unit, _) => Self::Told(unit.as_deref().unwrap_or_default().to_owned()),
        }
    }
}

impl Coded for Unit {
    fn write(&self, out: &mut Writer) {
        let parts = match self {
            Self::Told(name) => (0_u64, name.clone()),
            Self::Concept(concept) => (*concept, String::new()),
        };
        parts.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        match <(u64, String)>::read(from)? {
            (0, name) => Ok(Self::Told(name)),
            (concept, _) => Ok(Self::Concept(concept)),
        }
    }
}

/// The values of a test in a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Valued {
    pub rows: u64,
    pub seen: Seen,
}

counts!(Valued { rows, seen });

/// What the row of an event says of what was measured.
pub(super) enum Outcome<'t> {
    /// Nothing: the event alone.
    Nothing,
    Value(f32),
    Concept(u64),
    Words(&'t str),
    /// It should, and does not.
    Missing,
}

impl<'t> Outcome<'t> {
    /// That of a row.
    pub fn of(told: &'t Told, measures: bool) -> Self {
        let domain = domain(told);
        let measured = domain == Domain::Measurement;
        let observed = domain == Domain::Observation && measures;
        let words = told.words.as_deref();
        let known =
            told.value.is_some() || told.result.is_some() || words.is_some_and(|word| word != "0");
        let is_valued = measured || observed && known;
        if !is_valued {
            return Self::Nothing;
        }
        match (told.value, told.result, words) {
            (Some(value), ..) if value.is_finite() => Self::Value(value),
            (Some(_), ..) => Self::Missing,
            (None, Some(concept), _) => Self::Concept(concept),
            // Three lines stand for what was taken out to hide a person.
            (None, None, Some(words)) if words != "___" => Self::Words(words),
            _ => Self::Missing,
        }
    }
}

/// What the concepts of a row's table speak of.
fn domain(told: &Told) -> Domain {
    EVENTS.get(told.table as usize).map_or(Domain::Observation, |table| table.domain)
}

/// Whether a row is read: measurements are left out where values are not asked for.
pub(super) fn is_read(told: &Told, measures: bool) -> bool {
    measures || domain(told) != Domain::Measurement
}

impl Counted {
    /// Counts the rows of a person.
    pub fn see(&mut self, person: &Person, split: Split, measures: bool) {
        let Some((sex, _)) = person.listed else {
            let events = person.events.iter().filter(|told| is_read(told, measures)).count();
            let rows = person.visits.len() + events + person.deaths.len();
            self.left_out.put(Reason::UnknownSubject, rows as u64);
            return;
        };
        match sex.and_then(|sex| sex_word(&sex.to_string())) {
            Some("F") => self.sexes[0] = true,
            Some(_) => self.sexes[1] = true,
            None => {}
        }
        for death in &person.deaths {
            match death {
                Some(_) => self.deaths = true,
                None => self.left_out.put(Reason::NoDate, 1),
            }
        }
        let told =
            person.events.iter().filter(|told| measures || domain(told) != Domain::Measurement);
        told.for_each(|told| self.see_event(told, split, measures));
    }

    fn see_event(&mut self, told: &Told, split: Split, measures: bool) {
        let Some(concept) = told.concept() else {
            self.left_out.put(Reason::NoCode, 1);
            return;
        };
        let this = Use { table: told.table, standard: told.standard.is_some() };
        self.concepts.entry(concept).or_insert(this).add(this);
        if told.visit().is_none() {
            self.left_out.put(Reason::NoDate, 1);
            return;
        }
        match Outcome::of(told, measures) {
            Outcome::Nothing => {}
            Outcome::Missing => self.left_out.put(Reason::NoValue, 1),
            Outcome::Value(value) => {
                let valued = self.values.entry((concept, Unit::of(told))).or_default();
                valued.rows += 1;
                valued.seen.see(value, split);
            }
            Outcome::Concept(result) => {
                let results = self.results.entry(concept).or_default();
                *results.concepts.entry(result).or_default() += 1;
            }
            Outcome::Words(words) => {
                self.results.entry(concept).or_default().words.see(words);
            }
        }
    }
}
