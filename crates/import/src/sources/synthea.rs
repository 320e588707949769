//! The CSV files of Synthea.

use std::path::Path;

use super::traits::{Asked, ETHNICITY, RACE, VISIT_TYPE, put_word};
use super::{LISTED, Outcome, put_birth, put_result, put_sex};
use crate::ImportError;
use crate::codes::Role;
use crate::collector::Collector;
use crate::encounters::Profile;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::summary::Reason;
use crate::table::Column;

pub(super) fn gather(path: &Path, collector: &mut Collector<'_>) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &["csv"])?;
    let (patients, encounters) = (folder.need("patients")?, folder.need("encounters")?);
    let mut columns = vec![
        Column::needed(&["Id", "patient"]),
        Column::needed(&["GENDER"]),
        Column::needed(&["BIRTHDATE"]),
        Column::optional(&["DEATHDATE"]),
    ];
    let people: [(_, &[&str]); 2] = [(RACE, &["RACE"]), (ETHNICITY, &["ETHNICITY"])];
    let asked = Asked::new(collector, &people, &mut columns);
    collector.read(patients, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        for (system, _) in people {
            if let Some(word) = asked.told(table, system)? {
                put_word(collector, table, (system, &word), subject, VisitKey::STATIC)?;
            }
        }
        put_birth(collector, subject, table.time(2)?)?;
        let death = collector.put_death(subject, table.time(3)?);
        death.map_err(|problem| table.fail(problem))?
    })?;
    let mut columns = vec![
        Column::needed(&["PATIENT"]),
        Column::needed(&["Id"]),
        Column::needed(&["START", "DATE"]),
        Column::optional(&["STOP"]),
    ];
    let asked = Asked::new(collector, &[(VISIT_TYPE, &["ENCOUNTERCLASS", "CLASS"])], &mut columns);
    collector.read(encounters, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(table.needed_text(1)?);
        collector.put(Event::new(subject, Fact::VISIT, visit, table.time(2)?))?;
        if let Some(word) = asked.told(table, VISIT_TYPE)? {
            put_word(collector, table, (VISIT_TYPE, &word), subject, visit)?;
        }
        collector.put_end(subject, visit, table.time(3)?)
    })?;
    for (table, system) in
        [("conditions", "SNOMED"), ("procedures", "SNOMED"), ("medications", "RX")]
    {
        if let Some(parts) = folder.find(table)? {
            read_events(collector, parts, system, false)?;
        }
    }
    if let Some(parts) = folder.find("observations")?.filter(|_| collector.measures()) {
        read_events(collector, parts, "LAB", true)?;
    }
    collector.summary.unread_tables = folder.unread();
    Ok(LISTED)
}

fn read_events(
    collector: &mut Collector<'_>,
    parts: Parts,
    system: &'static str,
    measured: bool,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["PATIENT"]),
        Column::needed(&["ENCOUNTER"]),
        Column::needed(&["CODE"]),
        Column::needed(&["START", "DATE"]),
        Column::optional(&["DESCRIPTION"]),
    ];
    if measured {
        columns.push(Column::needed(&["VALUE"]));
        columns.extend(["UNITS", "TYPE"].map(|name| Column::optional(&[name])));
    }
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let code = table.text(2)?;
        if code.is_empty() {
            collector.summary.drop_one(Reason::NoCode);
            return Ok(());
        }
        let fact = collector.codes.fact(&[system, code], Role::Encounter);
        let fact = fact.map_err(|problem| table.fail(problem))?;
        collector.codes.title(fact, table.text(4)?);
        let time = table.time(3)?;
        let visit = match (table.text(1)?, time) {
            ("", Some(time)) => VisitKey::day(time),
            ("", None) => {
                collector.summary.drop_one(Reason::NoDate);
                return Ok(());
            }
            (encounter, _) => VisitKey::named(encounter),
        };
        let event = Event::new(subject, fact, visit, time);
        if !measured {
            return collector.put(event);
        }
        let (value, unit, kind) = (table.text(5)?, table.text(6)?, table.text(7)?);
        let is_text = match kind {
            "" => value.parse::<f32>().is_err(),
            kind => !kind.eq_ignore_ascii_case("numeric"),
        };
        let (number, text) = if is_text { ("", value) } else { (value, "") };
        put_result(collector, table, event, &Outcome { number, text, unit })
    })
}
