//! Random rule sets over vocabularies small enough to enumerate.

use std::sync::Arc;

use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Code, Kind, Record, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::{Formula, Rule, RuleSet, Says, Window};

use crate::every;

/// A stream of random choices.
#[derive(Debug)]
pub struct Choices {
    draws: VisitDraws,
    next: u32,
}

impl Choices {
    /// The choices of one numbered case.
    pub fn new(seed: u64, case: u64) -> Self {
        Self { draws: Draws::new(seed).visit(case, 0, 0, Purpose::Simulation), next: 0 }
    }

    /// True with the given probability.
    pub fn probability(&mut self, probability: f64) -> bool {
        self.next += 1;
        self.draws.below(self.next, probability)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.next += 1;
        (self.draws.uniform(self.next) * count as f64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// One of the items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// A vocabulary, rules over it, and how long records may be.
#[derive(Debug)]
pub struct World {
    /// The rules with their vocabulary.
    pub rules: Arc<RuleSet>,
    /// The most encounters of a record.
    pub max_visits: u16,
}

/// The size of random worlds.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Codes besides `END`.
    pub codes: usize,
    /// Encounters.
    pub visits: usize,
    /// Rules.
    pub rules: usize,
}

impl World {
    /// A random world of at most the given size. Cycles, conflicts, and every kind of window come up.
    pub fn random(size: Size, choices: &mut Choices) -> Self {
        let codes = choices.between(2, size.codes);
        let statics = choices.below(codes.min(3));
        let names = (0..codes).map(|code| {
            let kind = if code < statics { Kind::Static } else { Kind::Encounter };
            (format!("c{code}"), kind)
        });
        let vocabulary = Arc::new(Vocabulary::new(names).expect("the names differ"));
        let max_visits = choices.between(1, size.visits) as u16;
        let soft = if choices.probability(0.15) { 0.3 } else { 0.0 };
        let mut maker =
            Maker { choices, vocabulary: &vocabulary, statics, codes, max_visits, soft };
        let count = maker.choices.between(1, size.rules);
        let rules = (0..count).map(|index| maker.rule(index)).collect();
        Self {
            rules: Arc::new(
                RuleSet::new(vocabulary, rules).expect("the codes are of the vocabulary"),
            ),
            max_visits,
        }
    }

    /// Calls `found` with every record that breaks no rule, until it answers false.
    pub fn for_each_valid(&self, found: &mut dyn FnMut(&Record) -> bool) -> bool {
        let referee = Referee::new(&self.rules);
        let mut record = Record { visits: Vec::new(), ended: false };
        self.extend(&referee, &mut record, found)
    }

    fn extend(
        &self,
        referee: &Referee,
        record: &mut Record,
        found: &mut dyn FnMut(&Record) -> bool,
    ) -> bool {
        let visit = record.visits.len();
        for codes in self.visits(visit) {
            record.visits.push(codes);
            for ended in [true, false] {
                if ended && visit == 0 {
                    continue;
                }
                record.ended = ended;
                let holds = (0..self.rules.len()).all(|rule| {
                    !self.rules[rule].is_hard()
                        || !referee.required(rule, visit)
                        || referee.holds(rule, record, visit)
                });
                if holds {
                    let go_on = match ended {
                        true => found(record),
                        false if visit < usize::from(self.max_visits) => {
                            self.extend(referee, record, found)
                        }
                        false => true,
                    };
                    if !go_on {
                        record.visits.pop();
                        return false;
                    }
                }
            }
            record.ended = false;
            record.visits.pop();
        }
        true
    }

    /// Random records of the vocabulary, sparse and dense, ended and cut.
    pub fn random_records(&self, count: usize, choices: &mut Choices) -> Vec<Record> {
        let vocabulary = self.rules.vocabulary();
        let mut records = Vec::with_capacity(count);
        for _ in 0..count {
            let encounters = choices.between(1, self.max_visits.into());
            let density = choices.pick(&[0.1, 0.3, 0.5, 0.8]);
            let visits = (0..=encounters).map(|visit| {
                let codes = vocabulary.codes().filter(|&code| {
                    code != vocabulary.end() && vocabulary.kind(code) == Kind::of_visit(visit)
                });
                codes.filter(|_| choices.probability(density)).collect()
            });
            let record = Record::new(visits.collect());
            records.push(if choices.probability(0.8) { record } else { record.cut() });
        }
        records
    }

    /// Every set of codes that a visit could hold.
    pub fn visits(&self, visit: usize) -> impl Iterator<Item = Vec<Code>> + use<> {
        every::visits(self.rules.vocabulary(), visit)
    }
}

struct Maker<'a> {
    choices: &'a mut Choices,
    vocabulary: &'a Vocabulary,
    statics: usize,
    codes: usize,
    max_visits: u16,
    soft: f64,
}

impl Maker<'_> {
    fn rule(&mut self, index: usize) -> Rule {
        if self.choices.probability(self.soft) {
            let count = self.choices.below(3);
            let antecedent = (0..count).map(|_| self.literal(0.4)).collect();
            let formula = Formula::And(antecedent).implies(self.literal(0.0));
            let says = Says::soft(formula, self.choices.pick(&[0.1, 0.5, 0.9]));
            return Rule::new(format!("r{index}"), says.expect("it concludes a literal"));
        }
        let formula = match self.choices.below(10) {
            0 => self.formula(3),
            1 => {
                let (one, other) = (self.formula(1), self.formula(1));
                Formula::Iff(one.into(), other.into())
            }
            2 => {
                let count = self.choices.between(2, 4);
                let parts = (0..count).map(|_| self.literal(0.1)).collect();
                if self.choices.probability(0.5) {
                    Formula::AtMostOne(parts)
                } else {
                    Formula::ExactlyOne(parts)
                }
            }
            3 => self.literal(0.1).implies(self.formula(2)),
            _ => {
                let count = self.choices.below(4);
                let antecedent = (0..count).map(|_| self.literal(0.6)).collect();
                Formula::And(antecedent).implies(self.literal(0.05))
            }
        };
        Rule::hard(format!("r{index}"), formula)
    }

    fn formula(&mut self, depth: usize) -> Formula {
        if depth == 0 || self.choices.probability(0.3) {
            return self.literal(0.4);
        }
        let parts = |maker: &mut Self| -> Vec<Formula> {
            let count = maker.choices.between(1, 3);
            (0..count).map(|_| maker.formula(depth - 1)).collect()
        };
        match self.choices.below(6) {
            0 => Formula::And(parts(self)),
            1 => Formula::Or(parts(self)),
            2 => self.formula(depth - 1).not(),
            3 => Formula::AtMostOne(parts(self)),
            4 => self.formula(depth - 1).implies(self.formula(depth - 1)),
            _ => Formula::Or(parts(self)),
        }
    }

    fn literal(&mut self, past: f64) -> Formula {
        let code = if self.choices.probability(0.12) {
            self.vocabulary.end()
        } else {
            Code(self.choices.below(self.codes) as u32)
        };
        let atom = if self.choices.probability(past) {
            // A static code is mostly asked for where it can be.
            if code.index() < self.statics && self.choices.probability(0.6) {
                Formula::In(code, Window::static_visit())
            } else {
                Formula::In(code, self.window())
            }
        } else {
            Formula::Now(code)
        };
        if self.choices.probability(0.4) { atom.not() } else { atom }
    }

    fn window(&mut self) -> Window {
        let most = usize::from(self.max_visits) + 1;
        match self.choices.below(8) {
            0 | 1 => Window::previous(),
            2 | 3 => Window::past(),
            4 => Window::at([self.choices.below(most) as u16]),
            5 => Window::ago([self.choices.between(1, most) as u16]),
            6 => Window::last(self.choices.between(1, most) as u16),
            _ => {
                let at: Vec<u16> =
                    (0..self.choices.below(3)).map(|_| self.choices.below(most) as u16).collect();
                let ago: Vec<u16> = (0..self.choices.between(1, 2))
                    .map(|_| self.choices.between(1, most) as u16)
                    .collect();
                Window::set(at, ago)
            }
        }
    }
}
