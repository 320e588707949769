//! A short version of the study.

use consequence_studies::look_ahead::{FAMILIES, Rules, run};

#[test]
fn looking_ahead_comes_nearer_to_the_model() {
    for family in FAMILIES {
        let line = run(family, 300);
        assert!(line.worlds >= 200, "{family}: {} worlds", line.worlds);
        assert!(
            line.ahead <= line.forced && line.tested <= line.forced + 1e-4,
            "{family}: {line:?}"
        );
        if let Rules::Alternatives(_, 0.0) = family.rules {
            let most = if family.clauses <= 2 { 0.35 } else { 0.65 };
            assert!(line.tested <= most * line.forced, "{family}: {line:?}");
        }
    }
}
