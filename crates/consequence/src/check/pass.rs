//! The paper's one ordered pass over the rules as they are listed: is it safe here?

use consequence_rules::{Pass, PassVerdict, RuleSet};

use super::report::{NamedVisits, OnePass};
use crate::RuleReference;

/// Above so many rules the question is not asked.
const MOST_RULES: usize = 5_000;

/// Encounters of the longest record searched for a counterexample.
const DEPTH: usize = 3;

pub(super) fn one_pass(set: &RuleSet, max_visits: usize, max_literals: usize) -> OnePass {
    if set.rules.len() > MOST_RULES {
        let reason = format!("there are more than {MOST_RULES} rules");
        return OnePass::NotExamined { reason };
    }
    let Ok(pass) = Pass::in_list_order(set, max_literals) else {
        return OnePass::NotExamined { reason: "a rule is too large".into() };
    };
    match pass.verdict(set, max_visits, DEPTH) {
        PassVerdict::Safe => OnePass::Safe,
        PassVerdict::Unsafe(found) => OnePass::Unsafe {
            breaks: RuleReference::new(&set.rules[found.rule]),
            proposed: NamedVisits::of_visits(&set.vocabulary, &found.proposed),
        },
        PassVerdict::Unknown(encounters) => OnePass::Unknown { encounters },
    }
}
