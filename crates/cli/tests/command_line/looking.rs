//! A cohort looked at, as a user does it: described, its first records, its codes, and two of them.

use crate::common::Folder;

const DATED: &str = r#"{"id": "secret-1", "static": ["SEX//F"], "visits": [["ICD9CM//25001", "LAB//a1c//q4"], []], "birth": "1950-05-31", "times": ["2001-05-31 14:05:00", "2001-06-02"], "ends": ["2001-06-01", null], "values": [{"LAB//a1c//q4": 9.25}, {}]}
{"id": "secret-2", "static": ["SEX//M"], "visits": [["DEATH"], ["ICD9CM//25001"]], "times": ["1999-01-01", "2004-02-29"]}
{"id": "secret-3", "static": [], "visits": [["ICD9CM//4010", "RX//insulin"]], "times": ["2010-01-01"], "ended": false}
"#;

const TITLES: &str = "dgns_cd,longdesc\n25001,\"Diabetes mellitus, type I\"\n4010,Malignant essential hypertension\n";

fn dated() -> Folder {
    let folder = Folder::new();
    folder.write("cohort.jsonl", DATED);
    folder.write("titles.csv", TITLES);
    folder
}

#[test]
fn describe_tells_sizes_lengths_codes_values_and_what_is_odd() {
    let folder = dated();
    let ran = folder.run("describe cohort.jsonl --titles titles.csv").exits(0);
    for part in [
        "cohort.jsonl: 3 patients, 5 encounters, 6 codes\n",
        "encounters from 1999-01-01 to 2010-01-01; births of 1 patient known",
        "ICD9CM//25001           2  66.7%       2  Diabetes mellitus, type I",
        "LAB//a1c               1      1  9.25   -   9.25  9.25    9.25  9.25  9.25    0",
        "encounters without a code                         1  20.0%   5",
        "encounters after the patient's death",
    ] {
        assert!(ran.out.contains(part), "no {part:?} in\n{}", ran.out);
    }
    assert!(!ran.out.contains("secret"), "{}", ran.out);

    let json = folder.run("describe cohort.jsonl --json").exits(0).json();
    assert_eq!(json["lengths"]["days_between"]["count"], 2);
    assert_eq!(json["lengths"]["days_between"]["mean"], (2.0 + 1885.0) / 2.0);
    assert_eq!(json["lengths"]["age_at_first"]["median"], serde_json::Value::Null);
    assert_eq!(json["lengths"]["age_at_first"]["quartiles"][1], 51.0);
    assert_eq!(json["odd"]["after_death"]["count"], 1);
    assert_eq!(json["odd"]["cut_patients"]["count"], 1);
    let train = folder.run("describe cohort.jsonl --split train --json").exits(0).json();
    assert_eq!(train["patients"], json["splits"]["train"]);
}

#[test]
fn what_few_patients_have_can_be_hidden() {
    let folder = dated();
    let json = folder.run("describe cohort.jsonl --hide-below 2 --json").exits(0).json();
    let codes: Vec<&str> = json["commonest"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["ICD9CM//25001"]);
    assert_eq!(json["tests"].as_array().unwrap().len(), 0);
    assert_eq!(json["lengths"]["days_between"]["most"], serde_json::Value::Null);
    assert_eq!(
        (&json["first_date"], &json["odd"]["after_death"]["count"]),
        (&"1999-01".into(), &0.into())
    );
    let found = folder.run("codes cohort.jsonl --hide-below 2 --json").exits(0).json();
    assert_eq!(found["found"].as_array().unwrap().len(), 1);
}

#[test]
fn a_page_is_written_once() {
    let folder = dated();
    folder
        .run("describe cohort.jsonl --html page.html")
        .exits(0)
        .prints("page.html: the same as a page");
    let page = folder.read("page.html");
    assert!(page.contains("A look at cohort.jsonl") && page.contains("What is odd"));
    assert!(!page.contains("secret"));
    folder.run("describe cohort.jsonl --html page.html").refuses(&["already there", "--force"]);
    folder.run("describe cohort.jsonl --html page.html --force").exits(0);
}

/// Every command that takes titles, on a cohort of this folder.
const WITH_TITLES: [&str; 7] = [
    "describe cohort.jsonl",
    "audit cohort.jsonl --rules any.rules --record secret-1",
    "check any.rules --cohort cohort.jsonl",
    "codes cohort.jsonl 25001",
    "head cohort.jsonl -n 1",
    "diff cohort.jsonl other.jsonl",
    "mine cohort.jsonl --out mined.rules --force",
];

#[test]
fn titles_come_from_any_table_of_codes_and_titles() {
    let folder = dated();
    folder.write("other.jsonl", DATED.lines().next().unwrap());
    folder.write("any.rules", "rule one: not (ICD9CM//25001 and SEX//F in static)\n");
    folder.write("free.csv", "code,description\nICD9CM//250.01,Sugar sickness\n");
    folder.write(
        "free.tsv",
        "vocabulary_id\tconcept_code\tconcept_name\nICD9CM\t250.01\tSugar sickness\n",
    );
    folder.write("bad.csv", "kode,words\nICD9CM//250.01,Sugar sickness\n");
    folder.write("cut.csv", "code,title\nICD9CM//250.01,Sugar sickness\nICD9CM//4010\n");
    for command in WITH_TITLES {
        for table in ["free.csv", "free.tsv"] {
            let ran = folder.run(&format!("{command} --titles {table}"));
            // Three patients are too few for a rule.
            let silent = command.starts_with("mine") || command.starts_with("check");
            assert!(
                silent || ran.out.contains("Sugar sickness"),
                "{command}\n{}{}",
                ran.out,
                ran.err
            );
            assert_ne!(ran.code, 2, "{command}\n{}", ran.err);
        }
        let bad = folder.run(&format!("{command} --titles bad.csv"));
        bad.refuses(&["missing column `code` or `concept_code`", "found kode, words", "bad.csv:1"]);
        let cut = folder.run(&format!("{command} --titles cut.csv"));
        cut.refuses(&["1 fields in a row of a table with 2 columns", "cut.csv:3"]);
    }
}

#[test]
fn head_shows_dates_titles_and_values() {
    let folder = dated();
    folder.run("import jsonl cohort.jsonl --out cohort").exits(0);
    for cohort in ["cohort.jsonl", "cohort"] {
        let ran = folder.run(&format!("head {cohort} -n 1 --titles titles.csv")).exits(0);
        let ran = ran.prints(", born 1950-05-31, 2 encounters\n  SEX//F (female)\n");
        let ran = ran.prints("  visit 1, 2001-05-31 14:05 to 2001-06-01, 51 years old\n");
        let ran = ran.prints("Diabetes mellitus, type I\n").prints("= 9.25\n");
        let ran = ran.prints("  visit 2, 2001-06-02, 51 years old\n    ");
        assert!(!ran.out.contains("secret") && !ran.out.contains("record 2"), "{}", ran.out);
        folder
            .run(&format!("head {cohort} -n 1 --show-ids"))
            .exits(0)
            .prints("record 1 (secret-1), ");
        folder
            .run(&format!("head {cohort} -n 1 --visits 1"))
            .exits(0)
            .prints("and 1 more encounter\n");
        let json = folder.run(&format!("head {cohort} --json")).exits(0).json();
        assert_eq!(json["records"].as_array().unwrap().len(), 3);
        assert_eq!(json["records"][2]["ended"], false);
    }
    folder.run("head nowhere").refuses(&["nowhere"]);
}

#[test]
fn codes_are_found_by_name_and_title() {
    let folder = dated();
    let found = |words: &str| {
        let ran = folder.run(&format!("codes cohort.jsonl {words} --titles titles.csv --json"));
        let json = ran.exits(0).json();
        let codes = json["found"].as_array().unwrap().iter();
        codes.map(|one| one["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("DIABETES"), ["ICD9CM//25001"]);
    assert_eq!(found("250.01"), ["ICD9CM//25001"]);
    assert_eq!(found("ICD9CM//*"), ["ICD9CM//25001", "ICD9CM//4010"]);
    assert_eq!(found("essential hypertension"), ["ICD9CM//4010"]);
    assert_eq!(found("essential diabetes"), Vec::<String>::new());
    folder
        .run("codes cohort.jsonl nothing-like-it")
        .exits(0)
        .prints("0 codes with nothing-like-it");
}

#[test]
fn two_cohorts_differ_or_are_the_same() {
    let folder = dated();
    folder.run("import jsonl cohort.jsonl --out cohort").exits(0);
    folder.run("export cohort jsonl --out again.jsonl").exits(0);
    folder.run("diff cohort.jsonl again.jsonl").exits(0);
    folder.run("diff again.jsonl again.jsonl").exits(0).prints("are the same: 3 patients");
    folder.write("other.jsonl", DATED.replace("9.25", "9.5").replace("secret-3", "secret-4"));
    let json = folder.run("diff cohort.jsonl other.jsonl --json").exits(1).json();
    assert_eq!(
        json["records"],
        serde_json::json!({"same": 1, "changed": 1, "only_a": 1, "only_b": 1})
    );
    assert_eq!(json["vocabulary"]["in_both"], 7);
    let ran = folder.run("diff cohort.jsonl other.jsonl").exits(1);
    ran.prints("2 patients in both, 1 of them with another record; 1 in a alone, 1 in b alone")
        .prints("every code of both has the same share of patients");
}

#[test]
fn an_audit_lists_every_violation_with_its_codes() {
    let folder = Folder::with_clinic();
    let rules =
        format!("# A man bears no child.\n{}", crate::common::RULES.lines().last().unwrap());
    folder.write("men.rules", rules);
    folder
        .run("audit cohort.jsonl --rules a.rules --all list.jsonl")
        .exits(1)
        .prints("list.jsonl: 3 violations");
    let lines: Vec<serde_json::Value> =
        folder.read("list.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["record"], &lines[0]["visit"]), (&1.into(), &2.into()));
    assert_eq!(lines[0]["rule"], "lifelong");
    assert_eq!(
        lines[0]["has"][0],
        serde_json::json!({"code": "DIABETES", "title": null, "visit": 1})
    );
    assert_eq!(lines[0]["lacks"][0]["code"], "DIABETES");
    assert!(lines[0].get("id").is_none());
    folder.run("audit cohort.jsonl --rules a.rules --all list.csv --show-ids").exits(1);
    let table = folder.read("list.csv");
    let last = "3,secret-3,2,,no-delivery-in-men,SEX//M; DELIVERY,,\"has SEX//M (male) in the static visit and DELIVERY\",a.rules:3";
    assert_eq!(
        table.lines().next(),
        Some("record,id,visit,date,rule,has,lacks,explanation,location")
    );
    assert_eq!(table.lines().last().map(|line| line.replace('"', "")), Some(last.replace('"', "")));
    folder.run("audit cohort.jsonl --rules a.rules --all list.txt").refuses(&[".jsonl or .csv"]);
    folder.run("audit cohort.jsonl --rules a.rules --all list.csv").refuses(&["already there"]);

    let ran = folder.run("audit cohort.jsonl --rules men.rules --record secret-3").exits(1);
    ran.prints("! breaks no-delivery-in-men (men.rules:2): it has SEX//M (male) in the static visit and DELIVERY\n")
        .prints("A man bears no child.");
    folder.run("audit cohort.jsonl --rules men.rules --record #3").exits(1).prints("record 3");
    folder
        .run("audit cohort.jsonl --rules men.rules --record secret-2")
        .exits(0)
        .prints("no violations");
    folder
        .run("audit cohort.jsonl --rules men.rules --record nobody")
        .refuses(&["no record is of the patient", "--record #17"]);
}

#[test]
fn an_audit_hides_small_counts_and_writes_a_page() {
    let folder = Folder::with_clinic();
    let audit = "audit cohort.jsonl --rules a.rules";
    folder
        .run(&format!("{audit} --html page.html"))
        .exits(1)
        .prints("page.html: the same as a page");
    let page = folder.read("page.html");
    for part in ["Audit of cohort.jsonl", "Does not hold", "no-delivery-in-men", "What breaks them"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("secret"));
    let json = folder
        .run(&format!("{audit} --hide-below 2 --json --all few.csv --html few.html"))
        .exits(1)
        .json();
    assert_eq!((&json["hidden_rules"], &json["valid_records"]), (&3.into(), &3.into()));
    assert_eq!((&json["broken"], &json["all"]["violations"]), (&serde_json::json!([]), &0.into()));
    assert!(!folder.read("few.html").contains("no-delivery-in-men"));
}
