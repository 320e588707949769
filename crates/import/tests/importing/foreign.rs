//! MEDS datasets of other tools: events keep their values, words and times.

use std::path::Path;
use std::sync::Arc;

use crate::common::{plain, put_parquet, shown, told};
use arrow_array::{ArrayRef, Float32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use consequence_feedback::Unwatched;
use consequence_import::{ImportOptions, ImportSummary, Reason, Source, open};
use consequence_record::{Split, calendar};
use consequence_tables::Dataset;

/// An event: subject, time, code, admission, value, words.
type Row<'r> = (i64, &'r str, &'r str, Option<i64>, Option<f32>, Option<&'r str>);

fn write(path: &Path, rows: &[Row<'_>]) {
    let times = rows.iter().map(|row| (!row.1.is_empty()).then(|| calendar::parse(row.1).unwrap()));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("subject_id", Arc::new(rows.iter().map(|row| Some(row.0)).collect::<Int64Array>())),
        ("time", Arc::new(times.collect::<TimestampMicrosecondArray>())),
        ("code", Arc::new(rows.iter().map(|row| Some(row.2)).collect::<StringArray>())),
        ("hadm_id", Arc::new(rows.iter().map(|row| row.3).collect::<Int64Array>())),
        ("numeric_value", Arc::new(rows.iter().map(|row| row.4).collect::<Float32Array>())),
        ("text_value", Arc::new(rows.iter().map(|row| row.5).collect::<StringArray>())),
    ];
    put_parquet(path, columns);
}

fn read(rows: &[Row<'_>], options: &ImportOptions) -> (Dataset, ImportSummary) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    write(&path, rows);
    open(&Source::Meds, &path, options, &Unwatched).unwrap().collect().unwrap()
}

const ROWS: [Row<'static>; 14] = [
    (1, "", "GENDER//FEMALE", None, None, None),
    (1, "1980-05-01", "MEDS_BIRTH", None, None, None),
    (1, "2024-01-01 10:00", "HOSPITAL_ADMISSION//ER", Some(5), None, None),
    (1, "2024-01-01 11:00", "LAB//7//mg/dL", Some(5), Some(1.5), None),
    (1, "2024-01-01 12:00", "LAB//8", Some(5), None, Some(" NEG ")),
    (1, "2024-01-03 09:00", "HOSPITAL_DISCHARGE//HOME", Some(5), None, None),
    (1, "2024-01-03 10:00", "LAB//7//mg/dL", Some(5), Some(2.5), None),
    (1, "2024-02-01 08:00", "CLINIC", None, None, None),
    (1, "2024-02-01", "MEDS_DEATH", None, None, None),
    (2, "", "SEX//M", None, None, None),
    (2, "2024-03-01 08:00", "LAB//8", Some(6), None, None),
    (2, "2024-03-02 08:00", "LAB//7//mg/dL", Some(6), Some(f32::INFINITY), None),
    (2, "2024-03-05 08:00", "LAB//7//mg/dL", None, Some(9.5), Some("high")),
    (2, "2024-03-06 08:00", "MEDS_DEATH", None, None, None),
];

#[test]
fn events_keep_what_is_said_of_them() {
    let mut rows = ROWS.to_vec();
    rows[8].1 = "2024-02-01 23:00";
    // Values are cut as those of the train split are.
    let mut trained = (1_i64..).filter(|id| Split::of(&id.to_string()) == Split::Train);
    let (one, two) = (trained.next().unwrap(), trained.next().unwrap());
    rows.iter_mut().for_each(|row| row.0 = if row.0 == 1 { one } else { two });
    let (dataset, summary) = read(&rows, &ImportOptions { quantiles: 3, ..plain() });
    assert_eq!(
        told(&dataset),
        [
            // Nothing after the discharge ends the admission later.
            format!(
                "{one}: *1980-05-01 AGE//40-60 SEX//F | 2024-01-01 10:00 - 2024-01-03 09:00: \
             HOSPITAL_ADMISSION//ER HOSPITAL_DISCHARGE//HOME@2024-01-03 09:00 \
             LAB//7//mg/dL//q1=1.5@2024-01-01 11:00 LAB//7//mg/dL//q2=2.5@2024-01-03 10:00 \
             LAB//8//NEG@2024-01-01 12:00 STAY//2d \
             | 2024-02-01 08:00: CLINIC DEATH@2024-02-01 23:00 GAP//30-45d"
            ),
            // Without a discharge an admission ends with its last event.
            format!(
                "{two}: SEX//M | 2024-03-01 08:00 - 2024-03-02 08:00: LAB//7//mg/dL@2024-03-02 08:00 LAB//8 \
             STAY//1d | 2024-03-05 08:00: GAP//4-7d LAB//7//mg/dL//q3=9.5 | 2024-03-06 08:00: DEATH GAP//1d"
            ),
        ]
    );
    assert_eq!((summary.births, summary.ends, summary.values, summary.texts), (1, 2, 3, 1));
    let dropped: Vec<(Reason, u64)> = summary.dropped.into_iter().collect();
    assert_eq!(dropped, [(Reason::NoValue, 1)]);
    let (dataset, _) = read(&rows, &ImportOptions { quantiles: 0, ..plain() });
    assert!(shown(&dataset)[1].contains(": SEX//M | LAB//7//mg/dL LAB//8 STAY//1d |"));
    assert!(dataset.scales.is_empty());
}

#[test]
fn what_is_told_after_a_death_belongs_to_its_encounter() {
    let row = |time, code| (1, time, code, None, None, None);
    let rows = [
        row("2024-01-01 09:00", "CLINIC"),
        row("2024-01-05 22:00", "WARD"),
        row("2024-01-05 23:00", "MEDS_DEATH"),
        row("2024-01-06 01:00", "INFUSION_END"),
        row("2024-01-08 01:00", "BILL"),
    ];
    let (dataset, summary) = read(&rows, &plain());
    let died = "2024-01-05 22:00: BILL@2024-01-08 01:00 DEATH@2024-01-05 23:00 GAP//4-7d \
                INFUSION_END@2024-01-06 01:00 WARD";
    assert_eq!(told(&dataset), [format!("1:  | 2024-01-01 09:00: CLINIC | {died}")]);
    assert_eq!((summary.told_late, summary.after_death), (2, 0));

    // Weeks later it is another encounter, and odd.
    let late = [&rows[..4], &[row("2024-03-01 01:00", "CLINIC")]].concat();
    let (dataset, summary) = read(&late, &plain());
    assert_eq!((summary.told_late, summary.after_death), (1, 1));
    assert_eq!(dataset.cohort.record(0).len(), 4);
}

#[test]
fn what_goes_back_in_time_is_refused() {
    let refusal = |rows: &[Row<'_>]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.parquet");
        write(&path, rows);
        open(&Source::Meds, &path, &plain(), &Unwatched).unwrap_err().to_string()
    };
    // The death of the first has a date alone, before an event of that day.
    assert!(refusal(&ROWS).contains("row 9"), "{}", refusal(&ROWS));
    let scattered = [ROWS[2], ROWS[10], ROWS[3]];
    assert!(refusal(&scattered).contains("row 3"), "{}", refusal(&scattered));
}

#[test]
fn values_by_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    let time = calendar::parse("2024-01-01").unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("subject_id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("time", Arc::new(TimestampMicrosecondArray::from(vec![time, time]))),
        ("code", Arc::new(StringArray::from(vec!["LAB", "LAB"]))),
        ("value", Arc::new(Float32Array::from(vec![Some(1.5), None]))),
    ];
    put_parquet(&path, columns);
    let (dataset, _) = open(&Source::Meds, &path, &plain(), &Unwatched).unwrap().collect().unwrap();
    assert_eq!(told(&dataset), ["1:  | 2024-01-01: LAB//q1=1.5", "2:  | 2024-01-01: LAB"]);
}

#[test]
fn a_code_with_and_without_a_time() {
    let rows = [
        (1, "", "RACE", None, None, None),
        (1, "2024-01-01", "RACE", None, None, None),
        (1, "2024-01-01", "Gender/F", None, None, None),
    ];
    let (dataset, _) = read(&rows, &plain());
    assert_eq!(shown(&dataset), ["1: SEX//F STATIC//RACE | RACE"]);
}
