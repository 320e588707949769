//! Every input of many small worlds: the guarantee, checked by enumeration.

use consequence_enforce::{Auditor, Enforcer, RepairPlan, Writer};
use consequence_feedback::Unwatched;
use consequence_prng::Draws;
use consequence_record::{Code, Cohort, Record};
use consequence_referee::Referee;
use consequence_rules::{
    CompileError, CompileLimits, CompileOptions, Stage, WrittenRules, compile,
};
use consequence_testing::worlds::{Choices, Size, World};
use rustc_hash::FxHashSet;

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Rule sets tried.
    pub sets: u64,
    /// Rule sets that were refused, each confirmed to admit no record.
    pub unsatisfiable: u64,
    /// Rule sets with cycles among codes.
    pub cyclic: u64,
    /// Rule sets with clauses that look ahead to later visits.
    pub looking_ahead: u64,
    /// Rule sets enforced by a decision diagram.
    pub diagrams: u64,
    /// Plans with soft rules.
    pub soft: u64,
    /// Visits written.
    pub visits: u64,
    /// Valid records that were proposed and came out unchanged.
    pub unchanged: u64,
}

impl std::ops::AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.sets += other.sets;
        self.unsatisfiable += other.unsatisfiable;
        self.cyclic += other.cyclic;
        self.looking_ahead += other.looking_ahead;
        self.diagrams += other.diagrams;
        self.soft += other.soft;
        self.visits += other.visits;
        self.unchanged += other.unchanged;
    }
}

/// Tries one random world with every input and both modes. Panics at the first broken promise.
pub fn exhaust(size: Size, seed: u64, case: u64) -> Seen {
    let world = World::random(size, &mut Choices::new(seed, case));
    let mut seen = Seen { sets: 1, ..Seen::default() };
    let by_clauses = CompileLimits::default();
    // Without room for derived clauses, whatever needs them gets a decision diagram.
    let by_diagram = CompileLimits { derived: 0, growth: 0, ..by_clauses };
    for (end_first, limits) in [(false, by_clauses), (true, by_clauses), (false, by_diagram)] {
        let options =
            CompileOptions { max_visits: world.max_visits, end_first, limits, order: None };
        let plan = match compile(world.rules.clone(), &options) {
            Ok(plan) => plan,
            Err(CompileError::Unsatisfiable { rules, .. }) => {
                assert!(!rules.is_empty(), "case {case}: an empty core");
                world.for_each_valid(&mut |record| panic!("case {case}: refused, yet {record:?}"));
                seen.unsatisfiable = 1;
                continue;
            }
            // A cycle through a soft rule, or an end decided before what it depends on.
            Err(CompileError::SoftCycle(_) | CompileError::SoftTooEarly { .. }) => continue,
            // Diagrams are for encounters; static codes too dense for clauses are refused.
            Err(CompileError::TooDense { .. }) if limits.derived == 0 => continue,
            Err(other) => panic!("case {case}: {other}"),
        };
        seen.diagrams += u64::from(plan.diagram().is_some());
        seen.cyclic = seen.cyclic.max(u64::from(!plan.cycles().is_empty()));
        let looks_ahead = |derivation| derivation == consequence_rules::Derivation::LookAhead;
        let ahead = plan.clauses().filter(|clause| looks_ahead(clause.derivation)).count();
        seen.looking_ahead = seen.looking_ahead.max(u64::from(ahead > 1));
        let enforcer = Enforcer::new(&plan);
        let referee = Referee::new(&world.rules);
        if plan.end_given() && !enforcer.writer().goes_on(Stage::OPEN) {
            // Only records that were cut obey these rules.
            world.for_each_valid(&mut |record| panic!("case {case}: refused, yet {record:?}"));
            continue;
        }
        let mut walk = Walk { world: &world, referee, case, end_first, seen: &mut seen };
        walk.extend(&enforcer.writer());
        if !plan.soft().is_empty() {
            // Soft rules draw codes anew, in valid records as well.
            seen.soft += 1;
            continue;
        }
        let draws = Draws::new(0);
        let mut writer = enforcer.writer();
        let mut valid = 0;
        world.for_each_valid(&mut |record| {
            valid += 1;
            for (visit, codes) in record.visits.iter().enumerate() {
                let mut given = codes.clone();
                if record.ended && visit + 1 == record.visits.len() {
                    given.push(world.rules.vocabulary().end());
                }
                writer.overridden(&given, &draws, 0);
            }
            assert_eq!(&writer.take(), record, "case {case}: a valid record was changed");
            valid < 2_000
        });
        // Where the end is given, records that never end count too, and are not enumerated.
        assert!(valid > 0 || end_first, "case {case}: accepted, yet no record is valid");
        seen.unchanged += valid;
    }
    seen
}

/// Audits and repairs random records of one random world, valid or not, and compares with the referee.
/// Gives the number of records. Panics at the first broken promise.
pub fn audit_and_repair(size: Size, seed: u64, case: u64) -> u64 {
    let mut choices = Choices::new(seed, case);
    let world = World::random(size, &mut choices);
    let records = world.random_records(50, &mut choices);
    let referee = Referee::new(&world.rules);
    let mut cohort = Cohort::default();
    for (index, record) in records.iter().enumerate() {
        cohort.push(&index.to_string(), record);
    }
    let limits = CompileLimits::default();
    let written = WrittenRules::new(world.rules.clone(), &limits).expect("small rules fit");
    let auditor = Auditor::new(&written);
    let mut reader = auditor.reader();
    let (mut found, mut total) = (Vec::new(), 0);
    for index in 0..cohort.len() {
        reader.violations(cohort.record(index), &mut found);
        total += found.len() as u64;
        let expected = referee.violations(&cohort.record(index));
        let expected: Vec<_> = expected.iter().map(|broken| (broken.visit, broken.rule)).collect();
        let found: Vec<_> = found.iter().map(|broken| (broken.visit, broken.rule)).collect();
        assert_eq!(found, expected, "case {case}: {:?}", cohort.record(index).to_record());
    }
    let audit = auditor.audit(&cohort, 3, &Unwatched);
    assert_eq!(audit.violations(), total, "case {case}");
    let valid = cohort.records().filter(|record| referee.is_valid(record)).count();
    assert_eq!(audit.valid_records, valid as u64, "case {case}");

    let options = CompileOptions { max_visits: world.max_visits, ..CompileOptions::default() };
    let plan = match RepairPlan::compile(world.rules.clone(), &options) {
        Ok(plan) => plan,
        Err(CompileError::Unsatisfiable { .. }) => {
            assert!(cohort.records().all(|record| !referee.is_valid(&record)), "case {case}");
            return cohort.len() as u64;
        }
        // `END` is decided first here, so a soft rule may come too early.
        Err(CompileError::SoftCycle(_) | CompileError::SoftTooEarly { .. }) => {
            return cohort.len() as u64;
        }
        Err(other) => panic!("case {case}: {other}"),
    };
    let consequence_enforce::Repaired { cohort: repaired, summary: repair, .. } =
        consequence_enforce::repair(&plan, &cohort, &Draws::new(0), &Unwatched);
    assert_eq!(repaired.len() as u64 + repair.refused, cohort.len() as u64, "case {case}");
    for record in repaired.records() {
        assert!(referee.is_valid(&record), "case {case}: {:?}", record.to_record());
    }
    cohort.len() as u64
}

struct Walk<'a> {
    world: &'a World,
    referee: Referee,
    case: u64,
    end_first: bool,
    seen: &'a mut Seen,
}

impl Walk<'_> {
    /// Proposes every visit in both modes and goes on from each outcome.
    fn extend(&mut self, writer: &Writer<'_>) {
        let end = self.world.rules.vocabulary().end();
        let draws = Draws::new(0);
        let visit = writer.visit();
        let mut outcomes: FxHashSet<(Vec<Code>, bool)> = FxHashSet::default();
        for codes in self.world.visits(visit) {
            for ended in [false, true] {
                let mut given = codes.clone();
                given.extend(ended.then_some(end));
                let mut next = writer.clone();
                next.overridden(&given, &draws, 0);
                let mut guided = writer.clone();
                guided
                    .guided(&draws, 0, |code, _| f64::from(u8::from(given.contains(&code))))
                    .expect("zero and one are probabilities");
                // What is certain leaves no choice, unless a rule or a diagram draws.
                let drawn = writer.plan().diagram().is_some() || !writer.plan().soft().is_empty();
                assert!(
                    drawn || next.record() == guided.record(),
                    "case {}: the modes differ",
                    self.case
                );
                for next in [next, guided] {
                    self.seen.visits += 1;
                    let record = next.record();
                    let written = (record.visits[visit].clone(), record.ended);
                    if !outcomes.insert(written) {
                        continue;
                    }
                    self.judge(record);
                    if !record.ended && visit < usize::from(self.world.max_visits) {
                        self.extend(&next);
                    }
                }
            }
        }
    }

    fn judge(&self, record: &Record) {
        let visit = record.visits.len() - 1;
        for rule in 0..self.world.rules.len() {
            assert!(
                !self.world.rules[rule].is_hard()
                    || !self.referee.required(rule, visit)
                    || self.referee.holds(rule, record, visit),
                "case {}: rule {:?} is broken by {record:?}",
                self.case,
                self.world.rules[rule].formula(),
            );
        }
        assert!(
            record.ended || self.end_first || visit < usize::from(self.world.max_visits),
            "case {}: the record cannot end: {record:?}",
            self.case
        );
    }
}
