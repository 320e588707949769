//! Tables of OMOP, as other programs read them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use consequence_record::{
    Code, Cohort, CohortDetails, Concept, Details, Domain, EventDetail, Kind, Record, Scale,
    Vocabulary,
};
use consequence_tables::Dataset;
use consequence_tables::export::{self, ExportOptions, OmopSummary};

const HOUR: i64 = 3_600_000_000;

/// The rows of a table, by the names of its columns, without those that are empty.
type Row = BTreeMap<String, String>;

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(folder.join(format!("{table}.csv"))).unwrap();
    let columns = reader.headers().unwrap().clone();
    assert!(columns.iter().eq(export::omop_columns(table).unwrap()), "{table}");
    reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            let fields = columns.iter().zip(row.iter()).filter(|(_, value)| !value.is_empty());
            fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        })
        .collect()
}

/// Some columns of all rows, with blanks between them.
fn told(folder: &Path, table: &str, columns: &[&str]) -> Vec<String> {
    let empty = String::from("-");
    let tell = |row: &Row| -> Vec<String> {
        columns.iter().map(|&name| row.get(name).unwrap_or(&empty).clone()).collect()
    };
    rows(folder, table).iter().map(|row| tell(row).join(" ")).collect()
}

/// A patient with all that a record can have, and one of whom little is known.
fn dataset() -> Dataset {
    let statics = ["SEX//F", "RACE//BLACK", "AGE//40-60"];
    let encounters = [
        "GAP//2d",
        "STAY//1d",
        "VISIT_TYPE//INPATIENT VISIT",
        "LOINC//2339-0//q1",
        "LAB//y//q2",
        "LOINC//5778-6//Red",
        "SNOMED//44054006",
        "SNOMED//73761001",
        "ICD10CM//Z999",
        "OMOP//21332862",
        "RX//in,su\"lin",
        "SMOKER",
        "DEATH",
    ];
    let codes = statics.map(|name| (name, Kind::Static)).into_iter();
    let codes = codes.chain(encounters.map(|name| (name, Kind::Encounter)));
    let vocabulary = Vocabulary::new(codes).unwrap();
    let code = |name: &str| vocabulary.code(name).unwrap();
    let visit = |names: &[&str]| names.iter().map(|name| code(name)).collect::<Vec<_>>();
    let mut cohort = Cohort::default();
    let first = ["LOINC//2339-0//q1", "SNOMED//44054006", "SNOMED//73761001", "ICD10CM//Z999"];
    let second = [
        "GAP//2d",
        "STAY//1d",
        "VISIT_TYPE//INPATIENT VISIT",
        "LOINC//5778-6//Red",
        "LAB//y//q2",
        "OMOP//21332862",
        "RX//in,su\"lin",
        "DEATH",
    ];
    let visits = vec![visit(&statics), visit(&first), visit(&second)];
    cohort.push("p,1", &Record::new(visits));
    cohort.push("p2", &Record::new(vec![vec![], visit(&["SMOKER"])]).cut());
    let event =
        |visit, name: &str, time, value| EventDetail { visit, code: code(name), time, value };
    let mut details = CohortDetails::default();
    let mut events = vec![
        event(1, "LOINC//2339-0//q1", Some(9 * HOUR), Some(7.2)),
        event(1, "SNOMED//73761001", None, Some(2.0)),
        event(2, "DEATH", Some(80 * HOUR), None),
    ];
    events.sort_by_key(|event| (event.visit, event.code));
    let known = Details {
        birth: Some(-10_000 * 24 * HOUR),
        times: vec![8 * HOUR, 56 * HOUR],
        ends: vec![None, Some(80 * HOUR)],
        events,
        ..Details::default()
    };
    details.push(known.view());
    details.push(Details { times: vec![0], ..Details::default() }.view());
    let concept = |name: &str, id, domain, source| {
        (code(name), Concept { id, domain: Some(domain), source, ..Concept::default() })
    };
    let mut concepts = BTreeMap::from([
        concept("SNOMED//44054006", 201_826, Domain::Condition, false),
        concept("SNOMED//73761001", 4_249_893, Domain::Procedure, false),
        concept("ICD10CM//Z999", 45_542_738, Domain::Observation, true),
        concept("LOINC//2339-0//q1", 3_004_501, Domain::Measurement, false),
        concept("LOINC//5778-6//Red", 3_001_122, Domain::Measurement, false),
        concept("OMOP//21332862", 21_332_862, Domain::Device, false),
    ]);
    concepts.get_mut(&code("LOINC//5778-6//Red")).unwrap().result = Some(4_164_217);
    let unit = Some("mg/dL".to_owned());
    let scale = Scale { test: "LOINC//2339-0".into(), unit, count: 2, ..Scale::default() };
    let scales = BTreeMap::from([(code("LOINC//2339-0//q1"), scale)]);
    let titles = BTreeMap::from([(code("SNOMED//44054006"), "Type 2 diabetes".to_owned())]);
    Dataset {
        scales,
        concepts,
        titles,
        details: Some(details),
        ..Dataset::new(cohort, Arc::new(vocabulary))
    }
}

fn written(dataset: &Dataset) -> (tempfile::TempDir, OmopSummary) {
    let directory = tempfile::tempdir().unwrap();
    let options = ExportOptions::default();
    let summary = export::omop(directory.path().join("omop"), dataset, &options).unwrap();
    (directory, summary)
}

#[test]
fn people_visits_and_deaths() {
    let (directory, summary) = written(&dataset());
    let folder = &directory.path().join("omop");
    let person = [
        "person_id",
        "gender_concept_id",
        "year_of_birth",
        "month_of_birth",
        "day_of_birth",
        "birth_datetime",
        "race_concept_id",
        "ethnicity_concept_id",
        "person_source_value",
        "gender_source_value",
        "race_source_value",
    ];
    assert_eq!(
        told(folder, "person", &person),
        [
            "1 8532 1942 8 16 1942-08-16 00:00:00 8516 0 p,1 SEX//F RACE//BLACK",
            "2 0 - - - - 0 0 p2 - -"
        ]
    );
    assert_eq!((summary.without_birth, summary.too_long), (1, 0));
    let visit = [
        "visit_occurrence_id",
        "person_id",
        "visit_concept_id",
        "visit_start_datetime",
        "visit_end_date",
        "visit_end_datetime",
        "visit_source_value",
        "discharged_to_concept_id",
        "discharged_to_source_value",
        "preceding_visit_occurrence_id",
    ];
    assert_eq!(
        told(folder, "visit_occurrence", &visit),
        [
            "1 1 0 1970-01-01 08:00:00 1970-01-01 - - - - -",
            "2 1 9201 1970-01-03 08:00:00 1970-01-04 1970-01-04 08:00:00 \
             GAP//2d|STAY//1d|VISIT_TYPE//INPATIENT VISIT 4216643 DEATH 1",
            "3 2 0 1970-01-01 00:00:00 1970-01-01 - CUT - - -",
        ]
    );
    let period = ["person_id", "observation_period_start_date", "observation_period_end_date"];
    let periods = told(folder, "observation_period", &period);
    assert_eq!(periods, ["1 1970-01-01 1970-01-04", "2 1970-01-01 1970-01-01"]);
    let death = told(folder, "death", &["person_id", "death_date", "death_datetime"]);
    assert_eq!(death, ["1 1970-01-04 1970-01-04 08:00:00"]);
}

#[test]
fn a_row_is_in_the_table_of_its_domain_with_its_concept() {
    let (directory, summary) = written(&dataset());
    let folder = &directory.path().join("omop");
    let of = |table: &str, word: &str| {
        let source = format!("{word}_source_concept_id");
        let columns = [&format!("{word}_concept_id"), &source, &format!("{word}_source_value")];
        told(folder, table, &columns.map(|column| column.as_str()))
    };
    assert_eq!(of("condition_occurrence", "condition"), ["201826 201826 SNOMED//44054006"]);
    assert_eq!(of("procedure_occurrence", "procedure"), ["4249893 4249893 SNOMED//73761001"]);
    assert_eq!(of("device_exposure", "device"), ["21332862 21332862 OMOP//21332862"]);
    let [drug] = of("drug_exposure", "drug").try_into().unwrap();
    assert!(drug.starts_with("0 20000000") && drug.ends_with(" RX//in,su\"lin"), "{drug}");
    let observed = of("observation", "observation");
    assert!(observed.contains(&"0 45542738 ICD10CM//Z999".to_owned()), "{observed:?}");
    assert_eq!(observed.len(), 3, "an age band, a source concept and a smoker: {observed:?}");
    let measured = [
        "measurement_concept_id",
        "measurement_datetime",
        "value_as_number",
        "value_as_concept_id",
        "unit_concept_id",
        "visit_occurrence_id",
        "measurement_source_value",
        "unit_source_value",
        "value_source_value",
    ];
    let measured = told(folder, "measurement", &measured);
    assert_eq!(
        measured,
        [
            "3004501 1970-01-01 09:00:00 7.2 - 8840 1 LOINC//2339-0 mg/dL q1",
            "4249893 1970-01-01 08:00:00 2 - - 1 SNOMED//73761001 - -",
            "0 1970-01-03 08:00:00 - - - 2 LAB//y - q2",
            "3001122 1970-01-03 08:00:00 - 4164217 - 2 LOINC//5778-6 - Red",
        ]
    );
    // Every concept that a row names is described, and those of no vocabulary are our own.
    let described = told(folder, "concept", &["concept_id", "concept_name", "domain_id"]);
    assert!(described.contains(&"201826 Type 2 diabetes Condition".to_owned()), "{described:?}");
    let ids: Vec<String> = told(folder, "concept", &["concept_id"]);
    for (table, word) in [("drug_exposure", "drug"), ("measurement", "measurement")] {
        for id in told(folder, table, &[&format!("{word}_source_concept_id")]) {
            assert!(ids.contains(&id), "{table}: {id}");
        }
    }
    assert_eq!(summary.unmapped_codes, 3, "a lab, a drug and a smoker");
    let count = |name| summary.tables.iter().find(|table| table.0 == name).unwrap().1;
    assert_eq!((count("person"), count("measurement"), count("death")), (2, 4, 1));
}

#[test]
fn identifiers_that_are_numbers_are_kept() {
    let mut cohort = Cohort::default();
    let vocabulary = Vocabulary::new([("A", Kind::Encounter)]).unwrap();
    cohort.push("70", &Record::new(vec![vec![], vec![Code(0)]]));
    cohort.push("8", &Record::new(vec![vec![], vec![Code(0)]]));
    let (directory, _) = written(&Dataset::new(cohort, Arc::new(vocabulary)));
    let folder = &directory.path().join("omop");
    assert_eq!(told(folder, "person", &["person_id"]), ["70", "8"]);
    assert_eq!(told(folder, "observation", &["person_id"]), ["70", "8"]);
    let kinds = told(folder, "metadata", &["name", "value_as_string"]);
    assert_eq!(kinds, ["consequence_format 1", "consequence_time ordinal"]);
}

#[test]
fn a_folder_is_replaced_only_where_it_holds_tables() {
    let (directory, _) = written(&dataset());
    let path = directory.path().join("omop");
    let plain = ExportOptions::default();
    assert!(export::omop(&path, &dataset(), &plain).is_err(), "not written over");
    let replacing = ExportOptions { replace: true, parquet: true };
    export::omop(&path, &dataset(), &replacing).unwrap();
    assert!(path.join("death.parquet").is_file() && !path.join("death.csv").exists());
    fs::write(path.join("notes.txt"), "mine").unwrap();
    assert!(export::omop(&path, &dataset(), &replacing).is_err(), "it holds something else");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
