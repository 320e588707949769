//! Tables of the OMOP common data model.

use std::collections::hash_map::Entry;
use std::path::Path;

use consequence_record::calendar::{self, DAY};
use consequence_record::{Concept, Domain};
use consequence_tables::shown;
use rustc_hash::FxHashMap;

use super::omop_events::{EVENTS, Events};
use super::omop_order::{find, need};
use super::traits::{ETHNICITY, RACE, VISIT_TYPE, by_concept};
use super::{LISTED, Outcome, Told, omop_own, put_birth, put_result, put_sex};
use crate::build::Profile;
use crate::codes::{Role, is_icd, start, without_dot};
use crate::collector::Collector;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::summary::Reason;
use crate::table::{Column, Table};
use crate::{ImportError, ImportProblem};

/// What codes are called whose concept is not described.
const SYSTEM: &str = "OMOP";

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
    met.keep(collector);
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
            let fact = met.word(collector, table, system, 6 + 2 * index, Role::Exclusive)?;
            if let Some(fact) = fact {
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
        columns.push(Column::optional(&["visit_source_value"]));
    }
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(whole(table.needed_text(1)?));
        let begin = time(table, 2, 3)?;
        collector.put(Event::new(subject, Fact::VISIT, visit, begin))?;
        if types && let Some(fact) = met.visit_type(collector, table)? {
            collector.put(Event::new(subject, fact, visit, None))?;
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

/// The concepts that rows spoke of.
#[derive(Default)]
struct Met {
    /// Those of events.
    codes: FxHashMap<u64, Coded>,
    /// Those of races, ethnicities and kinds of visits, by system.
    words: FxHashMap<(&'static str, u64), Fact>,
    /// Those that results were told by, rather than in words.
    results: FxHashMap<u64, Vec<Fact>>,
    /// Those of units.
    units: FxHashMap<u64, u16>,
}

/// A concept that events have.
struct Coded {
    fact: Fact,
    /// That of the first table it was met in.
    domain: Domain,
    /// Whether a row has it as a standard concept.
    standard: bool,
}

impl Met {
    /// The code of a concept that an event has.
    fn code(
        &mut self,
        collector: &mut Collector<'_>,
        table: &Table<'_>,
        id: u64,
        domain: Domain,
        standard: bool,
    ) -> Result<Fact, ImportError> {
        if let Some(coded) = self.codes.get_mut(&id) {
            coded.standard |= standard;
            return Ok(coded.fact);
        }
        let fact = collector.codes.fact(&[SYSTEM, &id.to_string()], Role::Encounter);
        let fact = fact.map_err(|problem| table.fail(problem))?;
        self.codes.insert(id, Coded { fact, domain, standard });
        Ok(fact)
    }

    /// The code of a race or the like: by its concept, or else by the source's word in the next column.
    fn word(
        &mut self,
        collector: &mut Collector<'_>,
        table: &Table<'_>,
        system: &'static str,
        column: usize,
        role: Role,
    ) -> Result<Option<Fact>, ImportError> {
        let fail = |problem| table.fail(problem);
        if let Some(id) = concept(table, column)? {
            if let Some(&fact) = self.words.get(&(system, id)) {
                return Ok(Some(fact));
            }
            let number = id.to_string();
            let known = by_concept(id).map(|word| word.name);
            let parts = [system, known.unwrap_or(&number)];
            let fact = collector.codes.fact(&parts, role).map_err(fail)?;
            collector.codes.concept(fact, Concept { id, ..Concept::default() });
            self.words.insert((system, id), fact);
            return Ok(Some(fact));
        }
        match table.text(column + 1)? {
            "" => Ok(None),
            word => {
                let parts = [system, &word.to_uppercase()];
                collector.codes.fact(&parts, role).map(Some).map_err(fail)
            }
        }
    }

    /// The code of the kind of a visit.
    fn visit_type(
        &mut self,
        collector: &mut Collector<'_>,
        table: &Table<'_>,
    ) -> Result<Option<Fact>, ImportError> {
        match concept(table, 6)? {
            // What the source calls a visit is its own name as often as its kind.
            None => Ok(None),
            Some(_) => self.word(collector, table, VISIT_TYPE, 6, Role::Encounter),
        }
    }

    /// Keeps the number of each concept with its code, whatever that is called.
    fn keep(&self, collector: &mut Collector<'_>) {
        for (&id, coded) in &self.codes {
            let (domain, source) = (Some(coded.domain), !coded.standard);
            collector
                .codes
                .concept(coded.fact, Concept { id, domain, source, ..Concept::default() });
        }
        for (&id, facts) in &self.results {
            facts.iter().for_each(|&fact| collector.codes.result_concept(fact, id));
        }
    }
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
        let fact = met.code(collector, table, id, events.domain, standard.is_some())?;
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
        let fact = collector.codes.text_result(event.fact, &concept.to_string()).map_err(fail)?;
        let facts = met.results.entry(concept).or_default();
        if !facts.contains(&fact) {
            facts.push(fact);
        }
        return collector.put(event.saying(fact));
    }
    let (text, mut unit) = (table.text(TEXT)?, table.text(UNIT)?);
    let name;
    if unit.is_empty()
        && let Some(concept) = concept(table, UNIT_CONCEPT)?
    {
        name = format!("{SYSTEM}//{concept}");
        unit = &name;
        if let Entry::Vacant(vacant) = met.units.entry(concept) {
            vacant.insert(collector.units.number(unit).map_err(fail)?);
        }
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
        if let Some(coded) = met.codes.get(&below).filter(|_| above != below) {
            collector.codes.ancestor(coded.fact, above);
        }
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
    let mut named: FxHashMap<String, Fact> = FxHashMap::default();
    collector.read(parts, columns, |collector, table| {
        let Some(id) = concept(table, 0)? else { return Ok(()) };
        for &fact in met.results.get(&id).into_iter().flatten() {
            collector.codes.reword(fact, table.text(1)?);
        }
        if let Some(&unit) = met.units.get(&id) {
            collector.units.rename(unit, table.text(3)?);
        }
        for system in [RACE, ETHNICITY, VISIT_TYPE] {
            if let Some(&fact) = met.words.get(&(system, id)) {
                let word = table.text(1)?;
                if by_concept(id).is_none() && !word.is_empty() {
                    collector.codes.rename(fact, &format!("{system}//{}", word.to_uppercase()));
                }
                collector.codes.title(fact, word);
            }
        }
        let Some(&Coded { fact, .. }) = met.codes.get(&id) else { return Ok(()) };
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
        let (domain, standard) = (table.text(4)?, table.text(5)?);
        collector.codes.describe(fact, |concept| {
            if !domain.is_empty() {
                // What is of none of the tables of events is an observation.
                concept.domain = Some(Domain::of(domain).unwrap_or(Domain::Observation));
            }
            concept.source &= standard != "S";
        });
        Ok(())
    })
}
