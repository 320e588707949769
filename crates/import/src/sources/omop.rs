//! Tables of the OMOP common data model.

use std::path::Path;

use consequence_record::Domain;
use consequence_record::calendar::{self, DAY};

use super::omop_events::{EVENTS, Events};
use super::omop_met::{ConceptRow, Met, Names};
use super::omop_order::{find, need};
use super::traits::{ETHNICITY, RACE, VISIT_TYPE};
use super::{LISTED, Outcome, Told, omop_own, put_birth, put_result, put_sex};
use crate::ImportError;
use crate::codes::Role;
use crate::collector::Collector;
use crate::encounters::Profile;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::summary::Reason;
use crate::table::{Column, Table};

pub(super) fn gather(
    path: &Path,
    collector: &mut Collector<'_>,
    told: &mut Told,
) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &[])?;
    if let Some(notes) = omop_own::notes(&folder, collector)? {
        return omop_own::gather(&folder, collector, notes, told);
    }
    let (persons, visits) = (need(&folder, "PERSON")?, need(&folder, "VISIT_OCCURRENCE")?);
    let mut met = Met::default();
    read_persons(collector, persons, &mut met)?;
    read_visits(collector, visits, &mut met)?;
    for events in &EVENTS {
        let measured = events.domain == Domain::Measurement;
        if let Some(parts) =
            find(&folder, events.table)?.filter(|_| collector.measures() || !measured)
        {
            read_events(collector, parts, events, &mut met)?;
        }
    }
    if let Some(parts) = find(&folder, "DEATH")? {
        read_deaths(collector, parts)?;
    }
    met.keep(&mut collector.codes);
    if let Some(parts) = find(&folder, "CONCEPT")? {
        read_concepts(collector, parts, &met)?;
    }
    if let Some(parts) = find(&folder, "CONCEPT_ANCESTOR")? {
        read_ancestors(collector, parts, &met)?;
    }
    collector.summary.unread_tables = folder.unread();
    Ok(LISTED)
}

fn read_persons(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &mut Met,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&["gender_concept_id"]),
        Column::needed(&["year_of_birth"]),
    ];
    let others = ["month_of_birth", "day_of_birth", "birth_datetime"];
    columns.extend(others.map(|name| Column::optional(&[name])));
    let asked = [
        (collector.options.race, RACE, "race_concept_id", "race_source_value"),
        (collector.options.ethnicity, ETHNICITY, "ethnicity_concept_id", "ethnicity_source_value"),
    ];
    let asked: Vec<_> = asked.into_iter().filter(|&(asked, ..)| asked).collect();
    for &(_, _, concept, source) in &asked {
        columns.extend([concept, source].map(|name| Column::optional(&[name])));
    }
    collector.read(parts, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        for (index, &(_, system, ..)) in asked.iter().enumerate() {
            let (id, word) = (concept(table, 6 + 2 * index)?, table.text(7 + 2 * index)?);
            let fact = met.word(&mut collector.codes, system, id, word, Role::Exclusive);
            if let Some(fact) = fact.map_err(|problem| table.fail(problem))? {
                collector.put(Event::new(subject, fact, VisitKey::STATIC, None))?;
            }
        }
        put_birth(collector, subject, birth(table)?)
    })
}

/// When a person was born. A month or day of 0 is one that is not known.
fn birth(table: &Table<'_>) -> Result<Option<i64>, ImportError> {
    if let Some(birth) = table.time(5)? {
        return Ok(Some(birth));
    }
    let Some(year) = table.integer(2)? else { return Ok(None) };
    let known = |part: Option<i64>| part.filter(|&part| part != 0).unwrap_or(1);
    let (month, day) = (known(table.integer(3)?), known(table.integer(4)?));
    match calendar::day(year, month, day) {
        Some(birth) => Ok(Some(birth * DAY)),
        None => Err(table.bad_date(2)),
    }
}

fn read_visits(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &mut Met,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&["visit_occurrence_id"]),
        Column::needed(&["visit_start_date"]),
    ];
    let others = ["visit_start_datetime", "visit_end_date", "visit_end_datetime"];
    columns.extend(others.map(|name| Column::optional(&[name])));
    let types = collector.options.visit_types;
    if types {
        columns.push(Column::needed(&["visit_concept_id"]));
    }
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(whole(table.needed_text(1)?));
        let begin = time(table, 2, 3)?;
        collector.put(Event::new(subject, Fact::VISIT, visit, begin))?;
        // What the source calls a visit is its own name as often as its kind.
        if types && let Some(id) = concept(table, 6)? {
            let fact = met.word(&mut collector.codes, VISIT_TYPE, Some(id), "", Role::Encounter);
            if let Some(fact) = fact.map_err(|problem| table.fail(problem))? {
                collector.put(Event::new(subject, fact, visit, None))?;
            }
        }
        collector.put_end(subject, visit, time(table, 4, 5)?)
    })
}

fn read_deaths(collector: &mut Collector<'_>, parts: Parts) -> Result<(), ImportError> {
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
    })
}

/// A number as it was before it went through a data frame, where columns with gaps get a point.
fn whole(id: &str) -> &str {
    id.strip_suffix(".0").unwrap_or(id)
}

/// The number of a concept; none where there is none, or 0, which says that no concept is known.
pub(super) fn concept(table: &Table<'_>, column: usize) -> Result<Option<u64>, ImportError> {
    Ok(table.integer(column)?.and_then(|id| u64::try_from(id).ok()).filter(|&id| id > 0))
}

const NUMBER: usize = 6;
const RESULT: usize = 7;
const TEXT: usize = 8;
const UNIT: usize = 9;
const UNIT_CONCEPT: usize = 10;

fn read_events(
    collector: &mut Collector<'_>,
    parts: Parts,
    events: &Events,
    met: &mut Met,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&[&events.concept()]),
        Column::optional(&[&events.source_concept()]),
        Column::needed(&[events.date]),
        Column::optional(&[events.datetime]),
        Column::optional(&["visit_occurrence_id"]),
    ];
    let measured = events.domain == Domain::Measurement;
    let observed = events.domain == Domain::Observation && collector.measures();
    if measured || observed {
        let text = if measured { "value_source_value" } else { "value_as_string" };
        let number = &["value_as_number"];
        columns.push(if measured { Column::needed(number) } else { Column::optional(number) });
        let others = ["value_as_concept_id", text, "unit_source_value", "unit_concept_id"];
        columns.extend(others.map(|name| Column::optional(&[name])));
    }
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        // Concept 0 says that the vocabulary has no standard concept; the source's own may serve.
        let standard = concept(table, 1)?;
        let Some(id) = standard.or(concept(table, 2)?) else {
            collector.summary.drop_one(Reason::NoCode);
            return Ok(());
        };
        let fact = met.code(&mut collector.codes, id, events.domain, standard.is_some());
        let fact = fact.map_err(|problem| table.fail(problem))?;
        let time = time(table, 3, 4)?;
        let visit = Some(whole(table.text(5)?)).filter(|id| !matches!(*id, "" | "0"));
        let Some(visit) = visit.map(VisitKey::named).or(time.map(VisitKey::day)) else {
            collector.summary.drop_one(Reason::NoDate);
            return Ok(());
        };
        let event = Event::new(subject, fact, visit, time);
        let told = |column| table.text(column).map(|text| !matches!(text, "" | "0"));
        let valued = !table.text(NUMBER)?.is_empty() || told(RESULT)? || told(TEXT)?;
        if measured || observed && valued {
            put_measured(collector, table, event, met)
        } else {
            collector.put(event)
        }
    })
}

/// Takes in the result of a measurement.
fn put_measured(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    event: Event,
    met: &mut Met,
) -> Result<(), ImportError> {
    let fail = |problem| table.fail(problem);
    let number = table.text(NUMBER)?;
    if let Some(concept) = concept(table, RESULT)?.filter(|_| number.is_empty()) {
        let fact = met.result(&mut collector.codes, event.fact, concept, 1).map_err(fail)?;
        return collector.put(event.saying(fact));
    }
    let (text, mut unit) = (table.text(TEXT)?, table.text(UNIT)?);
    let name;
    if unit.is_empty()
        && let Some(concept) = concept(table, UNIT_CONCEPT)?
    {
        name = met.unit(&mut collector.units, concept).map_err(fail)?;
        unit = &name;
    }
    put_result(collector, table, event, &Outcome { number, text, unit })
}

/// A time, or else the date of a column before it.
pub(super) fn time(
    table: &Table<'_>,
    date: usize,
    datetime: usize,
) -> Result<Option<i64>, ImportError> {
    match table.time(datetime)? {
        Some(time) => Ok(Some(time)),
        None => table.time(date),
    }
}

/// Keeps which concepts are above those that were met.
fn read_ancestors(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &Met,
) -> Result<(), ImportError> {
    let columns = ["ancestor_concept_id", "descendant_concept_id"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    collector.read(parts, columns, |collector, table| {
        let number = |column| -> Result<Option<u64>, ImportError> {
            Ok(table.integer(column)?.and_then(|id| u64::try_from(id).ok()))
        };
        let (Some(above), Some(below)) = (number(0)?, number(1)?) else { return Ok(()) };
        met.ancestor(&mut collector.codes, above, below);
        Ok(())
    })
}

/// Names the codes that were met after their concepts, and keeps the titles of those.
fn read_concepts(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &Met,
) -> Result<(), ImportError> {
    let mut columns = ["concept_id", "concept_name", "vocabulary_id", "concept_code"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    columns.extend(["domain_id", "standard_concept"].map(|name| Column::optional(&[name])));
    let mut names = Names::default();
    collector.read(parts, columns, |collector, table| {
        let Some(id) = concept(table, 0)? else { return Ok(()) };
        let row = ConceptRow {
            id,
            title: table.text(1)?,
            system: table.text(2)?,
            code: table.text(3)?,
            domain: table.text(4)?,
            standard: table.text(5)?,
        };
        let Collector { codes, units, .. } = collector;
        met.describe(codes, units, &row, &mut names).map_err(|problem| table.fail(problem))
    })
}
