//! MIMIC-III and MIMIC-IV: what they have in common, and each.

use std::path::Path;

use consequence_record::calendar::{self, DAY};

use super::traits::{Asked, ETHNICITY, RACE, VISIT_TYPE, put, put_word};
use super::{LISTED, Outcome, put_birth, put_result, put_sex};
use crate::codes::{Role, drug, without_dot};
use crate::collector::Collector;
use crate::encounters::Profile;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::summary::Reason;
use crate::table::{Column, Table};
use crate::{ImportError, ImportProblem};

/// Finds when something in a row was, given the column and the subject.
type Clock<'a> = &'a dyn Fn(&Table<'_>, usize, u32) -> Result<Option<i64>, ImportError>;

/// The subject and the admission of a row; none where they are not known, which is counted.
fn subject_and_visit(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
) -> Result<Option<(u32, VisitKey)>, ImportError> {
    let Some(subject) = collector.known_subject(table, 0)? else { return Ok(None) };
    match table.text(1)? {
        "" => {
            collector.summary.drop_one(Reason::NoVisit);
            Ok(None)
        }
        admission => Ok(Some((subject, VisitKey::named(admission)))),
    }
}

/// The column of race and ethnicity, which are one here; the first version of MIMIC-IV has the name of
/// MIMIC-III.
const ORIGIN: &[&str] = &["race", "ethnicity"];

/// The ethnicity that a word of the one column tells. That anybody else is not Hispanic is not said.
fn ethnicity(word: &str) -> Option<&'static str> {
    word.starts_with("HISPANIC").then_some("HISPANIC OR LATINO")
}

/// The concept of a kind of admission: all of them are stays, some by way of the emergency room.
fn admission(word: &str) -> Option<u64> {
    match word {
        "EMERGENCY" | "EW EMER." | "DIRECT EMER." => Some(262),
        "ELECTIVE" | "URGENT" | "NEWBORN" | "SURGICAL SAME DAY ADMISSION" => Some(9201),
        _ => None,
    }
}

/// Reads the table of admissions.
pub(super) fn read_admissions(
    collector: &mut Collector<'_>,
    parts: Parts,
    clock: Clock<'_>,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["subject_id"]),
        Column::needed(&["hadm_id"]),
        Column::needed(&["admittime"]),
        Column::optional(&["hospital_expire_flag"]),
        Column::optional(&["dischtime"]),
        Column::optional(&["deathtime"]),
    ];
    let known: [(_, &[&str]); 3] =
        [(RACE, ORIGIN), (ETHNICITY, ORIGIN), (VISIT_TYPE, &["admission_type"])];
    let asked = Asked::new(collector, &known, &mut columns);
    collector.read(parts, columns, |collector, table| {
        let Some(subject) = collector.known_subject(table, 0)? else { return Ok(()) };
        let visit = VisitKey::named(table.needed_text(1)?);
        let begin = clock(table, 2, subject)?;
        collector.put(Event::new(subject, Fact::VISIT, visit, begin))?;
        if let Some(word) = asked.told(table, RACE)? {
            put_word(collector, table, (RACE, &word), subject, visit)?;
        }
        if let Some(word) = asked.told(table, ETHNICITY)?.as_deref().and_then(ethnicity) {
            put_word(collector, table, (ETHNICITY, word), subject, visit)?;
        }
        if let Some(word) = asked.told(table, VISIT_TYPE)? {
            put(collector, table, (VISIT_TYPE, &word), admission(&word), subject, visit)?;
        }
        collector.put_end(subject, visit, clock(table, 4, subject)?)?;
        let fail = |problem| table.fail(problem);
        collector.put_death(subject, clock(table, 5, subject)?).map_err(fail)??;
        if table.integer(3)? == Some(1) {
            let fact = collector.codes.fact(&["DISCHARGE", "EXPIRED"], Role::Encounter);
            collector.put(Event::new(subject, fact.map_err(fail)?, visit, None))?;
        }
        Ok(())
    })
}

/// Reads a table of ICD codes. `systems` names the system of each version.
pub(super) fn read_icd(
    collector: &mut Collector<'_>,
    parts: Parts,
    systems: fn(Option<i64>) -> Option<&'static str>,
    versioned: bool,
    clock: Clock<'_>,
) -> Result<(), ImportError> {
    let mut columns = vec![
        Column::needed(&["subject_id"]),
        Column::needed(&["hadm_id"]),
        Column::needed(&["icd_code", "icd9_code"]),
        Column::optional(&["chartdate"]),
    ];
    if versioned {
        columns.push(Column::needed(&["icd_version"]));
    }
    collector.read(parts, columns, |collector, table| {
        let Some((subject, visit)) = subject_and_visit(collector, table)? else { return Ok(()) };
        let code = table.text(2)?;
        if code.is_empty() {
            collector.summary.drop_one(Reason::NoCode);
            return Ok(());
        }
        let version = if versioned { table.integer(4)? } else { None };
        let Some(system) = systems(version) else {
            return Err(table.fail(ImportProblem::BadNumber { column: table.name(4) }));
        };
        let fact = collector.codes.icd(system, code).map_err(|problem| table.fail(problem))?;
        collector.put(Event::new(subject, fact, visit, clock(table, 3, subject)?))
    })
}

/// Reads the titles of ICD codes, if there is a table of them.
pub(super) fn read_titles(
    collector: &mut Collector<'_>,
    parts: Option<Parts>,
    systems: fn(Option<i64>) -> Option<&'static str>,
) -> Result<(), ImportError> {
    let Some(parts) = parts else { return Ok(()) };
    let columns = vec![
        Column::needed(&["icd_code", "icd9_code"]),
        Column::needed(&["long_title"]),
        Column::optional(&["icd_version"]),
    ];
    collector.read(parts, columns, |collector, table| {
        if let Some(system) = systems(table.integer(2)?) {
            let code = without_dot(table.text(0)?);
            collector.codes.title_of(&[system, &code], table.text(1)?);
        }
        Ok(())
    })
}

/// Reads the drugs prescribed during admissions, if there is a table of them.
pub(super) fn read_drugs(
    collector: &mut Collector<'_>,
    parts: Option<Parts>,
    clock: Clock<'_>,
) -> Result<(), ImportError> {
    let Some(parts) = parts else { return Ok(()) };
    let mut columns: Vec<Column> =
        ["subject_id", "hadm_id", "drug"].map(|name| Column::needed(&[name])).to_vec();
    columns.push(Column::optional(&["starttime", "startdate"]));
    collector.read(parts, columns, |collector, table| {
        let Some((subject, visit)) = subject_and_visit(collector, table)? else { return Ok(()) };
        let name = table.text(2)?;
        if name.is_empty() {
            collector.summary.drop_one(Reason::NoCode);
            return Ok(());
        }
        let fact = collector.codes.fact(&["RX", &drug(name)], Role::Encounter);
        let fact = fact.map_err(|problem| table.fail(problem))?;
        collector.codes.title(fact, name);
        collector.put(Event::new(subject, fact, visit, clock(table, 3, subject)?))
    })
}

/// Reads measurements in the laboratory, if they are asked for and there is a table of them.
pub(super) fn read_measurements(
    collector: &mut Collector<'_>,
    folder: &Folder,
    events: &'static str,
    items: &'static str,
    clock: Clock<'_>,
) -> Result<(), ImportError> {
    let Some(parts) = folder.find(events)?.filter(|_| collector.measures()) else {
        return Ok(());
    };
    let mut columns: Vec<Column> = ["subject_id", "hadm_id", "itemid", "valuenum"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    columns.extend(["charttime", "value", "valueuom"].map(|name| Column::optional(&[name])));
    collector.read(parts, columns, |collector, table| {
        let Some((subject, visit)) = subject_and_visit(collector, table)? else { return Ok(()) };
        let fact = collector.codes.fact(&["LAB", table.needed_text(2)?], Role::Encounter);
        let fact = fact.map_err(|problem| table.fail(problem))?;
        let event = Event::new(subject, fact, visit, clock(table, 4, subject)?);
        let outcome =
            Outcome { number: table.text(3)?, text: table.text(5)?, unit: table.text(6)? };
        put_result(collector, table, event, &outcome)
    })?;
    let Some(parts) = folder.find(items)? else { return Ok(()) };
    let columns = vec![Column::needed(&["itemid"]), Column::needed(&["label"])];
    collector.read(parts, columns, |collector, table| {
        collector.codes.title_of(&["LAB", table.text(0)?], table.text(1)?);
        Ok(())
    })
}

/// Takes in MIMIC-III.
pub(super) fn gather_mimic3(
    path: &Path,
    collector: &mut Collector<'_>,
) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &[])?;
    let (patients, admissions) = (folder.need("PATIENTS")?, folder.need("ADMISSIONS")?);
    let diagnoses = folder.need("DIAGNOSES_ICD")?;
    let mut columns: Vec<Column> =
        ["subject_id", "gender", "dob"].map(|name| Column::needed(&[name])).to_vec();
    columns.push(Column::optional(&["dod"]));
    collector.read(patients, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        put_birth(collector, subject, table.time(2)?)?;
        let death = collector.put_death(subject, table.time(3)?);
        death.map_err(|problem| table.fail(problem))?
    })?;
    let clock: Clock<'_> = &|table, column, _| table.time(column);
    read_admissions(collector, admissions, clock)?;
    read_icd(collector, diagnoses, |_| Some("ICD9CM"), false, clock)?;
    read_titles(collector, folder.find("D_ICD_DIAGNOSES")?, |_| Some("ICD9CM"))?;
    if let Some(procedures) = folder.find("PROCEDURES_ICD")? {
        read_icd(collector, procedures, |_| Some("ICD9PROC"), false, clock)?;
        read_titles(collector, folder.find("D_ICD_PROCEDURES")?, |_| Some("ICD9PROC"))?;
    }
    read_drugs(collector, folder.find("PRESCRIPTIONS")?, clock)?;
    read_measurements(collector, &folder, "LABEVENTS", "D_LABITEMS", clock)?;
    collector.summary.unread_tables = folder.unread();
    Ok(LISTED)
}

/// Takes in MIMIC-IV.
pub(super) fn gather_mimic4(
    path: &Path,
    collector: &mut Collector<'_>,
) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &["hosp"])?;
    let (patients, admissions) = (folder.need("patients")?, folder.need("admissions")?);
    let diagnoses = folder.need("diagnoses_icd")?;
    // The year that the age of each subject is given for, by the subject's number.
    let mut anchors: Vec<Option<i64>> = Vec::new();
    let mut columns: Vec<Column> = ["subject_id", "gender", "anchor_age", "anchor_year"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    columns.push(Column::optional(&["dod"]));
    collector.read(patients, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        let year = table.integer(3)?.filter(|year| (1..=9999).contains(year));
        anchors.push(year);
        let death = collector.put_death(subject, clock_near(table, 4, year)?);
        death.map_err(|problem| table.fail(problem))??;
        let (Some(age), Some(year)) = (table.integer(2)?, year) else { return Ok(()) };
        let Some(birth) = year.checked_sub(age).and_then(|year| calendar::day(year, 1, 1)) else {
            return Err(table.fail(ImportProblem::BadNumber { column: table.name(2) }));
        };
        put_birth(collector, subject, Some(birth * DAY))
    })?;
    let clock: Clock<'_> = &|table, column, subject| {
        clock_near(table, column, anchors.get(subject as usize).copied().flatten())
    };
    read_admissions(collector, admissions, clock)?;
    read_icd(collector, diagnoses, diagnosis_system, true, clock)?;
    read_titles(collector, folder.find("d_icd_diagnoses")?, diagnosis_system)?;
    if let Some(procedures) = folder.find("procedures_icd")? {
        read_icd(collector, procedures, procedure_system, true, clock)?;
        read_titles(collector, folder.find("d_icd_procedures")?, procedure_system)?;
    }
    read_drugs(collector, folder.find("prescriptions")?, clock)?;
    read_measurements(collector, &folder, "labevents", "d_labitems", clock)?;
    collector.summary.unread_tables = folder.unread();
    Ok(LISTED)
}

fn diagnosis_system(version: Option<i64>) -> Option<&'static str> {
    match version {
        Some(9) => Some("ICD9CM"),
        Some(10) => Some("ICD10CM"),
        _ => None,
    }
}

fn procedure_system(version: Option<i64>) -> Option<&'static str> {
    match version {
        Some(9) => Some("ICD9PROC"),
        Some(10) => Some("ICD10PCS"),
        _ => None,
    }
}

/// When something was. Copies that went through a spreadsheet have years of two digits; years
/// are shifted by a century or more here, but never far from that of the subject's anchor.
fn clock_near(
    table: &Table<'_>,
    column: usize,
    anchor: Option<i64>,
) -> Result<Option<i64>, ImportError> {
    let text = table.text(column)?;
    match anchor.and_then(|anchor| calendar::parse_short(text, anchor)) {
        Some(time) => {
            table.repair_year();
            Ok(Some(time))
        }
        None => table.time(column),
    }
}
