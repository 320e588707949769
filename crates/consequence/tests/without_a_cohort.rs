//! A library user who gives no cohort is told so, before anything is read or written.

use consequence::audit::{AuditOptions, audit};
use consequence::enforce::{EnforceOptions, enforce};
use consequence::train::{ModelChoice, TrainTask, train};
use consequence::{Error, Inputs, Unwatched};

#[test]
fn work_on_records_needs_some() {
    let folder = tempfile::tempdir().expect("a folder");
    let [rules, out, model] =
        ["a.rules", "out.jsonl", "model"].map(|name| folder.path().join(name));
    std::fs::write(&rules, "rule a: A => B").expect("rules");
    let inputs = Inputs { rules: vec![rules], ..Inputs::default() };

    let said = |error: Error| {
        assert!(matches!(error, Error::NoCohort { .. }), "{error:?}");
        error.to_string().lines().next().map(str::to_owned).expect("a message")
    };
    let audited = audit(&inputs, &AuditOptions::default(), &Unwatched).expect_err("no records");
    assert_eq!(said(audited), "no cohort was given, so there are no records to audit");
    let options = EnforceOptions { out: out.clone(), ..EnforceOptions::default() };
    let enforced = enforce(&inputs, &options, &Unwatched).expect_err("no records");
    assert_eq!(
        said(enforced),
        "no cohort was given, so there are no records to enforce the rules on"
    );
    let task = TrainTask { inputs, model_kind: ModelChoice::Markov, ..TrainTask::new("", &model) };
    let trained = train(&task, &Unwatched).expect_err("no records");
    assert_eq!(said(trained), "no cohort was given, so there are no records to train on");
    assert!(!out.exists() && !model.exists());
}
