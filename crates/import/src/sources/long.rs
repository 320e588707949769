//! A table with one code a row.

use std::path::Path;

use crate::build::Profile;
use crate::codes::Role;
use crate::collector::Collector;
use crate::event::{Event, Fact, VisitKey};
use crate::files::Parts;
use crate::summary::Reason;
use crate::table::{Column, Table};
use crate::{CsvColumns, ImportError, ImportProblem};

const SUBJECT: usize = 0;
const CODE: usize = 1;
const TIME: usize = 2;
const VISIT: usize = 3;
const VALUE: usize = 4;
const FLAG: usize = 5;
const ENDED: usize = 6;
const STATICS: usize = 7;

pub(super) fn gather(
    path: &Path,
    names: &CsvColumns,
    collector: &mut Collector<'_>,
) -> Result<Profile, ImportError> {
    if names.time.is_none() && names.visit.is_none() {
        let text = "neither a column of times nor one of visits is named";
        let problem = ImportProblem::Option(text.into());
        return Err(ImportError::whole(path.display().to_string(), problem));
    }
    let given = |name: &Option<String>| match name {
        Some(name) => Column::needed(&[name]),
        None => Column::optional(&[]),
    };
    let mut columns = vec![
        Column::needed(&[&names.subject]),
        Column::needed(&[&names.code]),
        given(&names.time),
        given(&names.visit),
        given(&names.value),
        given(&names.static_flag),
        given(&names.ended),
    ];
    columns.extend(names.statics.iter().map(|name| Column::needed(&[name])));
    let systems: Vec<String> = names.statics.iter().map(|name| name.to_uppercase()).collect();
    let parts = Parts { table: "table", files: vec![path.to_path_buf()] };
    collector.read(parts, columns, |collector, table| row(collector, table, &systems))?;
    Ok(Profile { dated: names.time.is_some(), listed: false, sex: false, age: false })
}

fn row(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    systems: &[String],
) -> Result<(), ImportError> {
    let subject = collector.any_subject(table, SUBJECT)?;
    let time = table.time(TIME)?;
    let flagged = matches!(table.text(FLAG)?, "1" | "true" | "True" | "TRUE");
    let visit = match (table.text(VISIT)?, time) {
        _ if flagged => VisitKey::STATIC,
        ("", Some(time)) => VisitKey::day(time),
        ("", None) => VisitKey::STATIC,
        (visit, _) => VisitKey::named(visit),
    };
    if matches!(table.text(ENDED)?, "0" | "false" | "False" | "FALSE") {
        collector.put(Event::new(subject, Fact::CUT, VisitKey::STATIC, None))?;
    }
    let fail = |problem| table.fail(problem);
    for (index, system) in systems.iter().enumerate() {
        let value = table.text(STATICS + index)?;
        if !value.is_empty() {
            let fact = collector.codes.fact(&[system, value], Role::Exclusive).map_err(fail)?;
            collector.put(Event::new(subject, fact, visit, time))?;
        }
    }
    let code = table.text(CODE)?;
    if code.is_empty() {
        if visit != VisitKey::STATIC {
            collector.put(Event::new(subject, Fact::VISIT, visit, time))?;
        } else if systems.is_empty() {
            collector.summary.drop_one(Reason::NoCode);
        }
        return Ok(());
    }
    let value = match table.text(VALUE)? {
        "" => f32::NAN,
        text => match text.parse::<f32>() {
            Ok(value) if value.is_finite() => value,
            _ => return Err(fail(ImportProblem::BadNumber { column: table.name(VALUE) })),
        },
    };
    let role = if visit == VisitKey::STATIC { Role::Static } else { Role::Encounter };
    let fact = collector.codes.fact(&[code], role).map_err(fail)?;
    collector.put(Event::new(subject, fact, visit, time).valued(value))
}
