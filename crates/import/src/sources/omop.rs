//! Tables of the OMOP common data model.

use std::path::Path;

use consequence_record::Concept;
use consequence_tables::shown;
use rustc_hash::FxHashMap;

use super::{LISTED, Outcome, put_birth, put_result, put_sex};
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
        Column::optional(&["visit_end_date"]),
        Column::optional(&["visit_end_datetime"]),
    ];
    collector.read(visits, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(table.needed_text(1)?);
        collector.put(Event::new(subject, Fact::VISIT, visit, time(table, 2, 3)?))?;
        collector.put_end(subject, visit, time(table, 4, 5)?)
    })?;
    for events in &EVENTS {
        if let Some(parts) = folder.find(events.table)? {
            read_events(collector, parts, events, None)?;
        }
    }
    let mut told = ConceptsTold::default();
    if let Some(parts) = folder.find(MEASUREMENTS.table)?.filter(|_| collector.measures()) {
        read_events(collector, parts, &MEASUREMENTS, Some(&mut told))?;
    }
    if let Some(parts) = folder.find("DEATH")? {
        let columns = vec![
            Column::needed(&["person_id"]),
            Column::needed(&["death_date"]),
            Column::optional(&["death_datetime"]),
        ];
        collector.read(parts, columns, |collector, table| {
            let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
            let Some(time) = time(table, 1, 2)? else {
                collector.summary.drop_one(Reason::NoDate);
                return Ok(());
            };
            let death = collector.put_death(subject, Some(time));
            death.map_err(|problem| table.fail(problem))?
        })?;
    }
    let concepts = concepts(collector);
    if let Some(parts) = folder.find("CONCEPT")? {
        read_concepts(collector, parts, &told)?;
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

/// Concepts that results and units were told by, rather than in words.
#[derive(Default)]
struct ConceptsTold {
    results: FxHashMap<Box<str>, Vec<Fact>>,
    units: FxHashMap<Box<str>, u16>,
}

fn read_events(
    collector: &mut Collector<'_>,
    parts: Parts,
    events: &Events,
    mut told: Option<&mut ConceptsTold>,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&[events.concept]),
        Column::optional(&[events.source]),
        Column::needed(&[events.date]),
        Column::optional(&[events.datetime]),
        Column::optional(&["visit_occurrence_id"]),
    ];
    if told.is_some() {
        columns.push(Column::needed(&["value_as_number"]));
        let others = ["value_as_concept_id", "value_source_value", "unit_source_value"];
        columns.extend(others.map(|name| Column::optional(&[name])));
        columns.push(Column::optional(&["unit_concept_id"]));
    }
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        // Concept 0 says that the vocabulary has no standard concept; the source's own may serve.
        let concept = Some(table.text(1)?).filter(known).or(Some(table.text(2)?).filter(known));
        let Some(concept) = concept else {
            collector.summary.drop_one(Reason::NoCode);
            return Ok(());
        };
        let fact = collector.codes.fact(&[SYSTEM, concept], Role::Encounter);
        let fact = fact.map_err(|problem| table.fail(problem))?;
        let time = time(table, 3, 4)?;
        let visit = Some(table.text(5)?).filter(known).map(VisitKey::named);
        let Some(visit) = visit.or(time.map(VisitKey::day)) else {
            collector.summary.drop_one(Reason::NoDate);
            return Ok(());
        };
        let event = Event::new(subject, fact, visit, time);
        match &mut told {
            Some(told) => put_measured(collector, table, event, told),
            None => collector.put(event),
        }
    })
}

/// Whether the number of a concept is that of one.
fn known(concept: &&str) -> bool {
    !concept.is_empty() && *concept != "0"
}

/// Takes in the result of a measurement.
fn put_measured(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    event: Event,
    told: &mut ConceptsTold,
) -> Result<(), ImportError> {
    let fail = |problem| table.fail(problem);
    let (number, concept) = (table.text(6)?, table.text(7)?);
    if number.is_empty() && known(&concept) {
        let fact = collector.codes.text_result(event.fact, concept).map_err(fail)?;
        let facts = match told.results.get_mut(concept) {
            Some(facts) => facts,
            None => told.results.entry(concept.into()).or_default(),
        };
        if !facts.contains(&fact) {
            facts.push(fact);
        }
        return collector.put(event.saying(fact));
    }
    let (text, mut unit, unit_concept) = (table.text(8)?, table.text(9)?, table.text(10)?);
    let name;
    if unit.is_empty() && known(&unit_concept) {
        name = format!("{SYSTEM}//{unit_concept}");
        unit = &name;
        if !told.units.contains_key(unit_concept) {
            let number = collector.units.number(unit).map_err(fail)?;
            told.units.insert(unit_concept.into(), number);
        }
    }
    put_result(collector, table, event, &Outcome { number, text, unit })
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
        collector.codes.concept(fact, Concept { id, ..Concept::default() });
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
fn read_concepts(
    collector: &mut Collector<'_>,
    parts: Parts,
    told: &ConceptsTold,
) -> Result<(), ImportError> {
    let columns = ["concept_id", "concept_name", "vocabulary_id", "concept_code"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    let mut named: FxHashMap<String, Fact> = FxHashMap::default();
    collector.read(parts, columns, |collector, table| {
        let id = table.text(0)?;
        for &fact in told.results.get(id).into_iter().flatten() {
            collector.codes.reword(fact, table.text(1)?);
        }
        if let Some(&unit) = told.units.get(id) {
            collector.units.rename(unit, table.text(3)?);
        }
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
