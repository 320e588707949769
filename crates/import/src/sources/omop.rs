//! Tables of the OMOP common data model.

use std::path::Path;

use consequence_record::Concept;
use consequence_tables::shown;
use rustc_hash::FxHashMap;

use super::{LISTED, put_birth, put_sex};
use crate::build::Profile;
use crate::codes::{Role, is_icd, start, without_dot};
use crate::collector::Collector;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::summary::Reason;
use crate::table::{Column, Table};
use crate::{ImportError, ImportProblem};
use consequence_record::calendar::{self, DAY};

/// What codes are called whose concept is not described.
const SYSTEM: &str = "OMOP";

/// The columns of a table of events: concept, source concept, date, time.
struct Events {
    table: &'static str,
    concept: &'static str,
    source: &'static str,
    date: &'static str,
    datetime: &'static str,
}

const EVENTS: [Events; 3] = [
    Events {
        table: "CONDITION_OCCURRENCE",
        concept: "condition_concept_id",
        source: "condition_source_concept_id",
        date: "condition_start_date",
        datetime: "condition_start_datetime",
    },
    Events {
        table: "PROCEDURE_OCCURRENCE",
        concept: "procedure_concept_id",
        source: "procedure_source_concept_id",
        date: "procedure_date",
        datetime: "procedure_datetime",
    },
    Events {
        table: "DRUG_EXPOSURE",
        concept: "drug_concept_id",
        source: "drug_source_concept_id",
        date: "drug_exposure_start_date",
        datetime: "drug_exposure_start_datetime",
    },
];

const MEASUREMENTS: Events = Events {
    table: "MEASUREMENT",
    concept: "measurement_concept_id",
    source: "measurement_source_concept_id",
    date: "measurement_date",
    datetime: "measurement_datetime",
};

pub(super) fn gather(path: &Path, collector: &mut Collector<'_>) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &[])?;
    let (persons, visits) = (folder.need("PERSON")?, folder.need("VISIT_OCCURRENCE")?);
    read_persons(collector, persons)?;
    let columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&["visit_occurrence_id"]),
        Column::needed(&["visit_start_date"]),
        Column::optional(&["visit_start_datetime"]),
    ];
    collector.read(visits, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(table.needed_text(1)?);
        collector.put(Event::new(subject, Fact::VISIT, visit, time(table, 2, 3)?))
    })?;
    for events in &EVENTS {
        if let Some(parts) = folder.find(events.table)? {
            read_events(collector, parts, events, false)?;
        }
    }
    if let Some(parts) = collector.options.quantiles.and(folder.find(MEASUREMENTS.table)?) {
        read_events(collector, parts, &MEASUREMENTS, true)?;
    }
    if let Some(parts) = folder.find("DEATH")? {
        let columns = vec![
            Column::needed(&["person_id"]),
            Column::needed(&["death_date"]),
            Column::optional(&["death_datetime"]),
        ];
        collector.read(parts, columns, |collector, table| {
            let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
            let death = collector.codes.fact(&["DEATH"], Role::Encounter);
            let death = death.map_err(|problem| table.fail(problem))?;
            put_dated(collector, subject, death, None, time(table, 1, 2)?, f32::NAN)
        })?;
    }
    let concepts = concepts(collector);
    if let Some(parts) = folder.find("CONCEPT")? {
        read_concepts(collector, parts)?;
    }
    if let Some(parts) = folder.find("CONCEPT_ANCESTOR")? {
        read_ancestors(collector, parts, &concepts)?;
    }
    Ok(LISTED)
}

fn read_persons(collector: &mut Collector<'_>, parts: Parts) -> Result<(), ImportError> {
    let columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&["gender_concept_id"]),
        Column::needed(&["year_of_birth"]),
        Column::optional(&["month_of_birth"]),
        Column::optional(&["day_of_birth"]),
        Column::optional(&["birth_datetime"]),
    ];
    collector.read(parts, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        let birth = match (table.time(5)?, table.integer(2)?) {
            (Some(birth), _) => Some(birth),
            (None, None) => None,
            (None, Some(year)) => {
                let (month, day) = (table.integer(3)?.unwrap_or(1), table.integer(4)?.unwrap_or(1));
                let Some(birth) = calendar::day(year, month, day) else {
                    return Err(table.bad_date(2));
                };
                Some(birth * DAY)
            }
        };
        put_birth(collector, subject, birth)
    })
}

fn read_events(
    collector: &mut Collector<'_>,
    parts: Parts,
    events: &Events,
    measured: bool,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&[events.concept]),
        Column::optional(&[events.source]),
        Column::needed(&[events.date]),
        Column::optional(&[events.datetime]),
        Column::optional(&["visit_occurrence_id"]),
    ];
    if measured {
        columns.push(Column::needed(&["value_as_number"]));
    }
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let known = |concept: &&str| !concept.is_empty() && *concept != "0";
        // Concept 0 says that the vocabulary has no standard concept; the source's own may serve.
        let concept = Some(table.text(1)?).filter(known).or(Some(table.text(2)?).filter(known));
        let Some(concept) = concept else {
            collector.summary.drop_one(Reason::NoCode);
            return Ok(());
        };
        let mut value = f32::NAN;
        if measured {
            match table.text(6)?.parse::<f32>().ok().filter(|value| value.is_finite()) {
                Some(number) => value = number,
                None => {
                    collector.summary.drop_one(Reason::NoValue);
                    return Ok(());
                }
            }
        }
        let fact = collector.codes.fact(&[SYSTEM, concept], Role::Encounter);
        let fact = fact.map_err(|problem| table.fail(problem))?;
        let visit = Some(table.text(5)?).filter(known).map(VisitKey::named);
        put_dated(collector, subject, fact, visit, time(table, 3, 4)?, value)
    })
}

/// Takes in what happened in an encounter, or on a day.
fn put_dated(
    collector: &mut Collector<'_>,
    subject: u32,
    fact: Fact,
    visit: Option<VisitKey>,
    time: Option<i64>,
    value: f32,
) -> Result<(), ImportError> {
    match visit.or(time.map(VisitKey::day)) {
        Some(visit) => collector.put(Event::new(subject, fact, visit, time).valued(value)),
        None => {
            collector.summary.drop_one(Reason::NoDate);
            Ok(())
        }
    }
}

/// A time, or else the date of a column before it.
fn time(table: &Table<'_>, date: usize, datetime: usize) -> Result<Option<i64>, ImportError> {
    match table.time(datetime)? {
        Some(time) => Ok(Some(time)),
        None => table.time(date),
    }
}

/// The codes that were met, by the numbers of their concepts, which each keeps whatever it is called.
fn concepts(collector: &mut Collector<'_>) -> FxHashMap<u64, Fact> {
    let entries = collector.codes.entries().iter().enumerate();
    let met: FxHashMap<u64, Fact> = entries
        .filter_map(|(number, code)| {
            let id = code.name.strip_prefix(SYSTEM)?.strip_prefix("//")?.parse().ok()?;
            Some((id, Fact(number as u32)))
        })
        .collect();
    for (&id, &fact) in &met {
        collector.codes.concept(fact, Concept { id, ancestors: Vec::new() });
    }
    met
}

/// Keeps which concepts are above those that were met.
fn read_ancestors(
    collector: &mut Collector<'_>,
    parts: Parts,
    concepts: &FxHashMap<u64, Fact>,
) -> Result<(), ImportError> {
    let columns = ["ancestor_concept_id", "descendant_concept_id"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    collector.read(parts, columns, |collector, table| {
        let number = |column| -> Result<Option<u64>, ImportError> {
            Ok(table.integer(column)?.and_then(|id| u64::try_from(id).ok()))
        };
        let (Some(above), Some(below)) = (number(0)?, number(1)?) else { return Ok(()) };
        if let Some(&fact) = concepts.get(&below).filter(|_| above != below) {
            collector.codes.ancestor(fact, above);
        }
        Ok(())
    })
}

/// Names the codes that were met after their concepts, and keeps the titles of those.
fn read_concepts(collector: &mut Collector<'_>, parts: Parts) -> Result<(), ImportError> {
    let columns = ["concept_id", "concept_name", "vocabulary_id", "concept_code"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    let mut named: FxHashMap<String, Fact> = FxHashMap::default();
    collector.read(parts, columns, |collector, table| {
        let id = table.text(0)?;
        let Some(fact) = collector.codes.find(&format!("{SYSTEM}//{id}")) else { return Ok(()) };
        let (system, code) = (table.text(2)?, table.text(3)?);
        if !system.is_empty() && !code.is_empty() {
            let mut name = format!("{system}//{code}");
            if is_icd(&name) {
                name = format!("{system}//{}", without_dot(code));
            }
            let limit = collector.limits().code_bytes;
            if name.len() > limit {
                let start = shown(start(code, 24));
                return Err(table.fail(ImportProblem::LongCode { start, limit }));
            }
            // Two concepts of one name would be one code, which neither of them is.
            if named.insert(name.clone(), fact).is_none_or(|before| before == fact) {
                collector.codes.rename(fact, &name);
            }
        }
        collector.codes.title(fact, table.text(1)?);
        Ok(())
    })
}
