//! What a search for rules of the paper's kinds finds in a simulated cohort: the planted rules and
//! what follows from them, and nothing by accident.

use std::collections::BTreeSet;

use super::search::{Found, search};
use consequence_record::Code;
use consequence_rules::{Formula, RuleSet};
use consequence_simulate::{Preset, RuleKind, Simulation};

/// In much smaller cohorts a lifelong code has so few patients that a whole group can be missing.
const PATIENTS: usize = 10_000;

/// What the truth says of the same kinds, with what follows within a visit.
fn expected(simulation: &Simulation) -> BTreeSet<Found> {
    let truth = simulation.truth();
    let pairs = pairs(&truth.rules);
    let mut expected: BTreeSet<Found> =
        pairs.iter().map(|&(code, other)| Found::Together(code, other)).collect();
    for (rule, planted) in truth.rules.iter().zip(&truth.planted) {
        let mut earlier = None;
        rule.formula().for_each_code(&mut |code, window| {
            if window.is_some() {
                earlier = Some(code);
            }
        });
        let Some(earlier) = earlier else { continue };
        let bound = pairs.iter().filter(|(_, other)| *other == planted.code).map(|(code, _)| *code);
        for code in bound.chain([planted.code]) {
            match planted.kind {
                RuleKind::NeverInGroup => expected.insert(Found::NeverInGroup(earlier, code)),
                RuleKind::OnlyAfter => expected.insert(Found::OnlyAfter(earlier, code)),
                _ => false,
            };
        }
        if planted.kind == RuleKind::Lifelong {
            expected.insert(Found::Lifelong(planted.code));
        }
    }
    expected
}

/// Every code that implies another in the same visit.
fn pairs(rules: &RuleSet) -> Vec<(Code, Code)> {
    let mut pairs = Vec::new();
    for rule in rules.iter() {
        match &*rule.formula() {
            Formula::Implies(left, right) => {
                if let (Formula::Now(code), Formula::Now(other)) = (&**left, &**right) {
                    pairs.push((*code, *other));
                }
            }
            Formula::Iff(left, right) => {
                if let (Formula::Now(code), Formula::Now(other)) = (&**left, &**right) {
                    pairs.extend([(*code, *other), (*other, *code)]);
                }
            }
            _ => {}
        }
    }
    pairs
}

#[test]
fn a_search_finds_the_planted_rules_and_no_others() {
    for preset in Preset::ALL {
        let (mut found_count, mut accident_count) = (0, 0);
        let mut missing_kinds: BTreeSet<_> = RuleKind::ALL
            .into_iter()
            .filter(|kind| kind.cut_off(preset).is_some())
            .map(RuleKind::sentence)
            .collect();
        for seed in 100..103 {
            let simulation = Simulation::new(preset, PATIENTS, seed);
            let vocabulary = simulation.vocabulary();
            let expected = expected(&simulation);
            for found in search(&simulation.cohort(), vocabulary, preset) {
                found_count += 1;
                missing_kinds.remove(found.kind().sentence());
                if !expected.contains(&found) {
                    accident_count += 1;
                    println!("{preset}, seed {seed}: {}", found.text(vocabulary));
                }
            }
        }
        println!("{preset}: {found_count} rules found, {accident_count} of them by accident");
        assert!(missing_kinds.is_empty(), "{preset} shows no rule of: {missing_kinds:?}");
        assert!(accident_count * 50 <= found_count, "{preset}: {accident_count} of {found_count}");
    }
}
