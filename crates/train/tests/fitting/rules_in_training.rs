//! Which codes rules settle while a network trains, in each mode.

use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_engine::Settled;
use consequence_record::{Cohort, Record};
use consequence_rules::{CompileOptions, Order, RuleSet, compile};
use consequence_train::{PaperRules, Teacher, TrainMode};

const RULES: &str = "static SEX//F, SEX//M
     rule one-sex:  at most one of SEX//*
     rule men:      SEX//M in static => not A
     rule stays:    B in previous => B
     rule together: D => C
     rule seldom:   not A in past => E with probability 0.25";

/// The names and nats of the codes settled in each visit, in the order of the vocabulary.
fn settled(mode: TrainMode, visits: &[&[&str]]) -> Vec<Vec<(String, f32)>> {
    let rules = Arc::new(RuleSet::parse(RULES, None).unwrap());
    let vocabulary = Arc::clone(rules.vocabulary());
    let enforcer = Enforcer::new(&compile(rules, &CompileOptions::default()).unwrap());
    let codes = match mode {
        TrainMode::Paper => Order::natural(Arc::clone(&vocabulary)),
        _ => enforcer.plan().order().clone(),
    };
    let number = |name: &&str| vocabulary.code(name).unwrap();
    let visits = visits.iter().map(|visit| visit.iter().map(number).collect());
    let record = Record::new(visits.collect());
    let mut cohort = Cohort::default();
    cohort.push("p", &record);
    let found = Teacher::new(mode, &enforcer).settled(&codes, cohort.record(0));
    let named = |(visit, list): (usize, &Vec<Settled>)| {
        let first = codes.range(visit).start;
        let mut all: Vec<_> =
            list.iter().map(|one| (codes.code(first + one.output), one.nats)).collect();
        all.sort_by_key(|(code, _)| *code);
        all.iter().map(|&(code, nats)| (vocabulary.name(code).to_owned(), nats)).collect()
    };
    found.iter().enumerate().map(named).collect()
}

fn names(list: &[(String, f32)]) -> Vec<&str> {
    list.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn causal_settles_what_is_known_when_its_turn_comes() {
    let found = settled(TrainMode::Causal, &[&["SEX//M"], &["B", "C", "D"], &["B"]]);
    // The first of two that exclude each other is free, and absent; so is the second.
    assert_eq!(names(&found[0]), Vec::<&str>::new());
    assert_eq!(names(&found[1]), ["A", "C", "E"]);
    assert_eq!(names(&found[2]), ["A", "B", "E"]);
    let nats: Vec<f32> = found[1].iter().map(|(_, nats)| *nats).collect();
    assert_eq!(nats, [0.0, 0.0, -(0.75f32.ln())], "absent with a probability of three quarters");

    let found = settled(TrainMode::Causal, &[&["SEX//F"], &["A", "E"], &["E"]]);
    assert_eq!(names(&found[0]), ["SEX//M"], "once the one is there the other is out");
    assert_eq!(found[1], [("E".to_owned(), -(0.25f32.ln()))]);
    assert_eq!(names(&found[2]), Vec::<&str>::new(), "A was there");
}

#[test]
fn the_paper_looks_at_the_whole_visit() {
    let found = settled(TrainMode::Paper, &[&["SEX//M"], &["B", "C", "D"], &["B"]]);
    // What is set excludes what comes after it, and nothing before.
    assert_eq!(names(&found[0]), Vec::<&str>::new());
    assert_eq!(names(&settled(TrainMode::Paper, &[&["SEX//F"], &[]])[0]), ["SEX//M"]);
    // D demands C, though C comes before it.
    assert_eq!(names(&found[1]), ["A", "C", "E"]);
    assert_eq!(names(&found[2]), ["A", "B", "E"]);
    assert_eq!(found[1][2].1, -(0.75f32.ln()));
}

#[test]
fn the_hard_rules_of_the_paper_alone() {
    let rules = Arc::new(RuleSet::parse(RULES, None).unwrap());
    let codes = Order::natural(Arc::clone(rules.vocabulary()));
    let plan = compile(rules, &CompileOptions::default()).unwrap();
    let mut cohort = Cohort::default();
    cohort.push("p", &Record::new(vec![vec![], vec![]]));
    let settled = |rules: PaperRules| rules.settled(&codes, cohort.record(0), 1).len();
    assert_eq!((settled(PaperRules::new(&plan)), settled(PaperRules::hard(&plan))), (1, 0));
}

#[test]
fn off_settles_nothing() {
    let found = settled(TrainMode::Off, &[&["SEX//M"], &["B"]]);
    assert!(found.iter().all(Vec::is_empty));
}
