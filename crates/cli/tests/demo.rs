//! `consequence demo`, as a user runs it.

mod common;

use common::Folder;

#[test]
fn from_records_to_rules_and_back() {
    let folder = Folder::new();
    let ran = folder.run("demo --records 2k").exits(0);
    let ran = ran
        .prints("$ consequence simulate inpatient --patients 2000 --out consequence-demo/cohort\n")
        .prints("$ consequence mine consequence-demo/cohort --out consequence-demo/mined.rules\n")
        .prints("never comes without")
        .prints("proved: no input can end in a violation")
        .prints("(held_out split): ")
        .prints("$ consequence enforce consequence-demo/mixed.jsonl ");
    assert_eq!(ran.err, "");
    let cohort = "consequence-demo/cohort";
    let audit = format!("audit {cohort} --rules {cohort}/truth.rules --referee");
    folder.run(&audit).exits(0).prints("no violations");
    let rules = "--rules consequence-demo/mined.rules";
    let train = format!("audit {cohort} {rules} --split train");
    folder.run(&train).exits(0).prints("no violations");
    folder.run(&format!("audit consequence-demo/mixed.jsonl {rules}")).exits(1);
    let repaired = format!("audit consequence-demo/repaired.jsonl {rules} --allow-unknown");
    folder.run(&repaired).exits(0).prints("no violations");

    folder.run("demo").refuses(&["already there", "--force"]);
    let again = folder.run("demo --force --records 2k --seed 3").exits(0);
    again.prints("--patients 2000 --out consequence-demo/cohort --seed 3\n");
}

#[test]
fn few_records() {
    let folder = Folder::new();
    folder.run("demo --records 40").exits(0).prints("2 rules found in ");
    folder.run("demo --records 0").refuses(&["at least one record"]);
}

#[test]
fn the_same_on_any_number_of_threads() {
    let printed = |threads: &str| {
        let folder = Folder::new();
        let ran = folder.run(&format!("demo --records 1k --threads {threads}")).exits(0);
        let timeless = |line: &&str| !line.contains(" seconds reading");
        ran.out.lines().filter(timeless).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(printed("1"), printed("3"));
}
