//! `consequence rules from`, as a user runs it, on good input and bad.

use crate::common::{Folder, Ran, program};
use consequence_testing::shared;

const EDITS: &str = "\
MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc
32\t9\tMale_Only\tD\t185\tMalign neopl prostate
32\t9\tFemale_Only\tD\t650\tNormal delivery
32\t9\tMaternity_Only\tD\t650\tNormal delivery
32\t9\tFemale_Only\tP\t741\tLow cervical c-section
32\t9\tNewborn_Only\tD\t7706\tTransitory tachypnea of newborn
";

const CODES: &str = r#"{"static": ["SEX//F", "SEX//M", "AGE//0-11", "AGE//18-44", "AGE//65+"],
    "encounter": ["ICD9CM//185", "ICD9CM//650", "ICD9CM//250"]}"#;

const CHRONIC: &str = "\
'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'
'4010 ',\"MALIGNANT HYPERTENSION\",'1'
'4019 ',\"HYPERTENSION NOS\",'1'
'4800 ',\"VIRAL PNEUMONIA\",'0'
";

const MCE: &str = "rules from mce edits.txt --out a.rules";

fn with_tables() -> Folder {
    let folder = Folder::new();
    folder.write("edits.txt", EDITS);
    folder.write("codes.json", CODES);
    folder.write("cci.csv", CHRONIC);
    folder
}

#[test]
fn a_table_becomes_rules_that_pass_check() {
    let folder = with_tables();
    let ran = folder.run(MCE).exits(0);
    ran.prints("a.rules: 3 rules from edits.txt (CMS Medicare Code Editor, version 32)")
        .prints("2  female only")
        .prints("the table has 5 limits on codes")
        .prints("2 left out: they limit ages");
    let text = folder.read("a.rules");
    assert!(text.contains("# Normal delivery\nrule female-only-ICD9CM//650: "), "{text}");
    assert!(text.contains("ICD9PROC//741"), "{text}");
    folder.run("check a.rules").exits(0).prints("proved");
    folder.run(MCE).refuses(&["already there", "--> a.rules", "--force"]);
    let report = folder.run(&format!("{MCE} --force --json")).exits(0).json();
    assert_eq!((&report["entries"], &report["rules"]), (&5.into(), &3.into()));
    assert_eq!(report["codes"], serde_json::Value::Null);
    assert_eq!(report["kinds"][1]["limit"], "male only");
}

#[test]
fn only_codes_that_are_known() {
    let folder = with_tables();
    let ran = folder.run(&format!("{MCE} --vocabulary codes.json")).exits(0);
    ran.prints("3 rules")
        .prints("2 left out: codes.json has no such code")
        .prints("age 12 to 55")
        .prints("rules for categories need a list of all codes too");
    let text = folder.read("a.rules");
    assert!(text.contains("(any of AGE//0-11, AGE//65+) in static => not ICD9CM//650"), "{text}");
    folder.run("check a.rules --vocabulary codes.json").exits(0).prints("proved");
    let line = r#"{"id": 1, "static": ["SEX//F"], "visits": [["DX//65.0"]]}
        {"id": 2, "static": ["SEX//M"], "visits": [["DX//650"]]}"#;
    folder.write("cohort.jsonl", line.replace("\n        ", "\n"));
    let ran = folder.run(&format!("{MCE} --force --cohort cohort.jsonl --prefix DX//")).exits(0);
    ran.prints("2 rules").prints("has 2 codes of ICD-9-CM after `DX//`: categories, with dots");
    // One code, spelt in two ways.
    for name in ["DX//65.0", "DX//650"] {
        let rule = format!("SEX//M in static => not {name}\n");
        assert!(folder.read("a.rules").contains(&rule));
    }
    // The prefix is found without being told.
    let told = folder.read("a.rules");
    folder.run(&format!("{MCE} --force --cohort cohort.jsonl")).exits(0).prints("2 rules");
    assert_eq!(folder.read("a.rules"), told);
    folder
        .run(&format!("{MCE} --cohort cohort.jsonl --vocabulary codes.json --force"))
        .refuses(&["cannot be used"]);
}

#[test]
fn other_names_for_the_sexes() {
    let folder = with_tables();
    let renamed = CODES.replace("SEX//F", "GENDER//W").replace("SEX//M", "GENDER//M");
    folder.write("codes.json", renamed);
    let known = format!("{MCE} --vocabulary codes.json");
    folder.run(&known).refuses(&["SEX//F", "help: name the codes with --female and --male"]);
    folder.run(&format!("{known} --female GENDER//W --male GENDER//M")).exits(0);
    assert!(folder.read("a.rules").contains("GENDER//W in static => not ICD9CM//185"));
}

#[test]
fn categories_and_soft_rules() {
    let folder = with_tables();
    let cci = "rules from cci cci.csv --level categories --stays 0.8 --out c.rules";
    folder.run(cci).exits(0).prints("1 limit shared by all codes of a category");
    let text = folder.read("c.rules");
    assert!(text.ends_with("ICD9CM//401 in previous => ICD9CM//401 with probability 0.8\n"));
    folder.run("check c.rules").exits(0).prints("1 rule (0 hard, 1 soft");
    folder.run(&format!("{MCE} --level categories")).refuses(&["list", "help: ", "--codes"]);
    folder.write("list.csv", "dgns_cd,longdesc\n185,Prostate\n650,Delivery\n");
    folder.run(&format!("{MCE} --level categories --codes list.csv")).exits(0).prints("2 rules");
    folder.run(&format!("{MCE} --force --level categories --titles list.csv")).exits(0);
    let stays = "rules from cci cci.csv --stays 1.5 --out d.rules";
    folder.run(stays).refuses(&["1.5", "help: give --stays"]);
}

#[test]
fn phecodes_and_concepts() {
    let folder = Folder::new();
    let map =
        "ICD9,ICD9 String,PheCode,Phenotype,sex\n185,Prostate,185.1,Cancer of prostate,Male\n";
    folder.write("map.csv", map);
    folder.run("rules from phecode map.csv --out a.rules").exits(0).prints("1 rule ");
    folder.run("rules from phecode map.csv --over phecodes --out b.rules").exits(0);
    assert!(folder.read("b.rules").contains("SEX//F in static => not PHECODE//185.1"));
    folder
        .run("rules from phecode map.csv --over phecodes --level categories --out c.rules")
        .refuses(&["no categories", "help"]);
    folder.write(
        "checks.csv",
        "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n26662,Testis,Male,\n",
    );
    folder.run("rules from dqd checks.csv --out d.rules").exits(0);
    assert!(folder.read("d.rules").contains("SEX//F in static => not OMOP//26662"));
    folder.run("rules from dqd checks.csv --stays 0.5 --out e.rules").refuses(&["--stays"]);
}

#[test]
fn concepts_that_are_below_others() {
    let folder = Folder::new();
    let checks =
        "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n10,Prostate,,Male\n";
    folder.write("checks.csv", checks);
    folder.write("PERSON.csv", "person_id,gender_concept_id,year_of_birth\n1,8532,1980\n");
    let visits = "person_id,visit_occurrence_id,visit_start_date\n1,7,2020-01-01\n";
    folder.write("VISIT_OCCURRENCE.csv", visits);
    folder.write(
        "CONDITION_OCCURRENCE.csv",
        "person_id,condition_concept_id,condition_start_date,visit_occurrence_id\n1,11,2020-01-01,7\n",
    );
    folder.write(
        "CONCEPT.csv",
        "concept_id,concept_name,vocabulary_id,concept_code\n11,Prostatitis,SNOMED,9713002\n",
    );
    let import = "import omop . --out cohort";
    folder.run(import).exits(0);
    let dqd = "rules from dqd checks.csv --cohort cohort --out a.rules --force";
    folder.run(dqd).refuses(&["the 1 known concepts", "help: say with --ancestors"]);
    let above = "ancestor_concept_id\tdescendant_concept_id\n10\t11\n";
    folder.write("above.csv", above);
    folder.run(&format!("{dqd} --ancestors above.csv")).exits(0).prints("1 rule ");
    assert!(folder.read("a.rules").contains("SEX//F in static => not SNOMED//9713002"));
    folder
        .run(&format!("{dqd} --ancestors checks.csv"))
        .refuses(&["no column `ancestor_concept_id`"]);
    folder.run(&format!("{dqd} --ancestors none.csv")).refuses(&["--> none.csv"]);
    // The importer keeps what it finds.
    folder.write("CONCEPT_ANCESTOR.csv", above);
    folder.run(&format!("{import} --force")).exits(0);
    folder.run(dqd).exits(0).prints("1 rule ");
}

#[test]
fn the_list_of_icd_10() {
    let folder = Folder::new();
    folder.write(
        "list.xml",
        "<ICD10CM.tabular><version>2026</version><chapter><name>4</name><desc>Some (E00-I99)</desc>\
         <section id='E08-I99'><diag><name>E10</name><desc>One</desc><excludes1><note>two (E11.-)</note>\
         </excludes1></diag><diag><name>I43</name><desc>Heart</desc><codeFirst><note>one (E10.-)</note>\
         </codeFirst></diag></section></chapter></ICD10CM.tabular>",
    );
    let records: Vec<String> = (0..40)
        .map(|id| {
            let visit = ["\"DX//E10\", \"DX//I43\"", "\"DX//E11.9\"", "\"DX//I43\"", ""][id % 4];
            format!("{{\"id\": {id}, \"static\": [], \"visits\": [[{visit}]]}}")
        })
        .collect();
    folder.write("cohort.jsonl", records.join("\n"));
    let icd10 = "rules from icd10 list.xml --out a.rules --force";
    folder.run(icd10).refuses(&["the codes must be known", "help: name the codes with --cohort"]);
    let known = format!("{icd10} --cohort cohort.jsonl");
    let report = folder.run(&format!("{known} --json")).exits(0).json();
    assert_eq!((&report["rules"], &report["soft"]), (&2.into(), &1.into()));
    assert_eq!((&report["spoken"][0]["prefix"], &report["broken"]), (&"DX//".into(), &0.into()));
    let text = folder.read("a.rules");
    assert!(text.contains("rule excludes1-E10: DX//E10 => not DX//E11.9\n"), "{text}");
    assert!(text.contains("not DX//E10 => not DX//I43 with probability 0."), "{text}");
    folder.run("check a.rules --cohort cohort.jsonl").exits(0).prints("proved");
    folder.run(&format!("{known} --code-first 0.99")).exits(0).prints("needs another code first");
    assert!(folder.read("a.rules").contains("with probability 0.99\n"));
    folder
        .run(&format!("{known} --code-first 2"))
        .refuses(&["2", "help: give --stays and --code-first"]);
    folder
        .write("codes.json", r#"{"static": [], "encounter": ["DX//E10", "DX//E11.9", "DX//I43"]}"#);
    let vocabulary = format!("{icd10} --vocabulary codes.json");
    folder.run(&vocabulary).exits(0).prints("1 left out: nobody knows how likely what they say is");
    folder.write("list.xml", "<ICD10CM.tabular><chapter>");
    folder.run(&known).refuses(&["list.xml:1", "cut short", "help: check that the kind"]);
    folder.write("list.xml", "<!DOCTYPE x [<!ENTITY a \"b\">]><ICD10CM.tabular/>");
    folder.run(&known).refuses(&["a declaration of a document type"]);
}

#[test]
fn what_is_chronic_stays_as_often_as_records_show() {
    let folder = with_tables();
    let again = r#"{"id": 1, "static": [], "visits": [["ICD9CM//4010"], ["ICD9CM//4010"], []]}"#;
    let records: Vec<String> =
        (0..60).map(|id| again.replace("\"id\": 1", &format!("\"id\": {id}"))).collect();
    folder.write("cohort.jsonl", records.join("\n"));
    let cci = "rules from cci cci.csv --cohort cohort.jsonl --out c.rules --force";
    folder.run(cci).exits(0).prints("1 rule ");
    let text = folder.read("c.rules");
    assert!(
        text.ends_with("ICD9CM//4010 in previous => ICD9CM//4010 with probability 0.5\n"),
        "{text}"
    );
    assert!(text.contains("0.5000 over all codes of the pack\n"), "{text}");
    folder.run(&format!("{cci} --stays 0.8")).exits(0);
    assert!(folder.read("c.rules").ends_with("with probability 0.8\n"));
}

#[test]
fn tables_that_are_not_what_they_claim_to_be() {
    let folder = with_tables();
    for table in ["dqd", "phecode", "cci"] {
        let ran = folder.run(&format!("rules from {table} edits.txt --out a.rules"));
        ran.refuses(&[
            "edits.txt",
            "no column",
            "found `MCE_Version`",
            "help: check that the kind",
        ]);
    }
    folder.run("rules from mce cci.csv --out a.rules").refuses(&["cci.csv", "no column"]);
    folder.run("rules from mce none.txt --out a.rules").refuses(&["--> none.txt", "help: check"]);
    folder.run("rules from mce . --out a.rules").refuses(&["is a folder", "help"]);
    folder.run("rules from icd edits.txt --out a.rules").refuses(&["icd"]);
    folder.write("edits.txt", EDITS.replace("Normal delivery", "Normal\tdelivery"));
    folder.run(MCE).refuses(&["edits.txt:3", "cells", "help"]);
    folder.write("edits.txt", EDITS.replace("\t9\t", "\t8\t"));
    folder.run(MCE).refuses(&["edits.txt:2", "`8` in column ICD_Version", "help"]);
    folder.write("edits.txt", b"\xFF\xFE\x00\x01");
    folder.run(MCE).refuses(&["edits.txt:1", "UTF-8"]);
    // The head of a gzip file, and no more than the beginning of its data.
    folder.write("edits.txt", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xf3");
    folder.run(MCE).refuses(&["edits.txt", "gzip data end too early", "help: check the file"]);
    folder.write("edits.txt", "");
    folder.run(MCE).refuses(&["edits.txt", "help"]);
    assert_eq!(folder.names(), ["cci.csv", "codes.json", "edits.txt"]);
}

#[test]
fn a_table_that_matches_nothing() {
    let folder = with_tables();
    let known = format!("{MCE} --vocabulary codes.json");
    folder.write("codes.json", CODES.replace("185", "999").replace("650", "401"));
    folder.run(&known).refuses(&[
        "none of the 5 limits",
        "`ICD9CM//185`",
        "such as `ICD9CM//",
        "--> edits.txt",
        "help: say with --prefix",
    ]);
    folder.write("codes.json", CODES.replace("ICD9CM//", "RX//"));
    folder.run(&known).refuses(&[
        "about ICD-9-CM and ICD-9-CM procedure codes",
        "such as `RX//185`",
        "--> edits.txt",
        "help: say with --prefix",
    ]);
    folder.write("codes.json", CODES.replace("ICD9CM//", "ICD10CM//C"));
    folder.run(&known).refuses(&[
        "the versions do not match",
        "the known codes are ICD-10-CM, such as `ICD10CM//C185`",
        "--> edits.txt",
        "help: take the table of the other version",
    ]);
    let ages = EDITS.lines().filter(|line| !line.contains("ale_Only"));
    folder.write("edits.txt", ages.collect::<Vec<_>>().join("\n"));
    folder.run(MCE).refuses(&["limits ages only", "--> edits.txt", "help: give --cohort"]);
    folder.write("codes.json", CODES.replace("0-11", "0-12").replace("65+", "45-64"));
    folder.run(&known).refuses(&["no age band lies outside", "--> edits.txt", "help: "]);
    folder.write("cci.csv", CHRONIC.replace("'1'", "'0'"));
    let cci = "rules from cci cci.csv --out a.rules";
    folder.run(cci).refuses(&["limits no code", "--> cci.csv", "help"]);
    folder.write("cci.csv", CHRONIC.replace("NOS\",'1'", "NOS\",'0'"));
    folder.run(&format!("{cci} --level categories")).refuses(&["no category", "--level codes"]);
    assert_eq!(folder.names(), ["cci.csv", "codes.json", "edits.txt"]);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = with_tables();
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    let mce = "rules from mce edits.txt --out";
    folder.run(&format!("{mce} folder")).refuses(&["is a directory", "--> folder", "help"]);
    folder.run(&format!("{mce} none/a.rules")).refuses(&["no directory `none`", "help"]);
    assert_eq!(folder.names(), ["cci.csv", "codes.json", "edits.txt", "folder"]);
}

#[test]
fn the_published_tables() {
    let folder = Folder::new();
    let known = [
        ("mce", "mce/MCE_Simple_Code_Edits_v32.txt", 2_117),
        ("dqd", "dqd/OMOP_CDMv5.4_Concept_Level.csv", 301),
        ("cci", "hcup/cci2015.csv.gz", 4_584),
    ];
    for (table, name, rules) in known {
        let Some(path) = shared(&format!("data/rules/{name}")) else { return };
        let mut command = program(&folder.path(""));
        command.args(["rules", "from", table]).arg(path);
        command.args(["--json", "--out"]).arg(format!("{table}.rules"));
        let report = Ran::of(&mut command).exits(0).json();
        assert_eq!(report["rules"], rules, "{table}");
    }
    folder.run("check dqd.rules").exits(0).prints("proved");
}

#[test]
fn a_published_table_cut_short() {
    let folder = Folder::new();
    let Some(path) = shared("data/rules/hcup/cci2015.csv.gz") else { return };
    let bytes = std::fs::read(path).expect("the table");
    folder.write("cut.csv.gz", &bytes[..bytes.len() / 2]);
    let parts = ["cut.csv.gz", "gzip data end too early", "help: check the file, or fetch"];
    folder.run("rules from cci cut.csv.gz --out a.rules").refuses(&parts);
    assert_eq!(folder.names(), ["cut.csv.gz"]);
}
