//! The paper's one ordered pass over the rules as they are listed: is it safe here?

use consequence_pipeline::words::number;
use consequence_record::{Code, Record};
use consequence_referee::Referee;
use consequence_rules::{OrderedPass, PassCounterexample, PassVerdict, RuleSet, WrittenRules};

use super::report::{NamedVisits, OnePass};
use crate::RuleReference;

/// Above so many rules or implications the question is not asked.
const MOST_RULES: usize = 5_000;
const MOST_IMPLICATIONS: usize = 20_000;

/// Encounters of the longest record searched for a counterexample.
const DEPTH: usize = 3;

/// Replays of the pass that making a counterexample smaller may take.
const MOST_REPLAYS: usize = 2_000;

pub(super) fn one_pass(written: &WrittenRules, max_visits: usize, max_literals: usize) -> OnePass {
    let set = &**written.rules();
    if set.len() > MOST_RULES {
        let reason = format!("there are more than {} rules", number(MOST_RULES as u64));
        return OnePass::NotExamined { reason };
    }
    let mut facts = false;
    for rule in set.iter() {
        rule.formula().for_each_fact(&mut |_| facts = true);
    }
    if facts {
        let reason = "it knows no days, counts, ages and values".into();
        return OnePass::NotExamined { reason };
    }
    let too_many = || {
        let most = number(MOST_IMPLICATIONS as u64);
        let reason = format!("the rules come down to more than {most} implications");
        OnePass::NotExamined { reason }
    };
    // A rule about both kinds of visits has each of its clauses twice.
    if written.clauses().len() > 2 * MOST_IMPLICATIONS {
        return too_many();
    }
    let Ok(pass) = OrderedPass::in_list_order(set, max_literals) else {
        return OnePass::NotExamined { reason: "a rule is too large".into() };
    };
    if pass.len() > MOST_IMPLICATIONS {
        return too_many();
    }
    match pass.verdict(set, max_visits, DEPTH) {
        PassVerdict::Safe => OnePass::Safe,
        PassVerdict::Unsafe(found) => OnePass::Unsafe {
            breaks: RuleReference::new(&set[found.rule]),
            proposed: NamedVisits::of_visits(set.vocabulary(), &smaller(set, &pass, found)),
        },
        PassVerdict::Unknown(encounters) => OnePass::Unknown { encounters },
    }
}

/// The proposed visits without the codes that the pass fails without, too: large runs of codes are
/// tried first, then smaller ones.
fn smaller(set: &RuleSet, pass: &OrderedPass, found: PassCounterexample) -> Vec<Vec<Code>> {
    let referee = Referee::new(set);
    let visits = found.proposed.len();
    let together = |kept: &[(usize, Code)]| -> Vec<Vec<Code>> {
        let mut proposed = vec![Vec::new(); visits];
        for &(visit, code) in kept {
            proposed[visit].push(code);
        }
        proposed
    };
    let fails = |kept: &[(usize, Code)]| {
        let mut record = Record { visits: Vec::new(), ended: false };
        for visit in together(kept) {
            // No visit follows the end.
            if record.ended {
                return false;
            }
            pass.apply(set.vocabulary(), &mut record, &visit);
        }
        !referee.holds(found.rule, &record, visits.saturating_sub(1))
    };
    let numbered = found.proposed.iter().enumerate();
    let mut kept: Vec<(usize, Code)> =
        numbered.flat_map(|(visit, codes)| codes.iter().map(move |&code| (visit, code))).collect();
    let mut run = kept.len();
    let mut replays = 0;
    while run > 0 {
        let mut start = 0;
        while start < kept.len() && replays < MOST_REPLAYS {
            let end = (start + run).min(kept.len());
            let without = [&kept[..start], &kept[end..]].concat();
            replays += 1;
            if fails(&without) {
                kept = without;
            } else {
                start = end;
            }
        }
        run /= 2;
    }
    together(&kept)
}
