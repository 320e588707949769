//! The judge: rules, where each is required, and what a record makes of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::{AgeBand, Code, Kind, Vocabulary};
use consequence_rules::{Formula, Rule, RuleSet, Says};

use crate::docket::Docket;
use crate::truth::{Moment, defects};
use crate::{Defect, Visits};

/// A hard rule that is false at a visit it is required of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The rule, by its index in the rule set.
    pub rule: usize,
    /// The visit, 0 for the static visit.
    pub visit: usize,
}

/// Judges records by the rules of one set.
#[derive(Clone, Debug)]
pub struct Referee {
    vocabulary: Arc<Vocabulary>,
    cases: Vec<Case>,
    /// The hard rules.
    docket: Docket,
    /// The bands of static codes of age.
    ages: BTreeMap<Code, AgeBand>,
}

/// A rule and where it is required.
#[derive(Clone, Debug)]
struct Case {
    formula: Formula,
    of_static: bool,
    of_encounters: bool,
}

impl Referee {
    /// A referee for these rules.
    pub fn new(rules: &RuleSet) -> Self {
        let vocabulary = Arc::clone(rules.vocabulary());
        let cases = rules.iter().map(|rule| Case::new(&vocabulary, rule)).collect();
        let hard = rules.iter().enumerate().filter_map(|(number, rule)| match &rule.says {
            Says::Hard(formula) => Some((number, formula)),
            Says::Soft { .. } => None,
        });
        let docket = Docket::new(&vocabulary, hard);
        let ages = AgeBand::of_statics(&vocabulary);
        Self { vocabulary, cases, docket, ages }
    }

    /// The number of rules, soft ones included.
    pub fn rule_count(&self) -> usize {
        self.cases.len()
    }

    /// Whether a rule's formula is true at a visit, hard or soft, required there or not. A visit
    /// that the record does not have is read as an empty one.
    ///
    /// # Panics
    /// If there is no such rule.
    pub fn holds<V: Visits + ?Sized>(&self, rule: usize, record: &V, visit: usize) -> bool {
        let Self { vocabulary, ages, .. } = self;
        let moment = Moment { vocabulary, ages, record, now: visit };
        moment.satisfies(&self.cases[rule].formula)
    }

    /// Whether a rule is required of a visit: where its output codes live.
    ///
    /// # Panics
    /// If there is no such rule.
    pub fn required(&self, rule: usize, visit: usize) -> bool {
        let case = &self.cases[rule];
        if visit == 0 { case.of_static } else { case.of_encounters }
    }

    /// Whether a rule's formula is true at any visit of the record that it speaks of.
    ///
    /// ```
    /// use consequence_record::Record;
    /// use consequence_referee::Referee;
    /// use consequence_rules::RuleSet;
    ///
    /// let rules = RuleSet::parse("rule again: A in past and A", None)?;
    /// let a = rules.vocabulary().code("A").unwrap();
    /// let referee = Referee::new(&rules);
    /// assert!(referee.ever(0, &Record::new(vec![vec![], vec![a], vec![], vec![a]])));
    /// assert!(!referee.ever(0, &Record::new(vec![vec![], vec![a], vec![]])));
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such rule.
    pub fn ever<V: Visits + ?Sized>(&self, rule: usize, record: &V) -> bool {
        (0..record.visit_count())
            .any(|visit| self.required(rule, visit) && self.holds(rule, record, visit))
    }

    /// Every hard rule at every visit that it is required of and false at, visit by visit.
    pub fn violations<V: Visits + ?Sized>(&self, record: &V) -> Vec<Violation> {
        let mut found = Vec::new();
        self.docket.call(&self.vocabulary, record, |visit, rule| {
            if self.required(rule, visit) && !self.holds(rule, record, visit) {
                found.push(Violation { rule, visit });
            }
        });
        found.sort_unstable_by_key(|violation: &Violation| (violation.visit, violation.rule));
        found.dedup();
        found
    }

    /// What makes these visits no record at all, whatever the rules say.
    pub fn defects<V: Visits + ?Sized>(&self, record: &V) -> Vec<Defect> {
        defects(&self.vocabulary, record)
    }

    /// Whether the record has no defect and violates no hard rule.
    pub fn is_valid<V: Visits + ?Sized>(&self, record: &V) -> bool {
        self.defects(record).is_empty() && self.violations(record).is_empty()
    }
}

impl Case {
    fn new(vocabulary: &Vocabulary, rule: &Rule) -> Self {
        let formula = rule.formula().into_owned();
        let mut outputs = Vec::new();
        if let Formula::Implies(_, consequent) = &formula {
            named_now(consequent, &mut outputs);
        }
        if outputs.is_empty() {
            named_now(&formula, &mut outputs);
        }
        let any_of = |kind: Kind| outputs.iter().any(|&code| vocabulary.kind(code) == kind);
        let of_static = any_of(Kind::Static);
        // A rule that names no code now speaks of encounters.
        let of_encounters = any_of(Kind::Encounter) || !of_static;
        match rule.visits {
            Some(said) => {
                Self { formula, of_static: said.static_visit, of_encounters: said.encounters }
            }
            None => Self { formula, of_static, of_encounters },
        }
    }
}

/// Adds the codes a formula names in the current visit.
fn named_now(formula: &Formula, codes: &mut Vec<Code>) {
    match formula {
        Formula::Now(code) => codes.push(*code),
        Formula::Constant(_) | Formula::In(..) | Formula::Fact(_) => {}
        Formula::Not(inner) => named_now(inner, codes),
        Formula::Implies(left, right) | Formula::Iff(left, right) => {
            named_now(left, codes);
            named_now(right, codes);
        }
        Formula::And(parts)
        | Formula::Or(parts)
        | Formula::AtMostOne(parts)
        | Formula::ExactlyOne(parts) => parts.iter().for_each(|part| named_now(part, codes)),
    }
}
