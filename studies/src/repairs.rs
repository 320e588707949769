//! What repair keeps of records, against every record of small worlds.

use std::sync::Arc;

use consequence_enforce::{RepairPlan, repair};
use consequence_feedback::Unwatched;
use consequence_prng::Draws;
use consequence_record::{Cohort, Record};
use consequence_referee::Referee;
use consequence_rules::{CompileError, CompileLimits, CompileOptions, Stage};
use consequence_testing::worlds::{Choices, Size, World};
use rustc_hash::FxHashSet;

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Rule sets tried.
    pub sets: u64,
    /// Rule sets that no record obeys, ended or cut.
    pub unsatisfiable: u64,
    /// Records repaired or refused.
    pub records: u64,
    /// Records that were valid, and came out as they were.
    pub valid: u64,
    /// Records changed, of the same length and ended or cut as before.
    pub changed: u64,
    /// Records that a rule ended earlier.
    pub ended_by_rule: u64,
    /// Records refused; no record of their length obeys the rules.
    pub refused: u64,
    /// Cut records among those written.
    pub cut: u64,
}

impl std::ops::AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.sets += other.sets;
        self.unsatisfiable += other.unsatisfiable;
        self.records += other.records;
        self.valid += other.valid;
        self.changed += other.changed;
        self.ended_by_rule += other.ended_by_rule;
        self.refused += other.refused;
        self.cut += other.cut;
    }
}

/// Repairs random records of one random world. Panics at the first broken promise:
///
/// - what is written is valid, and a valid record is written as it was;
/// - a record is refused only if no record of its length obeys the rules;
/// - it loses visits, or ends where it was cut, only if a rule concludes `END`.
///
/// In one world of ten the rules are in a decision diagram, which promises less.
pub fn repair_some(size: Size, seed: u64, case: u64) -> Seen {
    let mut choices = Choices::new(seed, case);
    let world = World::random(size, &mut choices);
    let records = world.random_records(40, &mut choices);
    let mut seen = Seen { sets: 1, ..Seen::default() };
    let possible = lengths(&world);
    // Without room for derived clauses, whatever needs them gets a decision diagram.
    let by_diagram = choices.probability(0.1);
    let limits = match by_diagram {
        true => CompileLimits { derived: 0, growth: 0, ..CompileLimits::default() },
        false => CompileLimits::default(),
    };
    let options =
        CompileOptions { max_visits: world.max_visits, limits, ..CompileOptions::default() };
    let plan = match RepairPlan::compile(Arc::clone(&world.rules), &options) {
        Ok(plan) => plan,
        Err(CompileError::Unsatisfiable { .. }) => {
            let refuted = possible.iter().any(|&(_, ended)| ended || !by_diagram);
            assert!(!refuted, "case {case}: refused, yet {possible:?} are possible");
            seen.unsatisfiable = 1;
            return seen;
        }
        // `END` is decided first here, so a soft rule may come too early.
        Err(CompileError::SoftCycle(_) | CompileError::SoftTooEarly { .. }) => return seen,
        // Diagrams are for encounters; static codes too dense for clauses are refused.
        Err(CompileError::TooDense { .. }) if by_diagram => return seen,
        Err(other) => panic!("case {case}: {other}"),
    };
    // A diagram does not count visits: what is written is valid, and no more is promised.
    let counts = plan.plan().stage(1, true) != Stage::OPEN;
    let end = world.rules.vocabulary().end();
    let hard = || world.rules.iter().filter(|rule| rule.is_hard());
    let concludes_end = hard().any(|rule| rule.outputs().contains(&end));
    let soft = hard().count() < world.rules.len();
    let referee = Referee::new(&world.rules);
    let mut cohort = Cohort::default();
    for (number, record) in records.iter().enumerate() {
        cohort.push(&number.to_string(), record);
    }
    let consequence_enforce::Repaired { cohort: repaired, summary, .. } =
        repair(&plan, &cohort, &Draws::new(case), &Unwatched);
    let mut left = (0..repaired.len()).peekable();
    let mut dropped = 0;
    for (number, record) in records.iter().enumerate() {
        seen.records += 1;
        let written = left.next_if(|&index| repaired.id(index) == number.to_string());
        let place = || format!("case {case}: {:?}: {record:?}", world.rules);
        let length = (record.visits.len() - 1, record.ended);
        let Some(repaired) = written.map(|index| repaired.record(index).to_record()) else {
            assert!(!counts || !possible.contains(&length), "{}: refused", place());
            seen.refused += 1;
            continue;
        };
        assert!(referee.is_valid(&repaired), "{}: invalid {repaired:?}", place());
        seen.cut += u64::from(!repaired.ended);
        if referee.is_valid(record) && !soft && (counts || record.ended) {
            assert_eq!(&repaired, record, "{}: it was valid", place());
            seen.valid += 1;
        } else if (repaired.visits.len() - 1, repaired.ended) == length {
            seen.changed += 1;
        } else {
            assert!(
                concludes_end || !counts,
                "{}: no rule concludes END, yet {repaired:?}",
                place()
            );
            assert!(repaired.ended && repaired.visits.len() <= record.visits.len(), "{}", place());
            seen.ended_by_rule += 1;
        }
        dropped += record.visits.len() - repaired.visits.len();
    }
    let found = (summary.records, summary.refused, summary.dropped_visits);
    assert_eq!(found, (seen.records, seen.refused, dropped as u64), "case {case}");
    seen
}

/// The lengths in encounters that valid records have, with whether they ended.
fn lengths(world: &World) -> FxHashSet<(usize, bool)> {
    let mut found = FxHashSet::default();
    let referee = Referee::new(&world.rules);
    extend(world, &referee, &mut Record { visits: Vec::new(), ended: false }, &mut found);
    found
}

fn extend(
    world: &World,
    referee: &Referee,
    record: &mut Record,
    found: &mut FxHashSet<(usize, bool)>,
) {
    let visit = record.visits.len();
    if found.len() == 2 * usize::from(world.max_visits) {
        return;
    }
    for codes in world.visits(visit) {
        record.visits.push(codes);
        for ended in [true, false] {
            record.ended = ended;
            let obeyed = (0..world.rules.len()).all(|rule| {
                !world.rules[rule].is_hard()
                    || !referee.required(rule, visit)
                    || referee.holds(rule, record, visit)
            });
            if obeyed && visit > 0 {
                found.insert((visit, ended));
            }
            if obeyed && !ended && visit < usize::from(world.max_visits) {
                extend(world, referee, record, found);
            }
        }
        record.ended = false;
        record.visits.pop();
    }
}
