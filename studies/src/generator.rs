//! Large rule sets made from a seed, satisfiable by construction.
//!
//! Half of the rules exclude codes by demographics, a quarter are a hierarchy, an eighth speak of
//! the previous visit, an eighth combine the past with the current visit. A tenth of all literals
//! are flipped. Which codes a rule takes depends on its flips, so that the rules stay like those of
//! real tables, where consequences do not pile up; and every rule holds in every planted record.

use std::sync::Arc;

use consequence_record::{Code, Record};
use consequence_referee::Referee;
use consequence_rules::{Formula, Origin, Rule, RuleSet, Says, Window};
use consequence_testing::worlds::Choices;
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
        let set = RuleSet::new(Arc::clone(&classes.vocabulary), candidates)
            .expect("the codes are of the vocabulary");
        let referee = Referee::new(&set);
        let before = rules.len();
        for (index, candidate) in set.iter().enumerate() {
            if rules.len() < shape.rules && holds(&referee, index, &planted) {
                rules.push(rule(candidate.formula().into_owned(), rules.len()));
            }
        }
        fruitless = if rules.len() == before { fruitless + 1 } else { 0 };
        assert!(fruitless < 20, "no more rules over {} codes: {}", shape.codes, rules.len());
    }
    let rules = Arc::new(
        RuleSet::new(Arc::clone(&classes.vocabulary), rules)
            .expect("the codes are of the vocabulary"),
    );
    Generated { classes, rules, planted }
}

fn rule(formula: Formula, index: usize) -> Rule {
    Rule {
        name: format!("g{index}").into(),
        says: Says::Hard(formula),
        visits: None,
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flips {
    None,
    Output,
    Both,
}

/// All codes but the most popular fifth.
fn rarer(codes: &[Code]) -> Vec<Code> {
    codes[codes.len() / 5..].to_vec()
}

struct Maker<'a> {
    classes: &'a Classes,
    choices: Choices,
    statics: Popularity,
    rare_statics: Popularity,
    leaves: Popularity,
    rare_leaves: Popularity,
    chapters: Popularity,
    chapters_above: Popularity,
    persistent: FxHashSet<Code>,
}

impl<'a> Maker<'a> {
    fn new(classes: &'a Classes, seed: u64) -> Self {
        let (above, below) = classes.chapters.split_at(classes.chapters.len() / 10);
        Self {
            classes,
            choices: Choices::new(seed, 0),
            statics: Popularity::rising(classes.statics.clone()),
            rare_statics: Popularity::rising(rarer(&classes.statics)),
            leaves: Popularity::rising(classes.leaves.clone()),
            rare_leaves: Popularity::rising(rarer(&classes.leaves)),
            chapters: Popularity::zipf(below.to_vec()),
            chapters_above: Popularity::even(above.to_vec()),
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

    /// Which side of an implication is flipped. An absence hardly ever asks for a code in real
    /// tables, so a flipped antecedent comes with an output that is to stay away.
    fn flips(&mut self) -> Flips {
        match self.choices.below(100) {
            0..7 => Flips::Both,
            7..13 => Flips::Output,
            _ => Flips::None,
        }
    }

    /// `D in static => not X`.
    fn exclusion(&mut self) -> Formula {
        let group = |code| Formula::In(code, Window::static_visit());
        match self.choices.below(10) {
            // Only for this group: such codes stay rare, and nothing asks for them.
            0 => {
                let only = self.choices.pick(&self.classes.restricted);
                group(self.statics.pick(&mut self.choices)).not().implies(Formula::Now(only).not())
            }
            1 => {
                let rare = self.rare_statics.pick(&mut self.choices);
                group(rare).implies(Formula::Now(self.chapter()))
            }
            _ => {
                let about_chapter = self.choices.below(CHAPTER_EXCLUSIONS) == 0;
                let code = if about_chapter { self.chapter() } else { self.leaf() };
                group(self.statics.pick(&mut self.choices)).implies(Formula::Now(code).not())
            }
        }
    }

    /// `child => parent`.
    fn hierarchy(&mut self) -> Formula {
        match self.flips() {
            Flips::None => Formula::Now(self.rare_leaf()).implies(Formula::Now(self.chapter())),
            Flips::Output => {
                let one = self.leaf();
                let other = self.later_leaf(one);
                Formula::Now(one).implies(Formula::Now(other).not())
            }
            // The hierarchy told from above: without the chapter, none of its codes. Chapters of
            // their own, since telling one hierarchy both ways would make a cycle of it.
            Flips::Both => {
                let child = self.rare_leaf();
                let above = self.chapters_above.pick(&mut self.choices);
                Formula::Now(above).not().implies(Formula::Now(child).not())
            }
        }
    }

    /// `X in previous => X`; once every chronic code has its rule, `X in previous => chapter`.
    fn persistence(&mut self) -> Formula {
        let before = |code| Formula::In(code, Window::previous());
        match self.flips() {
            Flips::None => {
                let chronic = self.choices.pick(&self.classes.chronic);
                if self.persistent.insert(chronic) {
                    return before(chronic).implies(Formula::Now(chronic));
                }
                before(self.rare_leaf()).implies(Formula::Now(self.chapter()))
            }
            Flips::Output => before(self.leaf()).implies(Formula::Now(self.leaf()).not()),
            Flips::Both => {
                let rare = self.choices.pick(&self.classes.restricted);
                before(self.leaf()).not().implies(Formula::Now(rare).not())
            }
        }
    }

    /// `A in past and B => C`.
    fn combination(&mut self) -> Formula {
        let unseen = self.choices.probability(FLIPPED);
        let (flips, earlier, now) = (self.flips(), self.leaf(), self.rare_leaf());
        let output = match flips {
            Flips::None => self.chapter(),
            Flips::Output => self.later_leaf(now),
            Flips::Both => self.choices.pick(&self.classes.restricted),
        };
        let earlier = signed(Formula::In(earlier, Window::past()), unseen);
        let now = signed(Formula::Now(now), flips == Flips::Both);
        let output = signed(Formula::Now(output), flips != Flips::None);
        Formula::And(vec![earlier, now]).implies(output)
    }

    /// A leaf that brings other codes with it: never one of the most popular.
    fn rare_leaf(&mut self) -> Code {
        self.rare_leaves.pick(&mut self.choices)
    }

    fn leaf(&mut self) -> Code {
        self.leaves.pick(&mut self.choices)
    }

    /// A leaf that comes after another, so that leaves that bar leaves make no cycles.
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
