//! What other programs get.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use consequence_record::{Cohort, CohortDetails, DetailsView, Kind, Record, Vocabulary};
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

#[test]
fn omop_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("omop");
    export::omop(&path, &dataset(), &ExportOptions::default()).unwrap();
    let rows = |file: &str| {
        let all = lines(&path.join(file));
        let fields = |line: &str| line.replace("\"p,1\"", "p1").replace("in,su", "insu");
        let widths: Vec<usize> = all.iter().map(|line| fields(line).split(',').count()).collect();
        assert!(widths.iter().all(|&width| width == widths[0]), "{file}: {widths:?}");
        all[1..].to_vec()
    };
    assert_eq!(
        rows("person.csv"),
        ["1,8532,1950,,,,0,0,,,,\"p,1\",SEX//F,0,,0,,0", "2,0,,,,,0,0,,,,p2,,0,,0,,0"]
    );
    assert_eq!(
        rows("visit_occurrence.csv")[1],
        "2,1,0,2000-01-19,2000-01-19 00:00:00,2000-01-19,2000-01-19 00:00:00,0,,,2,0,,,,,1"
    );
    assert_eq!(rows("visit_occurrence.csv").len(), 4, "an empty visit is a visit");
    assert_eq!(rows("observation_period.csv")[0], "1,1,2000-01-01,2000-01-20,0");
    assert!(rows("drug_exposure.csv")[0].contains("\"RX//in,su\"\"lin\""));
    assert!(rows("procedure_occurrence.csv")[0].contains("PROC//dialysis"));
    let observed = rows("observation.csv");
    let of = |code: &str| observed.iter().filter(|row| row.contains(code)).count();
    assert_eq!((of("SMOKER"), of("AGE//40-60"), of("GAP//"), of("SEX//")), (2, 1, 0, 0));

    assert!(
        export::omop(&path, &dataset(), &ExportOptions::default()).is_err(),
        "not written over"
    );
    export::omop(&path, &dataset(), &ExportOptions { replace: true }).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
