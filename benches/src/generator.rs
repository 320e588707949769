//! Large rule sets made from a seed, satisfiable by construction.
//!
//! Half of the rules exclude codes by demographics, a quarter are a hierarchy, an eighth speak of
//! the previous visit, an eighth combine the past with the current visit. A tenth of all literals
//! are flipped. Which codes a rule takes depends on its flips, so that the rules stay like those of
//! real tables, where consequences do not pile up; and every rule holds in every planted record.

use std::sync::Arc;

use consequence_record::{Code, Record};
use consequence_referee::Referee;
use consequence_rules::{Formula, Origin, Rule, RuleSet, Strength, Window};
use consequence_studies::worlds::Choices;
use rustc_hash::FxHashSet;

use crate::planted::Classes;
use crate::popularity::Popularity;

const BATCH: usize = 20_000;
const FLIPPED: f64 = 0.1;
/// One demographic exclusion in this many is about a chapter, and so about all codes under it.
const CHAPTER_EXCLUSIONS: usize = 1_000;

/// The size of a generated rule set.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Codes, `END` not counted.
    pub codes: usize,
    /// How many of them are static.
    pub statics: usize,
    /// Rules.
    pub rules: usize,
}

/// A rule set and the records that obey it by construction.
#[derive(Debug)]
pub struct Generated {
    /// The classes its rules were made over.
    pub classes: Classes,
    /// The rules.
    pub rules: Arc<RuleSet>,
    /// Records that break none of them.
    pub planted: Vec<Record>,
}

/// Generates rules until there are enough that hold in every planted record.
///
/// # Panics
/// If the vocabulary is too small for that many different rules.
pub fn generate(shape: Shape, seed: u64) -> Generated {
    let classes = Classes::new(shape.codes, shape.statics);
    let planted = classes.planted(seed);
    let mut maker = Maker::new(&classes, seed);
    let mut seen: FxHashSet<Formula> = FxHashSet::default();
    let mut rules: Vec<Rule> = Vec::with_capacity(shape.rules);
    let mut fruitless = 0;
    while rules.len() < shape.rules {
        let candidates: Vec<Rule> = (0..BATCH.min(2 * (shape.rules - rules.len()) + 100))
            .map(|_| maker.formula())
            .filter(|formula| seen.insert(formula.clone()))
            .map(|formula| rule(formula, 0))
            .collect();
        let set = RuleSet { vocabulary: Arc::clone(&classes.vocabulary), rules: candidates };
        let referee = Referee::new(&set);
        let before = rules.len();
        for (index, candidate) in set.rules.into_iter().enumerate() {
            if rules.len() < shape.rules && holds(&referee, index, &planted) {
                rules.push(rule(candidate.formula, rules.len()));
            }
        }
        fruitless = if rules.len() == before { fruitless + 1 } else { 0 };
        assert!(fruitless < 20, "no more rules over {} codes: {}", shape.codes, rules.len());
    }
    let rules = Arc::new(RuleSet { vocabulary: Arc::clone(&classes.vocabulary), rules });
    Generated { classes, rules, planted }
}

fn rule(formula: Formula, index: usize) -> Rule {
    Rule {
        name: format!("g{index}").into(),
        formula,
        strength: Strength::Hard,
        origin: Origin {
            file: "generated".into(),
            line: index as u32 + 1,
            text: format!("generated rule {index}").into(),
        },
    }
}

fn holds(referee: &Referee, rule: usize, planted: &[Record]) -> bool {
    planted.iter().all(|record| {
        (0..record.visits.len())
            .all(|visit| !referee.required(rule, visit) || referee.holds(rule, record, visit))
    })
}

struct Maker<'a> {
    classes: &'a Classes,
    choices: Choices,
    statics: Popularity,
    leaves: Popularity,
    chapters: Popularity,
    persistent: FxHashSet<Code>,
}

impl<'a> Maker<'a> {
    fn new(classes: &'a Classes, seed: u64) -> Self {
        Self {
            classes,
            choices: Choices::new(seed, 0),
            statics: Popularity::rising(classes.statics.clone()),
            leaves: Popularity::rising(classes.leaves.clone()),
            chapters: Popularity::zipf(classes.chapters.clone()),
            persistent: FxHashSet::default(),
        }
    }

    fn formula(&mut self) -> Formula {
        match self.choices.below(8) {
            0..4 => self.exclusion(),
            4..6 => self.hierarchy(),
            6 => self.persistence(),
            _ => self.combination(),
        }
    }

    fn flip(&mut self) -> bool {
        self.choices.chance(FLIPPED)
    }

    /// `D in static => not X`.
    fn exclusion(&mut self) -> Formula {
        let group = self.statics.pick(&mut self.choices);
        let (otherwise, demands) = (self.flip(), self.flip());
        let code = match (otherwise, demands) {
            (false, false) if self.choices.below(CHAPTER_EXCLUSIONS) == 0 => self.chapter(),
            (false, false) => self.leaf(),
            // Only for this group: such codes stay rare, and nothing asks for them.
            (true, false) => self.choices.pick(&self.classes.restricted),
            (false, true) => self.chapter(),
            (true, true) => self.choices.pick(&self.classes.universal),
        };
        let group = Formula::In(group, Window::static_visit());
        signed(group, otherwise).implies(signed(Formula::Now(code), !demands))
    }

    /// `child => parent`.
    fn hierarchy(&mut self) -> Formula {
        let (absent, bars) = (self.flip(), self.flip());
        let child = self.leaf();
        match (absent, bars) {
            (false, false) => Formula::Now(child).implies(Formula::Now(self.chapter())),
            (false, true) => {
                let other = self.later_leaf(child);
                Formula::Now(child).implies(Formula::Now(other).not())
            }
            (true, false) => {
                let always = self.choices.pick(&self.classes.universal);
                Formula::Now(child).not().implies(Formula::Now(always))
            }
            // The hierarchy told from above: without the chapter, none of its codes.
            (true, true) => Formula::Now(self.chapter()).not().implies(Formula::Now(child).not()),
        }
    }

    /// `X in previous => X`; once every chronic code has its rule, `X in previous => chapter`.
    fn persistence(&mut self) -> Formula {
        let (absent, bars) = (self.flip(), self.flip());
        let before = |code| Formula::In(code, Window::previous());
        match (absent, bars) {
            (false, false) => {
                let chronic = self.choices.pick(&self.classes.chronic);
                if self.persistent.insert(chronic) {
                    return before(chronic).implies(Formula::Now(chronic));
                }
                before(self.leaf()).implies(Formula::Now(self.chapter()))
            }
            (false, true) => before(self.leaf()).implies(Formula::Now(self.leaf()).not()),
            (true, false) => {
                let always = self.choices.pick(&self.classes.universal);
                before(self.leaf()).not().implies(Formula::Now(always))
            }
            (true, true) => {
                let rare = self.choices.pick(&self.classes.restricted);
                before(self.leaf()).not().implies(Formula::Now(rare).not())
            }
        }
    }

    /// `A in past and B => C`.
    fn combination(&mut self) -> Formula {
        let (unseen, absent, bars) = (self.flip(), self.flip(), self.flip());
        let (earlier, now) = (self.leaf(), self.leaf());
        let output = match (absent, bars) {
            (false, false) => self.chapter(),
            (false, true) => self.later_leaf(now),
            (true, false) => self.choices.pick(&self.classes.universal),
            (true, true) => self.choices.pick(&self.classes.restricted),
        };
        let earlier = signed(Formula::In(earlier, Window::past()), unseen);
        let antecedent = Formula::And(vec![earlier, signed(Formula::Now(now), absent)]);
        antecedent.implies(signed(Formula::Now(output), bars))
    }

    fn leaf(&mut self) -> Code {
        self.leaves.pick(&mut self.choices)
    }

    /// A leaf that comes after another, so that leaves that bar leaves make no circles.
    fn later_leaf(&mut self, than: Code) -> Code {
        let last = self.classes.leaves[self.classes.leaves.len() - 1];
        match (last.0 - than.0) as usize {
            0 => self.choices.pick(&self.classes.restricted),
            after => Code(than.0 + 1 + self.choices.below(after) as u32),
        }
    }

    fn chapter(&mut self) -> Code {
        self.chapters.pick(&mut self.choices)
    }
}

fn signed(formula: Formula, negated: bool) -> Formula {
    if negated { formula.not() } else { formula }
}
