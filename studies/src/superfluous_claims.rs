//! Every claim that a rule could be left out, against every record of small worlds.

use std::sync::Arc;

use consequence_record::Record;
use consequence_referee::Referee;
use consequence_rules::{
    AnalysisLimits, CompileLimits, Formula, RuleSet, Says, Why, WrittenRules, superfluous,
};

use consequence_testing::worlds::{Choices, Size, World};

/// What was claimed, each claim confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Rule sets tried.
    pub sets: u64,
    /// Rules that hold of every visit.
    pub always_true: u64,
    /// Rules whose antecedent never holds.
    pub never_fire: u64,
    /// Rules that follow from others.
    pub implied: u64,
}

impl std::ops::AddAssign for Claims {
    fn add_assign(&mut self, other: Self) {
        self.sets += other.sets;
        self.always_true += other.always_true;
        self.never_fire += other.never_fire;
        self.implied += other.implied;
    }
}

/// Checks the claims about one random world. Panics at the first that some record refutes.
pub fn confirm(size: Size, seed: u64, case: u64) -> Claims {
    let world = World::random(size, &mut Choices::new(seed, case));
    let written = WrittenRules::new(Arc::clone(&world.rules), &CompileLimits::default())
        .expect("small rules fit");
    let all = AnalysisLimits::default();
    // As for rule sets too large to compare each rule with all others.
    let repeated_only = AnalysisLimits { compared_rules: 0, ..all };
    let mut claims = Claims { sets: 1, ..Claims::default() };
    for limits in [all, repeated_only] {
        for found in superfluous(&written, &limits).0 {
            let hard = |&other: &usize| world.rules[other].is_hard() && other != found.rule;
            let others: Vec<usize> = (0..world.rules.len()).filter(hard).collect();
            let (given, refuted_by_firing) = match &found.why {
                Why::AlwaysTrue => (Vec::new(), false),
                Why::NeverFires => (others, true),
                Why::Implied(by) => (by.clone(), false),
            };
            assert!(!given.contains(&found.rule), "case {case}: {found:?} rests on itself");
            if let Some(record) = refuted(&world, found.rule, &given, refuted_by_firing) {
                panic!("case {case}: {found:?} is refuted by {record:?}: {:?}", world.rules);
            }
            match found.why {
                Why::AlwaysTrue => claims.always_true += 1,
                Why::NeverFires => claims.never_fire += 1,
                Why::Implied(_) => claims.implied += 1,
            }
        }
    }
    claims
}

/// A record, ended or cut, that obeys the given rules and breaks the rule, or has it fire.
fn refuted(world: &World, rule: usize, given: &[usize], by_firing: bool) -> Option<Record> {
    let mut asked = world.rules[rule].clone();
    if let (true, Says::Hard(Formula::Implies(antecedent, _))) = (by_firing, asked.says.clone()) {
        asked.says = Says::Hard(antecedent.not());
    }
    let asked = RuleSet::new(Arc::clone(world.rules.vocabulary()), vec![asked])
        .expect("the codes are of the vocabulary");
    let search = Search {
        world,
        referee: Referee::new(&world.rules),
        asked: Referee::new(&asked),
        rule,
        given,
    };
    search.extend(&mut Record { visits: Vec::new(), ended: false })
}

struct Search<'a> {
    world: &'a World,
    referee: Referee,
    /// Knows one rule: what a claim says of every visit.
    asked: Referee,
    /// The rule that the claim is about; it says where the claim counts.
    rule: usize,
    given: &'a [usize],
}

impl Search<'_> {
    fn extend(&self, record: &mut Record) -> Option<Record> {
        let visit = record.visits.len();
        for codes in self.world.visits(visit) {
            record.visits.push(codes);
            for ended in [false, true] {
                if ended && visit == 0 {
                    continue;
                }
                record.ended = ended;
                let obeyed = self.given.iter().all(|&rule| {
                    !self.referee.required(rule, visit) || self.referee.holds(rule, record, visit)
                });
                if !obeyed {
                    continue;
                }
                if self.referee.required(self.rule, visit) && !self.asked.holds(0, record, visit) {
                    return Some(record.clone());
                }
                if !ended
                    && visit < usize::from(self.world.max_visits)
                    && let Some(found) = self.extend(record)
                {
                    return Some(found);
                }
                record.ended = false;
            }
            record.ended = false;
            record.visits.pop();
        }
        None
    }
}
