//! What other programs get.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use consequence_record::{
    Cohort, CohortDetails, Details, DetailsView, EventDetail, Kind, Record, Scale, Vocabulary,
};
use consequence_tables::Dataset;
use consequence_tables::export::{self, ExportOptions};
use consequence_tables::jsonl::{self, ReadOptions};

const CODES: [(&str, Kind); 7] = [
    ("SEX//F", Kind::Static),
    ("AGE//40-60", Kind::Static),
    ("GAP//7-30d", Kind::Encounter),
    ("ICD9CM//250", Kind::Encounter),
    ("RX//in,su\"lin", Kind::Encounter),
    ("PROC//dialysis", Kind::Encounter),
    ("SMOKER", Kind::Encounter),
];

fn dataset() -> Dataset {
    let vocabulary = Vocabulary::new(CODES).unwrap();
    let visit = |names: &[&str]| names.iter().map(|name| vocabulary.code(name).unwrap()).collect();
    let mut cohort = Cohort::default();
    let first = vec![
        visit(&["SEX//F", "AGE//40-60"]),
        visit(&["ICD9CM//250", "SMOKER"]),
        visit(&["GAP//7-30d", "RX//in,su\"lin", "PROC//dialysis"]),
        visit(&[]),
    ];
    cohort.push("p,1", &Record::new(first));
    cohort.push("p2", &Record::new(vec![visit(&[]), visit(&["SMOKER"])]).cut());
    Dataset::new(cohort, Arc::new(vocabulary))
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_long_table_with_the_times_that_gaps_tell() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort.csv");
    export::csv(&path, &dataset(), &ExportOptions::default()).unwrap();
    let expected = [
        "subject_id,visit,time,code,static,ended",
        "\"p,1\",0,,SEX//F,1,1",
        "\"p,1\",0,,AGE//40-60,1,1",
        "\"p,1\",1,2000-01-01 00:00:00,ICD9CM//250,0,1",
        "\"p,1\",1,2000-01-01 00:00:00,SMOKER,0,1",
        "\"p,1\",2,2000-01-19 00:00:00,GAP//7-30d,0,1",
        "\"p,1\",2,2000-01-19 00:00:00,\"RX//in,su\"\"lin\",0,1",
        "\"p,1\",2,2000-01-19 00:00:00,PROC//dialysis,0,1",
        "\"p,1\",3,2000-01-20 00:00:00,,0,1",
        "p2,1,2000-01-01 00:00:00,SMOKER,0,0",
    ];
    assert_eq!(lines(&path), expected);
}

#[test]
fn recorded_times_count_more_than_gaps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort.csv");
    let mut times = CohortDetails::default();
    times.push(DetailsView { times: &[-1_000_000, 0, 500_000], ..DetailsView::default() });
    times.push(DetailsView { times: &[0], ..DetailsView::default() });
    export::csv(&path, &Dataset { details: Some(times), ..dataset() }, &ExportOptions::default())
        .unwrap();
    let rows = lines(&path);
    assert_eq!(rows[3], "\"p,1\",1,1969-12-31 23:59:59,ICD9CM//250,0,1");
    assert_eq!(rows[8], "\"p,1\",3,1970-01-01 00:00:00.500000,,0,1");
}

/// A record with a birth, a stay, a value and a death.
fn detailed() -> Dataset {
    const HOUR: i64 = 3_600_000_000;
    let codes = [
        ("SEX//F", Kind::Static),
        ("AGE//40-60", Kind::Static),
        ("GAP//2d", Kind::Encounter),
        ("STAY//1d", Kind::Encounter),
        ("LAB//x//q1", Kind::Encounter),
        ("LAB//y//q2", Kind::Encounter),
        ("ICD9CM//250", Kind::Encounter),
        ("DEATH", Kind::Encounter),
    ];
    let vocabulary = Vocabulary::new(codes).unwrap();
    let code = |name: &str| vocabulary.code(name).unwrap();
    let visit = |names: &[&str]| names.iter().map(|name| code(name)).collect::<Vec<_>>();
    let mut cohort = Cohort::default();
    cohort.push(
        "p1",
        &Record::new(vec![
            visit(&["SEX//F", "AGE//40-60"]),
            visit(&["LAB//x//q1", "ICD9CM//250"]),
            visit(&["GAP//2d", "STAY//1d", "LAB//x//q1", "LAB//y//q2", "DEATH"]),
        ]),
    );
    let event =
        |visit, name: &str, time, value| EventDetail { visit, code: code(name), time, value };
    let mut known = CohortDetails::default();
    known.push(
        Details {
            birth: Some(-10_000 * 24 * HOUR),
            times: vec![8 * HOUR, 56 * HOUR],
            ends: vec![None, Some(80 * HOUR)],
            events: vec![
                event(1, "LAB//x//q1", Some(9 * HOUR), Some(7.2)),
                event(1, "ICD9CM//250", None, Some(2.0)),
                event(2, "LAB//x//q1", None, Some(6.0)),
                event(2, "DEATH", Some(80 * HOUR), None),
            ],
            ..Details::default()
        }
        .view(),
    );
    let unit = Some("mmol/L".to_owned());
    let scale = Scale { test: "LAB//x".into(), unit, count: 2, ..Scale::default() };
    Dataset {
        scales: BTreeMap::from([(code("LAB//x//q1"), scale)]),
        details: Some(known),
        ..Dataset::new(cohort, Arc::new(vocabulary))
    }
}

#[test]
fn a_long_table_with_dates_stays_and_values() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort.csv");
    // From a dataset as it was written, without its source.
    let written = directory.path().join("cohort");
    consequence_tables::meds::write(&written, &detailed()).unwrap();
    let dataset = Dataset::open(&written).unwrap();
    export::csv(&path, &dataset, &ExportOptions::default()).unwrap();
    let expected = [
        "subject_id,visit,time,end,code,value,unit,static,ended",
        "p1,0,,,SEX//F,,,1,1",
        "p1,0,,,AGE//40-60,,,1,1",
        "p1,1,1970-01-01 09:00:00,,LAB//x//q1,7.2,mmol/L,0,1",
        "p1,1,1970-01-01 08:00:00,,ICD9CM//250,2,,0,1",
        "p1,2,1970-01-03 08:00:00,1970-01-04 08:00:00,GAP//2d,,,0,1",
        "p1,2,1970-01-03 08:00:00,1970-01-04 08:00:00,STAY//1d,,,0,1",
        "p1,2,1970-01-03 08:00:00,1970-01-04 08:00:00,LAB//x//q1,6,mmol/L,0,1",
        "p1,2,1970-01-03 08:00:00,1970-01-04 08:00:00,LAB//y//q2,,,0,1",
        "p1,2,1970-01-04 08:00:00,1970-01-04 08:00:00,DEATH,,,0,1",
    ];
    assert_eq!(lines(&path), expected);
    assert!(!export::makes_up_dates(&dataset, true));

    // Without dates they are made up of the codes, and so are ends.
    let undated = Dataset { details: None, ..detailed() };
    let path = directory.path().join("undated.csv");
    export::csv(&path, &undated, &ExportOptions::default()).unwrap();
    let rows = lines(&path);
    assert_eq!(rows[0], "subject_id,visit,time,end,code,static,ended");
    assert_eq!(rows[6], "p1,2,2000-01-03 00:00:00,2000-01-04 00:00:00,STAY//1d,0,1");
    assert!(export::makes_up_dates(&undated, false));
}

#[test]
fn json_lines_are_those_of_the_cohort() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort.jsonl");
    let dataset = dataset();
    export::jsonl(&path, &dataset, &ExportOptions::default()).unwrap();
    let vocabulary = Some(Arc::clone(&dataset.vocabulary));
    let options = ReadOptions { vocabulary, ..ReadOptions::default() };
    assert_eq!(jsonl::read(&path, &options).unwrap().cohort, dataset.cohort);
}
