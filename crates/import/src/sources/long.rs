//! A table with one code a row.

use std::borrow::Cow;
use std::path::Path;

use consequence_record::DEATH;

use super::{MEDS_BIRTH, MEDS_DEATH, put_birth};
use crate::codes::{Role, is_icd, sex_of, sex_word, without_dot};
use crate::collector::Collector;
use crate::encounters::Profile;
use crate::event::{Event, Fact, VisitKey};
use crate::files::Parts;
use crate::summary::Reason;
use crate::table::{Column, Table};
use crate::{CodeColumns, CsvColumns, ImportError, ImportProblem};

const SUBJECT: usize = 0;
const CODE: usize = 1;
const TIME: usize = 2;
const VISIT: usize = 3;
const VALUE: usize = 4;
const FLAG: usize = 5;
const ENDED: usize = 6;
const END: usize = 7;
const UNIT: usize = 8;
const STATICS: usize = 9;

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
    let given = |name: &Option<String>, setting| match name {
        Some(name) => Column::needed(&[name]).said_by(setting),
        None => Column::optional(&[]),
    };
    let mut columns = vec![
        Column::needed(&[&names.subject]).said_by("subject"),
        match names.code_columns.is_empty() {
            true => Column::needed(&[&names.code]).said_by("code"),
            false => Column::optional(&[&names.code]),
        },
        given(&names.time, "time"),
        given(&names.visit, "visit"),
        given(&names.value, "value"),
        given(&names.static_flag, "static_flag"),
        given(&names.ended, "ended"),
        given(&names.end, "end"),
        given(&names.unit, "unit"),
    ];
    columns.extend(names.statics.iter().map(|name| Column::needed(&[name]).said_by("static")));
    columns.extend(names.code_columns.iter().map(Column::like));
    let systems: Vec<String> = names.statics.iter().map(|name| name.to_uppercase()).collect();
    let parts = Parts::new("table", vec![path.to_path_buf()]);
    let mut births = false;
    collector.read(parts, columns, |collector, table| {
        row(collector, table, &systems, &names.code_columns, &mut births)
    })?;
    Ok(Profile { dated: names.time.is_some(), births, ..Profile::default() })
}

fn row(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    systems: &[String],
    wide: &[CodeColumns],
    births: &mut bool,
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
    if visit != VisitKey::STATIC {
        collector.put_end(subject, visit, table.time(END)?)?;
    }
    let fail = |problem| table.fail(problem);
    for (index, system) in systems.iter().enumerate() {
        let value = table.text(STATICS + index)?;
        if !value.is_empty() {
            let sex = sex_word(value).filter(|_| matches!(system.as_str(), "SEX" | "GENDER"));
            let parts = sex.map_or([system.as_str(), value], |sex| ["SEX", sex]);
            let fact = collector.codes.fact(&parts, Role::Exclusive).map_err(fail)?;
            collector.put(Event::new(subject, fact, visit, time))?;
        }
    }
    let mut told = false;
    let code = table.text(CODE)?;
    if !code.is_empty() {
        told = true;
        put_code(collector, table, Row { subject, visit, time }, code, births)?;
    }
    for column in (STATICS + systems.len())..table.columns().len() {
        let code = table.text(column)?;
        if !code.is_empty() {
            told = true;
            let name = &table.columns()[column];
            let system = wide.iter().find(|columns| columns.fits(name));
            let code = match system.and_then(|columns| columns.system.as_deref()) {
                Some(system) => Cow::Owned(in_system(system, code)),
                None => Cow::Borrowed(code),
            };
            put_code(collector, table, Row { subject, visit, time }, &code, births)?;
        }
    }
    if !told {
        if visit != VisitKey::STATIC {
            collector.put(Event::new(subject, Fact::VISIT, visit, time))?;
        } else if systems.is_empty() {
            collector.summary.drop_one(Reason::NoCode);
        }
    }
    Ok(())
}

/// Whose a row is, of which encounter, and when it was.
#[derive(Clone, Copy)]
struct Row {
    subject: u32,
    visit: VisitKey,
    time: Option<i64>,
}

/// A code with its system before it; one of ICD is written without its dot.
fn in_system(system: &str, code: &str) -> String {
    let name = format!("{system}//{code}");
    if is_icd(&name) { format!("{system}//{}", without_dot(code)) } else { name }
}

/// Takes in a code of a row.
fn put_code(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    Row { subject, visit, time }: Row,
    code: &str,
    births: &mut bool,
) -> Result<(), ImportError> {
    let fail = |problem| table.fail(problem);
    if let Some(sex) = sex_of(code) {
        let fact = collector.codes.fact(&["SEX", sex], Role::Exclusive).map_err(fail)?;
        return collector.put(Event::new(subject, fact, VisitKey::STATIC, None));
    }
    if code == MEDS_BIRTH {
        if time.is_none() {
            collector.summary.drop_one(Reason::NoDate);
        }
        *births |= time.is_some();
        return put_birth(collector, subject, time);
    }
    let is_death = code == MEDS_DEATH || code == DEATH;
    if is_death && visit.as_day().is_some() {
        return collector.put_death(subject, time).map_err(fail)?;
    }
    let value = match table.text(VALUE)? {
        "" => None,
        text => match text.parse::<f32>() {
            Ok(value) if value.is_finite() => Some(value),
            _ => return Err(fail(ImportProblem::BadNumber { column: table.name(VALUE) })),
        },
    };
    let role = if visit == VisitKey::STATIC { Role::Static } else { Role::Encounter };
    let code = if is_death { DEATH } else { code };
    let event =
        Event::new(subject, collector.codes.fact(&[code], role).map_err(fail)?, visit, time);
    match value.filter(|_| collector.measures()) {
        Some(value) => collector.put_value(event, value, table.text(UNIT)?).map_err(fail)?,
        None => collector.put(event),
    }
}
