//! OMOP tables as people have them: without CONCEPT, with index columns, without names, as Parquet in
//! folders; and tables that are wrong.

use std::sync::Arc;

use crate::common::{import, plain, put, put_parquet, shown, told};
use arrow_array::{ArrayRef, Date32Array, Int64Array};
use consequence_feedback::{Advise, Unwatched};
use consequence_import::{ImportOptions, Reason, Source, open};
use consequence_record::Domain;

const PERSON: &str = "person_id,gender_concept_id,year_of_birth\n7,8532,1980\n";
const VISIT: &str = "visit_occurrence_id,person_id,visit_start_date,visit_end_date\n\
    1,7,2020-01-01,2020-01-01\n2,7,2020-02-01,2020-02-03\n";
const CONDITION: &str = "condition_occurrence_id,person_id,condition_concept_id,condition_start_date,\
    visit_occurrence_id,condition_source_concept_id\n1,7,201826,2020-01-01,1,44836914\n2,7,0,2020-02-01,2,45542738\n";

fn bare() -> ImportOptions {
    ImportOptions { gaps: false, age_bands: Some(Vec::new()), ..plain() }
}

/// The tables with some put in the place of others.
fn tables<'t>(other: &[(&'t str, &'t str)]) -> Vec<(&'t str, &'t str)> {
    let usual = [
        ("PERSON.csv", PERSON),
        ("VISIT_OCCURRENCE.csv", VISIT),
        ("CONDITION_OCCURRENCE.csv", CONDITION),
    ];
    let kept = usual.into_iter().filter(|(name, _)| !other.iter().any(|(one, _)| one == name));
    kept.chain(other.iter().copied().filter(|(_, text)| !text.is_empty())).collect()
}

/// What is said of tables that are refused, and what to do.
fn refused(other: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in tables(other) {
        put(&folder.path().join(name), text);
    }
    let error = open(&Source::Omop, folder.path(), &bare(), &Unwatched).unwrap_err();
    assert!(error.advice().is_some(), "{error}");
    let place = folder.path().display().to_string();
    error.to_string().replace(&format!("{place}/"), "").replace("\n  --> ", " at ")
}

#[test]
fn without_a_table_of_concepts_codes_are_numbers_with_the_domains_of_their_tables() {
    let (dataset, _) = import(Source::Omop, &tables(&[]), &bare());
    assert_eq!(shown(&dataset), ["7: SEX//F | OMOP//201826 STAY//0d | OMOP//45542738 STAY//2d"]);
    let concept = |name: &str| &dataset.concepts[&dataset.vocabulary.code(name).unwrap()];
    let diabetes = concept("OMOP//201826");
    assert_eq!((diabetes.id, diabetes.domain), (201_826, Some(Domain::Condition)));
    assert!(!diabetes.source && concept("OMOP//45542738").source);
}

#[test]
fn concepts_tell_names_domains_and_what_is_standard() {
    let concepts = "concept_id,concept_name,domain_id,vocabulary_id,standard_concept,concept_code\n\
        201826,Type 2 diabetes,Condition,SNOMED,S,44054006\n\
        45542738,Dependence,Observation,ICD10CM,,Z99.9\n9201,Inpatient Visit,Visit,Visit,S,IP\n";
    let (dataset, _) = import(Source::Omop, &tables(&[("CONCEPT.csv", concepts)]), &bare());
    assert_eq!(shown(&dataset), ["7: SEX//F | SNOMED//44054006 STAY//0d | ICD10CM//Z999 STAY//2d"]);
    let concept = |name: &str| &dataset.concepts[&dataset.vocabulary.code(name).unwrap()];
    let dependence = concept("ICD10CM//Z999");
    assert_eq!((dependence.domain, dependence.source), (Some(Domain::Observation), true));
}

#[test]
fn index_columns_and_empty_fields_at_the_end_of_rows() {
    let person = ",person_id,gender_concept_id,year_of_birth\n0,7.0,8532.0,1980.0\n";
    let person = person.replace("7.0", "7");
    let devices = "Unnamed: 0,person_id,device_concept_id,device_exposure_start_date,visit_occurrence_id\n\
        0,7,5,2020-01-01,1.0,,,\n";
    let other = [("PERSON.csv", &*person), ("DEVICE_EXPOSURE.csv", devices)];
    let (dataset, summary) = import(Source::Omop, &tables(&other), &bare());
    let first = "7: SEX//F | OMOP//201826 OMOP//5 STAY//0d | OMOP//45542738 STAY//2d";
    assert_eq!(shown(&dataset), [first]);
    let device = dataset.vocabulary.code("OMOP//5").unwrap();
    assert_eq!(dataset.concepts[&device].domain, Some(Domain::Device));
    let unread: Vec<&str> = summary.unread_columns.iter().map(|(table, _)| &**table).collect();
    assert!(!unread.contains(&"PERSON") && !unread.contains(&"DEVICE_EXPOSURE"), "{unread:?}");
    let more = [(
        "DEVICE_EXPOSURE.csv",
        "person_id,device_concept_id,device_exposure_start_date\n7,5,2020-01-01,x\n",
    )];
    let error = refused(&more);
    assert_eq!(error, "4 fields in a row of a table with 3 columns at DEVICE_EXPOSURE.csv:2");
}

#[test]
fn tables_without_names_are_in_the_order_of_the_standard() {
    let person = "7,8532,1980,0,0,,8527,38003564,,,,a,F,0,white,0,x,0\n";
    let visit = "1,7,9201,2020-01-01,,2020-01-02,,32817,,,,0,,,,,\n";
    let condition = "1,7,201826,2020-01-01,,,,32817,,,,1,,E11,0,\n";
    let procedure = "1,7,4249893,2020-01-01,,32817,0,1,,1,,x,0,\n";
    let measurement = "1,7,3004501,2020-01-01,,,32817,,120.5,,8840,,,,1,,x,0,mg/dL,120.5\n";
    let observation = "1,7,4240902,2020-01-01,,32817,,,,,,,1,,x,0,,\n";
    let death = "7,2020-01-02,,32817,,,\n";
    let files = [
        ("person.csv", person),
        ("visit_occurrence.csv", visit),
        ("condition_occurrence.csv", condition),
        ("procedure_occurrence.csv", procedure),
        ("measurement.csv", measurement),
        ("observation.csv", observation),
        ("death.csv", death),
    ];
    let asked = ImportOptions { race: true, ethnicity: true, visit_types: true, ..bare() };
    let (dataset, summary) = import(Source::Omop, &files, &asked);
    assert_eq!(
        told(&dataset),
        [
            "7: *1980-01-01 ETHNICITY//NOT HISPANIC OR LATINO RACE//WHITE SEX//F | 2020-01-01 - 2020-01-02: \
          DEATH@2020-01-02 OMOP//201826 OMOP//3004501//q1=120.5 OMOP//4240902 OMOP//4249893 STAY//1d \
          VISIT_TYPE//INPATIENT VISIT"
        ]
    );
    assert_eq!(summary.tables.iter().map(|(_, rows)| rows).sum::<u64>(), 7);
    // Of another width they cannot be told.
    let error = refused(&[("PERSON.csv", "7,8532,1980,0\n")]);
    assert_eq!(error, "no line of column names: the first line holds values at PERSON.csv");
    let error = refused(&[("PERSON.csv", &person.replace("1980", "x"))]);
    assert_eq!(error, "the value in column `year_of_birth` is not a number at PERSON.csv:1");
}

#[test]
fn months_and_days_of_birth_may_be_0_and_no_other_nonsense() {
    let head = "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth\n";
    let born = |rest: &str| format!("{head}7,8532,1980,{rest}\n");
    let (dataset, _) = import(Source::Omop, &tables(&[("PERSON.csv", &born("0,0"))]), &bare());
    assert!(told(&dataset)[0].starts_with("7: *1980-01-01 "), "{:?}", told(&dataset));
    let (dataset, _) = import(Source::Omop, &tables(&[("PERSON.csv", &born("5,0"))]), &bare());
    assert!(told(&dataset)[0].starts_with("7: *1980-05-01 "), "{:?}", told(&dataset));
    for wrong in ["13,1", "2,30", "-1,1"] {
        let error = refused(&[("PERSON.csv", &born(wrong))]);
        assert_eq!(error, "the value in column `year_of_birth` is not a date at PERSON.csv:2");
    }
}

#[test]
fn parquet_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (name, text) in tables(&[("PERSON.csv", ""), ("CONDITION_OCCURRENCE.csv", "")]) {
        put(&path.join(name), text);
    }
    let numbers = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    std::fs::create_dir(path.join("person.parquet")).unwrap();
    for (part, id) in [7, 8].into_iter().enumerate() {
        let columns = vec![
            ("person_id", numbers(&[id])),
            ("gender_concept_id", numbers(&[8507])),
            ("year_of_birth", numbers(&[1980])),
        ];
        put_parquet(&path.join(format!("person.parquet/part-{part}.parquet")), columns);
    }
    put(&path.join("person.parquet/_SUCCESS"), "");
    std::fs::create_dir(path.join("condition_occurrence")).unwrap();
    let day: ArrayRef = Arc::new(Date32Array::from(vec![18_262]));
    let columns = vec![
        ("person_id", numbers(&[8])),
        ("condition_concept_id", numbers(&[201_826])),
        ("condition_start_date", day),
        ("condition_type_concept_id", numbers(&[32_817])),
    ];
    put_parquet(&path.join("condition_occurrence/a.parquet"), columns);
    let import = open(&Source::Omop, path, &bare(), &Unwatched).unwrap();
    let (dataset, summary) = import.collect().unwrap();
    let expected = ["7: SEX//M | STAY//0d | STAY//2d", "8: SEX//M | OMOP//201826"];
    assert_eq!(shown(&dataset), expected);
    let unread = ("CONDITION_OCCURRENCE".to_owned(), vec!["condition_type_concept_id".to_owned()]);
    assert!(summary.unread_columns.contains(&unread), "{:?}", summary.unread_columns);
}

#[test]
fn observations_have_values_or_none() {
    let observations = "observation_id,person_id,observation_concept_id,observation_date,value_as_number,\
        value_as_string,value_as_concept_id,visit_occurrence_id,unit_source_value\n\
        1,7,10,2020-01-01,,,0,1,\n2,7,11,2020-01-01,3.5,,,1,cm\n3,7,12,2020-01-01,,often,,1,\n4,7,13,2020-01-01,,,77,1,\n";
    let other = [("OBSERVATION.csv", observations), ("NOTE.csv", "note_id\n1\n")];
    let (dataset, summary) = import(Source::Omop, &tables(&other), &bare());
    assert_eq!(
        told(&dataset),
        [
            "7: *1980-01-01 SEX//F | 2020-01-01 - 2020-01-01: OMOP//10 OMOP//11//q1=3.5 OMOP//12//often \
          OMOP//13//77 OMOP//201826 STAY//0d | 2020-02-01 - 2020-02-03: OMOP//45542738 STAY//2d"
        ]
    );
    let concept = |name: &str| &dataset.concepts[&dataset.vocabulary.code(name).unwrap()];
    assert_eq!(
        (concept("OMOP//12//often").result, concept("OMOP//13//77").result),
        (Some(0), Some(77))
    );
    assert_eq!(summary.unread_tables, ["NOTE.csv"]);
    let without = ImportOptions { quantiles: 0, ..bare() };
    let (dataset, _) = import(Source::Omop, &tables(&other), &without);
    assert!(
        shown(&dataset)[0].contains("OMOP//10 OMOP//11 OMOP//12 OMOP//13 "),
        "{:?}",
        shown(&dataset)
    );
}

#[test]
fn rows_of_no_encounter_before_the_birth_are_left_out() {
    let devices =
        "person_id,device_concept_id,device_exposure_start_date\n7,5,1975-01-01\n7,5,2020-01-01\n";
    let (dataset, summary) =
        import(Source::Omop, &tables(&[("DEVICE_EXPOSURE.csv", devices)]), &bare());
    assert_eq!(summary.dropped(Reason::BeforeBirth), 1);
    assert!(
        told(&dataset)[0].starts_with("7: *1980-01-01 SEX//F | 2020-01-01"),
        "{:?}",
        told(&dataset)
    );
}

#[test]
fn what_is_wrong_is_refused_with_the_file_and_the_line() {
    let cases = [
        (
            "CONDITION_OCCURRENCE.csv",
            CONDITION.replace("201826", "E11"),
            "the value in column `condition_concept_id` is not a number at CONDITION_OCCURRENCE.csv:2",
        ),
        (
            "CONDITION_OCCURRENCE.csv",
            CONDITION.replace("2020-02-01", "2020-02-31"),
            "the value in column `condition_start_date` is not a date at CONDITION_OCCURRENCE.csv:3",
        ),
        (
            "CONDITION_OCCURRENCE.csv",
            CONDITION.replace(",2,45542738", ""),
            "4 fields in a row of a table with 6 columns at CONDITION_OCCURRENCE.csv:3",
        ),
        (
            "VISIT_OCCURRENCE.csv",
            VISIT.replace("2020-01-01", "yesterday"),
            "the value in column `visit_start_date` is not a date at VISIT_OCCURRENCE.csv:2",
        ),
        (
            "VISIT_OCCURRENCE.csv",
            VISIT.replace("1,7,", ",7,"),
            "column `visit_occurrence_id` is empty at VISIT_OCCURRENCE.csv:2",
        ),
        (
            "PERSON.csv",
            format!("{PERSON}7,8507,1990\n"),
            "the subject of this row was already listed at PERSON.csv:2 at PERSON.csv:3",
        ),
        (
            "PERSON.csv",
            PERSON.replace("year_of_birth", "born"),
            "missing column `year_of_birth`: found person_id, gender_concept_id, born at PERSON.csv",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(refused(&[(name, &text)]), expected);
    }
}
