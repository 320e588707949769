//! Rules without cycles or conflicts, in which it is known how many look at a code.
//!
//! The codes are of four classes: static, free, demanded, barred. No rule writes a free code, a
//! rule that writes a demanded code puts it on, one that writes a barred code keeps it off, and a
//! rule reads only codes of classes before the one it writes. So the paper's pass is safe on them,
//! nothing needs to be derived from them, and both ways of keeping them leave the same visits.
//!
//! Of eight rules four are `D in static => not X`, one is `A and B => K`, one `A in previous and
//! B => K`, one `A in past and B => not X` and one `not A in past => not X`. None demands a code
//! for good: visits would fill up as records grow, and a sweep over visits would be one over codes.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{Formula, Rule, RuleSet, Window};
use consequence_testing::worlds::Choices;

use crate::popularity::Popularity;
use crate::workload::Workload;

/// Draws of a rule that was there already, one after the other, before the family is full.
const PATIENCE: usize = 10_000;

/// The codes and the rules of a family.
///
/// The core is what visits are drawn from. The rest is in the vocabulary, and may have rules of its
/// own, but no record has a code of it.
///
/// ```
/// use consequence_benches::family::Family;
///
/// let family = Family { core_codes: 200, rest_codes: 300, core_rules: 80, rest_rules: 20 };
/// let workload = family.workload(7);
/// assert_eq!(workload.rules.len(), 100);
/// assert_eq!(workload.rules.vocabulary().len(), 501); // and `END`
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Codes of the core.
    pub core_codes: usize,
    /// All other codes, `END` not counted.
    pub rest_codes: usize,
    /// Rules over the core.
    pub core_rules: usize,
    /// Rules over the rest.
    pub rest_rules: usize,
}

impl Family {
    /// The rules, and visits of the core to keep them in.
    ///
    /// # Panics
    /// If there are too few codes for that many different rules.
    pub fn workload(self, seed: u64) -> Workload {
        // Static codes come first, since visit 0 is decided first.
        let (core_statics, rest_statics) = (self.core_codes / 10, self.rest_codes / 10);
        let statics = core_statics + rest_statics;
        let core_end = statics + self.core_codes - core_statics;
        let core = Classes::new(0..core_statics, statics..core_end);
        let rest = Classes::new(core_statics..statics, core_end..self.core_codes + self.rest_codes);
        let kinds = (0..self.core_codes + self.rest_codes).map(|code| {
            let kind = if code < statics { Kind::Static } else { Kind::Encounter };
            (format!("CODE//{code}"), kind)
        });
        let vocabulary = Arc::new(Vocabulary::new(kinds).expect("the names differ"));

        let mut formulas = core.formulas(self.core_rules, &mut Choices::new(seed, 0));
        formulas.extend(rest.formulas(self.rest_rules, &mut Choices::new(seed, 1)));
        let rules = formulas
            .into_iter()
            .enumerate()
            .map(|(index, formula)| Rule::hard(format!("f{index}"), formula));
        let rules =
            RuleSet::new(vocabulary, rules.collect()).expect("the codes are of the vocabulary");
        let codes = |numbers: Range<usize>| numbers.map(|code| Code(code as u32)).collect();
        Workload::new(
            Arc::new(rules),
            Popularity::even(codes(core.statics)),
            Popularity::even(codes(statics..core_end)),
        )
    }
}

/// Numbers of codes by what rules may do with them.
struct Classes {
    statics: Range<usize>,
    free: Range<usize>,
    demanded: Range<usize>,
    barred: Range<usize>,
}

impl Classes {
    fn new(statics: Range<usize>, encounters: Range<usize>) -> Self {
        let demanded = encounters.start + encounters.len() * 2 / 5;
        let barred = encounters.start + encounters.len() / 2;
        Self {
            statics,
            free: encounters.start..demanded,
            demanded: demanded..barred,
            barred: barred..encounters.end,
        }
    }

    fn formulas(&self, count: usize, choices: &mut Choices) -> Vec<Formula> {
        let mut seen = HashSet::new();
        let mut formulas = Vec::with_capacity(count);
        let mut repeated = 0;
        while formulas.len() < count {
            let formula = self.formula(formulas.len() % 8, choices);
            if seen.insert(formula.clone()) {
                formulas.push(formula);
                repeated = 0;
            } else {
                repeated += 1;
                assert!(repeated < PATIENCE, "too few codes for {count} rules");
            }
        }
        formulas
    }

    fn formula(&self, shape: usize, choices: &mut Choices) -> Formula {
        let mut pick = |range: &Range<usize>| {
            assert!(!range.is_empty(), "a class of codes is empty");
            Code((range.start + choices.below(range.len())) as u32)
        };
        let before_barred = self.free.start..self.demanded.end;
        let (then, now) = (Formula::In, Formula::Now);
        match shape {
            0..4 => then(pick(&self.statics), Window::static_visit())
                .implies(now(pick(&self.barred)).not()),
            4 => Formula::And(vec![now(pick(&self.free)), now(pick(&self.free))])
                .implies(now(pick(&self.demanded))),
            5 => Formula::And(vec![
                then(pick(&self.free), Window::previous()),
                now(pick(&self.free)),
            ])
            .implies(now(pick(&self.demanded))),
            6 => Formula::And(vec![
                then(pick(&self.free), Window::past()),
                now(pick(&before_barred)),
            ])
            .implies(now(pick(&self.barred)).not()),
            _ => {
                then(pick(&self.free), Window::past()).not().implies(now(pick(&self.barred)).not())
            }
        }
    }
}
