//! The growth bench, short: what it prints has the form it promises, and both ways keep the rules.

use std::process::Command;
use std::sync::Arc;

use consequence_benches::family::Family;
use consequence_rules::{CompileOptions, Derivation, compile};
use serde_json::Value;

#[test]
fn both_ways_keep_the_rules_and_the_figures_have_their_form() {
    let output = Command::new(env!("CARGO_BIN_EXE_growth"))
        .args(["--short", "--json"])
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");

    let points = printed["points"].as_array().expect("points");
    let found: Vec<(&str, u64)> = points
        .iter()
        .map(|point| (point["sweep"].as_str().unwrap(), point["x"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("visits", 4),
        ("visits", 16),
        ("codes", 500),
        ("codes", 2_000),
        ("rules", 100),
        ("rules", 1_000),
        ("rules_elsewhere", 100),
        ("rules_elsewhere", 1_000),
    ];
    assert_eq!(found, expected);
    for point in points {
        for way in ["ours_override_us", "paper_us", "walk_us"] {
            assert!(point[way].as_f64().is_some_and(|time| time > 0.0), "{way} of {point}");
        }
        assert!(point["ours_guided_us"].is_f64(), "{point}");
        let violations = &point["violations"];
        assert!(violations["proposed"].as_u64().is_some_and(|count| count > 0), "{point}");
        for way in ["ours_override", "ours_guided", "paper"] {
            assert_eq!(violations[way], 0, "{way} of {point}");
        }
        assert_eq!(point["records_left_different"], 0, "{point}");
    }

    let exponents = printed["exponents"].as_array().expect("exponents");
    assert_eq!(exponents.len(), 4);
    for sweep in exponents {
        for way in ["ours_override", "paper"] {
            assert!(sweep[way]["fitted"].is_f64() && sweep[way]["last"].is_f64(), "{sweep}");
        }
        // What guided adds is a difference, and a difference below zero has no logarithm.
        let guided = &sweep["ours_guided"]["fitted"];
        assert!(guided.is_f64() || guided.is_null(), "{sweep}");
    }
}

#[test]
fn an_unknown_argument_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_growth")).arg("--fast").output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("usage: growth"));
}

#[test]
fn a_family_has_no_cycles_and_nothing_is_derived_from_it() {
    let family = Family { core_codes: 200, rest_codes: 300, core_rules: 400, rest_rules: 600 };
    let rules = family.workload(3).rules;
    let plan = compile(Arc::clone(&rules), &CompileOptions::default()).expect("rules have a plan");
    assert!(plan.cycles().is_empty());
    let written = plan.clauses().filter(|clause| clause.derivation == Derivation::Written).count();
    assert_eq!(written, rules.len());
    // The other one says that a record as long as can be ends.
    assert_eq!(plan.clauses().len(), written + 1);
}
