//! Small made-up sources, and what became of them as text.

use std::fs;
use std::io::Write;
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use consequence_feedback::Unwatched;
use consequence_import::{CsvColumns, ImportOptions, ImportSummary, Source, open};
use consequence_record::calendar::{DAY, Date, Moment};
use consequence_tables::Dataset;
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;

pub fn plain() -> ImportOptions {
    ImportOptions::default()
}

/// Imports a folder of these files.
pub fn import(
    source: Source,
    files: &[(&str, &str)],
    options: &ImportOptions,
) -> (Dataset, ImportSummary) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        put(&folder.path().join(name), content);
    }
    open(&source, folder.path(), options, &Unwatched).unwrap().collect().unwrap()
}

/// Writes a file, compressed if its name says so.
pub fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.extension().is_some_and(|end| end == "gz") {
        let file = fs::File::create(path).unwrap();
        let mut packed = GzEncoder::new(file, Compression::default());
        packed.write_all(content.as_bytes()).unwrap();
        packed.finish().unwrap();
    } else {
        fs::write(path, content).unwrap();
    }
}

/// Imports a table of one code a row.
pub fn long(
    content: &str,
    columns: CsvColumns,
    options: &ImportOptions,
) -> (Dataset, ImportSummary) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.csv");
    fs::write(&path, content).unwrap();
    open(&Source::Csv(columns), &path, options, &Unwatched).unwrap().collect().unwrap()
}

/// The columns of a table that has all that one can have.
pub fn all_columns() -> CsvColumns {
    let named = |name: &str| Some(name.to_owned());
    CsvColumns {
        visit: named("visit"),
        end: named("end"),
        value: named("value"),
        unit: named("unit"),
        ..CsvColumns::default()
    }
}

/// The records as text: the id, the static codes, and the codes of each encounter.
pub fn shown(dataset: &Dataset) -> Vec<String> {
    texts(dataset, |_, _, visit| {
        visit.iter().map(|&code| dataset.vocabulary.name(code).to_owned()).collect()
    })
}

/// The same with births, dates, ends, ages, times and values, as far as they are known:
/// `7 *2000-01-01: SEX//F | 2024-01-31 16:05 - 2024-02-01: LAB//x//q2=1.5@2024-01-31 17:00`.
pub fn told(dataset: &Dataset) -> Vec<String> {
    texts(dataset, |record, number, visit| {
        let details = dataset.details_of(record);
        let mut parts = Vec::new();
        if let Some(time) = details.time(number) {
            let end = details.end(number).map(|end| format!(" - {}", clock(end)));
            parts.push(format!("{}{}:", clock(time), end.unwrap_or_default()));
        }
        let age = number.checked_sub(1).and_then(|index| *details.ages.get(index)?);
        parts.extend(age.map(|band| format!("{band} years:")));
        parts.extend(visit.iter().map(|&code| {
            let mut text = dataset.vocabulary.name(code).to_owned();
            if let Some(event) = details.event(number, code) {
                assert!(event.value.is_some() || event.time.is_some());
                text.extend(event.value.map(|value| format!("={value}")));
                text.extend(event.time.map(|time| format!("@{}", clock(time))));
            }
            text
        }));
        if let Some(birth) = details.birth.filter(|_| number == 0) {
            parts.insert(0, format!("*{}", clock(birth)));
        }
        parts
    })
}

fn texts(
    dataset: &Dataset,
    visit_text: impl Fn(usize, usize, &[consequence_record::Code]) -> Vec<String>,
) -> Vec<String> {
    (0..dataset.cohort.len())
        .map(|record| {
            let visits = dataset.cohort.record(record);
            let visits = visits.visits().enumerate();
            let texts: Vec<String> =
                visits.map(|(number, codes)| visit_text(record, number, codes).join(" ")).collect();
            format!("{}: {}", dataset.cohort.id(record), texts.join(" | "))
        })
        .collect()
}

/// A time without its seconds where they are none, and a date where it is midnight.
fn clock(time: i64) -> String {
    if time.rem_euclid(DAY) == 0 {
        return Date(time).to_string();
    }
    let text = Moment(time).to_string();
    text.strip_suffix(":00").map(str::to_owned).unwrap_or(text)
}

/// Writes a Parquet file.
pub fn put_parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let file = fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}
