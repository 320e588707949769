//! Cohorts that others published, read where they lie beside the workspace.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use consequence_feedback::Unwatched;
use consequence_import::{CsvColumns, ImportOptions, Source, open};
use consequence_record::Split;
use consequence_tables::Dataset;
use flate2::read::MultiGzDecoder;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The diabetes data of 130 US hospitals: diagnoses as categories, codes of fewer than 5 patients
/// left out, in the published split.
pub fn uci_diabetes(archive: &Path, split: &Path) -> Fallible<Dataset> {
    let options = ImportOptions { min_patients: 5, ..ImportOptions::default() };
    let (mut dataset, _) = open(&Source::UciDiabetes, archive, &options, &Unwatched)?.collect()?;
    let published: BTreeMap<String, String> = serde_json::from_reader(File::open(split)?)?;
    let of = |record: usize| match published.get(dataset.cohort.id(record)).map(String::as_str) {
        Some("train") => Ok(Split::Train),
        Some("validation") => Ok(Split::Tuning),
        Some("test") => Ok(Split::HeldOut),
        _ => Err(format!("record {record} has no published split")),
    };
    dataset.splits = (0..dataset.cohort.len()).map(of).collect::<Result<_, String>>()?;
    Ok(dataset)
}

/// The synthetic claims of CMS, carrier and outpatient, with the sex of each patient. Diagnoses as
/// they are written, or cut to so many characters.
pub fn synpuf(folder: &Path, truncate: Option<usize>) -> Fallible<Dataset> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("claims.csv");
    let mut rows = BufWriter::new(File::create(&path)?);
    writeln!(rows, "subject_id,time,code,sex")?;
    let sexes = sexes(&folder.join("bene.csv.gz"))?;
    for claims in ["carrier.csv.gz", "outpatient.csv.gz"] {
        claims_as_rows(&folder.join(claims), &sexes, &mut rows)?;
    }
    rows.into_inner()?.sync_all()?;
    let columns = CsvColumns { statics: vec!["sex".into()], ..CsvColumns::default() };
    let options = ImportOptions { truncate, ..ImportOptions::default() };
    Ok(open(&Source::Csv(columns), &path, &options, &Unwatched)?.collect()?.0)
}

fn table(path: &Path) -> Fallible<csv::Reader<MultiGzDecoder<File>>> {
    Ok(csv::Reader::from_reader(MultiGzDecoder::new(File::open(path)?)))
}

fn place(header: &csv::StringRecord, name: &str) -> Fallible<usize> {
    let place = header.iter().position(|column| column == name);
    place.ok_or_else(|| format!("no column {name}").into())
}

/// The sex of each patient; there is a row for each year, all alike.
fn sexes(path: &Path) -> Fallible<BTreeMap<String, &'static str>> {
    let mut table = table(path)?;
    let header = table.headers()?.clone();
    let (subject, sex) = (place(&header, "DESYNPUF_ID")?, place(&header, "BENE_SEX_IDENT_CD")?);
    let mut sexes = BTreeMap::new();
    for row in table.records() {
        let row = row?;
        let sex = if &row[sex] == "1" { "M" } else { "F" };
        if sexes.insert(row[subject].to_owned(), sex).is_some_and(|before| before != sex) {
            return Err("a patient changes sex".into());
        }
    }
    Ok(sexes)
}

fn claims_as_rows(
    path: &Path,
    sexes: &BTreeMap<String, &'static str>,
    rows: &mut impl Write,
) -> Fallible<()> {
    let mut table = table(path)?;
    let header = table.headers()?.clone();
    let (subject, day) = (place(&header, "DESYNPUF_ID")?, place(&header, "CLM_FROM_DT")?);
    for row in table.records() {
        let row = row?;
        let sex = sexes.get(&row[subject]).copied().unwrap_or_default();
        for (name, code) in header.iter().zip(&row) {
            if name.starts_with("ICD9_DGNS_CD") && !code.is_empty() {
                writeln!(rows, "{},{},ICD9CM//{code},{sex}", &row[subject], &row[day])?;
            }
        }
    }
    Ok(())
}
