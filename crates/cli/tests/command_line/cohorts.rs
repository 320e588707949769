//! Cohorts made, taken in, repaired and handed on, as a user does it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::Folder;
use consequence::meds::{self, MedsOptions};
use consequence::{Cohort, Dataset, Kind, Record, Split, Vocabulary};

/// The bytes of every file in a folder, by its path there.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(&path).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("a file");
                found.insert(path.strip_prefix(folder).expect("a part").to_path_buf(), bytes);
            }
        }
    }
    found
}

fn open(folder: &Folder, name: &str) -> Dataset {
    meds::read(folder.path(name), &MedsOptions::default()).expect("a dataset")
}

#[test]
fn simulated_files_depend_on_the_seed_and_not_on_the_threads() {
    let folder = Folder::new();
    for (preset, patients) in [("inpatient", "3k"), ("outpatient", "12k")] {
        let simulate = format!("simulate {preset} --patients {patients} --force --out");
        folder.run(&format!("{simulate} one --seed 5 --threads 1")).exits(0);
        folder.run(&format!("{simulate} two --seed 5 --threads 2")).exits(0);
        folder.run(&format!("{simulate} other --seed 6 --threads 2")).exits(0);
        let [one, two, other] = ["one", "two", "other"].map(|name| files(&folder.path(name)));
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&one), names(&two));
        assert!(one.len() >= 6, "{:?}", names(&one));
        for (name, bytes) in &one {
            assert!(bytes == &two[name], "{} differs", name.display());
        }
        let data = Path::new("data/000000.parquet");
        assert_ne!(one[data], other[data]);
        assert_eq!(one[Path::new("truth.rules")], other[Path::new("truth.rules")]);
    }
}

#[test]
fn a_simulated_cohort_has_titles_splits_and_the_truth() {
    let folder = Folder::new();
    let ran = folder.run("simulate inpatient --patients 2k --out cohort").exits(0);
    let ran = ran.prints("cohort: 2,000 patients simulated (inpatient, seed 1)\n");
    let ran = ran.prints("vocabulary: 6 static codes and 1,683 of encounters");
    ran.prints("splits: ").prints("of cohort/truth.rules\n");
    let dataset = open(&folder, "cohort");
    assert_eq!(dataset.cohort.len(), 2000);
    assert!(!dataset.ordinal_time() && dataset.titles.len() > 1000);
    for (index, split) in dataset.splits.iter().enumerate() {
        assert_eq!(*split, Split::of(dataset.cohort.id(index)));
    }
    folder.run("check cohort/truth.rules --cohort cohort").exits(0).prints("proved");
    // What the records obey by the way they are told is read with it.
    let audited = folder.run("audit cohort --rules cohort/truth.rules").exits(0);
    audited.prints("no violations").prints("own.rules");

    let ran = folder.run("simulate inpatient --patients 2k --codes-only --out codes").exits(0);
    ran.prints("vocabulary: 6 static codes and 1,610 of encounters");
    let codes = open(&folder, "codes");
    assert!(codes.ordinal_time() && !folder.path("codes/metadata/own.rules").exists());
    for (record, detailed) in codes.cohort.records().zip(dataset.cohort.records()) {
        assert_eq!(record.len(), detailed.len());
        for (codes_alone, visit) in record.visits().zip(detailed.visits()) {
            let name = |&code| dataset.vocabulary.name(code);
            let names: Vec<&str> = visit.iter().map(name).collect();
            let known = codes_alone.iter().map(|&code| codes.vocabulary.name(code));
            assert!(known.into_iter().all(|code| names.contains(&code)));
        }
    }
    std::fs::remove_dir_all(folder.path("codes")).expect("it goes");

    folder.run("simulate inpatient --out cohort").refuses(&[
        "already there",
        "--> cohort",
        "--force",
    ]);
    let report = folder.run("simulate outpatient --patients 1_00 --out cohort --force --json");
    let report = report.exits(0).json();
    assert_eq!((&report["patients"], &report["preset"]), (&100.into(), &"outpatient".into()));
    assert_eq!(open(&folder, "cohort").cohort.len(), 100);

    // What is not part of a dataset is never deleted.
    folder.write("cohort/notes.txt", "keep me");
    folder.run("simulate outpatient --patients 5 --out cohort --force").refuses(&[
        "not empty",
        "--> cohort",
        "help",
    ]);
    assert_eq!(folder.read("cohort/notes.txt"), "keep me");
    assert_eq!(folder.names(), ["cohort"]);
}

#[test]
fn a_simulated_cohort_as_json_lines() {
    let folder = Folder::new();
    let simulate = "simulate outpatient --patients 200 --seed 3 --out";
    folder.run(&format!("{simulate} a.jsonl")).exits(0).prints("of a.truth.rules");
    assert_eq!(folder.names(), ["a.codes.json", "a.jsonl", "a.truth.rules"]);
    folder.run("audit a.jsonl --rules a.truth.rules").exits(0);
    folder.run(&format!("{simulate} a.jsonl")).refuses(&["already there", "--> a.jsonl"]);
    std::fs::remove_file(folder.path("a.jsonl")).expect("it goes");
    folder.run(&format!("{simulate} a.jsonl")).refuses(&["already there", "--> a.codes.json"]);
    std::fs::remove_file(folder.path("a.codes.json")).expect("it goes");
    folder.run(&format!("{simulate} a.jsonl")).refuses(&["already there", "--> a.truth.rules"]);
    folder.run(&format!("{simulate} folder")).exits(0);
    folder.run("export folder jsonl --out b.jsonl").exits(0);
    folder.run(&format!("{simulate} a.jsonl --force")).exits(0);
    assert_eq!(folder.read("a.jsonl"), folder.read("b.jsonl"));
}

const PATIENTS: &str = "SUBJECT_ID,GENDER,DOB\n1,F,1950-05-01\n2,M,1980-01-01\n3,?,1990-01-01\n";
const ADMISSIONS: &str = "subject_id,hadm_id,admittime\n1,11,2010-01-01 10:00:00\n\
                          1,12,2010-01-20 10:00:00\n2,21,2011-01-01 10:00:00\n\
                          3,31,2011-01-01 10:00:00\n";
const DIAGNOSES: &str = "subject_id,hadm_id,icd9_code\n1,11,25001\n1,11,25002\n1,12,4019\n\
                         2,21,4019\n3,31,4019\n9,91,4019\n";

fn mimic3(folder: &Folder) {
    std::fs::create_dir(folder.path("tables")).expect("a folder");
    folder.write("tables/PATIENTS.csv", PATIENTS);
    folder.write("tables/ADMISSIONS.csv", ADMISSIONS);
    folder.write("tables/DIAGNOSES_ICD.csv", DIAGNOSES);
}

#[test]
fn tables_become_a_cohort() {
    let folder = Folder::new();
    mimic3(&folder);
    let ran = folder.run("import mimic3 tables --truncate 3 --out cohort").exits(0);
    assert_eq!(ran.err, "");
    assert_eq!(
        ran.out,
        "cohort: 2 patients imported from tables (mimic3)\n\
         \x20 3 encounters (1.50 a patient), 1.33 codes an encounter\n\
         \x20 vocabulary: 4 static codes and 3 of encounters\n\
         \x20 splits: 1 train, 0 tuning, 1 held out\n\
         \x20 years 2010 to 2011; 2 births and 0 ends of encounters known\n\
         \x20 left out: subjects whose sex is not known (1)\n\
         \x20 left out: rows of subjects that are not listed (1)\n\
         \x20 left out: rows whose code the visit has already (1)\n"
    );
    let dataset = open(&folder, "cohort");
    assert_eq!(dataset.details.expect("details").of(0).times.len(), 2);
    let has = |name: &str| dataset.vocabulary.code(name).is_some();
    assert!(has("ICD9CM//250") && has("GAP//14-21d") && has("AGE//40-60") && has("SEX//M"));

    let import = "import mimic3 tables --force --json --out cohort";
    folder.run("import mimic3 tables --out cohort").refuses(&["already there", "--force"]);
    let report = folder.run(&format!("{import} --no-sex --no-ages --max-visits 1")).exits(0).json();
    assert_eq!((&report["patients"], &report["cut"]), (&3.into(), &1.into()));
    assert_eq!((&report["static_vocabulary"], &report["kind"]), (&0.into(), &"mimic3".into()));
    let ages = folder.run(&format!("{import} --ages 0,50,70 --min-patients 2")).exits(0).json();
    assert_eq!((&ages["vocabulary"], &ages["dropped"]["rare-codes"]), (&2.into(), &2.into()));
    assert!(open(&folder, "cohort").vocabulary.code("AGE//50-70").is_some());

    folder.write("map.csv", "code,ignored,group\n250.01,x,SUGAR\n401.9,y,PRESSURE\n");
    let map = format!("{import} --map map.csv --map-from code --map-to group");
    folder.run(&map).exits(0);
    let dataset = open(&folder, "cohort");
    let has = |name: &str| dataset.vocabulary.code(name).is_some();
    assert!(has("GROUP//SUGAR") && has("ICD9CM//25002"));
    folder.run(&format!("{map} --drop-unmapped --drop-empty")).exits(0);
    assert!(open(&folder, "cohort").vocabulary.code("ICD9CM//25002").is_none());
    assert_eq!(folder.names(), ["cohort", "map.csv", "tables"]);
}

#[test]
fn a_long_table_with_columns_of_any_name() {
    let folder = Folder::new();
    folder.write(
        "events.tsv",
        "who\twhen\twhat\thow_much\tsex\n\
         a\t2024-01-01\tLAB//x\t1\tF\na\t2024-01-02\tLAB//x\t2\tF\nb\t2024-01-02\tDX\t\tM\n",
    );
    let import = "import csv events.tsv --subject who --time when --code what --static sex";
    folder.run(&format!("{import} --out a.jsonl")).exits(0);
    let lines = folder.read("a.jsonl");
    let first = r#"{"id":"a","static":["SEX//F"],"visits":[["LAB//x"],["GAP//1d","LAB//x"]],"#;
    assert!(lines.starts_with(&format!(r#"{first}"times":["2024-01-01"#)), "{lines}");
    folder.run(&format!("{import} --value how_much --quantiles 2 --out cohort")).exits(0);
    assert!(open(&folder, "cohort").vocabulary.code("LAB//x//q1").is_some());
    folder.run("import csv events.tsv --subject who --out b").refuses(&["missing column `"]);
    assert_eq!(folder.names(), ["a.codes.json", "a.jsonl", "cohort", "events.tsv"]);
}

#[test]
fn what_is_exported_can_be_imported_again() {
    let folder = Folder::new();
    // Enough events for more than one batch of them.
    folder.run("simulate outpatient --patients 1500 --out cohort").exits(0);
    let whole = open(&folder, "cohort");
    folder.run("export cohort csv --out table.csv").exits(0).prints("table.csv: 1,500 records");
    folder.run("export cohort jsonl --out lines.jsonl").exits(0);
    folder
        .run("import csv table.csv --visit visit --static-flag static --ended ended --out of-csv")
        .exits(0);
    folder.run("import jsonl lines.jsonl --out of-lines").exits(0);
    folder.run("import meds cohort --out of-meds").exits(0);
    folder.run("export cohort omop --parquet --out tables").exits(0).prints("visit_occurrence: ");
    folder.run("import omop tables --out of-omop").exits(0);
    for name in ["of-csv", "of-lines", "of-meds", "of-omop"] {
        let again = open(&folder, name);
        let named = |dataset: &Dataset| -> Vec<Vec<Vec<String>>> {
            let names = |codes: &[consequence::Code]| -> Vec<String> {
                let mut names: Vec<String> =
                    codes.iter().map(|code| dataset.vocabulary.name(*code).to_owned()).collect();
                names.sort();
                names
            };
            dataset.cohort.records().map(|record| record.visits().map(names).collect()).collect()
        };
        assert_eq!(named(&again), named(&whole), "{name}");
        assert_eq!(again.splits, whole.splits);
    }
    assert!(!open(&folder, "of-meds").titles.is_empty());

    let export = "export cohort omop --out omop";
    let report = folder.run(&format!("{export} --json")).exits(0).json();
    assert_eq!((&report["records"], &report["form"]), (&1500.into(), &"omop".into()));
    assert_eq!(folder.read("omop/person.csv").lines().count(), 1501);
    folder.run(export).refuses(&["already there", "--> omop", "--force"]);
    folder.run(&format!("{export} --force")).exits(0);
    folder.run("export cohort csv --out table.csv").refuses(&["already there", "--force"]);
    folder.run("export cohort csv --out table.csv --force").exits(0);
    folder.run("export cohort csv --parquet --out t.csv").refuses(&["only tables of OMOP", "help"]);
}

#[test]
fn standard_input_and_output() {
    let folder = Folder::new();
    folder.write("cohort.jsonl", CUT);
    for form in ["jsonl", "csv"] {
        let mut export = crate::common::program(&folder.path(""));
        export.args(["export", "cohort.jsonl", form, "--out", "-"]);
        let exported = export.output().expect("the program runs");
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        let report = String::from_utf8_lossy(&exported.stderr).into_owned();
        assert!(report.contains("records of cohort.jsonl as"), "{report}");
        let mut import = crate::common::program(&folder.path(""));
        import.args(["import", form, "-", "--out", &format!("{form}.again.jsonl")]);
        if form == "csv" {
            import.args(["--visit", "visit", "--static-flag", "static", "--ended", "ended"]);
        }
        let input = folder.write("input", &exported.stdout);
        import.stdin(std::fs::File::open(input).expect("a file"));
        let imported = import.output().expect("the program runs");
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
        assert_eq!(folder.read(&format!("{form}.again.jsonl")), folder.read("cohort.jsonl"));
    }
    folder.run("export cohort.jsonl omop --out -").refuses(&["folder", "--out"]);
}

const CUT: &str = "{\"id\":\"1\",\"static\":[\"SEX//F\"],\"visits\":[[\"A\",\"B\"],[]]}\n\
    {\"id\":\"2\",\"static\":[],\"visits\":[[\"B\"]],\"ended\":false}\n";

#[test]
fn concepts_go_from_tables_into_the_model_and_what_it_writes() {
    let folder = Folder::new();
    let (mut persons, mut visits, mut conditions) = (
        "person_id,gender_concept_id,year_of_birth\n".to_owned(),
        "visit_occurrence_id,person_id,visit_start_date\n".to_owned(),
        "person_id,condition_concept_id,condition_start_date,visit_occurrence_id\n".to_owned(),
    );
    for person in 1..60 {
        persons += &format!("{person},8507,1980\n");
        for (visit, month) in [(person, 1), (person + 100, 2)] {
            let date = format!("2020-{month:02}-{:02}", person % 28 + 1);
            visits += &format!("{visit},{person},{date}\n");
            conditions += &format!("{person},201826,{date},{visit}\n");
        }
    }
    folder.write("PERSON.csv", persons);
    folder.write("VISIT_OCCURRENCE.csv", visits);
    folder.write("CONDITION_OCCURRENCE.csv", conditions);
    folder.run("import omop . --out cohort").exits(0);
    folder.run("train cohort --generator markov --out model").exits(0);
    folder.run("generate model --records 20 --out written").exits(0);
    folder.run("export written omop --out omop").exits(0).prints("condition_occurrence: ");
    let rows = folder.read("omop/condition_occurrence.csv");
    assert!(rows.lines().skip(1).all(|row| row.contains(",201826,2020-0")), "{rows}");
    folder.run("import omop omop --out again").exits(0);
    let [written, again] = ["written", "again"].map(|name| open(&folder, name));
    assert_eq!(again.details, written.details);
    assert_eq!(again.concepts.len(), written.concepts.len());
    // A model whose concepts were changed is refused.
    folder.write("model/concepts.json", "{}");
    folder.run("generate model --records 2 --out other").refuses(&["concepts.json", "help"]);
}

#[test]
fn a_repaired_dataset_keeps_splits_titles_and_times() {
    let folder = Folder::new();
    let names = [("SEX//F", Kind::Static), ("DIED", Kind::Encounter), ("SEEN", Kind::Encounter)];
    let vocabulary = Arc::new(Vocabulary::new(names).expect("a vocabulary"));
    let [female, died, seen] = [0, 1, 2].map(consequence::Code);
    let mut cohort = Cohort::default();
    cohort.push("cut", &Record::new(vec![vec![female], vec![died], vec![], vec![]]));
    cohort.push("refused", &Record::new(vec![vec![], vec![seen], vec![seen]]));
    cohort.push("kept", &Record::new(vec![vec![], vec![seen], vec![seen], vec![died, seen]]));
    let mut dataset = Dataset::new(cohort, vocabulary);
    dataset.splits = vec![Split::HeldOut, Split::Train, Split::Tuning];
    dataset.titles.insert(died, "Died".to_owned());
    let mut times = consequence::CohortDetails::default();
    for record in [&[10_i64, 20, 30][..], &[40, 45], &[50, 60, 70]] {
        times.push(consequence::DetailsView {
            times: record,
            ..consequence::DetailsView::default()
        });
    }
    dataset.details = Some(times);
    meds::write(folder.path("cohort"), &dataset).expect("a dataset");
    // No record ends with its second encounter, so one of two encounters cannot be kept.
    folder.write(
        "a.rules",
        "rule last: DIED => END\nrule seen: SEEN\n\
         rule goes-on: SEEN in visit 1 and not SEEN in visit 2 => not END\n",
    );

    let enforce = "enforce cohort --rules a.rules --out repaired";
    folder.run(enforce).exits(0).prints("2 records written").prints("1 record left out");
    let repaired = open(&folder, "repaired");
    assert_eq!((repaired.cohort.id(0), repaired.cohort.id(1)), ("cut", "kept"));
    assert_eq!(repaired.splits, [Split::HeldOut, Split::Tuning]);
    assert_eq!(repaired.titles, dataset.titles);
    let times = repaired.details.expect("details");
    assert_eq!((times.of(0).times, times.of(1).times), (&[10][..], &[50, 60, 70][..]));
    folder.run("audit repaired --rules a.rules").exits(0).prints("no violations");
    folder.run(enforce).refuses(&["already there", "--> repaired", "--force"]);
    folder.run(&format!("{enforce} --force")).exits(0);

    folder.run("enforce cohort --rules a.rules --out repaired.jsonl").exits(0);
    assert_eq!(folder.read("repaired.jsonl").lines().count(), 2);
    folder.run("import meds cohort --out again").exits(0);
    let again = open(&folder, "again");
    let split = |id: &str| (0..3).find(|&at| again.cohort.id(at) == id).map(|at| again.splits[at]);
    assert_eq!((split("cut"), split("kept")), (Some(Split::HeldOut), Some(Split::Tuning)));
}

#[test]
fn codes_that_no_record_has_are_listed_beside_the_lines() {
    let folder = Folder::with_clinic();
    folder.write("a.rules", "rule no-delivery: not DELIVERY\nrule diet: DELIVERY => DIET\n");
    folder.run("enforce cohort.jsonl --rules a.rules --out out.jsonl").exits(0);
    assert!(!folder.read("out.jsonl").contains("DELIVERY"));
    let audit = "audit out.jsonl --rules a.rules";
    folder.run(audit).exits(0).prints("no violations");
    folder.run("export out.jsonl jsonl --out again.txt").exits(0);
    assert_eq!(folder.read("again.txt.codes.json"), folder.read("out.codes.json"));
    folder.run("audit again.txt --rules a.rules").exits(0);

    // Moved alone, and edited by hand.
    folder.write("alone.jsonl", folder.read("out.jsonl"));
    folder.run("audit alone.jsonl --rules a.rules").refuses(&["unknown code `DELIVERY`"]);
    let line = r#"{"id": "new", "static": ["SEX//X"], "visits": [["FEVER", "DELIVERY"]]}"#;
    folder.write("out.jsonl", format!("{}{line}\n", folder.read("out.jsonl")));
    folder.run(audit).exits(1).prints("record 4, visit 1");
    folder.write("b.rules", "rule hot: SEX//X in static => FEVER\nrule b: DELIVERY => FEVER\n");
    folder.run("audit out.jsonl --rules b.rules").exits(0);

    // Nothing is replaced unasked, and a damaged list is named.
    folder.write("taken.codes.json", "mine");
    let taken = "enforce cohort.jsonl --rules a.rules --out taken.jsonl";
    folder.run(taken).refuses(&["already there", "--> taken.codes.json"]);
    assert_eq!(folder.read("taken.codes.json"), "mine");
    folder.run(&format!("{taken} --force")).exits(0);
    assert!(folder.read("taken.codes.json").contains("DELIVERY"));
    folder.write("out.codes.json", "{\"static\": [");
    folder.run(audit).refuses(&["ends in the middle", "--> out.codes.json", "without the file"]);
    folder.write(
        "codes.json",
        r#"{"static": ["SEX//M", "SEX//F", "SEX//X"],
        "encounter": ["DELIVERY", "DIABETES", "DIET", "FEVER", "INSULIN"]}"#,
    );
    folder.run(&format!("{audit} --vocabulary codes.json")).exits(1);
}

#[test]
fn a_record_that_was_cut_stays_so_in_a_table() {
    let folder = Folder::new();
    folder.write(
        "cut.jsonl",
        "{\"id\":\"p1\",\"static\":[],\"visits\":[[\"A\"]],\"ended\":false}\n\
         {\"id\":\"p2\",\"static\":[],\"visits\":[[\"A\"]]}\n",
    );
    folder.run("export cut.jsonl csv --out cut.csv").exits(0);
    let import = "import csv cut.csv --visit visit --static-flag static";
    let ran = folder.run(&format!("{import} --ended ended --out again.jsonl")).exits(0);
    ran.prints("1 record cut, and so without an end");
    assert_eq!(folder.read("again.jsonl"), folder.read("cut.jsonl"));
    folder.run(&format!("{import} --ended end --out other.jsonl")).refuses(&["cut.csv", "end"]);
}
