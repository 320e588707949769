//! The importers on small made-up tables: what each row becomes, odd ones included.

use std::fs;
use std::sync::Arc;

use crate::common::{import, long, plain, put_parquet, shown};
use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray,
};
use consequence_feedback::Unwatched;
use consequence_import::{CsvColumns, ImportOptions, Reason, Source, open};
use consequence_tables::export::{self, ExportOptions};
use consequence_tables::{Dataset, meds};

fn title<'d>(dataset: &'d Dataset, name: &str) -> Option<&'d str> {
    dataset.titles.get(&dataset.vocabulary.code(name)?).map(String::as_str)
}

#[test]
fn mimic3_with_odd_rows() {
    let files = [
        (
            "Patients.csv.gz",
            "\u{feff}ROW_ID,SUBJECT_ID,GENDER,DOB\n1,10,F,2000-06-01 00:00:00\n2,9,M,1700-01-01\n\
             3,11,,1990-01-01\n4,12,F,\n5,13,M,1980-01-01\n",
        ),
        (
            "admissions.csv",
            "subject_id,hadm_id,admittime,hospital_expire_flag\n10,2,2030-03-01 10:00:00,1\n\
             10,1,2030-01-01 10:00:00,0\n10,3,,0\n9,4,2030-01-01 00:00:00,0\n\
             11,5,2030-01-01 00:00:00,0\n12,6,2030-01-01 00:00:00,0\n99,7,2030-01-01,0\n",
        ),
        (
            "DIAGNOSES_ICD.CSV",
            "subject_id,hadm_id,seq_num,icd9_code\n10,1,1,250.00\n10,1,2,25000\n10,1,3,\n\
             10,2,1,e8800\n10,8,1,4019\n10,,1,4019\n99,7,1,4019\n10,3,1,4280\n",
        ),
        (
            "prescriptions.csv",
            "subject_id,hadm_id,drug\n10,2,Insulin  Regular\n10,2,insulin regular\n",
        ),
        ("d_icd_diagnoses.csv", "icd9_code,long_title\n25000,Diabetes\n7,Never met\n"),
        ("CPTEVENTS.csv", "subject_id,cpt_cd\n10,99223\n"),
        ("LICENSE.txt", "Open Data Commons\n"),
    ];
    let (dataset, summary) = import(Source::Mimic3, &files, &plain());
    assert_eq!(
        shown(&dataset),
        [
            // A date of birth three centuries back hides an age of 90 or more.
            "9: AGE//80-100 SEX//M | ",
            "10: AGE//18-40 SEX//F | ICD9CM//25000 | DISCHARGE//EXPIRED GAP//45-60d ICD9CM//E8800 \
             RX//insulin-regular",
        ]
    );
    assert_eq!(title(&dataset, "ICD9CM//25000"), Some("Diabetes"));
    assert_eq!(title(&dataset, "RX//insulin-regular"), Some("Insulin  Regular"));
    let dropped: Vec<(Reason, u64)> = summary.dropped.clone().into_iter().collect();
    assert_eq!(
        dropped,
        [
            (Reason::NoVisits, 1),
            (Reason::UnknownSex, 1),
            (Reason::UnknownAge, 1),
            (Reason::UnknownSubject, 2),
            (Reason::UnknownVisit, 1),
            (Reason::NoVisit, 1),
            // Admission 3 and its diagnosis.
            (Reason::NoDate, 1),
            (Reason::NoCode, 1),
            (Reason::Repeated, 2),
        ]
    );
    assert_eq!((summary.empty_visits, summary.visits_per_patient()), (1, 1.5));
    assert_eq!(summary.unread_tables, ["CPTEVENTS.csv"]);

    let bare = ImportOptions { sex: false, age_bands: Some(Vec::new()), ..plain() };
    let (dataset, _) = import(Source::Mimic3, &files, &bare);
    assert_eq!(shown(&dataset)[2..], ["11:  | ", "12:  | "]);
    let banded = ImportOptions { age_bands: Some(vec![18, 30]), ..plain() };
    let (dataset, _) = import(Source::Mimic3, &files, &banded);
    assert_eq!(dataset.vocabulary.name(consequence_record::Code(0)), "AGE//18-30");
    assert!(shown(&dataset)[0].starts_with("9: AGE//30+ "));
}

#[test]
fn mimic4_in_its_folders() {
    let files = [
        (
            "hosp/patients.csv.gz",
            "subject_id,gender,anchor_age,anchor_year\n1,F,50,2180\n2,M,91,2110\n",
        ),
        (
            "hosp/admissions.csv.gz",
            "subject_id,hadm_id,admittime,hospital_expire_flag\n1,20,2182-01-01 00:00:00,0\n\
             2,21,1/5/09 7:30,1\n",
        ),
        (
            "hosp/diagnoses_icd.csv.gz",
            "subject_id,hadm_id,icd_code,icd_version\n1,20,E119,10\n1,20,E8800,9\n2,21,4019,9\n",
        ),
        ("hosp/procedures_icd.csv", "subject_id,hadm_id,icd_code,icd_version\n1,20,0DT90ZZ,10\n"),
        (
            "hosp/labevents.csv",
            "subject_id,hadm_id,itemid,valuenum\n1,20,50912,1.5\n1,20,50912,\n1,,50912,3\n2,21,50912,0.5\n",
        ),
        ("hosp/d_labitems.csv", "itemid,label\n50912,Creatinine\n"),
    ];
    let options = ImportOptions { truncate: Some(3), quantiles: 2, ..plain() };
    let (dataset, summary) = import(Source::Mimic4, &files, &options);
    assert_eq!(
        shown(&dataset),
        [
            "1: AGE//40-60 SEX//F | EDITION//ICD10 EDITION//ICD9 ICD10CM//E11 ICD10PCS//0DT ICD9CM//E880 LAB//50912//q2",
            "2: AGE//80-100 SEX//M | DISCHARGE//EXPIRED EDITION//ICD9 ICD9CM//401 LAB//50912//q1",
        ]
    );
    assert_eq!(title(&dataset, "LAB//50912//q1"), Some("Creatinine"));
    assert_eq!(summary.dropped(Reason::NoValue), 1);
    // 2109-01-05 07:30, the year of two digits closest to 2110.
    assert_eq!(dataset.details.unwrap().of(1).times, [4_386_814_200_000_000]);
}

#[test]
fn omop_codes_keep_their_concepts() {
    let mut files = vec![
        ("PERSON.csv", "person_id,gender_concept_id,year_of_birth\n1,8532,1980\n"),
        (
            "VISIT_OCCURRENCE.csv",
            "person_id,visit_occurrence_id,visit_start_date\n1,7,2020-01-01\n1,8,2020-06-01\n",
        ),
        (
            "CONDITION_OCCURRENCE.csv",
            "person_id,condition_concept_id,condition_start_date,visit_occurrence_id\n\
             1,201826,2020-01-01,7\n1,45548,2020-01-01,7\n1,999,2020-06-01,8\n",
        ),
        (
            "CONCEPT.csv",
            "concept_id,concept_name,vocabulary_id,concept_code\n\
             201826,Type 2 diabetes mellitus,SNOMED,44054006\n45548,Diabetes,ICD10CM,E11.9\n",
        ),
    ];
    let concept = |dataset: &Dataset, name: &str| {
        let code = dataset.vocabulary.code(name).unwrap();
        dataset.concepts.get(&code).map(|known| (known.id, known.ancestors.clone()))
    };
    let (dataset, _) = import(Source::Omop, &files, &plain());
    assert_eq!(concept(&dataset, "SNOMED//44054006"), Some((201_826, vec![])));
    assert_eq!(concept(&dataset, "OMOP//999"), Some((999, vec![])));
    assert_eq!(dataset.concepts.len(), 3);
    // What is above is kept for the codes that were met, and a category has no concept.
    let above = "ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\n\
                 201820\t201826\t1\n201826\t201826\t0\n4\t5\t1\n\t201826\t1\n";
    files.push(("concept_ancestor.csv.gz", above));
    let options = ImportOptions { truncate: Some(3), ..plain() };
    let (dataset, _) = import(Source::Omop, &files, &options);
    assert_eq!(concept(&dataset, "SNOMED//44054006"), Some((201_826, vec![201_820])));
    assert_eq!(concept(&dataset, "ICD10CM//E11"), None);
    // Another import of the cohort keeps them.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort");
    meds::write(&path, &dataset).unwrap();
    let (again, _) = open(&Source::Meds, &path, &plain(), &Unwatched).unwrap().collect().unwrap();
    assert_eq!(again.concepts, dataset.concepts);
}

#[test]
fn omop_with_tabs_and_without_concepts() {
    let files = [
        (
            "person.csv",
            "PERSON_ID\tGENDER_CONCEPT_ID\tYEAR_OF_BIRTH\tMONTH_OF_BIRTH\tDAY_OF_BIRTH\n\
             1\t8532\t1980\t\t\n2\t8507\t1950\t2\t3\n3\t0\t1950\t2\t3\n",
        ),
        (
            "visit_occurrence.csv.gz",
            "person_id\tvisit_occurrence_id\tvisit_start_date\n1\t7\t2020-01-01\n1\t8\t2020-06-01\n",
        ),
        (
            "Condition_Occurrence.csv",
            "person_id\tcondition_concept_id\tcondition_start_date\tvisit_occurrence_id\t\
             condition_source_concept_id\n1\t201826\t2020-01-03\t7\t0\n1\t0\t2020-06-01\t\\N\t44\n\
             1\t0\t2020-06-01\t8\t0\n1\t201826\t2020-07-01\t\t0\n2\t201826\t2021-01-01\tNULL\t0\n\
             1\t201826\t\t\t0\n4\t201826\t2020-01-01\t7\t0\n",
        ),
        ("death.csv", "person_id\tdeath_date\n2\t2021-01-01\n1\t2020-08-01\n"),
    ];
    let (dataset, summary) = import(Source::Omop, &files, &plain());
    assert_eq!(
        shown(&dataset),
        [
            "1: AGE//40-60 SEX//F | OMOP//201826 | GAP//120-180d OMOP//44 | GAP//30-45d OMOP//201826 \
             | DEATH GAP//30-45d",
            "2: AGE//60-80 SEX//M | DEATH OMOP//201826",
        ]
    );
    assert_eq!(summary.dropped(Reason::NoCode), 1);
    assert_eq!(summary.dropped(Reason::NoDate), 1);
    assert_eq!(summary.dropped(Reason::UnknownSubject), 1);
    assert_eq!(summary.dropped(Reason::NoVisits), 1);
    assert_eq!(summary.splits.iter().sum::<u64>(), 2);

    let mut files = files.to_vec();
    files.push((
        "CONCEPT.csv",
        "concept_id,concept_name,vocabulary_id,concept_code\n201826,\"Type 2 diabetes\",ICD10CM,E11.9\n",
    ));
    let options = ImportOptions { truncate: Some(3), ..plain() };
    let (dataset, _) = import(Source::Omop, &files, &options);
    assert!(dataset.vocabulary.code("ICD10CM//E11").is_some());
    let (dataset, _) = import(Source::Omop, &files, &plain());
    assert_eq!(title(&dataset, "ICD10CM//E119"), Some("Type 2 diabetes"));
}

#[test]
fn synthea() {
    let files = [
        (
            "csv/patients.csv",
            "Id,BIRTHDATE,DEATHDATE,GENDER\nb-2,1990-05-05,,M\na-1,1950-01-01,2021-03-01,F\n",
        ),
        (
            "csv/encounters.csv",
            "Id,START,STOP,PATIENT,CODE\ne2,2021-02-01T10:00:00Z,,a-1,1\ne1,2020-02-01T10:00:00Z,,a-1,1\n\
             e3,2020-02-01T10:00:00Z,,b-2,1\n",
        ),
        (
            "csv/conditions.csv",
            "START,STOP,PATIENT,ENCOUNTER,CODE,DESCRIPTION\n2020-02-01,,a-1,e1,44054006,Diabetes\n\
             2020-02-01,,zz,e1,44054006,Diabetes\n2021-02-01,,a-1,,38341003,Hypertension\n",
        ),
        (
            "csv/medications.csv",
            "START,STOP,PATIENT,PAYER,ENCOUNTER,CODE,DESCRIPTION\n2021-02-01T10:00:00Z,,a-1,p,e2,860975,\
             Metformin\n",
        ),
        (
            "csv/observations.csv",
            "DATE,PATIENT,ENCOUNTER,CATEGORY,CODE,DESCRIPTION,VALUE,UNITS,TYPE\n\
             2020-02-01T10:00:00Z,a-1,e1,x,4548-4,A1c,7.5,%,numeric\n\
             2020-02-01T10:00:00Z,a-1,e1,x,72166-2,Smoking,Never,,text\n",
        ),
    ];
    let bare = ImportOptions { quantiles: 0, ..plain() };
    let (dataset, summary) = import(Source::Synthea, &files, &bare);
    assert_eq!(
        shown(&dataset),
        [
            "a-1: AGE//60-80 SEX//F | SNOMED//44054006 | GAP//365-450d RX//860975 SNOMED//38341003 \
             | DEATH GAP//21-30d",
            "b-2: AGE//18-40 SEX//M | ",
        ]
    );
    assert_eq!(title(&dataset, "RX//860975"), Some("Metformin"));
    assert_eq!(summary.dropped(Reason::UnknownSubject), 1);
    assert_eq!(summary.dropped(Reason::Offset), 4);
    let (dataset, summary) = import(Source::Synthea, &files, &plain());
    assert!(
        shown(&dataset)[0].contains("| LAB//4548-4//q1 LAB//72166-2//Never SNOMED//44054006 |"),
        "{:?}",
        shown(&dataset)
    );
    assert_eq!((summary.tests, summary.values, summary.texts), (1, 1, 1));
    let measured = dataset.vocabulary.code("LAB//4548-4//q1").unwrap();
    assert_eq!(dataset.scales[&measured].unit.as_deref(), Some("%"));
    assert_eq!(dataset.details_of(0).event(1, measured).unwrap().value, Some(7.5));
}

#[test]
fn long_tables_by_visit_day_and_order() {
    let columns = CsvColumns {
        subject: "who".into(),
        time: Some("when".into()),
        code: "what".into(),
        visit: Some("stay".into()),
        value: Some("value".into()),
        statics: vec!["sex".into()],
        ..CsvColumns::default()
    };
    let table = "WHO;WHEN;WHAT;STAY;VALUE;SEX\np2;2024-01-05;B;;;M\np1;2024-01-02;A;s1;;F\n\
                 p1;2024-01-01;B;s1;;F\np1;2024-01-01;C;;;M\np1;;D;s2;;\np1;;RACE//x;;;\n\
                 p1;2023-12-31;A;s0;;\np1;;B;;;\np1;2024-01-01;;;;\n";
    let (dataset, summary) = long(table, columns, &plain());
    assert_eq!(shown(&dataset), ["p1: RACE//x SEX//F | A | A B C GAP//1d", "p2: SEX//M | B"],);
    // Visit s2 has no date, and neither has one row of B, which is a code of encounters.
    assert_eq!(summary.dropped(Reason::NoDate), 2);
    assert_eq!(summary.dropped(Reason::LaterStatic), 1);
    let order = CsvColumns { time: None, visit: Some("visit".into()), ..CsvColumns::default() };
    let numbered = "subject_id,visit,code\n1,10,B\n1,9,A\n";
    assert_eq!(shown(&long(numbered, order.clone(), &plain()).0), ["1:  | A | B"]);
    let named = "subject_id,visit,code\n1,z,B\n1,a,A\n1,z,C\n";
    assert_eq!(shown(&long(named, order, &plain()).0), ["1:  | B C | A"]);
}

#[test]
fn values_become_parts_of_the_train_split() {
    let columns = CsvColumns { value: Some("value".into()), ..CsvColumns::default() };
    let mut table = String::from("subject_id,time,code,value\n");
    for number in 0..40 {
        table.push_str(&format!("{number},2024-01-01,LAB//x,{number}\n"));
        table.push_str(&format!("{number},2024-01-01,LAB//y,\n"));
    }
    let (dataset, _) = long(&table, columns, &plain());
    let train: Vec<usize> = (0..dataset.cohort.len())
        .filter(|&record| dataset.splits[record] == consequence_record::Split::Train)
        .collect();
    let code = |record: usize| dataset.vocabulary.name(dataset.cohort.record(record).visit(1)[0]);
    for (index, &record) in train.iter().enumerate() {
        assert_eq!(code(record), format!("LAB//x//q{}", index * 4 / train.len() + 1));
    }
    assert_eq!((code(0), code(39)), ("LAB//x//q1", "LAB//x//q4"));
    assert!(dataset.vocabulary.code("LAB//y").is_some());
    assert!(dataset.vocabulary.code("LAB//x").is_none());
}

#[test]
fn cohorts_pass_through_with_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort.jsonl");
    let lines = "{\"id\": \"b\", \"static\": [\"SEX//F\"], \"visits\": [[\"ICD9CM//25000\"], [], [\"X\"]]}\n\
                 {\"id\": 3, \"static\": [], \"visits\": [[\"ICD9CM//25001\"]], \"ended\": false}\n";
    fs::write(&path, lines).unwrap();
    let options =
        ImportOptions { truncate: Some(3), min_patients: 2, max_visits: Some(2), ..plain() };
    let import = open(&Source::Jsonl, &path, &options, &Unwatched).unwrap();
    let (dataset, summary) = import.collect().unwrap();
    assert_eq!(shown(&dataset), ["3:  | ICD9CM//250", "b: SEX//F | ICD9CM//250 | "]);
    assert!(!dataset.cohort.record(0).ended() && !dataset.cohort.record(1).ended());
    assert_eq!((summary.cut, summary.dropped(Reason::CutVisits)), (2, 1));
    assert!(dataset.details.is_none());
}

#[test]
fn omop_in_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = |numbers: &[i64]| Arc::new(Int64Array::from(numbers.to_vec())) as ArrayRef;
    put_parquet(
        &folder.path().join("person.parquet"),
        vec![
            ("year_of_birth", numbers(&[1980, 1950])),
            ("PERSON_ID", numbers(&[2, 1])),
            ("gender_concept_id", numbers(&[8532, 8507])),
        ],
    );
    put_parquet(
        &folder.path().join("visit_occurrence.parquet"),
        vec![
            ("visit_occurrence_id", numbers(&[5, 6])),
            ("person_id", numbers(&[2, 1])),
            ("visit_start_date", Arc::new(Date32Array::from(vec![18_262, 18_263]))),
            (
                "visit_start_datetime",
                Arc::new(TimestampMicrosecondArray::from(vec![None, Some(1_577_990_000_000_000)])),
            ),
        ],
    );
    fs::create_dir(folder.path().join("condition_occurrence")).unwrap();
    for (part, concept) in [("part-0.parquet", "201826"), ("part-1.parquet", "316866")] {
        put_parquet(
            &folder.path().join("condition_occurrence").join(part),
            vec![
                ("person_id", Arc::new(Float64Array::from(vec![2.0]))),
                ("condition_concept_id", Arc::new(StringArray::from(vec![concept]))),
                ("condition_start_date", Arc::new(Date32Array::from(vec![18_262]))),
                ("visit_occurrence_id", Arc::new(Int64Array::from(vec![None]))),
            ],
        );
    }
    let import = open(&Source::Omop, folder.path(), &plain(), &Unwatched).unwrap();
    let (dataset, _) = import.collect().unwrap();
    assert_eq!(
        shown(&dataset),
        ["1: AGE//60-80 SEX//M | ", "2: AGE//40-60 SEX//F | OMOP//201826 OMOP//316866"]
    );
    let times = dataset.details.unwrap();
    assert_eq!(
        (times.of(0).times, times.of(1).times),
        (&[1_577_990_000_000_000][..], &[18_262 * 86_400_000_000][..])
    );
}

#[test]
fn a_dataset_comes_back_as_it_was_written() {
    let columns = CsvColumns { statics: vec!["sex".into()], ..CsvColumns::default() };
    let table =
        "subject_id,time,code,sex\n2,2024-01-31 10:00,B,F\n10,2024-02-01,A,M\n2,2024-01-01,A,F\n";
    let (dataset, _) = long(table, columns, &plain());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort");
    meds::write(&path, &dataset).unwrap();
    let (again, summary) =
        open(&Source::Meds, &path, &plain(), &Unwatched).unwrap().collect().unwrap();
    assert_eq!((&again.cohort, &again.details), (&dataset.cohort, &dataset.details));
    assert_eq!(shown(&again), ["2: SEX//F | A | B GAP//30-45d", "10: SEX//M | A"]);
    assert!(summary.dropped.is_empty(), "{summary}");
}

#[test]
fn a_long_table_comes_back_as_it_was_exported() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, table) = (folder.path().join("cohort.jsonl"), folder.path().join("cohort.csv"));
    let text = r#"{"id": "b", "static": ["SEX//F"], "visits": [["A"], [], ["B", "A"]]}
{"id": "c", "static": [], "visits": [["A"], []], "ended": false}
{"id": "d", "static": ["SEX//F"], "visits": [[]], "ended": false}
"#;
    fs::write(&lines, text).unwrap();
    let dataset = Dataset::open(&lines).unwrap();
    export::csv(&table, &dataset, &ExportOptions::default()).unwrap();
    let columns = CsvColumns {
        time: None,
        visit: Some("visit".into()),
        static_flag: Some("static".into()),
        ended: Some("ended".into()),
        ..CsvColumns::default()
    };
    let import = open(&Source::Csv(columns.clone()), &table, &plain(), &Unwatched).unwrap();
    let (again, summary) = import.collect().unwrap();
    assert_eq!(shown(&again)[0], "b: SEX//F | A |  | A B");
    assert_eq!(again.cohort, dataset.cohort, "records that were cut are cut again");
    assert!(summary.dropped.is_empty(), "{summary}");
    // A table that says it in words.
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, text.replace(",0\n", ",false\n").replace(",1\n", ",true\n")).unwrap();
    let import = open(&Source::Csv(columns), &table, &plain(), &Unwatched).unwrap();
    assert_eq!(import.collect().unwrap().0.cohort, dataset.cohort);
}
