//! Random inputs of worlds too large to enumerate.

use consequence_enforce::{Enforcer, Writer};
use consequence_prng::Draws;
use consequence_record::{Code, Kind};
use consequence_referee::Referee;
use consequence_rules::{CompileError, CompileOptions, Stage, compile};

use consequence_testing::worlds::{Choices, Size, World};

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Rule sets tried.
    pub sets: u64,
    /// Rule sets that no record can obey.
    pub unsatisfiable: u64,
    /// Visits written.
    pub visits: u64,
    /// Records written to their end.
    pub records: u64,
}

impl std::ops::Add for Seen {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sets: self.sets + other.sets,
            unsatisfiable: self.unsatisfiable + other.unsatisfiable,
            visits: self.visits + other.visits,
            records: self.records + other.records,
        }
    }
}

/// Writes random records in one random world, in both modes. Panics at the first broken promise.
pub fn sample(size: Size, seed: u64, case: u64, records: u64) -> Seen {
    let choices = &mut Choices::new(seed, case);
    let world = World::random(size, choices);
    let mut seen = Seen { sets: 1, ..Seen::default() };
    let options = CompileOptions {
        max_visits: world.max_visits,
        end_first: choices.probability(0.5),
        ..CompileOptions::default()
    };
    let plan = match compile(world.rules.clone(), &options) {
        Ok(plan) => plan,
        Err(CompileError::Unsatisfiable { .. }) => return Seen { unsatisfiable: 1, ..seen },
        Err(CompileError::SoftCycle(_) | CompileError::SoftTooEarly { .. }) => return seen,
        Err(other) => panic!("case {case}: {other}"),
    };
    let referee = Referee::new(&world.rules);
    let enforcer = Enforcer::new(&plan);
    let mut writer = enforcer.writer();
    if plan.end_given() && !writer.goes_on(Stage::OPEN) {
        // Only records that were cut obey these rules.
        return Seen { unsatisfiable: 1, ..seen };
    }
    let draws = Draws::new(seed ^ case);
    for record in 0..records {
        while !writer.record().ended {
            let visit = writer.visit();
            if plan.end_given() && visit > usize::from(world.max_visits) {
                break;
            }
            assert!(
                visit <= usize::from(world.max_visits),
                "case {case}: no end to {:?}",
                writer.record()
            );
            if choices.probability(0.5) {
                let given = proposal(&world, visit, choices);
                writer.overridden(&given, &draws, record);
            } else {
                refuse(&mut writer, choices, &draws, record, case);
                let certain = choices.probability(0.3);
                let mut probability = || {
                    let value = choices.below(101) as f64 / 100.0;
                    if certain { value.round() } else { value }
                };
                writer
                    .guided(&draws, record, |_, _| probability())
                    .expect("these are probabilities");
            }
            seen.visits += 1;
            for rule in 0..world.rules.len() {
                assert!(
                    !world.rules[rule].is_hard()
                        || !referee.required(rule, visit)
                        || referee.holds(rule, writer.record(), visit),
                    "case {case}: rule {:?} is broken by {:?}",
                    world.rules[rule].formula(),
                    writer.record(),
                );
            }
        }
        let written = writer.take();
        assert_eq!(referee.violations(&written), [], "case {case}");
        assert_eq!(referee.defects(&written), [], "case {case}");
        seen.records += 1;
    }
    seen
}

/// Gives what is no probability now and then: it is refused and leaves the record as it was.
fn refuse(writer: &mut Writer<'_>, choices: &mut Choices, draws: &Draws, record: u64, case: u64) {
    if !choices.probability(0.1) {
        return;
    }
    let bad = [f64::NAN, -0.1, 1.1, f64::INFINITY][choices.below(4)];
    let mut left = choices.below(4);
    let mut asked = false;
    let mut other = writer.clone();
    let refused = other.guided(draws, record, |_, _| {
        left = left.saturating_sub(1);
        asked |= left == 0;
        if left == 0 { bad } else { 1.0 }
    });
    // A visit may have too few codes to be asked for the bad one.
    assert_eq!(refused.is_err(), asked, "case {case}: {bad} passed for a probability");
    if asked {
        assert_eq!(other.record(), writer.record(), "case {case}: a refused visit was kept");
        *writer = other;
    }
}

fn proposal(world: &World, visit: usize, choices: &mut Choices) -> Vec<Code> {
    let vocabulary = world.rules.vocabulary();
    let density = choices.below(101) as f64 / 100.0;
    let kind = Kind::of_visit(visit);
    vocabulary
        .codes()
        .filter(|&code| vocabulary.kind(code) == kind)
        .filter(|_| choices.probability(density))
        .collect()
}
