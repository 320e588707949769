//! A choice that a rule leaves: which of several codes to put in.

use std::collections::HashSet;

use consequence_record::{Code, Record};
use consequence_rules::{Order, Plan};

/// A code that a clause asks for, where several would do.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The clause of the plan, by its number.
    pub clause: u32,
    /// The positions of codes that would do, but for those that were found to be forbidden.
    pub left: &'a [u32],
    /// How many were found to be forbidden.
    pub forbidden: usize,
    /// The record up to the visit at hand.
    pub record: &'a Record,
}

impl Choice<'_> {
    /// Chooses one that the patient had before, at the latest visit that has any, else one of all that
    /// are left; of several by their weights and a uniform draw.
    pub fn pick(&self, order: &Order, weight: impl Fn(u32) -> f64, draw: f64) -> Option<u32> {
        let had = |visit: &Vec<Code>| -> Vec<u32> {
            let there = |position: &&u32| visit.binary_search(&order.code(**position)).is_ok();
            self.left.iter().filter(there).copied().collect()
        };
        let earlier = self.record.visits.iter().rev().map(had).find(|codes| !codes.is_empty());
        let candidates = earlier.as_deref().unwrap_or(self.left);
        let mut weights: Vec<f64> = candidates.iter().map(|&position| weight(position)).collect();
        if weights.iter().all(|&weight| weight == 0.0) {
            weights.fill(1.0);
        }
        let mut rest = draw * weights.iter().sum::<f64>();
        let mut weighed = candidates.iter().zip(&weights);
        let chosen = weighed.find(|&(_, weight)| {
            rest -= weight;
            rest < 0.0
        });
        chosen.map(|(&position, _)| position).or(candidates.last().copied())
    }

    /// What the draw of a choice is keyed by: the rule, and how many codes were found to be forbidden.
    pub fn key(&self, plan: &Plan) -> u32 {
        let rule = plan.clause(self.clause).rules.first().copied().unwrap_or_default();
        // No set of rules comes near this number of them.
        rule.wrapping_add((self.forbidden as u32).wrapping_mul(1 << 20))
    }
}

/// The codes that a clause asks for, any one of them: positions in the plan's order. Only codes that
/// its rules conclude: `not A => B` asks for `B`. `END` is none.
pub(crate) fn alternatives(plan: &Plan, clause: u32) -> Vec<u32> {
    let clause = plan.clause(clause);
    let concluded = clause.rules.iter().flat_map(|&rule| plan.rule(rule).outputs());
    let concluded: HashSet<Code> = concluded.collect();
    let (order, end) = (plan.order(), plan.order().end());
    let asked = clause.literals.iter().filter(|literal| literal.present());
    let asked = asked.filter_map(|literal| literal.position());
    asked.filter(|&at| at != end && concluded.contains(&order.code(at))).collect()
}
