//! Race, ethnicity and kinds of encounters as codes, on request, from the sources that tell them.

use crate::common::{import, plain, shown};
use consequence_feedback::Unwatched;
use consequence_import::{ImportOptions, Reason, Source, open};
use consequence_tables::Dataset;

fn asked() -> ImportOptions {
    let bare = ImportOptions { age_bands: Some(Vec::new()), gaps: false, ..plain() };
    ImportOptions { race: true, ethnicity: true, visit_types: true, ..bare }
}

fn concept(dataset: &Dataset, name: &str) -> Option<u64> {
    let code = dataset.vocabulary.code(name).unwrap();
    dataset.concepts.get(&code).map(|concept| concept.id)
}

const PATIENTS: &str = "subject_id,gender,dob\n1,F,1950-01-01\n2,M,1950-01-01\n3,F,1950-01-01\n";
const DIAGNOSES: &str = "subject_id,hadm_id,icd9_code\n1,10,4019\n2,12,4019\n3,13,4019\n";

#[test]
fn mimic3_has_one_column_for_race_and_ethnicity() {
    let admissions = "subject_id,hadm_id,admittime,admission_type,ethnicity\n\
         1,11,2001-01-01,ELECTIVE,WHITE - RUSSIAN\n\
         1,10,2000-01-01,EMERGENCY,UNKNOWN/NOT SPECIFIED\n\
         1,14,2002-01-01,,WHITE\n\
         2,12,2000-01-01,NEWBORN,HISPANIC/LATINO - PUERTO RICAN\n\
         3,13,2000-01-01,OTHER KIND,BLACK/AFRICAN AMERICAN\n";
    let files = [
        ("PATIENTS.csv", PATIENTS),
        ("ADMISSIONS.csv", admissions),
        ("DIAGNOSES_ICD.csv", DIAGNOSES),
    ];
    let (dataset, summary) = import(Source::Mimic3, &files, &asked());
    assert_eq!(
        shown(&dataset),
        [
            // The first that is known holds, by the dates of admissions.
            "1: RACE//WHITE - RUSSIAN SEX//F | ICD9CM//4019 VISIT_TYPE//EMERGENCY | \
             VISIT_TYPE//ELECTIVE | ",
            "2: ETHNICITY//HISPANIC OR LATINO RACE//HISPANIC/LATINO - PUERTO RICAN SEX//M | \
             ICD9CM//4019 VISIT_TYPE//NEWBORN",
            "3: RACE//BLACK OR AFRICAN AMERICAN SEX//F | ICD9CM//4019 VISIT_TYPE//OTHER KIND",
        ]
    );
    assert_eq!(summary.dropped(Reason::LaterStatic), 1);
    let told = [
        ("RACE//BLACK OR AFRICAN AMERICAN", Some(8516)),
        ("RACE//WHITE - RUSSIAN", None),
        ("ETHNICITY//HISPANIC OR LATINO", Some(38_003_563)),
        // Admissions are stays, whatever the word begins with.
        ("VISIT_TYPE//EMERGENCY", Some(262)),
        ("VISIT_TYPE//NEWBORN", Some(9201)),
        ("VISIT_TYPE//OTHER KIND", None),
    ];
    for (name, id) in told {
        assert_eq!(concept(&dataset, name), id, "{name}");
    }

    // Without a word of it, there is none.
    let bare = ImportOptions { race: false, ethnicity: false, visit_types: false, ..asked() };
    let (dataset, _) = import(Source::Mimic3, &files, &bare);
    assert_eq!(shown(&dataset)[0], "1: SEX//F | ICD9CM//4019 |  | ");
}

#[test]
fn mimic4_calls_it_race_and_once_called_it_ethnicity() {
    let patients = "subject_id,gender,anchor_age,anchor_year\n1,F,50,2000\n";
    let diagnoses = "subject_id,hadm_id,icd_code,icd_version\n1,10,E119,10\n";
    for (column, word) in [("race", "ASIAN"), ("ethnicity", "AMERICAN INDIAN/ALASKA NATIVE")] {
        let admissions = format!(
            "subject_id,hadm_id,admittime,admission_type,{column}\n1,10,2000-01-01,EW EMER.,{word}\n"
        );
        let files = [
            ("hosp/patients.csv", patients),
            ("hosp/admissions.csv", &admissions),
            ("hosp/diagnoses_icd.csv", diagnoses),
        ];
        let (dataset, _) = import(Source::Mimic4, &files, &asked());
        let word = word.replace('/', " OR ");
        let expected = format!("1: RACE//{word} SEX//F | ICD10CM//E119 VISIT_TYPE//EW EMER.");
        assert_eq!(shown(&dataset), [expected]);
        assert_eq!(concept(&dataset, "VISIT_TYPE//EW EMER."), Some(262));
    }
}

#[test]
fn synthea_tells_all_three() {
    let patients = "Id,BIRTHDATE,GENDER,RACE,ETHNICITY\na,1980-01-01,F,black,nonhispanic\n\
         b,1980-01-01,M,white,hispanic\nc,1980-01-01,F,,\n";
    let encounters = "Id,START,PATIENT,ENCOUNTERCLASS\ne1,2020-01-01,a,wellness\n\
         e2,2020-02-01,a,inpatient\ne3,2020-01-01,b,emergency\ne4,2020-01-01,c,\n";
    let files = [("patients.csv", patients), ("encounters.csv", encounters)];
    let (dataset, _) = import(Source::Synthea, &files, &asked());
    assert_eq!(
        shown(&dataset),
        [
            "a: ETHNICITY//NOT HISPANIC OR LATINO RACE//BLACK OR AFRICAN AMERICAN SEX//F | \
             VISIT_TYPE//WELLNESS | VISIT_TYPE//INPATIENT VISIT",
            "b: ETHNICITY//HISPANIC OR LATINO RACE//WHITE SEX//M | VISIT_TYPE//EMERGENCY ROOM VISIT",
            "c: SEX//F | ",
        ]
    );
    assert_eq!(concept(&dataset, "VISIT_TYPE//EMERGENCY ROOM VISIT"), Some(9203));
    assert_eq!(concept(&dataset, "VISIT_TYPE//WELLNESS"), None);
}

#[test]
fn a_column_that_is_asked_for_and_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("PATIENTS.csv", PATIENTS),
        ("ADMISSIONS.csv", "subject_id,hadm_id,admittime\n1,10,2000-01-01\n"),
        ("DIAGNOSES_ICD.csv", DIAGNOSES),
    ];
    files.iter().for_each(|(name, text)| crate::common::put(&folder.path().join(name), text));
    let refused = |options: &ImportOptions| {
        open(&Source::Mimic3, folder.path(), options, &Unwatched).unwrap_err().to_string()
    };
    let error = refused(&asked());
    assert!(error.starts_with("missing column `race` or `ethnicity`: found subject_id"), "{error}");
    assert!(error.contains("ADMISSIONS.csv"), "{error}");
    let error = refused(&ImportOptions { visit_types: true, ..plain() });
    assert!(error.starts_with("missing column `admission_type`"), "{error}");
}
