//! Sources and places that cannot be used: a message with place and help, exit 2, and nothing under
//! the final name.

use std::io::Write;
use std::process::Command;

use crate::common::{Folder, Ran};
use flate2::Compression;
use flate2::write::GzEncoder;

/// The tables of a small source, all of them good.
const TABLES: [(&str, &str); 3] = [
    ("PATIENTS.csv", "subject_id,gender,dob\n1,F,1950-05-01\n2,M,1980-01-01\n"),
    ("ADMISSIONS.csv", "subject_id,hadm_id,admittime\n1,11,2010-01-01\n2,21,2011-01-01\n"),
    ("DIAGNOSES_ICD.csv", "subject_id,hadm_id,icd9_code\n1,11,25001\n2,21,4019\n"),
];

const IMPORT: &str = "import mimic3 tables --out cohort";

fn source() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("tables")).expect("a folder");
    for (name, text) in TABLES {
        folder.write(&format!("tables/{name}"), text);
    }
    folder
}

/// Refuses the source with one table replaced, and leaves nothing behind.
#[track_caller]
fn table_refused(name: &str, content: &[u8], parts: &[&str]) {
    let folder = source();
    for entry in std::fs::read_dir(folder.path("tables")).expect("the tables") {
        let path = entry.expect("an entry").path();
        let stem = name.split('.').next().expect("a name");
        if path.file_stem().is_some_and(|other| other == stem) {
            std::fs::remove_file(path).expect("it goes");
        }
    }
    folder.write(&format!("tables/{name}"), content);
    folder.run(IMPORT).refuses(parts);
    folder.run("import mimic3 tables --out cohort.jsonl").refuses(parts);
    assert_eq!(folder.names(), ["tables"], "nothing is left behind");
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(content).expect("bytes");
    packer.finish().expect("a packed file")
}

#[test]
fn good_tables_are_taken() {
    source().run(IMPORT).exits(0).prints("2 patients imported");
}

#[test]
fn missing_tables_and_columns_are_named_with_what_was_found() {
    let folder = source();
    std::fs::remove_file(folder.path("tables/ADMISSIONS.csv")).expect("it goes");
    folder.run(IMPORT).refuses(&[
        "missing table ADMISSIONS: found DIAGNOSES_ICD.csv, PATIENTS.csv",
        "--> tables",
        "help",
    ]);
    table_refused(
        "PATIENTS.csv",
        b"subject_id,sex,born\n1,F,1950-05-01\n",
        &[
            "missing column `gender`: found subject_id, sex, born",
            "--> tables/PATIENTS.csv",
            "help",
        ],
    );
    folder.run("import omop none --out cohort").refuses(&["cannot open it", "--> none", "help"]);
    folder.run("import csv none.csv --out cohort").refuses(&["--> none.csv", "help"]);
    folder.run("import meds tables --out cohort").refuses(&["not a MEDS dataset", "--> tables"]);
    folder.run("export tables csv --out a.csv").refuses(&["not a MEDS dataset", "--> tables"]);
    assert_eq!(folder.names(), ["tables"]);
}

#[test]
fn bad_dates_and_ragged_rows() {
    table_refused(
        "ADMISSIONS.csv",
        b"subject_id,hadm_id,admittime\n1,11,2010-01-01\n2,21,31st of May\n",
        &[
            "column `admittime` is not a date",
            "--> tables/ADMISSIONS.csv:3",
            "help: write dates as",
        ],
    );
    table_refused(
        "DIAGNOSES_ICD.csv",
        b"subject_id,hadm_id,icd9_code\n1,11,25001\n2,21\n",
        &["2 fields in a row of a table with 3 columns", "DIAGNOSES_ICD.csv:3", "help"],
    );
}

#[test]
fn files_cut_short() {
    let rows: String = (0..5000).map(|row| format!("1,11,{row:05}\n")).collect();
    let whole = packed(format!("subject_id,hadm_id,icd9_code\n{rows}").as_bytes());
    let parts =
        ["the compressed file is cut short", "DIAGNOSES_ICD.csv.gz", "help: copy or download"];
    table_refused("DIAGNOSES_ICD.csv.gz", &whole[..whole.len() / 2], &parts);

    let folder = Folder::new();
    folder.run("simulate inpatient --patients 500 --out whole").exits(0);
    let data = folder.path("whole/data/000000.parquet");
    let bytes = std::fs::read(&data).expect("a data file");
    for kept in [bytes.len() / 2, bytes.len() - 1, 3] {
        std::fs::write(&data, &bytes[..kept]).expect("a shorter file");
        let parts = ["damaged or cut short", "whole/data/000000.parquet", "help"];
        folder.run("import meds whole --out cohort").refuses(&parts);
        folder.run("export whole csv --out a.csv").refuses(&parts);
    }
    folder.write("cut.parquet", &bytes[..bytes.len() / 2]);
    folder.run("import csv cut.parquet --out cohort").refuses(&[
        "damaged",
        "--> cut.parquet",
        "help",
    ]);
    assert_eq!(folder.names(), ["cut.parquet", "whole"]);
}

#[test]
fn a_code_of_ten_megabytes() {
    let table = format!("subject_id,hadm_id,icd9_code\n1,11,{}\n", "7".repeat(10 << 20));
    let parts = ["longer than 1024 bytes", "DIAGNOSES_ICD.csv:2", "help"];
    table_refused("DIAGNOSES_ICD.csv", table.as_bytes(), &parts);
    let folder = Folder::new();
    let code = "7".repeat(10 << 20);
    folder.write("a.jsonl", format!(r#"{{"id": 1, "static": [], "visits": [["{code}"]]}}"#));
    let ran = folder.run("import jsonl a.jsonl --out cohort");
    assert!(ran.err.len() < 1000, "the message is short");
    ran.refuses(&["longer than 1024 bytes", "--> a.jsonl:1", "help"]);
    assert_eq!(folder.names(), ["a.jsonl"]);
}

#[test]
fn a_file_that_unpacks_to_far_too_much() {
    let mut content = b"subject_id,hadm_id,icd9_code\n".to_vec();
    content.resize(64 << 20, b'\n');
    let parts = ["unpacks to more than 250 times its size", "DIAGNOSES_ICD.csv.gz", "help"];
    table_refused("DIAGNOSES_ICD.csv.gz", &packed(&content), &parts);
    let folder = Folder::new();
    folder.write("a.jsonl.gz", packed(&vec![b'\n'; 64 << 20]));
    folder.run("import jsonl a.jsonl.gz --out cohort").refuses(&["250 times", "--> a.jsonl.gz"]);
    assert_eq!(folder.names(), ["a.jsonl.gz"]);
}

#[test]
fn two_subjects_with_one_id() {
    let folder = source();
    std::fs::remove_file(folder.path("tables/PATIENTS.csv")).expect("it goes");
    std::fs::create_dir(folder.path("tables/PATIENTS")).expect("a folder");
    for part in ["a.csv", "b.csv"] {
        folder.write(&format!("tables/PATIENTS/{part}"), TABLES[0].1);
    }
    folder.run(IMPORT).refuses(&[
        "already listed at tables/PATIENTS/a.csv:2",
        "--> tables/PATIENTS/b.csv:2",
        "help",
    ]);
    assert_eq!(folder.names(), ["tables"]);

    let folder = Folder::new();
    folder.run("simulate inpatient --patients 5 --out whole").exits(0);
    let data = folder.path("whole/data");
    std::fs::copy(data.join("000000.parquet"), data.join("000001.parquet")).expect("a copy");
    for command in ["import meds whole --out cohort", "export whole csv --out a.csv"] {
        let parts = ["000000.parquet", "--> whole/data/000001.parquet, row 1", "help"];
        folder.run(command).refuses(&parts);
    }
    assert_eq!(folder.names(), ["whole"]);
}

#[test]
fn options_that_make_no_sense() {
    let folder = source();
    let import = |options: &str| folder.run(&format!("{IMPORT} {options}"));
    import("--ages 40,20").refuses(&["do not rise", "help: change the option"]);
    import("--truncate 0").refuses(&["no characters", "help"]);
    import("--quantiles 1").refuses(&["2 to 1000", "help"]);
    import("--map none.csv").refuses(&["--> none.csv", "help"]);
    import("--subject x").refuses(&["unexpected argument '--subject'"]);
    folder.write("events.csv", "subject_id,visit,code\n1,1,A\n");
    let measured = "import csv events.csv --visit visit --unit visit --out cohort";
    folder.run(measured).refuses(&["--value"]);
    folder.run("simulate inpatient --patients 0 --out cohort").refuses(&["at least one record"]);
    folder.run("simulate dentist --out cohort").refuses(&["inpatient, outpatient"]);
    assert_eq!(folder.names(), ["events.csv", "tables"]);
}

/// Each command that writes a cohort, up to the place it is to be written to.
const WRITERS: [&str; 4] = [
    "simulate inpatient --patients 200 --out",
    "import mimic3 tables --out",
    "export whole omop --out",
    "enforce whole --rules whole/truth.rules --out",
];

fn with_cohort() -> Folder {
    let folder = source();
    folder.run("simulate inpatient --patients 200 --out whole").exits(0);
    folder
}

#[test]
fn places_that_cannot_be_written() {
    let folder = with_cohort();
    folder.write("file", "");
    for writer in WRITERS {
        folder.run(&format!("{writer} none/cohort")).refuses(&["no directory `none`", "help"]);
        folder.run(&format!("{writer} file/cohort")).refuses(&["--> file/cohort", "help"]);
        folder.run(&format!("{writer} file")).refuses(&["not a folder", "--> file", "help"]);
        // Nobody makes folders here, not even the superuser.
        if cfg!(target_os = "linux") {
            let ran = folder.run(&format!("{writer} /sys/cohort"));
            ran.refuses(&["no permission to write", "--> /sys/cohort", "help"]);
        }
    }
    folder.run("export whole csv --out none/a.csv").refuses(&["no directory `none`", "help"]);
    folder.run("export whole csv --out tables").refuses(&["is a directory", "help"]);
    assert_eq!(folder.names(), ["file", "tables", "whole"]);
}

/// The cohort or table is written to a disk of a few kilobytes, which only this test sees.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    const NO_DISK: i32 = 77;
    let folder = with_cohort();
    std::fs::create_dir(folder.path("small")).expect("a folder");
    for writer in WRITERS.iter().chain(&["export whole csv --out"]) {
        let script = format!(
            "mount -t tmpfs -o size=8k none small || exit {NO_DISK}\n\
             \"$0\" {writer} small/cohort\ncode=$?\nls -A small\nexit $code"
        );
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        command.arg(env!("CARGO_BIN_EXE_consequence")).current_dir(folder.path(""));
        let ran = Ran::of(&mut command);
        if ran.code == NO_DISK || ran.err.contains("unshare") {
            eprintln!("SKIPPED: no disk can be made here");
            return;
        }
        // What `ls` finds would be data.
        ran.refuses(&["the disk is full", "--> small/cohort", "help: free some space"]);
    }
}

/// A limit on the length of files stops writing half-way, as a full disk does.
#[cfg(unix)]
#[test]
fn files_that_may_not_grow() {
    let folder = with_cohort();
    for writer in WRITERS.iter().chain(&["export whole csv --out"]) {
        let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" {writer} small");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_consequence")]);
        let ran = Ran::of(command.current_dir(folder.path("")));
        ran.refuses(&["cannot write the file", "--> "]);
        assert_eq!(folder.names(), ["tables", "whole"], "{writer}");
    }
}
