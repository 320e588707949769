//! MIMIC-III.

use std::path::Path;

use super::mimic::{read_admissions, read_drugs, read_icd, read_measurements, read_titles};
use super::{LISTED, put_birth, put_sex};
use crate::ImportError;
use crate::build::Profile;
use crate::collector::Collector;
use crate::event::VisitKey;
use crate::folder::Folder;
use crate::table::Column;

pub(super) fn gather(path: &Path, collector: &mut Collector<'_>) -> Result<Profile, ImportError> {
    let folder = Folder::open(path, &[])?;
    let (patients, admissions) = (folder.need("PATIENTS")?, folder.need("ADMISSIONS")?);
    let diagnoses = folder.need("DIAGNOSES_ICD")?;
    let columns = ["subject_id", "gender", "dob"].map(|name| Column::needed(&[name])).to_vec();
    collector.read(patients, columns, |collector, table| {
        let subject = collector.listed_subject(table, 0)?;
        put_sex(collector, table, 1, subject, VisitKey::STATIC)?;
        put_birth(collector, subject, table.time(2)?)
    })?;
    read_admissions(collector, admissions, |table, column, _| table.time(column))?;
    read_icd(collector, diagnoses, |_| Some("ICD9CM"), false)?;
    read_titles(collector, folder.find("D_ICD_DIAGNOSES")?, |_| Some("ICD9CM"))?;
    if let Some(procedures) = folder.find("PROCEDURES_ICD")? {
        read_icd(collector, procedures, |_| Some("ICD9PROC"), false)?;
        read_titles(collector, folder.find("D_ICD_PROCEDURES")?, |_| Some("ICD9PROC"))?;
    }
    read_drugs(collector, folder.find("PRESCRIPTIONS")?)?;
    read_measurements(collector, &folder, "LABEVENTS", "D_LABITEMS")?;
    Ok(LISTED)
}
