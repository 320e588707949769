//! Race, ethnicity and kinds of encounters: one word for each thing, whatever a source calls it.

use consequence_record::Concept;

use crate::ImportError;
use crate::codes::Role;
use crate::collector::Collector;
use crate::event::{Event, VisitKey};
use crate::table::{Column, Table};

/// What codes of each kind begin with.
pub(super) const RACE: &str = "RACE";
pub(super) const ETHNICITY: &str = "ETHNICITY";
pub(super) const VISIT_TYPE: &str = "VISIT_TYPE";

/// A word: the concept of OMOP for it, which every database has, and what sources call it else.
pub(super) struct Word {
    pub concept: u64,
    system: &'static str,
    pub name: &'static str,
    others: &'static [&'static str],
}

const fn word(
    system: &'static str,
    concept: u64,
    name: &'static str,
    others: &'static [&'static str],
) -> Word {
    Word { concept, system, name, others }
}

/// The words of people and encounters.
pub(super) const WORDS: [Word; 16] = [
    word(RACE, 8527, "WHITE", &[]),
    word(
        RACE,
        8516,
        "BLACK OR AFRICAN AMERICAN",
        &["BLACK", "AFRICAN AMERICAN", "BLACK/AFRICAN AMERICAN"],
    ),
    word(RACE, 8515, "ASIAN", &[]),
    word(
        RACE,
        8657,
        "AMERICAN INDIAN OR ALASKA NATIVE",
        &["NATIVE", "AMERICAN INDIAN", "AMERICAN INDIAN/ALASKA NATIVE"],
    ),
    word(
        RACE,
        8557,
        "NATIVE HAWAIIAN OR OTHER PACIFIC ISLANDER",
        &["HAWAIIAN", "NATIVE HAWAIIAN", "PACIFIC ISLANDER"],
    ),
    word(RACE, 8522, "OTHER RACE", &["OTHER"]),
    word(RACE, 8552, "UNKNOWN", &[]),
    word(ETHNICITY, 38_003_563, "HISPANIC OR LATINO", &["HISPANIC", "LATINO", "HISPANIC/LATINO"]),
    word(
        ETHNICITY,
        38_003_564,
        "NOT HISPANIC OR LATINO",
        &["NONHISPANIC", "NON-HISPANIC", "NOT HISPANIC"],
    ),
    word(VISIT_TYPE, 9201, "INPATIENT VISIT", &["INPATIENT"]),
    word(VISIT_TYPE, 9202, "OUTPATIENT VISIT", &["OUTPATIENT"]),
    word(VISIT_TYPE, 9203, "EMERGENCY ROOM VISIT", &["EMERGENCY", "EMERGENCY ROOM"]),
    word(VISIT_TYPE, 262, "EMERGENCY ROOM AND INPATIENT VISIT", &[]),
    word(VISIT_TYPE, 581_476, "HOME VISIT", &["HOME"]),
    word(VISIT_TYPE, 581_477, "OFFICE VISIT", &["OFFICE"]),
    word(VISIT_TYPE, 5083, "TELEHEALTH", &["VIRTUAL"]),
];

/// The word of a concept.
pub(super) fn by_concept(id: u64) -> Option<&'static Word> {
    WORDS.iter().find(|word| word.concept == id)
}

/// The columns of what is asked for, each needed, in the order of [`Asked::put`].
pub(super) struct Asked {
    /// What codes begin with, and the index of the column that tells it.
    columns: Vec<(&'static str, usize)>,
}

impl Asked {
    /// Adds a column for each kind of code that is asked for.
    pub fn new(
        collector: &Collector<'_>,
        known: &[(&'static str, &[&str])],
        columns: &mut Vec<Column>,
    ) -> Self {
        let mut asked = Self { columns: Vec::new() };
        for &(system, names) in known {
            let wanted = match system {
                RACE => collector.options.race,
                ETHNICITY => collector.options.ethnicity,
                _ => collector.options.visit_types,
            };
            if wanted {
                asked.columns.push((system, columns.len()));
                columns.push(Column::needed(names));
            }
        }
        asked
    }

    /// The word that a row has for a kind of code, in capitals; none where it is not asked for, or
    /// not known.
    pub fn told(
        &self,
        table: &Table<'_>,
        system: &'static str,
    ) -> Result<Option<String>, ImportError> {
        let Some(&(_, column)) = self.columns.iter().find(|asked| asked.0 == system) else {
            return Ok(None);
        };
        let text = table.text(column)?.to_uppercase();
        Ok(Some(text).filter(|text| !is_unknown(text)))
    }
}

/// Whether a word says that nothing is known.
fn is_unknown(word: &str) -> bool {
    let beginnings =
        ["UNKNOWN", "UNABLE TO OBTAIN", "PATIENT DECLINED", "DECLINED", "NOT SPECIFIED"];
    word.is_empty() || beginnings.iter().any(|beginning| word.starts_with(beginning))
}

/// Takes in what a word says of a subject, or of an encounter: the first of a kind holds for a subject.
pub(super) fn put_word(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    (system, text): (&'static str, &str),
    subject: u32,
    visit: VisitKey,
) -> Result<(), ImportError> {
    let is_called =
        |word: &&Word| word.system == system && (word.name == text || word.others.contains(&text));
    match WORDS.iter().find(is_called) {
        Some(word) => {
            put(collector, table, (system, word.name), Some(word.concept), subject, visit)
        }
        None => put(collector, table, (system, text), None, subject, visit),
    }
}

/// Takes in a word as it is, with a concept.
pub(super) fn put(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    (system, text): (&'static str, &str),
    concept: Option<u64>,
    subject: u32,
    visit: VisitKey,
) -> Result<(), ImportError> {
    let role = if system == VISIT_TYPE { Role::Encounter } else { Role::Exclusive };
    let fact = collector.codes.fact(&[system, text], role);
    let fact = fact.map_err(|problem| table.fail(problem))?;
    if let Some(id) = concept {
        collector.codes.concept(fact, Concept { id, ..Concept::default() });
    }
    collector.put(Event::new(subject, fact, visit, None))
}
