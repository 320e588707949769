//! Data files that are read each by itself, beside lists of subjects in any order.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use consequence_tables::TableError;
use consequence_tables::meds::{Files, MedsOptions, Stream};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// Writes a table in groups of a few rows.
fn table(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(3)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties))
            .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn numbers(subjects: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(subjects.to_vec()))
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

/// A dataset whose files have an event of each of these subjects.
fn dataset(path: &Path, files: &[&[i64]]) {
    for (number, subjects) in files.iter().enumerate() {
        let times = TimestampMicrosecondArray::from(vec![Some(0); subjects.len()]);
        let columns = vec![
            ("subject_id", numbers(subjects)),
            ("time", Arc::new(times) as ArrayRef),
            ("code", texts(subjects.iter().map(|_| "A"))),
        ];
        table(&path.join(format!("data/{number}.parquet")), columns);
    }
}

fn listed(path: &Path, list: &str, column: &str, rows: &[(i64, &str)]) {
    let subjects: Vec<i64> = rows.iter().map(|row| row.0).collect();
    let columns =
        vec![("subject_id", numbers(&subjects)), (column, texts(rows.iter().map(|row| row.1)))];
    table(&path.join(format!("metadata/{list}.parquet")), columns);
}

/// The ids of records with their splits, file by file.
fn read(path: &Path) -> Result<Vec<(String, Option<&'static str>)>, TableError> {
    let count = Files::open(path, &MedsOptions::default())?.paths().len();
    let mut found = Vec::new();
    for number in 0..count {
        let file = Files::open(path, &MedsOptions::default())?.only(|place| place == number);
        file.each_record(|one| -> Result<(), TableError> {
            found.push((one.id.to_owned(), one.split.map(|split| split.name())));
            Ok(())
        })?;
    }
    Ok(found)
}

fn refused(outcome: Result<impl Sized, TableError>, [what, place]: [&str; 2]) {
    let error = outcome.err().expect("it is refused").to_string();
    assert!(error.starts_with(what) && error.ends_with(place), "{error}");
}

#[test]
fn lists_in_any_order_tell_of_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    dataset(path, &[&[5, 2, 9], &[4], &[700, 1, 30, 20]]);
    let splits = [(700, "train"), (1, "tuning"), (2, "held_out"), (4, "train"), (999, "train")];
    listed(path, "subject_splits", "split", &splits);
    let ids = [9, 1, 700, 2, 4, 5, 20, 30, 999].map(|subject| (subject, format!("p{subject}")));
    let ids: Vec<(i64, &str)> = ids.iter().map(|(subject, id)| (*subject, id.as_str())).collect();
    listed(path, "subjects", "original_id", &ids);
    let mut whole = Vec::new();
    let stream = Stream::open(path, &MedsOptions::default()).unwrap();
    let take = |one: consequence_tables::meds::Streamed<'_>| -> Result<(), TableError> {
        whole.push((one.id.to_owned(), one.split.map(|split| split.name())));
        Ok(())
    };
    stream.each_record(take, |_| ()).unwrap();
    assert_eq!(whole.len(), 8);
    assert!(whole.contains(&("p2".into(), Some("held_out"))));
    assert!(whole.contains(&("p5".into(), None)));
    assert_eq!(read(path).unwrap(), whole);
    // 20 and 30 are between 1 and 700, and 4 is between 2 and 9.
    let files = Files::open(path, &MedsOptions::default()).unwrap();
    assert!(!files.apart().unwrap());
    files.check_apart().unwrap();
    files.check_subjects().unwrap();
}

#[test]
fn subjects_of_two_files_are_found_without_their_events() {
    let folder = tempfile::tempdir().unwrap();
    dataset(folder.path(), &[&[1, 2, 9], &[4, 2]]);
    let files = Files::open(folder.path(), &MedsOptions::default()).unwrap();
    assert!(!files.apart().unwrap());
    let said = "a subject of this file has events in another file too";
    refused(files.check_apart(), [said, "data/1.parquet"]);
}

#[test]
fn lists_that_say_something_twice_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    dataset(path, &[&[1, 2], &[3, 4]]);
    listed(path, "subjects", "original_id", &[(1, "a"), (2, "b"), (3, "b"), (4, "c")]);
    let files = Files::open(path, &MedsOptions::default()).unwrap();
    let twice = "a subject is listed twice";
    refused(files.check_subjects(), [twice, "subjects.parquet, row 3"]);
    listed(path, "subjects", "original_id", &[(1, "a"), (2, "b"), (3, "c"), (4, "d"), (4, "e")]);
    files.check_subjects().unwrap();
    refused(read(path), [twice, "subjects.parquet, row 5"]);
    fs::remove_file(path.join("metadata/subjects.parquet")).unwrap();
    listed(path, "subject_splits", "split", &[(1, "train"), (1, "train"), (3, "train")]);
    refused(read(path), [twice, "subject_splits.parquet, row 2"]);
}
