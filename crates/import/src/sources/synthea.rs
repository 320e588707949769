//! The CSV files of Synthea.

use std::path::Path;

use super::{LISTED, put_birth, put_sex};
use crate::ImportError;
use crate::build::Profile;
use crate::codes::Role;
use crate::collector::Collector;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::summary::Reason;
use crate::table::Column;

pub(super) fn gather(path: &Path, collector: &mut Collector<'_>) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &["csv"])?;
    let (patients, encounters) = (folder.need("patients")?, folder.need("encounters")?);
    let columns = vec![
        Column::needed(&["Id", "patient"]),
        Column::needed(&["GENDER"]),
        Column::needed(&["BIRTHDATE"]),
        Column::optional(&["DEATHDATE"]),
    ];
    collector.read(patients, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        put_birth(collector, subject, table.time(2)?)?;
        if let Some(time) = table.time(3)? {
            let death = collector.codes.fact(&["DEATH"], Role::Encounter);
            let death = death.map_err(|problem| table.fail(problem))?;
            collector.put(Event::new(subject, death, VisitKey::day(time), Some(time)))?;
        }
        Ok(())
    })?;
    let columns = vec![
        Column::needed(&["PATIENT"]),
        Column::needed(&["Id"]),
        Column::needed(&["START", "DATE"]),
    ];
    collector.read(encounters, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(table.needed_text(1)?);
        collector.put(Event::new(subject, Fact::VISIT, visit, table.time(2)?))
    })?;
    for (table, system) in
        [("conditions", "SNOMED"), ("procedures", "SNOMED"), ("medications", "RX")]
    {
        if let Some(parts) = folder.find(table)? {
            read_events(collector, parts, system, false)?;
        }
    }
    if let Some(parts) = collector.options.quantiles.and(folder.find("observations")?) {
        read_events(collector, parts, "LAB", true)?;
    }
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
    }
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let code = table.text(2)?;
        if code.is_empty() {
            collector.summary.drop_one(Reason::NoCode);
            return Ok(());
        }
        let mut value = f32::NAN;
        if measured {
            match table.text(5)?.parse::<f32>().ok().filter(|value| value.is_finite()) {
                Some(number) => value = number,
                None => {
                    collector.summary.drop_one(Reason::NoValue);
                    return Ok(());
                }
            }
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
        collector.put(Event::new(subject, fact, visit, time).valued(value))
    })
}
