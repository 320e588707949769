//! MIMIC-IV.

use std::path::Path;

use super::mimic::{read_admissions, read_drugs, read_icd, read_measurements, read_titles};
use super::{LISTED, put_birth, put_sex};
use crate::build::Profile;
use crate::collector::Collector;
use crate::event::VisitKey;
use crate::folder::Folder;
use crate::table::{Column, Table};
use crate::{ImportError, ImportProblem};
use consequence_tables::calendar::{self, DAY};

pub(super) fn gather(path: &Path, collector: &mut Collector<'_>) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &["hosp"])?;
    let (patients, admissions) = (folder.need("patients")?, folder.need("admissions")?);
    let diagnoses = folder.need("diagnoses_icd")?;
    // The year that the age of each subject is given for, by the subject's number.
    let mut anchors: Vec<Option<i64>> = Vec::new();
    let columns = ["subject_id", "gender", "anchor_age", "anchor_year"]
        .map(|name| Column::needed(&[name]))
        .to_vec();
    collector.read(patients, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        let year = table.integer(3)?.filter(|year| (1..=9999).contains(year));
        anchors.push(year);
        let (Some(age), Some(year)) = (table.integer(2)?, year) else { return Ok(()) };
        let Some(birth) = year.checked_sub(age).and_then(|year| calendar::day(year, 1, 1)) else {
            return Err(table.fail(ImportProblem::BadNumber { column: table.name(2) }));
        };
        put_birth(collector, subject, Some(birth * DAY))
    })?;
    read_admissions(collector, admissions, |table, column, subject| {
        admitted(table, column, anchors.get(subject as usize).copied().flatten())
    })?;
    read_icd(collector, diagnoses, diagnosis_system, true)?;
    read_titles(collector, folder.find("d_icd_diagnoses")?, diagnosis_system)?;
    if let Some(procedures) = folder.find("procedures_icd")? {
        read_icd(collector, procedures, procedure_system, true)?;
        read_titles(collector, folder.find("d_icd_procedures")?, procedure_system)?;
    }
    read_drugs(collector, folder.find("prescriptions")?)?;
    read_measurements(collector, &folder, "labevents", "d_labitems")?;
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

/// When an admission began. Copies that went through a spreadsheet have years of two digits; years
/// are shifted by a century or more here, but never far from that of the subject's anchor.
fn admitted(
    table: &Table<'_>,
    column: usize,
    anchor: Option<i64>,
) -> Result<Option<i64>, ImportError> {
    let text = table.text(column)?;
    match anchor.and_then(|anchor| calendar::parse_short(text, anchor)) {
        Some(time) => Ok(Some(time)),
        None => table.time(column),
    }
}
