//! Finds the records of any tool that break a rule.
//!
//! `cargo run -p consequence --example audit`

use std::sync::Arc;

use consequence::jsonl::{self, ReadOptions};
use consequence::{Auditor, CompileLimits, RuleSet, WrittenRules};

const RECORDS: &str = r#"
{"id": "a", "static": ["SEX//F"], "visits": [["ICD9CM//250"], ["ICD9CM//250", "RX//insulin"]]}
{"id": "b", "static": ["SEX//M"], "visits": [["ICD9CM//250"], ["ICD9CM//650"]]}
"#;

const RULES: &str = "
rule no-delivery-in-men:   SEX//M in static => not ICD9CM//650
rule diabetes-is-lifelong: ICD9CM//250 in previous => ICD9CM//250
";

/// Prints each violation.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loaded = jsonl::read_from(RECORDS.as_bytes(), "records", &ReadOptions::default())?;
    let rules = Arc::new(RuleSet::parse(RULES, Some(Arc::clone(&loaded.vocabulary)))?);
    let written = WrittenRules::new(Arc::clone(&rules), &CompileLimits::default())?;
    let auditor = Auditor::new(&written);
    let (mut reader, mut found) = (auditor.reader(), Vec::new());
    let mut broken = Vec::new();
    for (number, record) in loaded.cohort.records().enumerate() {
        reader.violations(record, &mut found);
        for violation in &found {
            let rule = &rules[violation.rule].name;
            println!("record {}, visit {}: {rule}", number + 1, violation.visit);
            broken.push((number, violation.visit, rule.to_string()));
        }
    }
    let expected =
        [(1, 2, "no-delivery-in-men".to_owned()), (1, 2, "diabetes-is-lifelong".to_owned())];
    assert_eq!(broken, expected);
    Ok(())
}
