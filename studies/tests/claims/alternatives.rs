//! A short version of the study.

use consequence_studies::alternatives::{RULES, run};
use consequence_studies::networks::Subject;

#[test]
fn repair_keeps_the_shares_of_codes() {
    for (subject, title, rule) in RULES {
        let subject = match subject {
            Subject::Inpatients(_) => Subject::Inpatients(5_000),
            other => other,
        };
        let Some(line) = run(subject, rule).unwrap() else {
            eprintln!("SKIPPED: {title}: ../shared is missing");
            continue;
        };
        assert!(line.added[0] > 100 && line.added[1] > 10, "{title}: {line:?}");
        assert!(line.variation <= 0.1 && line.growth <= 1.5, "{title}: {line:?}");
    }
}
