//! Which code a repair puts in where a rule leaves the choice.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_enforce::{RepairPlan, Repaired, repair, repair_with};
use consequence_feedback::Unwatched;
use consequence_prng::Draws;
use consequence_record::{Code, Cohort, Record};
use consequence_rules::{CompileOptions, RuleSet};

struct Clinic {
    rules: Arc<RuleSet>,
    plan: RepairPlan,
    cohort: Cohort,
}

impl Clinic {
    fn new(text: &str) -> Self {
        let rules = Arc::new(RuleSet::parse(text, None).expect(text));
        let options = CompileOptions { max_visits: 9, ..CompileOptions::default() };
        let plan = RepairPlan::compile(Arc::clone(&rules), &options).expect(text);
        Self { rules, plan, cohort: Cohort::default() }
    }

    fn codes(&self, names: &str) -> Vec<Code> {
        let names = names.split_whitespace();
        let mut codes: Vec<Code> =
            names.map(|name| self.rules.vocabulary().code(name).expect(name)).collect();
        codes.sort_unstable();
        codes
    }

    /// So many records of these visits, the static one first.
    fn push(&mut self, count: usize, visits: &[&str]) {
        let visits: Vec<Vec<Code>> = visits.iter().map(|names| self.codes(names)).collect();
        for _ in 0..count {
            let id = format!("p{}", self.cohort.len());
            self.cohort.push(&id, &Record::new(visits.clone()));
        }
    }

    fn repaired(&self) -> Repaired {
        repair(&self.plan, &self.cohort, &Draws::new(7), &Unwatched)
    }

    /// How often each code was added.
    fn added(&self, repaired: &Repaired) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for change in &repaired.changes {
            assert!(change.added, "nothing need be taken out");
            let name = self.rules.vocabulary().name(change.code).to_owned();
            *counts.entry(name).or_default() += 1;
        }
        counts
    }
}

#[test]
fn what_the_patient_had_stays() {
    let mut clinic = Clinic::new(
        "rule stays: D//1 in past or D//2 in past or D//3 in past or D//4 in past
             => any of D//1, D//2, D//3, D//4",
    );
    clinic.push(200, &["", "D//4", "D//4"]);
    clinic.push(1, &["", "D//2", ""]);
    clinic.push(1, &["", "D//1", "D//3", "", ""]);
    let repaired = clinic.repaired();
    assert_eq!(clinic.added(&repaired), BTreeMap::from([("D//2".into(), 1), ("D//3".into(), 2)]));
}

#[test]
fn otherwise_codes_come_as_often_as_the_cohort_has_them() {
    let mut clinic = Clinic::new("rule treated: A => any of R//1, R//2, R//3, R//4");
    clinic.push(600, &["", "A R//1"]);
    clinic.push(300, &["", "A R//2"]);
    clinic.push(100, &["", "A R//3"]);
    // Common where the rule does not ask for it.
    clinic.push(900, &["", "R//4"]);
    clinic.push(2_000, &["", "A"]);
    let repaired = clinic.repaired();
    let added = clinic.added(&repaired);
    assert_eq!(added.values().sum::<usize>(), 2_000);
    for (code, share) in [("R//1", 0.6), ("R//2", 0.3), ("R//3", 0.1), ("R//4", 0.0)] {
        let found = added.get(code).copied().unwrap_or_default() as f64 / 2_000.0;
        // Four standard errors.
        assert!((found - share).abs() <= 4.0 * (share * (1.0 - share) / 2_000.0).sqrt(), "{code}");
    }
    assert_eq!(repaired.summary.last_resorts, 0);
}

#[test]
fn by_those_of_the_same_sex_where_there_are_enough() {
    let mut clinic = Clinic::new("static SEX//F, SEX//M  rule treated: A => any of R//1, R//2");
    clinic.push(60, &["SEX//F", "A R//1"]);
    clinic.push(60, &["SEX//M", "A R//2"]);
    clinic.push(50, &["SEX//F", "A"]);
    let added = clinic.added(&clinic.repaired());
    assert_eq!(added, BTreeMap::from([("R//1".into(), 50)]));
}

#[test]
fn what_rules_forbid_is_not_chosen() {
    let mut clinic = Clinic::new(
        "static SEX//F, SEX//M
         rule treated: A => any of R//1, R//2, R//3
         rule not-for-men: SEX//M in static => not R//1
         rule not-for-anyone: not R//2",
    );
    clinic.push(500, &["SEX//F", "A R//1"]);
    clinic.push(80, &["SEX//M", "A"]);
    clinic.push(80, &["SEX//F", "A"]);
    let repaired = clinic.repaired();
    assert_eq!(clinic.added(&repaired), BTreeMap::from([("R//1".into(), 80), ("R//3".into(), 80)]));
}

#[test]
fn a_record_is_repaired_wherever_it_is() {
    let mut clinic = Clinic::new("rule treated: A => any of R//1, R//2, R//3");
    for code in ["A R//1", "A R//2", "A R//3"] {
        clinic.push(40, &["", code]);
    }
    clinic.push(300, &["", "A", "A"]);
    let whole = clinic.repaired();
    let shares = clinic.plan.shares(&clinic.cohort, &Draws::new(7));
    let mut part = Cohort::default();
    for index in (0..clinic.cohort.len()).rev().step_by(7) {
        part.push(clinic.cohort.id(index), &clinic.cohort.record(index).to_record());
    }
    let part = repair_with(&clinic.plan, &part, (&shares, None), &Draws::new(7), &Unwatched).cohort;
    for (index, record) in part.records().enumerate() {
        let same = (0..whole.cohort.len()).find(|&other| whole.cohort.id(other) == part.id(index));
        let same = whole.cohort.record(same.expect("it is in the whole"));
        assert_eq!(record.to_record(), same.to_record());
    }
}
