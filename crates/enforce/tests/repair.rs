//! What repair keeps of a record's length, near its end and far from it.

use std::sync::Arc;

use consequence_enforce::{RepairPlan, repair};
use consequence_feedback::Unwatched;
use consequence_prng::Draws;
use consequence_record::{Cohort, Record};
use consequence_referee::Referee;
use consequence_rules::{CompileLimits, CompileOptions, RuleSet, Stage};

/// Rules ready to repair records of up to 99 encounters.
struct Clinic {
    rules: Arc<RuleSet>,
    plan: RepairPlan,
}

impl Clinic {
    fn new(text: &str) -> Self {
        Self::with(text, CompileLimits::default())
    }

    fn with(text: &str, limits: CompileLimits) -> Self {
        let rules = Arc::new(RuleSet::parse(text, None).expect(text));
        let options = CompileOptions { max_visits: 99, limits, ..CompileOptions::default() };
        let plan = RepairPlan::compile(Arc::clone(&rules), &options).expect(text);
        Self { rules, plan }
    }

    /// A record whose encounters hold code `A` where the pattern has a letter.
    fn record(&self, pattern: impl IntoIterator<Item = bool>) -> Record {
        let a = self.rules.vocabulary().code("A").expect("the rules name A");
        let encounters = pattern.into_iter().map(|on| if on { vec![a] } else { vec![] });
        Record::new([vec![]].into_iter().chain(encounters).collect())
    }

    /// The record after repair; none if it is left out.
    fn repaired(&self, record: &Record) -> Option<Record> {
        let mut cohort = Cohort::default();
        cohort.push("one", record);
        let consequence_enforce::Repaired { cohort: repaired, summary, .. } =
            repair(&self.plan, &cohort, &Draws::new(1), &Unwatched);
        assert_eq!(repaired.len() as u64 + summary.refused, 1);
        let repaired = repaired.records().next().map(|record| record.to_record());
        let referee = Referee::new(&self.rules);
        assert!(repaired.iter().all(|record| referee.is_valid(record)), "{repaired:?}");
        repaired
    }
}

/// `A` in every other visit, and in the last.
const ALTERNATING: &str =
    "rule off: A in previous => not A  rule on: not A in previous => A  rule last: END => A";

#[test]
fn rules_that_never_settle_are_exact_near_the_end() {
    let clinic = Clinic::new(ALTERNATING);
    let plan = clinic.plan.plan();
    assert_ne!(plan.stage(16, true), Stage::OPEN);
    assert_eq!(plan.stage(60, true), Stage::OPEN);
    for encounters in 1..=25 {
        let found = clinic.repaired(&clinic.record(vec![false; encounters]));
        assert_eq!(found.is_some(), encounters % 2 == 1, "{encounters} encounters");
        let kept = found.is_none_or(|found| found.visits.len() == encounters + 1);
        assert!(kept, "{encounters} encounters");
    }
}

#[test]
fn valid_records_of_any_length_are_left_alone() {
    let texts = [
        ALTERNATING,
        "rule stays: A in previous => A",
        "rule r: A in past => not END",
        "rule r: A in visit 1 => not A in previous",
    ];
    for text in texts {
        let clinic = Clinic::new(text);
        let referee = Referee::new(&clinic.rules);
        let mut valid = 0;
        for encounters in [1, 2, 15, 16, 29, 30, 31, 32, 33, 61, 98, 99] {
            let patterns: [Box<dyn Fn(usize) -> bool>; 4] = [
                Box::new(|visit| visit % 2 == 0),
                Box::new(|_| true),
                Box::new(|_| false),
                Box::new(move |visit| visit + 1 == encounters),
            ];
            for (pattern, ended) in patterns.iter().flat_map(|one| [(one, true), (one, false)]) {
                let mut record = clinic.record((0..encounters).map(pattern));
                record.ended = ended;
                if referee.is_valid(&record) {
                    valid += 1;
                    assert_eq!(clinic.repaired(&record), Some(record), "{text}");
                }
            }
        }
        assert!(valid >= 12, "{text}: {valid} records were valid");
    }
}

#[test]
fn long_records_keep_their_visits_where_rules_settle() {
    let clinic = Clinic::new(
        "rule stays: A in previous => A  rule stops: B in 2 visits ago => not A  \
         rule last: END => B in past",
    );
    assert_ne!(clinic.plan.plan().stage(90, true), Stage::OPEN);
    let code = |name| clinic.rules.vocabulary().code(name).expect("a code");
    for (encounters, ended) in
        [3, 17, 31, 32, 64, 99].into_iter().flat_map(|n| [(n, true), (n, false)])
    {
        let mut record = clinic.record(vec![false; encounters]);
        record.visits[1] = vec![code("A"), code("B")];
        record.ended = ended;
        let found = clinic.repaired(&record).expect("some record of that length obeys the rules");
        assert_eq!((found.visits.len(), found.ended), (encounters + 1, ended));
    }
}

#[test]
fn rules_in_a_decision_diagram_do_not_count_visits() {
    let limits = CompileLimits { derived: 0, growth: 0, ..CompileLimits::default() };
    let text = "rule stays: A in previous => A  rule stops: B in 2 visits ago => not A";
    let clinic = Clinic::with(text, limits);
    assert!(clinic.plan.plan().diagram().is_some());
    assert_eq!(clinic.plan.plan().stage(2, true), Stage::OPEN);
    let code = |name| clinic.rules.vocabulary().code(name).expect("a code");
    let mut record = clinic.record([false, true, false]);
    record.visits[1] = vec![code("A"), code("B")];
    assert!(clinic.repaired(&record).is_some());
}

#[test]
fn records_longer_than_the_plan_has_room_for_are_left_out() {
    let clinic = Clinic::new("rule stays: A in previous => A");
    assert!(clinic.repaired(&clinic.record(vec![true; 99])).is_some());
    assert_eq!(clinic.repaired(&clinic.record(vec![true; 100])), None);
}

/// A diagram asked for `END` where a rule forbids it, and both were taken as obeyed.
#[test]
fn a_diagram_and_a_clause_never_decide_one_code() {
    let text = "static S, T  rule on: not A and not T in last 5 visits and not S in static => A  \
                rule off: not A  rule cut: not END  rule one: S => T  rule other: not S => T";
    let rules = Arc::new(RuleSet::parse(text, None).expect(text));
    let limits = CompileLimits { derived: 0, growth: 0, ..CompileLimits::default() };
    let options = CompileOptions { max_visits: 5, limits, ..CompileOptions::default() };
    let plan =
        RepairPlan::compile(Arc::clone(&rules), &options).expect("cut records obey the rules");
    assert!(plan.plan().diagram().is_some());
    let clinic = Clinic { rules, plan };
    for encounters in 1..=5 {
        let record = clinic.record(vec![false; encounters]);
        assert_eq!(clinic.repaired(&record), None, "{encounters} encounters");
    }
}
