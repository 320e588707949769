//! Cohorts of MEDS datasets are checked, audited and repaired like those of JSON lines.

use consequence::audit::{AuditOptions, audit};
use consequence::enforce::{EnforceOptions, enforce};
use consequence::{Dataset, Inputs, Unwatched, meds};

#[test]
fn a_meds_dataset_is_audited_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let [rules, lines, dataset, out] =
        ["a.rules", "a.jsonl", "cohort", "out.jsonl"].map(|name| folder.path().join(name));
    std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES").unwrap();
    let text = "{\"id\": 1, \"static\": [\"SEX//F\"], \"visits\": [[\"DIABETES\"], [], []]}\n";
    std::fs::write(&lines, text).unwrap();
    meds::write(&dataset, &Dataset::open(&lines).unwrap()).unwrap();

    let inputs = Inputs { rules: vec![rules], cohort: Some(dataset), ..Inputs::default() };
    let report = audit(&inputs, &AuditOptions::default(), &Unwatched).unwrap();
    assert_eq!((report.records, report.violations()), (1, 1));
    assert!(!report.to_string().contains("is line"), "there are no lines");
    let options = EnforceOptions { out, ..EnforceOptions::default() };
    assert_eq!(enforce(&inputs, &options, &Unwatched).unwrap().added_codes, 2);
}
