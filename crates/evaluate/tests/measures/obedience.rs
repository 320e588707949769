//! Violations against the referee, and soft rules against their definition.

use std::sync::Arc;

use consequence_evaluate::{ViolationsError, violations};
use consequence_record::{Code, Cohort, Record, Selection};
use consequence_referee::Referee;
use consequence_rules::{CompileLimits, RuleSet};
use consequence_testing::every::vocabulary;
use rayon::ThreadPoolBuilder;

use crate::support::random_cohort;

const RULES: &str = "
rule one-static: at most one of S*
rule together: E0 and E1 => E2
rule ends: E5 => END
rule stays: E3 in previous => E3
rule never: S0 in static => not E4
rule soft-now: E0 or E3 => E1 with probability 0.3
rule soft-past: E2 in past => not E0 with probability 0.6
rule soft-static: S1 with probability 0.5
";

fn rules() -> Arc<RuleSet> {
    Arc::new(RuleSet::parse(RULES, Some(vocabulary(3, 6))).unwrap())
}

#[test]
fn violations_are_those_of_the_referee() {
    let rules = rules();
    let cohort = random_cohort(rules.vocabulary(), 700, 3);
    // Not all, and not in order.
    let indices: Vec<usize> = (0..cohort.len()).rev().filter(|index| index % 5 > 0).collect();
    let sample = Selection::new(&cohort, &indices);
    let measure = || violations(sample, &rules, &CompileLimits::default()).unwrap();
    let found = measure();

    let referee = Referee::new(&rules);
    let mut per_rule = vec![(0, 0); rules.len()];
    let mut valid = [0; 3];
    for &index in &indices {
        let record = cohort.record(index).to_record();
        let broken = referee.violations(&record);
        for (rule, counts) in per_rule.iter_mut().enumerate() {
            let visits = broken.iter().filter(|violation| violation.rule == rule).count() as u64;
            counts.0 += visits;
            counts.1 += u64::from(visits > 0);
        }
        // The first three rules look at one visit, the next two at earlier ones.
        let of = |first: usize, last: usize| {
            broken.iter().all(|violation| !(first..last).contains(&violation.rule))
        };
        valid[0] += u64::from(of(0, 5));
        valid[1] += u64::from(of(0, 3));
        valid[2] += u64::from(of(3, 5));
    }
    assert_eq!(found.records, 560);
    assert_eq!(
        found.hard.iter().map(|rule| rule.temporal).collect::<Vec<_>>(),
        [false, false, false, true, true]
    );
    for (rule, counts) in found.hard.iter().zip(&per_rule) {
        assert_eq!((rule.violations, rule.records), *counts, "{}", rule.rule);
        assert!(rule.violations > 0, "{} tells nothing", rule.rule);
    }
    let groups = [found.all, found.within_visit_rules, found.temporal_rules];
    assert_eq!(groups.map(|group| group.valid_records), valid);
    assert_eq!(groups.map(|group| group.rules), [5, 3, 2]);
    assert_eq!(found.all.violations, per_rule.iter().map(|counts| counts.0).sum::<u64>());
    assert_eq!(found.within_visit_rules.violations, per_rule[..3].iter().map(|c| c.0).sum::<u64>());
    assert_eq!(found.all.valid_percent, Some(100.0 * valid[0] as f64 / 560.0));
    assert!(found.to_string().contains("5 rules, "), "{found}");
    let pool = ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    assert_eq!(pool.install(measure), found);
}

#[test]
fn soft_rules_hold_as_often_as_counted_by_hand() {
    let rules = rules();
    let code = |name| rules.vocabulary().code(name).unwrap();
    let [s1, e0, e1, e2, e3] = ["S1", "E0", "E1", "E2", "E3"].map(code);
    let mut cohort = Cohort::default();
    cohort.push("a", &Record::new(vec![vec![s1], vec![e0, e1], vec![e2], vec![e3], vec![e0]]));
    cohort.push("b", &Record::new(vec![vec![], vec![e2], vec![]]).cut());
    let sample = Selection::all(&cohort);
    let found = violations(sample, &rules, &CompileLimits::default()).unwrap();
    let soft: Vec<_> = found.soft.iter().map(|rule| (rule.visits, rule.held)).collect();
    // E0 or E3 in three visits, E1 in one; E2 before three, one of which has E0; two static visits.
    assert_eq!(soft, [(3, 1), (3, 2), (2, 1)]);
    assert_eq!(found.soft[1].share, Some(2.0 / 3.0));
    assert_eq!([0, 1, 2].map(|rule| found.soft[rule].probability), [0.3, 0.6, 0.5]);
    assert_eq!([0, 1, 2].map(|rule| found.soft[rule].temporal), [false, true, false]);
}

#[test]
fn nobody_breaks_nothing_and_foreign_codes_are_refused() {
    let rules = rules();
    let empty = Cohort::default();
    let sample = Selection::all(&empty);
    let none = violations(sample, &rules, &CompileLimits::default()).unwrap();
    assert_eq!((none.records, none.all.violations, none.all.valid_percent), (0, 0, None));
    assert_eq!(none.soft[0].share, None);
    assert!(none.to_string().contains("soft rule soft-now: never of 0 visits"), "{none}");
    let mut foreign = Cohort::default();
    foreign.push("p", &Record::new(vec![vec![], vec![Code(99)]]));
    let sample = Selection::all(&foreign);
    let error = violations(sample, &rules, &CompileLimits::default()).unwrap_err();
    assert!(matches!(error, ViolationsError::Record(_)), "{error}");
}
