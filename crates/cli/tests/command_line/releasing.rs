//! Whether records can leave the house: those of patients, of a model that learned them by heart, and of one that
//! did not.

use crate::common::Folder;
use serde_json::Value;

fn outcome<'a>(report: &'a Value, kind: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("checks");
    &checks.iter().find(|check| check["kind"] == kind).expect(kind)["outcome"]
}

/// A folder with a real cohort without rare codes, and rules mined in it.
fn real(patients: usize) -> Folder {
    let folder = Folder::new();
    folder.run(&format!("simulate inpatient --patients {patients} --out all")).exits(0);
    folder.run("import meds all --min-patients 8 --out real").exits(0);
    folder.run("mine real --out mined.rules").exits(0);
    folder
}

#[test]
fn records_of_patients_may_not_leave_and_new_ones_may() {
    let folder = real(2_000);
    let command = "train real --rules mined.rules --generator markov --out model";
    folder.run(command).exits(0);
    folder.run("generate model --records 1000 --out new").exits(0);
    let may = folder.run("release new --real real --rules mined.rules --html page.html").exits(0);
    assert!(may.out.contains("new can leave the house"), "{}", may.out);
    let page = folder.read("page.html");
    assert!(page.contains("To be signed") && page.contains("Signature"));
    folder.run("release new --real real --html page.html").refuses(&["page.html", "--force"]);

    let report = folder.run("release real --real real --rules mined.rules --json").exits(1).json();
    assert_eq!(outcome(&report, "copies"), "failed");
    assert_eq!(outcome(&report, "rules"), "passed");
    // Held-out people are among the copies, and so nobody to compare guesses with.
    assert_eq!(outcome(&report, "attributes"), "failed");

    // Each limit can be set.
    let strict =
        "release new --real real --rules mined.rules --json --most-nearer 0.3 --least-patients 5k";
    let report = folder.run(strict).exits(1).json();
    assert_eq!(outcome(&report, "nearness"), "failed");
    assert_eq!(outcome(&report, "patients"), "failed");

    // What nobody looked at does not pass.
    let report = folder.run("release new --real real --no-own-rules --json").exits(1).json();
    assert_eq!(outcome(&report, "rules")["open"], "no rules were given");
    folder.run("release new --real none").refuses(&["none"]);
}

#[test]
fn a_model_of_fifty_patients_may_not_leave() {
    let folder = Folder::new();
    folder.run("simulate inpatient --patients 50 --out real").exits(0);
    folder.run("mine real --out mined.rules").exits(0);
    let command = "train real --rules mined.rules --generator markov --out model";
    folder.run(command).exits(0);
    folder.run("generate model --records 1000 --out new").exits(0);
    let report = folder.run("release new --real real --rules mined.rules --json").exits(1).json();
    assert_eq!(outcome(&report, "patients"), "failed");
}
