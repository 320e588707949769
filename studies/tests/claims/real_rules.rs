//! Mined and expert rules on cohorts that others published; the figures are known from elsewhere.

use consequence_record::Split;
use consequence_studies::real_rules::{Line, lines};

#[test]
fn real_records_keep_the_sex_rules_and_synthetic_claims_do_not() {
    let Some(lines) = lines() else { return };
    let lines = lines.unwrap();
    let of = |rules: &str, cohort: &str| -> Vec<&Line> {
        let wanted = |line: &&Line| line.rules_from == rules && line.cohort.starts_with(cohort);
        lines.iter().filter(wanted).collect()
    };
    let real = of("CMS sex", "UCI");
    assert_eq!(real.iter().map(|line| line.records).sum::<u64>(), 71_515);
    assert!(real.iter().all(|line| line.rules == 55 && line.violations == 0), "{real:#?}");

    let claims = of("CMS sex", "SynPUF, codes");
    assert_eq!((claims[0].records, claims[0].invalid), (412, 238));
    let categories = of("CMS sex", "SynPUF, categories");
    assert!(categories[0].invalid > 150, "{categories:?}");

    // The splits that rules are mined in and held against have no exception, by construction.
    for line in of("mined", "UCI").iter().filter(|line| line.split != Some(Split::HeldOut)) {
        assert!(line.rules > 0 && line.violations == 0, "{line:?}");
    }
}
