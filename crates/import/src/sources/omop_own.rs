//! Tables of OMOP that this program wrote, which come back as they were.
//!
//! Codes stand in the columns of the source's values, those of gaps and stays with their visits, splits are
//! cohorts, and `metadata` tells what OMOP has no column for. Other tables have none of these notes.

use consequence_record::{Concept, Domain, Kind, Scale, Split};
use consequence_tables::export::{
    OMOP_BETWEEN, OMOP_CUT, OMOP_FORMAT, OMOP_SCALE, OMOP_TIME, OMOP_UNUSED, OmopUnused,
    omop_scale, omop_unused,
};
use rustc_hash::FxHashMap;

use super::omop::{concept, time};
use super::omop_events::{EVENTS, Events};
use super::{Told, put_birth};
use crate::codes::{Role, is_part};
use crate::collector::Collector;
use crate::encounters::Profile;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::summary::Reason;
use crate::table::{Column, Table};
use crate::{ImportError, ImportProblem};

/// The number of the format that is written today.
const FORMAT: &str = "1";

/// Where the numbers of concepts begin that are of no vocabulary of OMOP.
const OWN_CONCEPTS: u64 = 2_000_000_000;

/// What codes of the kinds of visits begin with.
const VISIT_TYPE: &str = "VISIT_TYPE//";

/// What `metadata` tells of tables of ours.
#[derive(Default)]
pub(super) struct Notes {
    ours: bool,
    /// Whether dates were made up, as there were none.
    ordinal: bool,
    scales: Vec<(String, Scale)>,
    unused: Vec<OmopUnused>,
}

/// The notes of tables of ours; none of those of others.
pub(super) fn notes(
    folder: &Folder,
    collector: &mut Collector<'_>,
) -> Result<Option<Notes>, ImportError> {
    let Some(parts) = folder.find("METADATA")? else { return Ok(None) };
    let mut notes = Notes::default();
    let columns = ["name", "value_as_string"].map(|name| Column::optional(&[name])).to_vec();
    collector.read(parts, columns, |_, table| {
        let damaged = |what: &str| Err(table.fail(ImportProblem::Damaged(what.into())));
        let text = table.text(1)?;
        match table.text(0)? {
            OMOP_FORMAT if text == FORMAT => notes.ours = true,
            OMOP_FORMAT => {
                return Err(table.fail(ImportProblem::NewerFormat { format: text.to_owned() }));
            }
            OMOP_TIME => notes.ordinal = text == "ordinal",
            OMOP_SCALE => match omop_scale(text) {
                Some(scale) => notes.scales.push(scale),
                None => return damaged("a scale that is none"),
            },
            OMOP_UNUSED => match omop_unused(text) {
                Some(code) => notes.unused.push(code),
                None => return damaged("a code without a record that is none"),
            },
            _ => {}
        }
        Ok(())
    })?;
    Ok(Some(notes).filter(|notes| notes.ours))
}

/// What was met of the tables so far.
#[derive(Default)]
struct Met {
    /// The subjects, by the numbers of persons.
    persons: FxHashMap<i64, u32>,
    /// The encounter in which each subject died, and the code of it.
    deaths: FxHashMap<u32, (VisitKey, Fact)>,
    /// The codes that each source concept stands for.
    codes: FxHashMap<u64, Vec<Fact>>,
}

pub(super) fn gather(
    folder: &Folder,
    collector: &mut Collector<'_>,
    notes: Notes,
    told: &mut Told,
) -> Result<Profile, ImportError> {
    let mut met = Met::default();
    read_persons(collector, folder.need("PERSON")?, &mut met)?;
    read_visits(collector, folder.need("VISIT_OCCURRENCE")?, &mut met)?;
    for events in &EVENTS {
        if let Some(parts) = folder.find(events.table)? {
            read_events(collector, parts, events, &mut met)?;
        }
    }
    if let Some(parts) = folder.find("DEATH")? {
        read_deaths(collector, parts, &mut met)?;
    }
    for (subject, (visit, fact)) in std::mem::take(&mut met.deaths) {
        collector.put(Event::new(subject, fact, visit, None))?;
    }
    if let (Some(names), Some(members)) =
        (folder.find("COHORT_DEFINITION")?, folder.find("COHORT")?)
    {
        read_splits(collector, names, members, &met)?;
    }
    for code in notes.unused {
        put_unused(collector, code, &mut met, told)
            .map_err(|problem| ImportError::whole("metadata", problem))?;
    }
    if let Some(parts) = folder.find("CONCEPT")? {
        read_concepts(collector, parts, &met)?;
    }
    for (name, scale) in notes.scales {
        if let Some(number) = collector.codes.find(&name).and_then(Fact::code) {
            told.scales.push((number, scale));
        }
    }
    // These tell nothing that the others do not.
    for table in ["OBSERVATION_PERIOD", "CDM_SOURCE"] {
        folder.find(table)?;
    }
    collector.summary.unread_tables = folder.unread();
    // What is in the other columns was made of what was read.
    collector.summary.unread_columns.clear();
    Ok(Profile { dated: !notes.ordinal, listed: true, own: true, ..Profile::default() })
}

impl Met {
    /// The subject of a row; one of a person that is not listed is counted and left out.
    fn subject(
        &self,
        collector: &mut Collector<'_>,
        table: &Table<'_>,
        column: usize,
    ) -> Result<Option<u32>, ImportError> {
        let person = table.integer(column)?;
        let subject = person.and_then(|person| self.persons.get(&person).copied());
        if subject.is_none() {
            collector.summary.drop_one(Reason::UnknownSubject);
        }
        Ok(subject)
    }
}

fn read_persons(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &mut Met,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["person_id"]),
        Column::needed(&["person_source_value"]),
        Column::needed(&["birth_datetime"]),
    ];
    let traits = ["gender_source_value", "race_source_value", "ethnicity_source_value"];
    columns.extend(traits.map(|name| Column::needed(&[name])));
    // A sex is known by its word.
    let concepts = ["race_concept_id", "ethnicity_concept_id"];
    columns.extend(concepts.map(|name| Column::needed(&[name])));
    collector.read(parts, columns, |collector, table| {
        let subject = collector.listed_subject(table, 1)?;
        let Some(person) = table.integer(0)? else {
            return Err(table.fail(ImportProblem::Empty { column: table.name(0) }));
        };
        met.persons.insert(person, subject);
        for column in 3..6 {
            let code = table.text(column)?;
            if !code.is_empty() {
                let fact = collector.codes.fact(&[code], Role::Static);
                let fact = fact.map_err(|problem| table.fail(problem))?;
                if let Some(id) = if column > 3 { concept(table, column + 2)? } else { None } {
                    collector.codes.concept(fact, Concept { id, ..Concept::default() });
                }
                collector.put(Event::new(subject, fact, VisitKey::STATIC, None))?;
            }
        }
        put_birth(collector, subject, table.time(2)?)
    })
}

fn read_visits(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &mut Met,
) -> Result<(), ImportError> {
    let columns = [
        "person_id",
        "visit_occurrence_id",
        "visit_start_date",
        "visit_start_datetime",
        "visit_end_datetime",
        "visit_source_value",
        "discharged_to_source_value",
        "visit_concept_id",
    ];
    let columns = columns.map(|name| Column::needed(&[name])).to_vec();
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = met.subject(collector, table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(table.needed_text(1)?);
        collector.put(Event::new(subject, Fact::VISIT, visit, time(table, 2, 3)?))?;
        collector.put_end(subject, visit, table.time(4)?)?;
        let fail = |problem| table.fail(problem);
        for code in table.text(5)?.split(OMOP_BETWEEN).filter(|code| !code.is_empty()) {
            if code == OMOP_CUT {
                collector.put(Event::new(subject, Fact::CUT, VisitKey::STATIC, None))?;
                continue;
            }
            let fact = collector.codes.fact(&[code], Role::Encounter).map_err(fail)?;
            if code.starts_with(VISIT_TYPE)
                && let Some(id) = concept(table, 7)?
            {
                collector.codes.concept(fact, Concept { id, ..Concept::default() });
            }
            collector.put(Event::new(subject, fact, visit, None))?;
        }
        match table.text(6)? {
            "" => {}
            death => {
                let fact = collector.codes.fact(&[death], Role::Encounter).map_err(fail)?;
                met.deaths.insert(subject, (visit, fact));
            }
        }
        Ok(())
    })
}

const VISIT: usize = 3;
const CONCEPT: usize = 4;
const SOURCE_CONCEPT: usize = 5;
const SOURCE: usize = 6;
const VALUE: usize = 7;
const RESULT: usize = 8;
const RESULT_CONCEPT: usize = 9;

fn read_events(
    collector: &mut Collector<'_>,
    parts: Parts,
    events: &Events,
    met: &mut Met,
) -> Result<(), ImportError> {
    let domain = events.domain;
    let mut columns = ["person_id", events.date, events.datetime, "visit_occurrence_id"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    let told = [events.concept(), events.source_concept(), events.source_value()];
    columns.extend(told.map(|name| Column::needed(&[&name])));
    let valued = matches!(domain, Domain::Measurement | Domain::Observation);
    let values = ["value_as_number", "value_source_value", "value_as_concept_id"];
    columns.extend(
        values.map(|name| if valued { Column::needed(&[name]) } else { Column::optional(&[]) }),
    );
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = met.subject(collector, table, 0)? else { return Ok(()) };
        let (visit, role) = match table.text(VISIT)? {
            "" => (VisitKey::STATIC, Role::Static),
            visit => (VisitKey::named(visit), Role::Encounter),
        };
        let (code, result) = (table.needed_text(SOURCE)?, table.text(RESULT)?);
        let parts = [code, result];
        let parts = if result.is_empty() { &parts[..1] } else { &parts[..] };
        let fail = |problem| table.fail(problem);
        let fact = collector.codes.fact(parts, role).map_err(fail)?;
        let source = concept(table, SOURCE_CONCEPT)?;
        let facts = met.codes.entry(source.unwrap_or(0)).or_default();
        if !facts.contains(&fact) {
            facts.push(fact);
            let standard = concept(table, CONCEPT)?;
            let known = standard.or(source.filter(|&id| id < OWN_CONCEPTS));
            if let Some(id) = known {
                let words = !result.is_empty() && !is_part(result);
                let result = concept(table, RESULT_CONCEPT)?.unwrap_or(0);
                let result = Some(result).filter(|_| words);
                let (domain, source) = (Some(domain), standard.is_none());
                let ancestors = Vec::new();
                let concept = Concept { id, ancestors, domain, source, result };
                collector.codes.concept(fact, concept);
            }
        }
        let value = match table.text(VALUE)? {
            "" => f32::NAN,
            text => match text.parse::<f32>() {
                Ok(value) if value.is_finite() => value,
                _ => return Err(fail(ImportProblem::BadNumber { column: table.name(VALUE) })),
            },
        };
        let time = if role == Role::Static { None } else { time(table, 1, 2)? };
        collector.put(Event::new(subject, fact, visit, time).valued(value, 0))
    })
}

/// Puts a death into the encounter that ended in it.
fn read_deaths(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &mut Met,
) -> Result<(), ImportError> {
    let columns = ["person_id", "death_date", "death_datetime"];
    let columns = columns.map(|name| Column::needed(&[name])).to_vec();
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = met.subject(collector, table, 0)? else { return Ok(()) };
        let time = time(table, 1, 2)?;
        match met.deaths.remove(&subject) {
            Some((visit, fact)) => collector.put(Event::new(subject, fact, visit, time)),
            None => collector.put_death(subject, time).map_err(|problem| table.fail(problem))?,
        }
    })
}

/// Puts subjects into the splits whose cohorts they are in.
fn read_splits(
    collector: &mut Collector<'_>,
    names: Parts,
    members: Parts,
    met: &Met,
) -> Result<(), ImportError> {
    let mut splits: FxHashMap<i64, Split> = FxHashMap::default();
    let columns = ["cohort_definition_id", "cohort_definition_name"];
    let columns = columns.map(|name| Column::needed(&[name])).to_vec();
    collector.read(names, columns, |_, table| {
        // Others may have put cohorts of their own beside them.
        if let (Some(number), Ok(split)) = (table.integer(0)?, table.text(1)?.parse()) {
            splits.insert(number, split);
        }
        Ok(())
    })?;
    let columns = ["cohort_definition_id", "subject_id"];
    let columns = columns.map(|name| Column::needed(&[name])).to_vec();
    collector.read(members, columns, |collector, table| {
        let split = table.integer(0)?.and_then(|number| splits.get(&number).copied());
        let person = table.integer(1)?.and_then(|person| met.persons.get(&person).copied());
        if let (Some(split), Some(subject)) = (split, person) {
            collector.subjects.put_into(subject, split);
        }
        Ok(())
    })
}

/// Takes in a code that no record has.
fn put_unused(
    collector: &mut Collector<'_>,
    unused: OmopUnused,
    met: &mut Met,
    told: &mut Told,
) -> Result<(), ImportProblem> {
    let role = match unused.kind {
        Kind::Static => Role::Static,
        Kind::Encounter => Role::Encounter,
    };
    let fact = collector.codes.fact(&[&unused.code], role)?;
    if let Some(concept) = unused.concept {
        collector.codes.concept(fact, concept);
    }
    met.codes.entry(unused.source_concept).or_default().push(fact);
    told.unused.extend(fact.code());
    Ok(())
}

fn read_concepts(
    collector: &mut Collector<'_>,
    parts: Parts,
    met: &Met,
) -> Result<(), ImportError> {
    let columns = ["concept_id", "concept_name", "domain_id", "vocabulary_id", "concept_code"];
    let columns = columns.map(|name| Column::needed(&[name])).to_vec();
    collector.read(parts, columns, |collector, table| {
        let Some(id) = concept(table, 0)? else { return Ok(()) };
        let (title, domain) = (table.text(1)?, Domain::of(table.text(2)?));
        let named = format!("{}//{}", table.text(3)?, table.text(4)?);
        for &fact in met.codes.get(&id).into_iter().flatten() {
            // Without a title, the code stands for it.
            if title != named && title != table.text(4)? {
                collector.codes.title(fact, title);
            }
            collector.codes.describe(fact, |concept| concept.domain = domain.or(concept.domain));
        }
        Ok(())
    })
}
