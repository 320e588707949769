//! `consequence demo`, as a user runs it.

use crate::common::Folder;

#[test]
fn from_records_to_rules_to_new_records() {
    let folder = Folder::new();
    let ran = folder.run("demo --records 1k").exits(0);
    let ran = ran
        .prints("$ consequence simulate inpatient --patients 1000 --out consequence-demo/cohort\n")
        .prints("$ consequence mine consequence-demo/cohort --out consequence-demo/mined.rules\n")
        .prints("never comes without")
        .prints("proved: no input can end in a violation")
        .prints("(held_out split): ")
        .prints("$ consequence train consequence-demo/cohort --rules ")
        .prints("$ consequence generate consequence-demo/model --records 1000 --out ")
        .prints("each obeying all ")
        .prints("the referee judged every record again and agrees\n\nno violations")
        .prints("perplexity ")
        .prints("R2 of frequencies")
        .prints("100% valid (1,000 of 1,000 records)");
    let mut lines = ran.err.lines();
    // Records that mining never saw have codes that their sex never had.
    assert!(lines.next().is_some_and(|line| line.contains("real records break 2 hard rules")));
    let mut lines = lines.skip_while(|line| line.starts_with("  ") || line.is_empty());
    assert!(lines.next().is_some_and(|line| line.starts_with("training on ")), "{}", ran.err);
    assert!(lines.next().is_some_and(|line| line.contains(" parameters, about ")), "{}", ran.err);
    let mut lines = lines.skip_while(|line| line.starts_with("epoch "));
    assert!(lines.next().is_some_and(|line| line.starts_with("generating on ")), "{}", ran.err);
    assert_eq!(lines.next(), None, "{}", ran.err);
    let cohort = "consequence-demo/cohort";
    let audit = format!("audit {cohort} --rules {cohort}/truth.rules --referee");
    folder.run(&audit).exits(0).prints("no violations");
    let rules = "--rules consequence-demo/mined.rules";
    let train = format!("audit {cohort} {rules} --split train");
    folder.run(&train).exits(0).prints("no violations");

    folder.run("demo").refuses(&["already there", "--force"]);
    let again = folder.run("demo --force --records 200 --seed 3").exits(0);
    again.prints("--patients 200 --out consequence-demo/cohort --seed 3\n");
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
        let ran = folder.run(&format!("demo --records 300 --threads {threads}")).exits(0);
        let timeless = |line: &&str| !line.contains(" seconds ");
        ran.out.lines().filter(timeless).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(printed("1"), printed("3"));
}
