//! The diabetes data of 130 US hospitals (Strack et al. 2014).

use std::path::Path;

use consequence_record::AgeBand;

use super::put_sex;
use crate::codes::Role;
use crate::collector::Collector;
use crate::encounters::Profile;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{Folder, Parts};
use crate::runs::temporary;
use crate::table::{Column, Table};
use crate::{ImportError, ImportProblem, files};

/// The characters that an ICD-9 category has.
pub(super) const CATEGORY: usize = 3;

const TABLE: &str = "diabetic_data";
const ENTRY: &str = "diabetic_data.csv";
const ARCHIVE: &str = "dataset_diabetes.zip";

/// Columns before the drugs.
const FIXED: [&str; 10] = [
    "patient_nbr",
    "encounter_id",
    "gender",
    "age",
    "discharge_disposition_id",
    "diag_1",
    "diag_2",
    "diag_3",
    "A1Cresult",
    "max_glu_serum",
];

/// Drugs, each a column that says `No` where the drug is not in use.
const DRUGS: [&str; 23] = [
    "metformin",
    "repaglinide",
    "nateglinide",
    "chlorpropamide",
    "glimepiride",
    "acetohexamide",
    "glipizide",
    "glyburide",
    "tolbutamide",
    "pioglitazone",
    "rosiglitazone",
    "acarbose",
    "miglitol",
    "troglitazone",
    "tolazamide",
    "examide",
    "citoglipton",
    "insulin",
    "glyburide-metformin",
    "glipizide-metformin",
    "glimepiride-pioglitazone",
    "metformin-rosiglitazone",
    "metformin-pioglitazone",
];

/// The ways to leave hospital that are deaths: there, at home, elsewhere, and unknown where.
const EXPIRED: [i64; 4] = [11, 19, 20, 21];

pub(super) fn gather(path: &Path, collector: &mut Collector<'_>) -> Result<Profile, ImportError> {
    let columns: Vec<Column> =
        FIXED.iter().chain(&DRUGS).map(|name| Column::needed(&[name])).collect();
    let archive = if path.is_dir() { path.join(ARCHIVE) } else { path.to_path_buf() };
    let zipped = archive.extension().is_some_and(|end| end.eq_ignore_ascii_case("zip"));
    if path.is_dir() && !archive.is_file() {
        let folder = Folder::open(path, &[])?;
        collector.read(folder.need(TABLE)?, columns, row)?;
    } else if zipped {
        let scratch = || temporary(collector.options.scratch.as_deref());
        let unpacked = files::zip_entry(&archive, ENTRY, scratch, collector.limits());
        let name = archive.display().to_string();
        let unpacked = unpacked.map_err(|problem| ImportError::whole(name.clone(), problem))?;
        let name = format!("{name}/{ENTRY}");
        let mut table =
            Table::of_bytes(unpacked, &name, columns, collector.limits(), collector.watch)?;
        while table.advance()? {
            row(collector, &table)?;
        }
        collector.summary.tables.push((TABLE.to_owned(), table.rows()));
    } else {
        collector.read(Parts::new(TABLE, vec![archive]), columns, row)?;
    }
    Ok(Profile { listed: true, sex: true, age: true, ..Profile::default() })
}

fn row(collector: &mut Collector<'_>, table: &Table<'_>) -> Result<(), ImportError> {
    let subject = collector.any_subject(table, 0)?;
    let visit = VisitKey::named(table.needed_text(1)?);
    collector.put(Event::new(subject, Fact::VISIT, visit, None))?;
    put_sex(collector, table, 2, subject, visit)?;
    if let Some(band) = age(table, 3)? {
        collector.put(Event::aged(subject, visit, band))?;
    }
    let mut put = |parts: &[&str]| {
        let fact = collector.codes.fact(parts, Role::Encounter);
        let fact = fact.map_err(|problem| table.fail(problem))?;
        collector.put(Event::new(subject, fact, visit, None))
    };
    if table.integer(4)?.is_some_and(|disposition| EXPIRED.contains(&disposition)) {
        put(&["DISCHARGE", "EXPIRED"])?;
    }
    for column in 5..8 {
        if let Some(code) = diagnosis(table.text(column)?) {
            put(&["ICD9CM", &code])?;
        }
    }
    for (column, system) in [(8, "A1C"), (9, "GLU")] {
        match table.text(column)? {
            "" | "None" | "?" => {}
            result => put(&[system, result])?,
        }
    }
    for (index, drug) in DRUGS.iter().enumerate() {
        if !matches!(table.text(FIXED.len() + index)?, "" | "No" | "?") {
            put(&["RX", drug])?;
        }
    }
    Ok(())
}

/// An age such as `[40-50)`; none where it is not known.
fn age(table: &Table<'_>, column: usize) -> Result<Option<AgeBand>, ImportError> {
    let text = table.text(column)?;
    if matches!(text, "" | "?") {
        return Ok(None);
    }
    match text.trim_matches(['[', ')', ']']).parse() {
        Ok(band) => Ok(Some(band)),
        Err(()) => Err(table.fail(ImportProblem::BadNumber { column: table.name(column) })),
    }
}

/// An ICD-9 code without its dot, and with the zeros in front that the table lost: `41` is 041.
fn diagnosis(text: &str) -> Option<String> {
    let (category, rest) = text.split_once('.').unwrap_or((text, ""));
    match category {
        "" | "?" => None,
        _ if category.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(format!("{category:0>3}{rest}"))
        }
        _ => Some(format!("{category}{rest}")),
    }
}
