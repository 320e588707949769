//! Cohorts of MEDS datasets are checked, audited and repaired like those of JSON lines.

use consequence::audit::AuditTask;
use consequence::enforce::EnforceTask;
use consequence::{Dataset, RecordInputs, Task, Unwatched, meds};

#[test]
fn a_meds_dataset_is_audited_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let [rules, lines, dataset, out] =
        ["a.rules", "a.jsonl", "cohort", "out.jsonl"].map(|name| folder.path().join(name));
    std::fs::write(&rules, "rule lifelong: DIABETES in previous => DIABETES").unwrap();
    let text = "{\"id\": 1, \"static\": [\"SEX//F\"], \"visits\": [[\"DIABETES\"], [], []]}\n";
    std::fs::write(&lines, text).unwrap();
    meds::write(&dataset, &Dataset::open(&lines).unwrap()).unwrap();

    let inputs = RecordInputs::new(dataset).with_rules([rules]);
    let report = AuditTask::new(inputs.clone()).run(&Unwatched).unwrap();
    assert_eq!((report.records, report.violations()), (1, 1));
    assert!(!report.to_string().contains("is line"), "there are no lines");
    assert_eq!(EnforceTask::new(inputs, out).run(&Unwatched).unwrap().added_codes, 2);
}
