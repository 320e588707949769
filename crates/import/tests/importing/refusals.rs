//! Every refusal of an importer says what is wrong, where, and what to do, and tells nothing of a
//! patient.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use consequence_feedback::{Advise, Unwatched};
use consequence_import::{
    CsvColumns, Import, ImportError, ImportLimits, ImportOptions, ImportProblem, Source, open,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

const PATIENTS: &str = "subject_id,gender,dob\n777001,F,2000-01-01\n777002,M,1950-06-01\n";
const ADMISSIONS: &str = "subject_id,hadm_id,admittime,hospital_expire_flag\n\
                          777001,1,2030-01-01 10:00:00,0\n777002,2,2030-02-01 10:00:00,1\n";
const DIAGNOSES: &str = "subject_id,hadm_id,icd9_code\n777001,1,25000\n777002,2,4019\n";

/// Imports a folder of these files as MIMIC-III.
fn mimic3(files: &[(&str, &[u8])], limits: ImportLimits) -> Result<Import, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let options = ImportOptions { limits, ..ImportOptions::default() };
    open(&Source::Mimic3, folder.path(), &options, &Unwatched)
}

/// What is said of good tables with one of them replaced: what, the file's name, and the line.
fn refused(name: &str, content: &[u8]) -> String {
    let mut files = vec![
        ("PATIENTS.csv", PATIENTS.as_bytes()),
        ("ADMISSIONS.csv", ADMISSIONS.as_bytes()),
        ("DIAGNOSES_ICD.csv", DIAGNOSES.as_bytes()),
    ];
    files.retain(|(file, _)| !name.starts_with(file.trim_end_matches(".csv")));
    files.push((name, content));
    said(mimic3(&files, ImportLimits::default()))
}

/// What to do about it.
fn advice(error: &ImportError) -> String {
    error.advice().expect("advice").worded(|setting| setting.name.into())
}

fn said(outcome: Result<Import, ImportError>) -> String {
    let error = outcome.expect_err("this should be refused");
    let message = error.to_string();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 2, "{message}");
    assert!(!advice(&error).is_empty() && !advice(&error).ends_with('.'), "{message}");
    assert!(!lines[0].starts_with(char::is_uppercase), "{message}");
    assert!(!message.contains("77700") && !message.contains("secret"), "{message}");
    assert!(message.len() < 1000, "{message}");
    let location = lines[1].trim_start_matches("  --> ");
    let end = location.rsplit('/').next().unwrap();
    format!("{} @{end}", lines[0])
}

fn gz(content: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

/// Imports one file as a table of one code a row.
fn long(
    content: &[u8],
    columns: CsvColumns,
    options: &ImportOptions,
) -> Result<Import, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.csv");
    fs::write(&path, content).unwrap();
    open(&Source::Csv(columns), &path, options, &Unwatched)
}

fn long_said(content: &str) -> String {
    said(long(content.as_bytes(), CsvColumns::default(), &ImportOptions::default()))
}

#[test]
fn good_tables_are_taken() {
    let files = [
        ("patients.csv", PATIENTS),
        ("Admissions.CSV", ADMISSIONS),
        ("diagnoses_icd.csv", DIAGNOSES),
    ]
    .map(|(name, content)| (name, content.as_bytes()));
    let import = mimic3(&files, ImportLimits::default()).unwrap();
    assert_eq!(import.records().count(), 2);
}

#[test]
fn missing_tables_and_columns_are_named_with_what_is_there() {
    let only_patients = mimic3(&[("patients.csv", PATIENTS.as_bytes())], ImportLimits::default());
    let message = said(only_patients);
    assert!(message.starts_with("missing table ADMISSIONS: found patients.csv @"), "{message}");
    let nowhere = open(&Source::Omop, "nowhere/at/all", &ImportOptions::default(), &Unwatched);
    assert!(said(nowhere).starts_with("cannot open it: "));
    assert_eq!(
        refused("PATIENTS.csv", b"subject_id,sex,born\n777001,F,2000-01-01\n"),
        "missing column `gender`: found subject_id, sex, born @PATIENTS.csv"
    );
    assert_eq!(
        refused("PATIENTS.csv", b""),
        "missing column `subject_id`: found none @PATIENTS.csv"
    );
    assert_eq!(
        refused("PATIENTS.csv", b"777001,secret,2000-01-01\n"),
        "no line of column names: the first line holds values @PATIENTS.csv"
    );
    assert_eq!(
        refused("PATIENTS.csv", b"subject_id,gender,dob,GENDER\n"),
        "column `gender` is there twice @PATIENTS.csv"
    );
    let twice = [
        ("PATIENTS.csv", PATIENTS.as_bytes()),
        ("patients.csv.gz", &gz(PATIENTS.as_bytes())),
        ("ADMISSIONS.csv", b""),
    ];
    let message = said(mimic3(&twice, ImportLimits::default()));
    assert!(
        message
            .starts_with("table PATIENTS is there more than once: PATIENTS.csv, patients.csv.gz"),
        "{message}"
    );
}

#[test]
fn rows_are_pointed_at() {
    assert_eq!(
        refused(
            "PATIENTS.csv",
            b"subject_id,gender,dob\n777001,F,2000-01-01\n777002,M,1950-13-01\n"
        ),
        "the value in column `dob` is not a date @PATIENTS.csv:3"
    );
    assert_eq!(
        refused("ADMISSIONS.csv", b"subject_id,hadm_id,admittime\n777001,1,yesterday\n"),
        "the value in column `admittime` is not a date @ADMISSIONS.csv:2"
    );
    assert_eq!(
        refused("DIAGNOSES_ICD.csv", b"subject_id,hadm_id,icd9_code\n777001,1,250\n777001,1\n"),
        "2 fields in a row of a table with 3 columns @DIAGNOSES_ICD.csv:3"
    );
    assert_eq!(
        refused("DIAGNOSES_ICD.csv", b"icd9_code,subject_id,hadm_id\n\"250,777001,1\n401,777001,1"),
        "1 fields in a row of a table with 3 columns @DIAGNOSES_ICD.csv:2"
    );
    assert_eq!(
        refused(
            "DIAGNOSES_ICD.csv",
            b"subject_id,hadm_id,icd9_code\n777001,1,\"250\n777001,1,401\n"
        ),
        "a code has a line break or another control character in it @DIAGNOSES_ICD.csv:2"
    );
    let open = "subject_id,gender,dob,note\n777001,F,2000-01-01,\n777002,M,1950-06-01,\"well\n";
    assert_eq!(
        refused("PATIENTS.csv", format!("{open}777003,M,1950-06-01,\n").as_bytes()),
        "a quote in this row is never closed @PATIENTS.csv:3"
    );
}

#[test]
fn text_that_is_none() {
    assert_eq!(
        refused("DIAGNOSES_ICD.csv", b"subject_id,hadm_id,icd9_code\n777001,1,25\xff0\n"),
        "invalid UTF-8 in column `icd9_code` @DIAGNOSES_ICD.csv:2"
    );
    let unused =
        b"subject_id,gender,dob,name\n777001,F,2000-01-01,Jos\xe9\n777002,M,1950-06-01,x\n";
    let files = [
        ("PATIENTS.csv", unused.as_slice()),
        ("ADMISSIONS.csv", ADMISSIONS.as_bytes()),
        ("DIAGNOSES_ICD.csv", DIAGNOSES.as_bytes()),
    ];
    assert!(mimic3(&files, ImportLimits::default()).is_ok(), "columns that are not read may be so");
}

#[test]
fn two_subjects_with_one_id() {
    let files = [
        ("patients/part-0.csv", PATIENTS.as_bytes()),
        (
            "patients/part-1.csv",
            b"subject_id,gender,dob\n777003,F,2000-01-01\n777002,F,1960-01-01\n",
        ),
        ("ADMISSIONS.csv", ADMISSIONS.as_bytes()),
        ("DIAGNOSES_ICD.csv", DIAGNOSES.as_bytes()),
    ];
    let message = said(mimic3(&files, ImportLimits::default()));
    assert!(message.starts_with("the subject of this row was already listed at "), "{message}");
    assert!(message.ends_with("part-0.csv:3 @part-1.csv:3"), "{message}");
}

#[test]
fn compressed_files() {
    let whole = gz(DIAGNOSES.repeat(50).as_bytes());
    for end in [5, 20, whole.len() / 2, whole.len() - 1] {
        assert_eq!(
            refused("DIAGNOSES_ICD.csv.gz", &whole[..end]).split(" @").next(),
            Some("the compressed file is cut short"),
            "{end}"
        );
    }
    let mut flipped = whole.clone();
    let checksum = flipped.len() - 8;
    flipped[checksum] ^= 1;
    let message = refused("DIAGNOSES_ICD.csv.gz", &flipped);
    assert!(message.starts_with("the file is damaged: "), "{message}");
    assert!(
        refused("DIAGNOSES_ICD.parquet", b"PAR1, or so it says").starts_with("the file is damaged")
    );
}

#[test]
fn files_made_to_fill_memory() {
    let rows = "777001,1,25000\n".repeat(3_000_000);
    let bomb = gz(format!("subject_id,hadm_id,icd9_code\n{rows}").as_bytes());
    assert_eq!(
        refused("DIAGNOSES_ICD.csv.gz", &bomb).split(" @").next(),
        Some("the file unpacks to more than 250 times its size")
    );
    let small = ImportLimits { unpacked_bytes: 1000, ..ImportLimits::default() };
    let packed = gz(DIAGNOSES.repeat(100).as_bytes());
    let files = [
        ("PATIENTS.csv", PATIENTS.as_bytes()),
        ("ADMISSIONS.csv", ADMISSIONS.as_bytes()),
        ("DIAGNOSES_ICD.csv.gz", &packed),
    ];
    let message = said(mimic3(&files, small));
    assert!(message.starts_with("the file unpacks to more than 1000 bytes @"), "{message}");

    let code = "secret".replace("secret", &"x".repeat(10 << 20));
    let table = format!("subject_id,time,code\n1,2024-01-01,A\n1,2024-01-01,{code}\n");
    assert_eq!(
        long_said(&table),
        "code `xxxxxxxxxxxxxxxxxxxxxxxx...` has a name longer than 1024 bytes @events.csv:3"
    );
    let table = format!("subject_id,time,code\n{},2024-01-01,A\n", "s".repeat(300));
    assert_eq!(
        long_said(&table),
        "an identifier in column `subject_id` is longer than 256 bytes @events.csv:2"
    );
    let limits = ImportLimits { row_bytes: 1 << 16, ..ImportLimits::default() };
    let options = ImportOptions { limits, ..ImportOptions::default() };
    let table = format!("subject_id,time,code\n1,2024-01-01,\"{}", "y\n".repeat(1 << 20));
    let message = said(long(table.as_bytes(), CsvColumns::default(), &options));
    assert!(message.starts_with("the row is longer than 65536 bytes @events.csv"), "{message}");
}

#[test]
fn archives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let open =
        |path: &Path| said(open(&Source::UciDiabetes, path, &ImportOptions::default(), &Unwatched));
    fs::write(&path, b"no archive").unwrap();
    assert!(open(&path).starts_with("the file is damaged: "), "{}", open(&path));
    let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
    let stored = zip::write::SimpleFileOptions::default();
    archive.start_file("other.csv", stored).unwrap();
    archive.finish().unwrap();
    assert_eq!(open(&path), "the file is damaged: it holds no `diabetic_data.csv` @data.zip");
    let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
    let packed = stored.compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("in/diabetic_data.csv", packed).unwrap();
    for _ in 0..64 {
        archive.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    archive.finish().unwrap();
    assert_eq!(open(&path), "the file unpacks to more than 250 times its size @data.zip");
    let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
    archive.start_file("in/diabetic_data.csv", packed).unwrap();
    archive.write_all(b"encounter_id,patient_nbr\n1,2\n").unwrap();
    archive.finish().unwrap();
    let message = open(&path);
    assert!(message.starts_with("missing column `gender`: found encounter_id"), "{message}");
}

#[test]
fn long_tables() {
    assert_eq!(
        long_said("subject_id,time,code\n,2024-01-01,A\n"),
        "column `subject_id` is empty @events.csv:2"
    );
    assert_eq!(
        long_said("subject_id,time,code\n1,2024-01-01,END\n"),
        "`END` cannot be a code @events.csv:2"
    );
    assert_eq!(
        long_said("subject_id,time,code\n1,01/02/2024,A\n"),
        "the value in column `time` is not a date @events.csv:2"
    );
    assert_eq!(long_said("subject_id,time,code\n"), "no records: it is empty @events.csv");
    assert_eq!(
        long_said("subject_id,time,code\n1,,A\n2,,B\n"),
        "no records: 2 subjects without an encounter @events.csv"
    );
    let unplaced = CsvColumns { time: None, ..CsvColumns::default() };
    let table = b"subject_id,code\n1,A\n";
    assert_eq!(
        said(long(table, unplaced, &ImportOptions::default())),
        "neither a column of times nor one of visits is named @events.csv"
    );
    let valued = CsvColumns { value: Some("value".into()), ..CsvColumns::default() };
    let table = b"subject_id,time,code,value\n1,2024-01-01,A,high\n";
    assert_eq!(
        said(long(table, valued, &ImportOptions::default())),
        "the value in column `value` is not a number @events.csv:2"
    );
    let statics = CsvColumns { statics: vec!["race".into()], ..CsvColumns::default() };
    let table = b"subject_id,time,code,race\n1,2024-01-01,RACE//F,F\n";
    assert_eq!(
        said(long(table, statics, &ImportOptions::default())),
        "code `RACE//F` is static in one place and of an encounter in another @events.csv"
    );
}

#[test]
fn options_and_limits() {
    let table = b"subject_id,time,code\n1,2024-01-01,A\n1,2024-01-02,A\n1,2024-01-03,A\n";
    let refused = |options: &ImportOptions| said(long(table, CsvColumns::default(), options));
    let plain = ImportOptions::default;
    let limits = ImportLimits { visits: 2, ..ImportLimits::default() };
    let told = long(table, CsvColumns::default(), &ImportOptions { limits, ..plain() });
    let told = told.and_then(|import| import.collect()).unwrap_err();
    assert_eq!(advice(&told), "keep only the first encounters of each subject");
    assert_eq!(
        refused(&ImportOptions { limits, ..plain() }),
        "a subject has more than 2 encounters @events.csv"
    );
    let limits = ImportLimits { subject_events: 2, ..ImportLimits::default() };
    assert_eq!(
        refused(&ImportOptions { limits, ..plain() }),
        "a subject has more than 2 rows @events.csv"
    );
    for options in [
        ImportOptions { age_bands: Some(vec![0, 20, 20]), ..plain() },
        ImportOptions { quantiles: 1, ..plain() },
        ImportOptions { truncate: Some(0), ..plain() },
        ImportOptions { max_visits: Some(0), ..plain() },
    ] {
        let error = long(table, CsvColumns::default(), &options).unwrap_err();
        assert!(matches!(error.problem, ImportProblem::Option(_)), "{error}");
    }
    // Days between encounters are asked for unless they are not, and a source without dates has none.
    let order = CsvColumns { time: None, visit: Some("visit".into()), ..CsvColumns::default() };
    let undated = b"subject_id,visit,code\n1,1,A\n1,2,A\n";
    let import = long(undated, order, &plain()).unwrap();
    assert_eq!(import.vocabulary().len(), 2, "A and END");
    let limits = ImportLimits { batch_events: 1, ..ImportLimits::default() };
    let scratch = Some("nowhere/at/all".into());
    let message = refused(&ImportOptions { limits, scratch, ..plain() });
    assert!(message.starts_with("cannot use the scratch folder: "), "{message}");
}

#[test]
fn cohorts_are_refused_by_their_own_readers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort.jsonl");
    fs::write(&path, "{\"id\": 1, \"static\": []}\n").unwrap();
    let message = said(open(&Source::Jsonl, &path, &ImportOptions::default(), &Unwatched));
    assert_eq!(message, "missing field `visits` @cohort.jsonl:1:23");
}

proptest! {
    #[test]
    fn no_bytes_make_an_importer_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        start in prop::sample::select(vec![
            "", "subject_id,time,code,value\n", "subject_id\ttime\tcode\tvalue\n1\t2024-01-01\t",
            "PAR1", "\"", "subject_id,code,time,value\n1,A,\"2024",
        ]),
        quantiles in prop::sample::select(vec![0, 2, 4_usize]),
    ) {
        let content = [start.as_bytes(), &bytes].concat();
        let columns = CsvColumns { value: Some("value".into()), ..CsvColumns::default() };
        let options = ImportOptions { quantiles, ..ImportOptions::default() };
        if let Ok(import) = long(&content, columns, &options) {
            import.records().for_each(|record| assert!(record.is_ok()));
        }
    }

    #[test]
    fn rows_of_likely_values_are_taken_or_refused(rows in prop::collection::vec(
        ("[1-3]?", "(2024-0[1-9]-[0-3][0-9]( [0-2]?[0-9]:[0-5][0-9])?)?", "[AB]{0,2}", "[0-9.e-]{0,3}"),
        0..30,
    )) {
        let mut content = String::from("subject_id,time,code,value\n");
        for (subject, time, code, value) in &rows {
            content.push_str(&format!("{subject},{time},{code},{value}\n"));
        }
        let columns = CsvColumns { value: Some("value".into()), ..CsvColumns::default() };
        let options = ImportOptions { quantiles: 3, drop_empty: true, ..ImportOptions::default() };
        if let Ok(import) = long(content.as_bytes(), columns, &options) {
            let (dataset, summary) = import.collect().unwrap();
            prop_assert_eq!(dataset.cohort.len() as u64, summary.patients);
            prop_assert_eq!(summary.empty_visits, 0);
        }
    }
}
