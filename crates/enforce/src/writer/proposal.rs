//! How likely a code is, once the clauses that are due are looked ahead to.
//!
//! A clause that any of several codes may meet would otherwise be met by the last of them whenever the
//! model draws none: the rule would hold and the record be spoiled. So a code that may meet a due
//! clause is proposed with its probability *given that the clause is met*, codes after it taken to be
//! drawn apart from each other: `q = p / (p + (1 - p) a)`, where `a` is the probability that one of
//! those after it comes on. Several clauses multiply; a decision diagram gives both its branches their
//! weights. What is proposed changes, what is decided in the end stays with the rules.

use consequence_prng::VisitDraws;
use consequence_rules::{Branch, Diagram};

use super::{Ruling, Writer};

/// Tells what a model says of later codes of the visit: whether the code at hand is taken to be present,
/// positions after it, and room for the probability of each. All codes that are not decided are taken to
/// be absent.
pub type LookAhead<'a> = dyn FnMut(bool, &[u32], &mut [f64]) + 'a;

/// Diagrams with more nodes are not weighed: it would take longer than all else.
const WEIGHED: usize = 1 << 12;

/// What a [`Writer`] knows of clauses that are due in the visit at hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Whether anyone asks.
    pub looks_ahead: bool,
    due: Vec<Due>,
    /// Which of those a clause is, by its number; beyond them all if it is not due.
    slots: Vec<u32>,
    /// Clauses that the code at hand may meet.
    pub here: Vec<Here>,
    /// How many of the visit's standing clauses have been passed.
    pub passed: usize,
    /// For each code of a clause that is due, what it costs in nats that none after it comes on: of one
    /// clause after the other.
    misses: Vec<f64>,
    positions: Vec<u32>,
    probabilities: Vec<f64>,
    /// The weights of the diagram's branches, and how many codes had come on when they were weighed.
    weights: Vec<f64>,
    weighed: Option<usize>,
}

/// Stands for a clause that is not due.
const NOT_DUE: u32 = u32::MAX;

/// A clause that is due, or was until one of its codes came on: then no later one asks for it.
#[derive(Clone, Debug)]
struct Due {
    id: u32,
    /// Which of its codes is next.
    next: usize,
    /// Which number of present codes its misses were computed with, and where those of the code that
    /// was next then are.
    seen: Option<(usize, usize)>,
    from: usize,
    /// The segment of an outlook that it came to have last.
    segment: Option<usize>,
}

/// A clause that the code at hand may meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here {
    pub id: u32,
    /// Which of its codes that is.
    pub code: usize,
}

impl Pending {
    /// Begins a visit; so many clauses may become due.
    pub fn open(&mut self, looks_ahead: bool, clauses: usize) {
        self.looks_ahead = looks_ahead;
        self.slots.resize(clauses, NOT_DUE);
        for due in self.due.drain(..) {
            self.slots[due.id as usize] = NOT_DUE;
        }
        self.here.clear();
        self.misses.clear();
        (self.passed, self.weighed) = (0, None);
    }

    /// A clause speaks of the code at hand, perhaps for the first time: `is_due` tells whether it is
    /// due then.
    pub fn meet(&mut self, id: u32, is_due: impl FnOnce() -> bool) {
        let code = match self.due.get(self.slots[id as usize] as usize) {
            Some(due) => due.next,
            None if !is_due() => return,
            None => {
                self.slots[id as usize] = self.due.len() as u32;
                self.due.push(Due { id, next: 0, seen: None, from: 0, segment: None });
                0
            }
        };
        self.here.push(Here { id, code });
    }

    /// The segment of an outlook that a clause which is due came to have last.
    pub fn segment(&self, id: u32) -> Option<usize> {
        self.due.get(self.slots[id as usize] as usize)?.segment
    }

    /// Says which segment a clause that is due has now.
    pub fn set_segment(&mut self, id: u32, segment: usize) {
        if let Some(due) = self.due.get_mut(self.slots[id as usize] as usize) {
            due.segment = Some(segment);
        }
    }

    /// The code at hand is decided. `next` is told of every clause that is still to be met, and which
    /// of its codes is next.
    pub fn decided(&mut self, present: bool, mut next: impl FnMut(u32, usize)) {
        for Here { id, code } in self.here.drain(..) {
            let slot = self.slots[id as usize];
            if !present && let Some(due) = self.due.get_mut(slot as usize) {
                due.next = code + 1;
                next(id, due.next);
            }
        }
    }
}

impl<'a> Writer<'a> {
    /// Decides the code at a position: rules force it, or it is drawn with its [`Writer::proposal`].
    /// `codes` and `rules` are the draws of codes and of soft rules. Gives what was decided.
    #[inline]
    pub fn propose(
        &mut self,
        position: u32,
        probability: f64,
        (codes, rules): (&mut VisitDraws, &mut VisitDraws),
        ahead: &mut LookAhead<'_>,
    ) -> bool {
        let asked_for = self.next == position;
        // Where no rule asks for it, rules only make it less likely.
        if !asked_for && !codes.below(position, probability) {
            return false;
        }
        let ruling = match asked_for {
            true => self.ruling(position),
            false if self.barred(position).is_some() => Ruling::Forced(false),
            false => Ruling::Free,
        };
        let present = match ruling {
            Ruling::Forced(present) => present,
            Ruling::Soft { rule, probability } => {
                let mut draw = |probability: f64| rules.below(rule, probability);
                draw(self.weighed(position, probability, false, ahead))
                    && draw(self.weighed(position, probability, true, ahead))
            }
            Ruling::Free => {
                let mut draw = |probability: f64| codes.below(position, probability);
                // Tests only lower it: most codes are not drawn anyway.
                draw(self.weighed(position, probability, false, ahead))
                    && draw(self.weighed(position, probability, true, ahead))
            }
        };
        self.place(position, present);
        present
    }

    /// The probability that the code at a position is present: what the rules say, else what the model
    /// says, given that the clauses which are due are met. To be followed by [`Writer::place`].
    pub fn proposal(
        &mut self,
        position: u32,
        probability: f64,
        ahead: &mut LookAhead<'_>,
    ) -> Proposal {
        let ruling = self.ruling(position);
        let probability = match ruling {
            Ruling::Forced(present) => f64::from(u8::from(present)),
            Ruling::Soft { probability, .. } => self.weighed(position, probability, true, ahead),
            Ruling::Free => self.weighed(position, probability, true, ahead),
        };
        Proposal { ruling, probability }
    }

    /// The probability of a code given that what is due is met; with `tested`, what the code itself
    /// makes due as well.
    fn weighed(
        &mut self,
        position: u32,
        probability: f64,
        tested: bool,
        ahead: &mut LookAhead<'_>,
    ) -> f64 {
        let absent = self.met_later(position, ahead);
        let [without, with] = self.branch_weights(position, ahead);
        let present = if tested { self.met_after(position, ahead) } else { 1.0 };
        let [off, on] = [absent * without, present * with];
        let total = probability * on + (1.0 - probability) * off;
        if on == off || total <= 0.0 { probability } else { probability * on / total }
    }

    /// The probability that all clauses which the code at hand may meet are met by later ones.
    fn met_later(&mut self, position: u32, ahead: &mut LookAhead<'_>) -> f64 {
        let (enforcer, seen) = (self.enforcer, self.history.present.len());
        let mut met = 1.0;
        for at in 0..self.pending.here.len() {
            let Here { id, code } = self.pending.here[at];
            let slot = self.pending.slots[id as usize] as usize;
            let start = match self.pending.due[slot].seen {
                Some((with, start)) if with == seen => start,
                _ => {
                    let rest = &enforcer.due.of(id)[code + 1..];
                    let mut probabilities = std::mem::take(&mut self.pending.probabilities);
                    probabilities.clear();
                    probabilities.resize(rest.len(), 0.0);
                    ahead(false, rest, &mut probabilities);
                    for (&later, probability) in rest.iter().zip(&mut probabilities) {
                        if let Some(certain) = self.certain(later, position) {
                            *probability = f64::from(u8::from(certain));
                        }
                    }
                    let pending = &mut self.pending;
                    let start = pending.misses.len();
                    pending.misses.resize(start + rest.len() + 1, 0.0);
                    let misses = &mut pending.misses[start..];
                    for (at, probability) in probabilities.iter().enumerate().rev() {
                        misses[at] = misses[at + 1] - (-probability).ln_1p();
                    }
                    pending.probabilities = probabilities;
                    let due = &mut pending.due[slot];
                    (due.seen, due.from) = (Some((seen, start)), code);
                    start
                }
            };
            met *= met_by(self.pending.misses[start + code - self.pending.due[slot].from]);
        }
        met
    }

    /// What is certain of a later code when the one at a position is about to be decided: that a rule
    /// keeps it off, or that the record ends.
    pub(super) fn certain(&self, later: u32, position: u32) -> Option<bool> {
        let plan = &self.enforcer.plan;
        if later == plan.order().end()
            && self.history.visit == plan.max_visits()
            && !plan.end_given()
        {
            return Some(true);
        }
        let bars = &self.enforcer.bars;
        let bars_it = |&&id: &&u32| bars.holds_already(id, &self.history, position);
        bars.filed(later).iter().find(bars_it).map(|_| false)
    }

    /// The probability that clauses which the code makes due are met, once it is present.
    fn met_after(&mut self, position: u32, ahead: &mut LookAhead<'_>) -> f64 {
        let tests = &self.enforcer.tests;
        if tests.index.filed(position).is_empty() {
            return 1.0;
        }
        let history = &self.history;
        let made_due = |id: &&u32| tests.index.holds(**id, history);
        let made_due: Vec<u32> =
            tests.index.filed(position).iter().filter(made_due).copied().collect();
        if made_due.is_empty() {
            return 1.0;
        }
        let Pending { positions, probabilities, .. } = &mut self.pending;
        positions.clear();
        made_due.iter().for_each(|&id| positions.extend_from_slice(tests.of(id)));
        probabilities.clear();
        probabilities.resize(positions.len(), 0.0);
        ahead(true, positions, probabilities);
        let mut rest = &probabilities[..];
        let mut met = 1.0;
        for id in made_due {
            let (own, others) = rest.split_at(tests.of(id).len());
            met *= met_by(own.iter().map(|probability| -(-probability).ln_1p()).sum());
            rest = others;
        }
        met
    }

    /// The weights of the diagram's branches for the code being absent and being present; ones if it has
    /// nothing to say of it.
    fn branch_weights(&mut self, position: u32, ahead: &mut LookAhead<'_>) -> [f64; 2] {
        let Some((diagram, at)) = self.branching(position) else { return [1.0; 2] };
        let seen = self.history.present.len();
        let pending = &mut self.pending;
        if pending.weighed != Some(seen) {
            let decided = diagram.positions.partition_point(|&one| one <= position);
            pending.probabilities.clear();
            pending.probabilities.resize(diagram.positions.len(), 0.0);
            let rest = &mut pending.probabilities[decided..];
            ahead(false, &diagram.positions[decided..], rest);
            diagram.weigh(at, &pending.probabilities, &mut pending.weights);
            pending.weighed = Some(seen);
        }
        possible_weights(diagram.branches(at, position), &pending.weights)
    }

    /// The diagram and its branch, where its branches for the code at a position differ and it is not
    /// too large to be weighed.
    pub(super) fn branching(&self, position: u32) -> Option<(&'a Diagram, Branch)> {
        let (at, diagram) = (self.branch?, self.enforcer.plan.diagram()?);
        let [absent, present] = diagram.branches(at, position);
        (absent != present && diagram.len() <= WEIGHED).then_some((diagram, at))
    }
}

/// The probability that one of some codes comes on, given what it costs in nats that none does.
pub(super) fn met_by(miss: f64) -> f64 {
    -(-miss).exp_m1()
}

/// The weights of two branches that are both possible. Where one is too small for a number, nothing can
/// be said of them.
pub(super) fn possible_weights(branches: [Branch; 2], weights: &[f64]) -> [f64; 2] {
    let both = branches.map(|branch| weights[branch.index()]);
    if both.iter().all(|&weight| weight > 0.0) { both } else { [1.0; 2] }
}

/// How likely a code is that is about to be decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposal {
    /// What the rules say of it.
    pub ruling: Ruling,
    /// The probability that it is present.
    pub probability: f64,
}
