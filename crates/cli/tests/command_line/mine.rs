//! `consequence mine`, as a user runs it, on good input and bad.

use std::fmt::Write;

use crate::common::Folder;

const MINE: &str = "mine cohort.jsonl --out mined.rules";

/// Records in which `INSULIN` never comes without `DIABETES`, men are never pregnant and diabetes
/// stays.
fn cohort(records: usize) -> String {
    let mut lines = String::new();
    for number in 0..records {
        let sex = if number % 2 == 0 { "SEX//F" } else { "SEX//M" };
        let mut codes = Vec::new();
        if number % 5 == 0 {
            codes.push("DIABETES");
        }
        if number % 10 == 0 {
            codes.push("INSULIN");
        }
        if number % 8 == 4 {
            codes.push("PREGNANCY");
        }
        let visit = serde_json::json!(codes);
        let record = serde_json::json!({
            "id": number, "static": [sex], "visits": [visit.clone(), visit]
        });
        writeln!(lines, "{record}").expect("text");
    }
    lines
}

fn with_cohort() -> Folder {
    let folder = Folder::new();
    folder.write("cohort.jsonl", cohort(6_000));
    folder
}

#[test]
fn what_is_mined_is_written_with_its_evidence_and_passes_check() {
    let folder = with_cohort();
    let ran = folder.run(&format!("{MINE} --min-support 20")).exits(0);
    assert_eq!(ran.err, "");
    ran.prints("mined.rules: ")
        .prints("proved: no input can end in a violation")
        .prints("mined in the train split: ")
        .prints("Codes that stay once they are there");
    let text = folder.read("mined.rules");
    for part in [
        "static SEX//F, SEX//M\n",
        "# INSULIN never comes without DIABETES\n# no exception in ",
        ": INSULIN => DIABETES\n",
        ": SEX//M in static => not PREGNANCY\n",
        ": DIABETES in previous => DIABETES\n",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    for check in ["check mined.rules", "check mined.rules --cohort cohort.jsonl"] {
        let ran = folder.run(check).exits(0).prints("proved: no input can end in a violation");
        assert_eq!(ran.err, "", "no warning about mined rules");
    }
    for split in ["train", "tuning", "held_out", "held-out"] {
        let audit = format!("audit cohort.jsonl --rules mined.rules --referee --split {split}");
        folder.run(&audit).exits(0).prints("no violations").prints("split)");
    }
    assert_eq!(folder.names(), ["cohort.jsonl", "mined.rules"]);
}

#[test]
fn the_report_for_programs() {
    let folder = Folder::new();
    // An MRI comes hardly ever without a scan.
    let codes = |number: usize| match number % 6 {
        0 if number.is_multiple_of(600) => "[\"MRI\"]",
        0 => "[\"MRI\",\"SCAN\"]",
        1 => "[\"SCAN\"]",
        _ => "[]",
    };
    let line = |number| {
        let (visit, sex) = (codes(number), if number % 2 == 0 { "SEX//F" } else { "SEX//M" });
        format!("{{\"id\": {number}, \"static\": [\"{sex}\"], \"visits\": [{visit}]}}\n")
    };
    folder.write("cohort.jsonl", (0..6_000).map(line).collect::<String>());
    let report = folder.run(&format!("{MINE} --json")).exits(0).json();
    assert_eq!(report["out"], "mined.rules");
    let soft = report["soft_rules"].as_u64().expect("a count");
    let hard = report["hard_rules"].as_u64().expect("a count");
    assert!(soft > 0 && hard > 0);
    assert_eq!(report["rules"].as_array().map(Vec::len), Some((soft + hard) as usize));
    assert_eq!(report["templates"].as_array().map(Vec::len), Some(11));
    assert!(report["classes"]["certain"].as_u64() > Some(0));
    assert_eq!(report["rules"][0]["class"], "certain");
    assert!(report["proof"]["statements"].as_u64() > Some(0));
    assert!(report["seconds"]["mining"].is_number());
    assert!(folder.read("mined.rules").contains(": MRI => SCAN with probability 0.9"));
    let none = folder.run(&format!("{MINE} --force --no-soft --json")).exits(0).json();
    assert_eq!(none["soft_rules"], 0);
    assert!(!folder.read("mined.rules").contains("with probability"));
}

#[test]
fn cutoffs_change_what_is_found_and_threads_do_not() {
    let folder = with_cohort();
    let rules = |arguments: &str| {
        folder.run(&format!("{MINE} --force {arguments}")).exits(0);
        folder.read("mined.rules")
    };
    let usual = rules("");
    assert_eq!(usual, rules("--cutoffs inpatient"));
    assert_eq!(usual, rules("--threads 1"));
    assert!(
        rules("--min-support 100k").matches("\nrule ").count() < usual.matches("\nrule ").count()
    );
    folder.run(&format!("{MINE} --cutoffs inpatient --min-support 5")).refuses(&["cannot be used"]);
    folder.run(&format!("{MINE} --min-support 0")).refuses(&["at least one visit"]);
}

#[test]
fn likely_rules_are_written_as_one_likes() {
    let folder = Folder::new();
    // Thirty tests that come with an order of their own; four of them not quite always. Every order
    // also comes alone.
    let mut lines = String::new();
    for id in 0..6_000 {
        let (pair, turn) = (id % 30, id / 30);
        let visit = match turn {
            0 | 1 if pair % 8 == 1 && turn <= pair / 16 => format!("[\"TEST{pair}\"]"),
            0..30 => format!("[\"TEST{pair}\",\"ORDER{pair}\"]"),
            30..40 => format!("[\"ORDER{pair}\"]"),
            _ => "[]".to_owned(),
        };
        writeln!(lines, "{{\"id\": {id}, \"static\": [], \"visits\": [{visit}]}}").expect("text");
    }
    folder.write("cohort.jsonl", lines);
    let mine = |how: &str| {
        let report = folder.run(&format!("{MINE} --force --no-soft --json {how}")).exits(0).json();
        let count = |name: &str| report[name].as_u64().expect("a count");
        let likely = report["classes"]["likely"].as_u64().expect("a count");
        (count("hard_rules"), count("soft_rules"), likely, folder.read("mined.rules"))
    };
    let (hard, none, likely, text) = mine("");
    assert!(likely > 0 && none == 0, "{text}");
    assert!(text.contains("\n# ==== Likely: no exception, on less evidence ====\n"), "{text}");
    let (fewer, soft, of_soft, text) = mine("--likely soft");
    assert_eq!((fewer, of_soft), (hard - likely, likely), "{text}");
    assert!(soft > 0 && text.contains(" with probability 0.9"), "{text}");
    let (fewer, soft, of_left, text) = mine("--likely leave");
    assert_eq!((fewer, soft, of_left), (hard - likely, 0, likely));
    assert!(text.contains("\n# Likely, and left out of the rules:\n#   "), "{text}");
    folder.run(&format!("{MINE} --force --likely leave")).exits(0).prints("likely, left out");
    folder.run(&format!("{MINE} --force --likely maybe")).refuses(&["hard", "soft", "leave"]);
}

#[test]
fn what_the_tuning_split_contradicts_is_listed() {
    let folder = Folder::new();
    // Which split a record is in follows from its id: break the rule where it is not seen.
    let tuning = |id: &str| consequence::Split::of(id) == consequence::Split::Tuning;
    let mut lines = String::new();
    for number in 0..4_000 {
        let id = number.to_string();
        let visit = match number % 4 {
            0 if tuning(&id) => "[\"INSULIN\"]",
            0 => "[\"DIABETES\",\"INSULIN\"]",
            1 => "[\"DIABETES\"]",
            _ => "[]",
        };
        writeln!(lines, "{{\"id\": {id}, \"static\": [], \"visits\": [{visit}]}}").expect("text");
    }
    folder.write("cohort.jsonl", lines);
    let ran = folder.run(MINE).exits(0).prints("contradicted by the tuning split:");
    ran.prints("INSULIN => DIABETES (broken ");
    let text = folder.read("mined.rules");
    assert!(text.contains("# Left out, as the tuning split has exceptions:\n#   rule "), "{text}");
    assert!(!text.contains("\nrule INSULIN"), "{text}");
}

#[test]
fn nothing_to_find_is_said() {
    let folder = Folder::with_clinic();
    folder.run(MINE).exits(0).prints("0 rules").prints("no rules: nothing here shows");
    folder.run("check mined.rules").exits(0).prints("no rules: every record is allowed");
}

#[test]
fn titles_come_from_a_list() {
    let folder = Folder::new();
    let lines =
        cohort(2_000).replace("DIABETES", "ICD9CM//250.00").replace("INSULIN", "RX//insulin");
    folder.write("cohort.jsonl", lines);
    folder.write("codes.csv", "dgns_cd,longdesc\n25000,Diabetes mellitus\n");
    folder.run(&format!("{MINE} --titles codes.csv")).exits(0);
    let text = folder.read("mined.rules");
    assert!(text.contains("# RX//insulin never comes without Diabetes mellitus\n"), "{text}");
    folder.write("free.csv", "code,title\nICD9CM//250.00,Sugar sickness\n");
    folder.run(&format!("{MINE} --force --titles free.csv")).exits(0);
    let text = folder.read("mined.rules");
    assert!(text.contains("# RX//insulin never comes without Sugar sickness\n"), "{text}");
    folder.run(&format!("{MINE} --force --titles cohort.jsonl")).refuses(&["cohort.jsonl", "help"]);
    folder.run(&format!("{MINE} --force --titles none")).refuses(&["--> none", "help: check"]);
}

/// What a page holds for its script.
fn review_data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("id=\"review-data\">").expect("data");
    let (inside, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(inside).expect("JSON")
}

#[test]
fn a_page_to_choose_from() {
    let folder = with_cohort();
    let ran = folder.run(&format!("{MINE} --min-support 20 --review review.html")).exits(0);
    ran.prints("to choose from them: open review.html in a browser");
    assert_eq!(folder.names(), ["cohort.jsonl", "mined.rules", "review.html"]);
    let (page, written) = (folder.read("review.html"), folder.read("mined.rules"));
    let data = review_data(&page);
    let rules = data["rules"].as_array().expect("rules");
    let text =
        |rule: &serde_json::Value, part: usize| rule[part].as_str().expect("text").to_owned();
    // What is ticked at first is the rule file, with the same words above each rule.
    let ticked = rules.iter().filter(|rule| rule[6] == true);
    let mut saved = text(&serde_json::json!([data["opening"]]), 0);
    let mut count = 0;
    for rule in ticked {
        let statement = text(rule, 2);
        assert!(written.contains(&format!("\n# {}\n# ", text(rule, 3))), "{rule}");
        assert!(written.contains(&format!("\n{statement}\n")), "{rule}");
        saved.push_str(&format!("# {}\n# {}\n{statement}\n", text(rule, 3), text(rule, 4)));
        count += 1;
    }
    assert_eq!(count, written.matches("\nrule ").count());
    assert!(count > 3);
    assert!(!page.contains("\"id\":"), "no record is in the page");
    folder.write("reviewed.rules", saved);
    for check in ["check reviewed.rules", "check reviewed.rules --cohort cohort.jsonl"] {
        let ran = folder.run(check).exits(0).prints("proved: no input can end in a violation");
        assert_eq!(ran.err, "");
    }
    let report = folder.run(&format!("{MINE} --review review.html --force --json")).exits(0).json();
    assert_eq!(report["review"], "review.html");
    assert!(folder.run(&format!("{MINE} --force --json")).exits(0).json()["review"].is_null());
}

#[test]
fn what_is_doubted_can_be_chosen_and_is_not_ticked() {
    let folder = Folder::new();
    // Pairs that are nearly bound, and a rare one that is bound as far as it was seen.
    let mut lines = String::new();
    for number in 0..6_000 {
        let mut codes = Vec::new();
        for pair in 0..30 {
            if number % 40 == pair {
                codes.push(format!("A{pair}"));
                if number % (40 * (7 + pair)) != pair {
                    codes.push(format!("B{pair}"));
                }
            }
        }
        if number % 1_200 == 31 {
            codes.extend(["RARE".to_owned(), "COMPANION".to_owned()]);
        }
        let record = serde_json::json!({"id": number, "static": [], "visits": [codes]});
        writeln!(lines, "{record}").expect("text");
    }
    folder.write("cohort.jsonl", lines);
    let mine = format!("{MINE} --min-support 3 --review review.html --json");
    let report = folder.run(&mine).exits(0).json();
    let dropped = report["dropped"].as_array().expect("a list");
    let doubted: Vec<_> = dropped.iter().filter(|one| one["reason"] == "doubted").collect();
    assert!(!doubted.is_empty(), "{report}");
    let data = review_data(&folder.read("review.html"));
    let rules = data["rules"].as_array().expect("rules");
    for one in doubted {
        let mut found = rules.iter().filter(|rule| rule[2] == one["rule"]["statement"]);
        let rule = found.next().expect("the rule");
        assert!(found.next().is_none());
        assert_eq!(rule[6], false);
        assert_eq!(data["groups"][rule[0].as_u64().expect("a group") as usize][0], "doubted");
    }
}

#[test]
fn pages_that_must_not_be_written() {
    let folder = with_cohort();
    folder.write("review.html", "mine");
    let mine = format!("{MINE} --review");
    folder.run(&format!("{mine} review.html")).refuses(&[
        "already there",
        "--> review.html",
        "--force",
    ]);
    assert_eq!(folder.read("review.html"), "mine");
    folder.run(&format!("{mine} none/review.html")).refuses(&["no directory `none`", "help"]);
    folder.run(&format!("{mine} mined.rules")).refuses(&["would be one file", "--> mined.rules"]);
    assert_eq!(folder.names(), ["cohort.jsonl", "review.html"], "nothing is mined before");
    folder.write("mined.rules", "mine");
    folder.run(&format!("{mine} other.html")).refuses(&["already there", "--> mined.rules"]);
    assert_eq!(folder.names(), ["cohort.jsonl", "mined.rules", "review.html"]);
    folder.run(&format!("{mine} review.html --force")).exits(0);
    assert!(folder.read("review.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn cohorts_that_cannot_be_mined() {
    let folder = Folder::new();
    folder.run("mine none --out a.rules").refuses(&["--> none", "help: check"]);
    let of_train =
        |id: &usize| consequence::Split::of(&id.to_string()) == consequence::Split::Train;
    let others = (0..100).filter(|id| !of_train(id));
    let line = |id| format!("{{\"id\": {id}, \"static\": [], \"visits\": [[\"A\"]]}}\n");
    folder.write("cohort.jsonl", others.map(line).collect::<String>());
    folder.run(MINE).refuses(&["no record is in the train split", "--> cohort.jsonl", "help: "]);
    folder.run("audit cohort.jsonl --rules a.rules --split train").refuses(&["a.rules"]);
    folder.write("a.rules", "rule a: A\n");
    let audit = "audit cohort.jsonl --rules a.rules --split";
    folder.run(&format!("{audit} train")).refuses(&["no record is in the train split", "help"]);
    folder.run(&format!("{audit} some")).refuses(&["train, tuning and held_out"]);
    folder.write("cohort.jsonl", "{\"id\": 1");
    folder.run(MINE).refuses(&["--> cohort.jsonl:1:", "help"]);
    folder.write("broken.parquet", "PAR1 and then nothing");
    folder.run("mine broken.parquet --out mined.rules").refuses(&["broken.parquet"]);
    assert_eq!(folder.names(), ["a.rules", "broken.parquet", "cohort.jsonl"]);
}

#[test]
fn places_that_must_not_or_cannot_be_written() {
    let folder = with_cohort();
    folder.write("mined.rules", "mine");
    folder.run(MINE).refuses(&["already there", "--> mined.rules", "--force"]);
    assert_eq!(folder.read("mined.rules"), "mine");
    folder.run(&format!("{MINE} --force")).exits(0);
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    let mine = "mine cohort.jsonl --out";
    folder.run(&format!("{mine} folder --force")).refuses(&["is a directory", "help"]);
    folder.run(&format!("{mine} none/mined.rules")).refuses(&["no directory `none`", "help"]);
    folder.run(&format!("{mine} cohort.jsonl/mined.rules")).refuses(&["help"]);
    assert_eq!(folder.names(), ["cohort.jsonl", "folder", "mined.rules"]);
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = with_cohort();
    let closed = folder.path("closed");
    std::fs::create_dir(&closed).expect("a folder");
    let allow = |mode| std::fs::set_permissions(&closed, PermissionsExt::from_mode(mode));
    allow(0o555).expect("permissions");
    // The superuser may write anywhere, so there is nothing to see.
    if std::fs::write(closed.join("probe"), "").is_err() {
        let ran = folder.run("mine cohort.jsonl --out closed/mined.rules");
        ran.refuses(&["no permission", "--> closed/mined.rules", "help"]);
    } else {
        eprintln!("SKIPPED: this user may write everywhere");
    }
    allow(0o755).expect("permissions");
}
