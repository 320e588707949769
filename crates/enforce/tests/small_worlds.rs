//! Worlds small enough to list every record, and what the rules must then say of every code.
//!
//! The truth is a list of the records that the referee finds valid. Where a code is to be decided, after
//! given visits and given codes of the same visit, the values that it may have are those that some record
//! of the list goes on with: a rule forces a code exactly where there is one such value.

use std::collections::{BTreeSet, HashSet};
use std::ops::AddAssign;
use std::sync::Arc;

use consequence_enforce::{
    Auditor, Enforcer, Repair, RepairPlan, Repaired, Ruling, Writer, repair,
};
use consequence_feedback::Unwatched;
use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Cohort, Record};
use consequence_referee::Referee;
use consequence_rules::{
    CompileError, CompileLimits, CompileOptions, Plan, Stage, WrittenRules, compile,
};
use consequence_testing::every;
use consequence_testing::worlds::{Choices, Size, World};

const SIZE: Size = Size { codes: 4, visits: 3, rules: 4 };

/// Every record of a world, ended and cut.
fn records(world: &World) -> Vec<Record> {
    let ended = every::records(world.rules.vocabulary(), world.max_visits.into());
    ended.iter().cloned().chain(ended.iter().cloned().map(Record::cut)).collect()
}

/// The plan of a world; none if no record obeys its rules, or if soft rules depend on each other.
fn plan(world: &World, options: &CompileOptions) -> Option<Plan> {
    match compile(Arc::clone(&world.rules), options) {
        Ok(plan) => Some(plan),
        Err(CompileError::Unsatisfiable { .. }) => None,
        Err(CompileError::SoftCycle(_) | CompileError::SoftTooEarly { .. }) => None,
        Err(CompileError::TooDense { .. }) if options.limits.derived == 0 => None,
        Err(error) => panic!("{error}: {:?}", world.rules),
    }
}

fn options(max_visits: u16, end_first: bool) -> CompileOptions {
    CompileOptions { max_visits, end_first, ..CompileOptions::default() }
}

/// Every beginning of records, as values of codes in the order in which a plan decides them.
struct Beginnings(HashSet<Vec<bool>>);

impl Beginnings {
    fn new<'a>(plan: &Plan, records: impl Iterator<Item = &'a Record>) -> Self {
        let vocabulary = plan.rules().vocabulary();
        let mut beginnings = HashSet::new();
        for record in records {
            let mut values = Vec::new();
            beginnings.insert(values.clone());
            for (visit, present) in record.visits.iter().enumerate() {
                let ends = record.ended && visit + 1 == record.visits.len();
                let kind = consequence_record::Kind::of_visit(visit);
                for &code in plan.order().codes() {
                    if vocabulary.kind(code) == kind {
                        let ended = ends && code == vocabulary.end();
                        values.push(ended || present.contains(&code));
                        beginnings.insert(values.clone());
                    }
                }
            }
        }
        Self(beginnings)
    }

    /// Whether each value of the next code is the beginning of a record.
    fn next(&self, values: &mut Vec<bool>) -> [bool; 2] {
        [false, true].map(|value| {
            values.push(value);
            let found = self.0.contains(values.as_slice());
            values.pop();
            found
        })
    }
}

/// Walks every way to write a record, and compares each ruling with the records there are.
struct Walk<'a> {
    plan: &'a Plan,
    beginnings: Beginnings,
    /// The encounters of the record and whether it ends, where that is given.
    given: Option<(usize, bool)>,
    seen: Seen,
}

/// What came up.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    forced: u64,
    free: u64,
    records: u64,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.forced += other.forced;
        self.free += other.free;
        self.records += other.records;
    }
}

impl Walk<'_> {
    fn visit(&mut self, mut writer: Writer<'_>, values: &mut Vec<bool>) {
        if let Some((encounters, ended)) = self.given {
            if writer.visit() > encounters {
                self.seen.records += 1;
                return;
            }
            writer.set_stage(self.plan.stage(encounters - writer.visit(), ended));
        } else if writer.record().ended {
            self.seen.records += 1;
            return;
        }
        let range = writer.open();
        self.code(writer, range.start, range.end, values);
    }

    fn code(&mut self, mut writer: Writer<'_>, position: u32, last: u32, values: &mut Vec<bool>) {
        if position == last {
            writer.close();
            return self.visit(writer, values);
        }
        let possible = self.beginnings.next(values);
        let is_end = self.plan.order().code(position) == writer.end();
        let ruling = writer.ruling(position);
        match (ruling, self.given) {
            // Where the end is given, whoever repairs says it.
            (_, Some(_)) if is_end => {}
            (Ruling::Forced(value), _) => {
                assert_eq!(possible, [!value, value], "{values:?}: {:?}", self.plan.rules());
                self.seen.forced += 1;
            }
            _ => {
                assert_eq!(possible, [true, true], "{values:?}: {:?}", self.plan.rules());
                self.seen.free += 1;
            }
        }
        for value in [false, true].into_iter().filter(|&value| possible[usize::from(value)]) {
            let mut next = writer.clone();
            next.place(position, value);
            values.push(value);
            self.code(next, position + 1, last, values);
            values.pop();
        }
    }
}

#[test]
fn a_code_is_forced_exactly_where_one_value_is_left() {
    let mut seen = Seen::default();
    for case in 0..1_200 {
        let world = World::random(SIZE, &mut Choices::new(11, case));
        let (all, referee) = (records(&world), Referee::new(&world.rules));
        let valid: Vec<&Record> =
            all.iter().filter(|record| record.ended && referee.is_valid(*record)).collect();
        let by_diagram = CompileLimits { derived: 0, growth: 0, ..CompileLimits::default() };
        for limits in [CompileLimits::default(), by_diagram] {
            let options = CompileOptions { limits, ..options(world.max_visits, false) };
            let Some(plan) = plan(&world, &options) else { continue };
            let beginnings = Beginnings::new(&plan, valid.iter().copied());
            let enforcer = Enforcer::new(&plan);
            let mut walk = Walk { plan: &plan, beginnings, given: None, seen: Seen::default() };
            walk.visit(enforcer.writer(), &mut Vec::new());
            assert_eq!(walk.seen.records, valid.len() as u64, "every valid record is written");
            seen += walk.seen;
        }
    }
    assert!(seen.forced > 100_000 && seen.free > 100_000, "{seen:?}");
}

#[test]
fn with_its_end_given_a_record_is_forced_to_what_records_of_its_length_have() {
    let mut seen = Seen::default();
    for case in 0..1_200 {
        let world = World::random(SIZE, &mut Choices::new(12, case));
        let Some(plan) = plan(&world, &options(world.max_visits + 1, true)) else { continue };
        let (all, referee) = (records(&world), Referee::new(&world.rules));
        let enforcer = Enforcer::new(&plan);
        for encounters in 1..=world.max_visits.into() {
            for ended in [true, false] {
                let stage = plan.stage(encounters, ended);
                assert_ne!(stage, Stage::OPEN, "small rules count visits");
                let alike = |record: &&Record| {
                    (record.visits.len() - 1, record.ended) == (encounters, ended)
                };
                let valid: Vec<&Record> =
                    all.iter().filter(alike).filter(|record| referee.is_valid(*record)).collect();
                assert_eq!(enforcer.writer().goes_on(stage), !valid.is_empty());
                if valid.is_empty() {
                    continue;
                }
                let beginnings = Beginnings::new(&plan, valid.iter().copied());
                let given = Some((encounters, ended));
                let mut walk = Walk { plan: &plan, beginnings, given, seen: Seen::default() };
                walk.visit(enforcer.writer(), &mut Vec::new());
                assert_eq!(walk.seen.records, valid.len() as u64, "every valid record is written");
                seen += walk.seen;
            }
        }
    }
    assert!(seen.forced > 20_000 && seen.free > 100_000, "{seen:?}");
}

/// Four ways to decide a visit: code by code from probabilities, from a visit that is there, from
/// proposals, and by the rulings alone.
#[test]
fn every_way_to_write_a_visit_writes_the_same() {
    let draws = Draws::new(3);
    let mut visits = 0;
    for case in 0..2_000 {
        let mut choices = Choices::new(13, case);
        let world = World::random(Size { codes: 6, visits: 4, rules: 6 }, &mut choices);
        let Some(plan) = plan(&world, &options(world.max_visits, false)) else { continue };
        let enforcer = Enforcer::new(&plan);
        let (end, order) = (world.rules.vocabulary().end(), plan.order());
        let [mut guided, mut overridden, mut proposed, mut ruled] =
            [(); 4].map(|()| enforcer.writer());
        while !guided.record().ended {
            let visit = guided.visit();
            let mut given: Vec<_> =
                plan.rules().vocabulary().codes().filter(|_| choices.probability(0.4)).collect();
            if visit == 0 {
                given.retain(|&code| code != end);
            }
            let value = |code| f64::from(u8::from(given.contains(&code)));
            guided.guided(&draws, case, |code, _| value(code)).expect("0 and 1 are probabilities");
            overridden.overridden(&given, &draws, case);
            let rules = || draws.visit(case, 0, visit as u16, Purpose::Rule);
            let mut drawn = (draws.visit(case, 0, visit as u16, Purpose::Code), rules());
            let value = |position: u32| value(order.code(position));
            for position in proposed.open() {
                let (codes, rules) = &mut drawn;
                let ahead = &mut |_: bool, others: &[u32], into: &mut [f64]| {
                    into.iter_mut().zip(others).for_each(|(into, &at)| *into = value(at));
                };
                proposed.propose(position, value(position), (codes, rules), ahead);
            }
            proposed.close();
            for position in ruled.open() {
                let present = match ruled.ruling(position) {
                    Ruling::Free => given.contains(&order.code(position)),
                    Ruling::Soft { rule, probability } => rules().below(rule, probability),
                    Ruling::Forced(value) => value,
                };
                ruled.place(position, present);
            }
            ruled.close();
            for other in [&overridden, &proposed, &ruled] {
                assert_eq!(other.record(), guided.record(), "case {case}");
            }
            visits += 1;
        }
        assert!(Referee::new(&world.rules).is_valid(&guided.take()), "case {case}");
    }
    assert!(visits > 2_000, "{visits}");
}

#[test]
fn the_auditor_finds_in_every_record_what_the_referee_finds() {
    for case in 0..150 {
        let world = World::random(SIZE, &mut Choices::new(14, case));
        let referee = Referee::new(&world.rules);
        let mut cohort = Cohort::default();
        records(&world).iter().for_each(|record| cohort.push("", record));
        let rules = Arc::clone(&world.rules);
        let written = WrittenRules::new(rules, &CompileLimits::default()).expect("small rules");
        let auditor = Auditor::new(&written);
        let audit = auditor.audit(&cohort, 2, &Unwatched);
        let (mut reader, mut found) = (auditor.reader(), Vec::new());
        let mut counted = vec![(0, 0, Vec::new()); world.rules.len()];
        let (mut valid, mut of_kind) = (0, [0, 0]);
        for (index, record) in cohort.records().enumerate() {
            let broken = referee.violations(&record);
            reader.violations(record, &mut found);
            let audited: Vec<_> = found.iter().map(|one| (one.visit, one.rule)).collect();
            let judged: Vec<_> = broken.iter().map(|one| (one.visit, one.rule)).collect();
            assert_eq!(audited, judged, "case {case}: {:?}", record.to_record());
            valid += u64::from(broken.is_empty());
            let mut seen = HashSet::new();
            for one in &broken {
                let (violations, records, examples) = &mut counted[one.rule];
                *violations += 1;
                if seen.insert(one.rule) {
                    *records += 1;
                    examples.extend((examples.len() < 2).then_some((index, one.visit)));
                }
                of_kind[usize::from(world.rules[one.rule].is_temporal())] += 1;
            }
        }
        assert_eq!((audit.records, audit.valid_records), (cohort.len() as u64, valid));
        assert_eq!(audit.visits, cohort.visit_count() as u64);
        assert_eq!([audit.within_visit_violations, audit.temporal_violations], of_kind);
        for (finding, (violations, records, examples)) in audit.rules.iter().zip(counted) {
            assert_eq!((finding.violations, finding.records), (violations, records));
            let shown = finding.examples.iter().map(|example| (example.record, example.visit));
            assert_eq!(shown.collect::<Vec<_>>(), examples, "case {case}");
        }
    }
}

#[test]
fn a_repair_counts_what_it_changed() {
    let mut total = Repair::default();
    for case in 0..150 {
        let world = World::random(SIZE, &mut Choices::new(15, case));
        if plan(&world, &options(world.max_visits + 1, true)).is_none() {
            continue;
        }
        let repairs =
            RepairPlan::compile(Arc::clone(&world.rules), &options(world.max_visits, true))
                .expect("there is a plan");
        let all = records(&world);
        let mut cohort = Cohort::default();
        all.iter().enumerate().for_each(|(number, one)| cohort.push(&number.to_string(), one));
        let Repaired { cohort: repaired, summary: counted, changes } =
            repair(&repairs, &cohort, &Draws::new(case), &Unwatched);
        let mut expected = Repair { records: all.len() as u64, ..Repair::default() };
        expected.refused = expected.records - repaired.len() as u64;
        expected.last_resorts = counted.last_resorts;
        let mut listed: BTreeSet<(usize, usize, Code, bool)> = BTreeSet::new();
        for one in &changes {
            assert!(listed.insert((one.record, one.visit, one.code, one.added)), "listed once");
        }
        for (index, after) in repaired.records().enumerate() {
            let number = repaired.id(index).parse::<usize>().expect("a number");
            let before = &all[number];
            let after = after.to_record();
            expected.changed += u64::from(&after != before);
            expected.dropped_visits += (before.visits.len() - after.visits.len()) as u64;
            expected.cut += u64::from(before.visits.len() > after.visits.len());
            for (visit, (before, after)) in before.visits.iter().zip(&after.visits).enumerate() {
                for &code in after.iter().filter(|code| !before.contains(code)) {
                    expected.added += 1;
                    assert!(listed.remove(&(number, visit, code, true)), "an added code is listed");
                }
                for &code in before.iter().filter(|code| !after.contains(code)) {
                    expected.removed += 1;
                    assert!(listed.remove(&(number, visit, code, false)), "so is one removed");
                }
            }
        }
        assert_eq!(counted, expected, "case {case}");
        assert!(listed.is_empty(), "nothing else is listed: {listed:?}");
        consequence_tally::Counts::add(&mut total, counted);
    }
    assert!(total.changed > 10_000 && total.cut > 100 && total.refused > 100, "{total:?}");
}
