//! The prover's verdict on one ordered pass of rules, against every input of small worlds.

use consequence_record::{Code, Record};
use consequence_referee::Referee;
use consequence_rules::{OrderedPass, PassVerdict};
use rustc_hash::FxHashSet;

use consequence_testing::worlds::{Choices, Size, World};

/// Compares the verdict on one random world with enumeration, and replays the counterexample.
/// Gives whether the pass was safe. Panics where the two differ.
pub fn compare(size: Size, seed: u64, case: u64) -> bool {
    let world = World::random(size, &mut Choices::new(seed, case));
    let pass = OrderedPass::in_list_order(&world.rules, 100_000).expect("small rules fit");
    let referee = Referee::new(&world.rules);
    let depth = usize::from(world.max_visits);
    let safe = match pass.verdict(&world.rules, depth, depth) {
        PassVerdict::Safe => true,
        PassVerdict::Unknown(_) => panic!("case {case}: every length was searched"),
        PassVerdict::Unsafe(found) => {
            let mut record = Record::default();
            for (visit, proposed) in found.proposed.iter().enumerate() {
                assert!(!record.ended, "case {case}: a visit after the end");
                pass.apply(world.rules.vocabulary(), &mut record, proposed);
                assert_eq!(record.visits.len(), visit + 1);
            }
            let last = record.visits.len() - 1;
            assert!(referee.required(found.rule, last), "case {case}");
            assert!(!referee.holds(found.rule, &record, last), "case {case}: it does not replay");
            false
        }
    };
    let mut search = Search { world: &world, pass: &pass, referee: &referee };
    assert_eq!(search.safe_from(&Record::default()), safe, "case {case}: enumeration disagrees");
    safe
}

struct Search<'a> {
    world: &'a World,
    pass: &'a OrderedPass,
    referee: &'a Referee,
}

impl Search<'_> {
    /// Whether no proposals from here on end in a violation.
    fn safe_from(&mut self, record: &Record) -> bool {
        let visit = record.visits.len();
        let end = self.world.rules.vocabulary().end();
        let mut outcomes: FxHashSet<(Vec<Code>, bool)> = FxHashSet::default();
        for codes in self.world.visits(visit) {
            for ended in [false, true] {
                let mut proposed = codes.clone();
                proposed.extend(ended.then_some(end));
                let mut next = record.clone();
                self.pass.apply(self.world.rules.vocabulary(), &mut next, &proposed);
                if !outcomes.insert((next.visits[visit].clone(), next.ended)) {
                    continue;
                }
                let broken = (0..self.world.rules.len()).any(|rule| {
                    self.world.rules[rule].is_hard()
                        && self.referee.required(rule, visit)
                        && !self.referee.holds(rule, &next, visit)
                });
                let goes_on = !next.ended && visit < usize::from(self.world.max_visits);
                if broken || (goes_on && !self.safe_from(&next)) {
                    return false;
                }
            }
        }
        true
    }
}
