//! A cohort that nobody prepared: rules that come along, what reality says of rules, and the promise.

use std::fs;

use crate::common::Folder;

/// Visits of a hundred patients: women are pregnant now and then, some patients die, and one man in
/// five has a code that only men have.
fn with_visits() -> Folder {
    let folder = Folder::new();
    let mut rows = String::from("subject_id,time,code,SEX\n");
    for patient in 0..100 {
        let sex = if patient % 2 == 0 { "F" } else { "M" };
        for visit in 1..=3 {
            let code = match (patient, visit) {
                (_, 1) if patient % 10 == 0 => "ICD9CM//650",
                (_, 2) if patient % 10 == 1 => "ICD9CM//185",
                (4, 3) => "ICD9CM//174",
                (_, 3) if patient % 7 == 0 => "DEATH",
                _ => "ICD9CM//401",
            };
            rows.push_str(&format!("{patient},2024-01-0{visit},{code},{sex}\n"));
        }
    }
    folder.write("visits.csv", rows);
    folder.run("import csv visits.csv --static SEX --out cohort").exits(0);
    folder
}

#[test]
fn another_seed_divides_a_cohort_otherwise() {
    let folder = with_visits();
    let splits = |seed: &str| {
        let import =
            format!("import csv visits.csv --static SEX --split-seed {seed} --force --json");
        let report = folder.run(&format!("{import} --out other")).exits(0).json();
        (report["splits"].clone(), fs::read(folder.path("other/metadata/subject_splits.parquet")))
    };
    let (counts, bytes) = splits("0");
    assert_eq!(counts, splits("0").0);
    let (others, other_bytes) = splits("1");
    assert_eq!(others[0].as_u64().map(|count| count > 60), Some(true), "{others} {counts}");
    assert_ne!(bytes.expect("splits"), other_bytes.expect("splits"));
}

const SYNTHESIZE: &str = "synthesize cohort --generator markov --records 200 --out out";

#[test]
fn an_import_brings_its_own_rules_along() {
    let folder = with_visits();
    let own = folder.read("cohort/metadata/own.rules");
    assert!(own.contains("rule own-one-SEX: at most one of SEX//F, SEX//M\n"), "{own}");
    assert!(own.contains("rule own-one-gap: at most one of GAP//1d\n"), "{own}");
    folder.write("a.rules", "rule a: ICD9CM//650 => ICD9CM//650\n");
    let audit = "audit cohort --rules a.rules";
    folder.run(audit).exits(0).prints("3 hard rules of cohort/metadata/own.rules and a.rules");
    folder.run(&format!("{audit} --no-own-rules")).exits(0).prints("1 hard rule of a.rules");
    let check = folder.run("check a.rules --cohort cohort --json").exits(0).json();
    assert_eq!(check["rules"]["total"], 3);
}

#[test]
fn common_sense_is_written_and_kept() {
    let folder = with_visits();
    folder
        .run("rules common-sense cohort --out sense.rules --never-seen unseen.rules")
        .exits(0)
        .prints("every record has one of SEX\n")
        .prints("nothing comes after DEATH\n");
    let rules = folder.read("sense.rules");
    assert!(rules.contains("DEATH => END\n"), "{rules}");
    let unseen = folder.read("unseen.rules");
    assert!(unseen.contains("SEX//M in static => not (ICD9CM//174 or ICD9CM//650)\n"), "{unseen}");
    folder
        .run(SYNTHESIZE)
        .exits(0)
        .prints("common sense: 6 hard, 0 soft of out/common-sense.rules\n")
        .prints("common sense: 2 hard, 0 soft of out/never-seen.rules\n")
        .prints("promised: none of 200 records breaks any of ")
        .prints("8 common sense")
        .prints("  not checked: what experts know: no folder of packs was given");
    folder.run("audit out/synthetic --rules sense.rules unseen.rules --referee").exits(0);
    // A model keeps what is for writing alone, and is not measured by it.
    folder.run("generate out/model --records 500 --out more.jsonl").exits(0);
    folder.run("audit more.jsonl --rules unseen.rules --allow-unknown").exits(0);
    let predicted = "evaluate --perplexity out/model --real cohort";
    folder.run(predicted).exits(0).prints("11 of 11 records");
    folder
        .run(&format!("{SYNTHESIZE}-2 --no-common-sense"))
        .exits(0)
        .prints("  not checked: common sense was left out, as asked\n");
    assert!(!folder.path("out-2/common-sense.rules").exists());
}

#[test]
fn a_rule_that_reality_breaks_stops_the_command() {
    let folder = with_visits();
    folder.write("wrong.rules", "rule everyone-dies: not DEATH => not END\n");
    let refused = &["real record in 100 breaks", "everyone-dies of wrong.rules", "--accept-broken"];
    folder.run(&format!("{SYNTHESIZE} --rules wrong.rules")).refuses(refused);
    let train = "train cohort --rules wrong.rules --generator markov --out model";
    folder.run(train).refuses(refused);
    assert!(!folder.path("model").exists());
    folder
        .run("check wrong.rules --cohort cohort")
        .exits(0)
        .prints("real records break 1 hard rule\n");
    folder.run(&format!("{train} --accept-broken")).exits(0);
    let accepted = format!("{SYNTHESIZE} --rules wrong.rules --accept-broken --force");
    folder.run(&accepted).exits(0).prints("yours: 1 hard, 0 soft of wrong.rules\n");
}

#[test]
fn packs_beside_the_source_are_used_and_what_reality_breaks_is_left_out() {
    let folder = with_visits();
    fs::create_dir(folder.path("packs")).expect("a folder");
    let head = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n";
    let rows = "32\t9\tFemale_Only\tD\t650\tNormal delivery\n\
                32\t9\tFemale_Only\tD\t401\tHypertension\n";
    folder.write("packs/edits.txt", format!("{head}{rows}"));
    folder
        .run(SYNTHESIZE)
        .exits(0)
        .prints("expert: 1 hard, 0 soft of out/experts/edits.rules\n")
        .prints("  left out: ")
        .prints(" (50 real records break it)\n");
    let rules = folder.read("out/experts/edits.rules");
    assert!(rules.contains("# left out: 50 real records break it\n# rule "), "{rules}");
    let summary: serde_json::Value =
        serde_json::from_str(&folder.read("out/summary.json")).expect("JSON");
    let origins = summary["rules"]["origins"].as_array().expect("a list");
    let expert = origins.iter().find(|one| one["origin"] == "expert").expect("experts");
    assert_eq!(expert["left_out"][0]["records"], 50);
    folder.run("audit out/synthetic --rules out/experts/edits.rules --referee").exits(0);
}
