//! Defects known of the method's first implementation, each shown not to be here.
//!
//! Every case is judged three ways, by the auditor, by the referee and by the enforcer's own
//! output, and all three must agree.

use std::sync::Arc;

use consequence::{
    Auditor, Code, Cohort, CompileLimits, CompileOptions, Draws, Enforcer, Record, Referee,
    RepairPlan, RuleSet, Unwatched, Violation, WrittenRules, compile, repair,
};

/// Rules over encounter codes A to E, whatever part of them the rules name.
struct Clinic {
    rules: Arc<RuleSet>,
}

impl Clinic {
    fn new(rules: &str) -> Self {
        let codes = "rule every-code: A or B or C or D or E or not A\n";
        let parsed = RuleSet::parse(&format!("{codes}{rules}"), None);
        Self { rules: Arc::new(parsed.unwrap_or_else(|error| panic!("{error}"))) }
    }

    fn code(&self, name: &str) -> Code {
        self.rules.vocabulary().code(name).expect("a code of the clinic")
    }

    /// A record from encounters such as `"AB, , C"`, each letter a code; nothing static.
    fn record(&self, encounters: &str) -> Record {
        let visit = |text: &str| -> Vec<Code> {
            text.trim().chars().map(|name| self.code(&name.to_string())).collect()
        };
        Record::new([vec![]].into_iter().chain(encounters.split(',').map(visit)).collect())
    }

    /// The encounters of a record, as [`Clinic::record`] reads them.
    fn text(&self, record: &Record) -> String {
        let visit = |codes: &Vec<Code>| -> String {
            codes.iter().map(|&code| self.rules.vocabulary().name(code)).collect()
        };
        record.visits[1..].iter().map(visit).collect::<Vec<_>>().join(",")
    }

    /// The visits at which rules are broken: by the auditor, once the referee agrees.
    #[track_caller]
    fn broken_at(&self, encounters: &str) -> Vec<usize> {
        let record = self.record(encounters);
        let mut cohort = Cohort::default();
        // Longer and shorter records around it must not change what is found.
        cohort.push("before", &self.record("A,AB,ABC,ABCD,ABCDE,E"));
        cohort.push("it", &record);
        cohort.push("after", &self.record(""));
        let rules = Arc::clone(&self.rules);
        let written = WrittenRules::new(rules, &CompileLimits::default()).expect("small rules");
        let auditor = Auditor::new(&written);
        let mut reader = auditor.reader();
        let mut found: Vec<Violation> = Vec::new();
        for index in 0..cohort.len() {
            let view = cohort.record(index);
            reader.violations(view, &mut found);
            let judged: Vec<(usize, usize)> = Referee::new(&self.rules)
                .violations(&view)
                .iter()
                .map(|violation| (violation.visit, violation.rule))
                .collect();
            let audited: Vec<(usize, usize)> =
                found.iter().map(|violation| (violation.visit, violation.rule)).collect();
            assert_eq!(audited, judged, "auditor and referee, record {index}");
        }
        reader.violations(cohort.record(1), &mut found);
        found.iter().map(|violation| violation.visit).collect()
    }

    /// The record once it is repaired; valid by the referee.
    #[track_caller]
    fn repaired(&self, encounters: &str) -> String {
        let mut cohort = Cohort::default();
        cohort.push("long", &self.record("A,AB,ABC,ABCD,ABCDE,E"));
        cohort.push("it", &self.record(encounters));
        let options = CompileOptions { max_visits: 6, ..CompileOptions::default() };
        let plan = RepairPlan::compile(Arc::clone(&self.rules), &options)
            .unwrap_or_else(|error| panic!("{error}"));
        let repaired = repair(&plan, &cohort, &Draws::new(1), &Unwatched).cohort;
        let referee = Referee::new(&self.rules);
        assert!(repaired.records().all(|record| referee.is_valid(&record)));
        self.text(&repaired.record(1).to_record())
    }

    /// Many sampled records, all valid by the referee.
    fn sampled(&self, records: u64) -> Vec<Record> {
        let options = CompileOptions { max_visits: 5, ..CompileOptions::default() };
        let plan = compile(Arc::clone(&self.rules), &options).unwrap_or_else(|e| panic!("{e}"));
        let enforcer = Enforcer::new(&plan);
        let (mut writer, draws) = (enforcer.writer(), Draws::new(11));
        let referee = Referee::new(&self.rules);
        let mut sampled = Vec::new();
        for number in 0..records {
            while !writer.record().ended {
                writer.guided(&draws, number, |_, _| 0.4).expect("a probability");
            }
            let record = writer.take();
            assert!(referee.is_valid(&record), "{}", self.text(&record));
            sampled.push(record);
        }
        sampled
    }
}

#[test]
fn relative_windows_select_visits() {
    let clinic = Clinic::new("rule r: A in 3 visits ago => B");
    assert_eq!(clinic.broken_at("A,C,C,C,C"), [4]);
    assert_eq!(clinic.broken_at("A,C,C,B,C"), [0usize; 0]);
    assert_eq!(clinic.repaired("A,C,C,C,C"), "A,C,C,BC,C");
    clinic.sampled(200);

    let clinic = Clinic::new("rule r: A in last 2 visits => B");
    assert_eq!(clinic.broken_at("A,C,C,C"), [2, 3]);
    assert_eq!(clinic.repaired("A,C,C,C"), "A,BC,BC,C");
    clinic.sampled(200);
}

#[test]
fn lifelong_rules_look_at_the_visit_just_before() {
    let clinic = Clinic::new("rule lifelong: A in previous => A");
    assert_eq!(clinic.broken_at("B,A,B,B"), [3]);
    assert_eq!(clinic.repaired("B,A,B,B"), "B,A,AB,AB");
    for record in clinic.sampled(300) {
        let has = |visit: &Vec<Code>| visit.contains(&clinic.code("A"));
        let first = record.visits.iter().position(has).unwrap_or(record.visits.len());
        assert!(record.visits[first..].iter().all(has), "once there, it stays");
    }
}

#[test]
fn only_after_rules_look_at_all_of_the_past_and_nothing_else() {
    let clinic = Clinic::new("rule only-after: not A in past => not B");
    assert_eq!(clinic.broken_at("B,A,B"), [1]);
    // The present visit is no past: A here does not allow B here.
    assert_eq!(clinic.broken_at("AB,B"), [1]);
    assert_eq!(clinic.broken_at("A,,,B"), [0usize; 0]);
    assert_eq!(clinic.repaired("AB,B"), "A,B");
    clinic.sampled(200);
}

#[test]
fn audit_windows_are_not_shifted() {
    // The code is in the visit that the window names, and nowhere else.
    let cases: [(&str, &str, &[usize]); 4] = [
        ("visit 1", "A,C,C,C,C", &[2, 3, 4, 5]),
        ("visit 2", "C,A,C,C,C", &[3, 4, 5]),
        ("visit 3", "C,C,A,C,C", &[4, 5]),
        ("previous", "A,C,C,C,C", &[2]),
    ];
    for (window, encounters, broken) in cases {
        let clinic = Clinic::new(&format!("rule r: A in {window} => B"));
        assert_eq!(clinic.broken_at(encounters), broken, "{window}");
        clinic.sampled(100);
    }
}

#[test]
fn rules_do_not_fire_beyond_the_last_visit() {
    // Padding would hold no code, and so break this rule after every record's end.
    let clinic = Clinic::new("rule always: A");
    assert_eq!(clinic.broken_at("A,A"), [0usize; 0]);
    assert_eq!(clinic.repaired("A"), "A", "no visit is added, whatever is longer");
    assert_eq!(clinic.repaired(",,"), "A,A,A");
}

#[test]
fn shorter_records_of_a_batch_are_repaired_as_if_alone() {
    let clinic = Clinic::new("rule chain: A in previous => B");
    let options = CompileOptions { max_visits: 6, ..CompileOptions::default() };
    let plan = RepairPlan::compile(Arc::clone(&clinic.rules), &options).expect("a plan");
    let records = ["A,A", "A", "A,C,A,C,A,C", "", "C,A"].map(|text| clinic.record(text));
    let mut together = Cohort::default();
    for (number, record) in records.iter().enumerate() {
        together.push(&number.to_string(), record);
    }
    let together = repair(&plan, &together, &Draws::new(3), &Unwatched).cohort;
    for (number, record) in records.iter().enumerate() {
        let mut alone = Cohort::default();
        alone.push("alone", record);
        let alone = repair(&plan, &alone, &Draws::new(3), &Unwatched).cohort;
        assert_eq!(alone.record(0).to_record(), together.record(number).to_record());
        assert_eq!(record.visits.len(), together.record(number).len(), "no visit comes or goes");
    }
}

#[test]
fn soft_values_are_drawn_not_written_as_fractions() {
    let clinic = Clinic::new("rule soft: A => B with probability 0.2");
    let (mut fired, mut drawn) = (0u32, 0u32);
    for record in clinic.sampled(4_000) {
        for visit in &record.visits[1..] {
            // A visit is a set of codes: a code is there or it is not.
            if visit.contains(&clinic.code("A")) {
                fired += 1;
                drawn += u32::from(visit.contains(&clinic.code("B")));
            }
        }
    }
    let (n, rate) = (f64::from(fired), f64::from(drawn) / f64::from(fired));
    let deviation = (0.2 * 0.8 / n).sqrt();
    assert!((rate - 0.2).abs() < 4.0 * deviation, "{rate} over {n} visits");
}

#[test]
fn empty_visits_keep_their_place_in_time() {
    let clinic = Clinic::new("rule r: A in 2 visits ago => B");
    assert_eq!(clinic.broken_at("A,,C"), [3]);
    assert_eq!(clinic.broken_at("A,C"), [0usize; 0]);
    assert_eq!(clinic.repaired("A,,C"), "A,,BC");

    let text = r#"{"id": "p", "static": [], "visits": [["A"], [], ["C"]]}"#;
    let options = consequence::jsonl::ReadOptions::default();
    let loaded = consequence::jsonl::read_from(text.as_bytes(), "p", &options).expect("a cohort");
    assert_eq!(loaded.cohort.record(0).len(), 4, "three encounters after the static visit");
}

#[test]
fn rules_listed_backwards_leave_no_violation() {
    let clinic = Clinic::new(
        "rule last: D => E\nrule third: C => D\nrule second: B => C\nrule first: A => B",
    );
    assert_eq!(clinic.broken_at("A").len(), 1);
    assert_eq!(clinic.repaired("A"), "ABCDE");
    clinic.sampled(300);

    let clinic = Clinic::new("rule on: A => B\nrule off: C => not B\nrule round: B => A");
    let repaired = clinic.repaired("AC");
    assert!(!(repaired.contains('B') && repaired.contains('C')), "{repaired}");
    clinic.sampled(300);
}

#[test]
fn repeated_literals_fire() {
    let clinic = Clinic::new("rule twice: A and A => B\nrule past: C in past and C in past => D");
    assert_eq!(clinic.broken_at("A"), [1]);
    assert_eq!(clinic.repaired("AC,"), "ABC,D");
    clinic.sampled(200);
}
