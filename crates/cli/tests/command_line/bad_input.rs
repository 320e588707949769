//! Input that cannot be used: a message with place and help, exit 2, and no file left behind.

use crate::common::Folder;

const ENFORCE: &str = "enforce cohort.jsonl --rules a.rules --out out.jsonl";
const AUDIT: &str = "audit cohort.jsonl --rules a.rules";

/// All three commands that read rules refuse them with these words, and leave nothing behind.
#[track_caller]
fn rules_refused(rules: &[u8], parts: &[&str]) {
    let folder = Folder::with_clinic();
    folder.write("a.rules", rules);
    folder.run("check a.rules").refuses(parts);
    folder.run(AUDIT).refuses(parts);
    folder.run(ENFORCE).refuses(parts);
    assert_eq!(folder.names(), ["a.rules", "cohort.jsonl"]);
}

/// Both commands that need a cohort refuse it with these words, and leave nothing behind.
#[track_caller]
fn cohort_refused(cohort: &str, parts: &[&str]) {
    let folder = Folder::with_clinic();
    folder.write("cohort.jsonl", cohort);
    folder.run(AUDIT).refuses(parts);
    folder.run(ENFORCE).refuses(parts);
    assert_eq!(folder.names(), ["a.rules", "cohort.jsonl"]);
}

#[test]
fn deep_nesting() {
    for depth in [500, 200_000] {
        let text = format!("rule a: {}DIET{}", "(".repeat(depth), ")".repeat(depth));
        rules_refused(text.as_bytes(), &["--> a.rules:1:", "nest"]);
    }
    let folder = Folder::new();
    folder.write("a.json", "[".repeat(200_000));
    folder.run("check a.json").refuses(&["a.json:1:"]);
    let inner = format!("{}true{}", "{\"not\":".repeat(50_000), "}".repeat(50_000));
    folder.write("a.json", format!("{{\"statements\":[{{\"rule\":\"a\",\"formula\":{inner}}}]}}"));
    folder.run("check a.json").refuses(&["a.json:1:"]);
}

#[test]
fn a_rule_file_over_the_limit_is_not_even_read() {
    let folder = Folder::with_clinic();
    let file = std::fs::File::create(folder.path("a.rules")).expect("a file");
    file.set_len((64 << 20) + 1).expect("a sparse file");
    for command in ["check a.rules", AUDIT, ENFORCE] {
        folder.run(command).refuses(&["67108865 bytes", "--> a.rules", "help: split the rules"]);
    }
}

#[test]
fn invalid_utf8() {
    rules_refused(b"rule a: DI\xFFET", &["UTF-8", "--> a.rules:1:11"]);
}

#[test]
fn an_alpha_above_one() {
    rules_refused(b"rule a: DIET => INSULIN with probability 1.5", &["1.5", "--> a.rules:1:42"]);
}

#[test]
fn a_code_that_the_cohort_lacks() {
    let folder = Folder::with_clinic();
    folder.write("a.rules", "rule a: DIABETS => DIET\n");
    let parts = [
        "unknown code `DIABETS`",
        "--> a.rules:1:9",
        "did you mean `DIABETES`?",
        "--allow-unknown",
    ];
    folder.run(AUDIT).refuses(&parts);
    folder.run(ENFORCE).refuses(&parts);
    folder.run("check a.rules --cohort cohort.jsonl").refuses(&parts);
    let ran = folder.run(&format!("{AUDIT} --allow-unknown")).exits(0);
    assert!(ran.err.contains("warning"), "{}", ran.err);
}

#[test]
fn rules_that_contradict_each_other_cannot_be_enforced() {
    let folder = Folder::with_clinic();
    folder.write("a.rules", "rule one: DIET\nrule two: not DIET\n");
    let parts =
        ["no record can obey", "--> a.rules:1: rule one", "--> a.rules:2: rule two", "help"];
    folder.run(ENFORCE).refuses(&parts);
    folder.run("check a.rules").exits(1);
    folder.run(AUDIT).exits(1);
    assert_eq!(folder.names(), ["a.rules", "cohort.jsonl"]);
}

#[test]
fn soft_rules_in_a_cycle() {
    let folder = Folder::new();
    folder.write(
        "a.rules",
        "rule a: A => B with probability 0.5\nrule b: B => A with probability 0.5\n",
    );
    folder.run("check a.rules").refuses(&["cycle", "--> a.rules:1", "--> a.rules:2", "help"]);
}

#[test]
fn a_record_with_a_missing_field() {
    let line = "{\"id\": 1, \"static\": [], \"visits\": [[]]}\n{\"id\": 2, \"static\": []}\n";
    cohort_refused(line, &["missing field `visits`", "--> cohort.jsonl:2:", "help: each line is"]);
}

#[test]
fn a_truncated_line() {
    let text = "{\"id\": \"private\", \"static\": [\"SEX";
    cohort_refused(text, &["ends in the middle", "--> cohort.jsonl:1:", "help"]);
}

#[test]
fn an_empty_cohort() {
    cohort_refused("", &["no records", "--> cohort.jsonl", "help"]);
}

#[test]
fn a_code_that_the_vocabulary_lacks() {
    let folder = Folder::with_clinic();
    folder.write(
        "codes.json",
        r#"{"static": ["SEX//F", "SEX//M"], "encounter": ["DIABETES", "DIET"]}"#,
    );
    for command in [AUDIT, ENFORCE] {
        let command = format!("{command} --vocabulary codes.json");
        folder.run(&command).refuses(&["unknown code `DELIVERY`", "--> cohort.jsonl:2:", "help"]);
    }
    folder.write("codes.json", "[]");
    folder.run("check a.rules --vocabulary codes.json").refuses(&["--> codes.json:1:", "help"]);
}

#[test]
fn files_that_are_not_there_or_are_folders() {
    let folder = Folder::with_clinic();
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    let cases = [
        ("check none.rules", "--> none.rules"),
        ("check folder", "--> folder"),
        ("check a.rules --cohort none.jsonl", "--> none.jsonl"),
        ("check a.rules --vocabulary none.json", "--> none.json"),
        ("audit none.jsonl --rules a.rules", "--> none.jsonl"),
        ("rules convert folder --to json", "--> folder"),
    ];
    for (command, place) in cases {
        folder.run(command).refuses(&["error: ", place, "help: check"]);
    }
    for command in
        ["audit folder --rules a.rules", "enforce folder --rules a.rules --out out.jsonl"]
    {
        folder.run(command).refuses(&["not a MEDS dataset", "--> folder", "help: name the folder"]);
    }
    assert_eq!(folder.names(), ["a.rules", "cohort.jsonl", "folder"]);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = Folder::with_clinic();
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    let enforce = "enforce cohort.jsonl --rules a.rules --out";
    folder.run(&format!("{enforce} none/out.jsonl")).refuses(&["no directory `none`", "help"]);
    std::fs::create_dir(folder.path("folder/a.jsonl")).expect("a folder");
    folder.run(&format!("{enforce} folder/a.jsonl")).refuses(&[
        "is a directory",
        "--> folder",
        "help",
    ]);
    folder.run(&format!("{enforce} a.rules/out")).refuses(&["--> a.rules/out", "help"]);
    folder.run("demo --out a.rules").refuses(&["a.rules"]);
    folder.run("demo --clinic --out a.rules").refuses(&["a.rules"]);
    folder.run("rules convert a.rules --to json --out none/a.json").refuses(&["`none`", "help"]);
    assert_eq!(folder.names(), ["a.rules", "cohort.jsonl", "folder"]);
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_clinic();
    let closed = folder.path("closed");
    std::fs::create_dir(&closed).expect("a folder");
    let allow = |mode| std::fs::set_permissions(&closed, PermissionsExt::from_mode(mode));
    allow(0o555).expect("permissions");
    // The superuser may write anywhere, so there is nothing to see.
    if std::fs::write(closed.join("probe"), "").is_err() {
        let ran = folder.run("enforce cohort.jsonl --rules a.rules --out closed/out.jsonl");
        ran.refuses(&["no permission", "--> closed/out.jsonl", "help"]);
    } else {
        eprintln!("SKIPPED: this user may write everywhere");
    }
    allow(0o755).expect("permissions");
}

#[test]
fn tuples_without_names_need_a_vocabulary() {
    let folder = Folder::with_clinic();
    folder.write("a.json", r#"{"codes": 4, "labels": 2, "rules": [[[1], [4], [], [], [], 0, 0]]}"#);
    folder.run("check a.json").exits(0);
    let audit = "audit cohort.jsonl --rules a.json";
    folder.run(audit).refuses(&["number their codes", "--> a.json", "help: give --vocabulary"]);
    folder.write(
        "codes.json",
        r#"{"static": ["SEX//M", "SEX//F"], "encounter": ["DELIVERY", "DIABETES", "DIET", "INSULIN"]}"#,
    );
    folder.run(&format!("{audit} --vocabulary codes.json")).exits(1).prints("record 3, visit 2");
    folder.write("codes.json", r#"{"static": ["SEX//M"], "encounter": ["DELIVERY"]}"#);
    let check = "check a.json --vocabulary codes.json";
    folder.run(check).refuses(&["number 4 encounter codes; the vocabulary has 1", "help"]);
}
