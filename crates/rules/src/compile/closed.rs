//! The closed rule set: clauses, order, windows, soft rules. With its proof it is a plan.

use std::sync::Arc;

use consequence_record::{Code, Lists};

use super::clause::{Atom, Atoms, Encoder, LiteralId, Subject, VisitRange};
use super::diagram::Diagram;
use super::normal::{Asked, Literal};
use super::order::Order;
use super::reveal::GapAxis;
use super::stage::{HORIZON, Stage, Stages};
use super::written::SoftImplication;
use crate::{Rule, RuleSet};

/// How a clause of a plan came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// Written: a clause of the one rule it names.
    Written,
    /// Follows within a visit from the rules it names.
    Implied,
    /// Asked of a visit so that the visits after it can obey the rules it names.
    LookAhead,
}

/// One clause of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Clause<'a> {
    /// Its literals, sorted: past first, then the current visit in the order codes are decided.
    pub literals: &'a [LiteralId],
    /// The visits it is required of.
    pub visits: VisitRange,
    /// Where a visit must stand in its record for the clause to be required.
    pub stages: Stages,
    /// How it came to be.
    pub derivation: Derivation,
    /// Whether it is asked for by itself: by a rule, by the visits after, or in place of a clause that
    /// was and that it makes superfluous. Others only follow from such clauses within a visit.
    pub direct: bool,
    /// The rules it comes from, by index, sorted.
    pub rules: &'a [u32],
}

impl Clause<'_> {
    /// The code position the clause can force, `None` for a precondition on the past.
    pub fn position(&self) -> Option<u32> {
        self.literals.last().and_then(|last| last.position())
    }
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub rules: Arc<RuleSet>,
    pub order: Order,
    pub axis: GapAxis,
    pub atoms: Atoms,
    pub max_visits: u16,
    pub end_given: bool,
    pub in_play: Stages,
    /// Where each clause is required, how it came to be, and whether it is asked for by itself.
    pub clauses: Vec<(VisitRange, Stages, Derivation, bool)>,
    pub literals: Lists<LiteralId>,
    pub clause_rules: Lists<u32>,
    pub soft: Vec<SoftImplication>,
    pub endings: Vec<(Vec<LiteralId>, VisitRange)>,
    pub diagram: Option<Diagram>,
    pub cycles: Vec<Vec<Code>>,
}

impl Parts {
    pub fn push(&mut self, clause: Clause<'_>) {
        self.literals.push(clause.literals.iter().copied());
        self.clause_rules.push(clause.rules.iter().copied());
        let Clause { visits, stages, derivation, direct, .. } = clause;
        self.clauses.push((visits, stages, derivation, direct));
    }

    fn clause(&self, index: usize) -> Clause<'_> {
        let (visits, stages, derivation, direct) = self.clauses[index];
        let (literals, rules) = (self.literals.list(index), self.clause_rules.list(index));
        Clause { literals, visits, stages, derivation, direct, rules }
    }
}

/// Rules with all that follows from them, ready to be proved: what a [`Plan`](crate::Plan) holds.
/// Cheap to clone, free to share between threads.
#[derive(Clone, Debug)]
pub struct ClosedRules {
    parts: Arc<Parts>,
    /// Whether the same is asked of all visits far from the end, in records that were cut and in
    /// those that ended.
    settled: [bool; 2],
}

impl ClosedRules {
    pub(crate) fn new(parts: Parts) -> Self {
        let closed = Self { parts: Arc::new(parts), settled: [false; 2] };
        let settled = [false, true].map(|ended| {
            let mut preconditions = closed.clauses().filter(|clause| clause.position().is_none());
            preconditions.all(|clause| clause.stages.is_settled(ended))
        });
        Self { settled, ..closed }
    }

    /// Literals of this plan's numbering, for the prover.
    pub(crate) fn encoder(&self) -> Encoder<'_> {
        Encoder {
            vocabulary: self.parts.rules.vocabulary(),
            order: &self.parts.order,
            max_visits: self.parts.max_visits,
            axis: &self.parts.axis,
            atoms: self.parts.atoms.clone(),
        }
    }

    /// The same with one clause taken out, to see whether the prover notices.
    #[cfg(test)]
    pub(crate) fn without(&self, index: usize) -> Self {
        let kept = |other: &(usize, Clause<'_>)| other.0 != index;
        let mut parts = Parts {
            rules: Arc::clone(&self.parts.rules),
            order: self.parts.order.clone(),
            axis: self.parts.axis.clone(),
            atoms: self.parts.atoms.clone(),
            max_visits: self.parts.max_visits,
            end_given: self.parts.end_given,
            in_play: self.parts.in_play,
            clauses: Vec::new(),
            literals: Lists::default(),
            clause_rules: Lists::default(),
            soft: self.parts.soft.clone(),
            endings: self.parts.endings.clone(),
            diagram: self.parts.diagram.clone(),
            cycles: self.parts.cycles.clone(),
        };
        for (_, clause) in self.clauses().enumerate().filter(kept) {
            parts.push(clause);
        }
        Self::new(parts)
    }

    /// The rules the plan was compiled from.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.parts.rules
    }

    /// A rule by index.
    pub fn rule(&self, index: u32) -> &Rule {
        &self.parts.rules[index as usize]
    }

    /// The order codes are decided in within a visit.
    pub fn order(&self) -> &Order {
        &self.parts.order
    }

    /// The atoms about the past that clauses use.
    pub fn atoms(&self) -> &Atoms {
        &self.parts.atoms
    }

    /// Whether a clause asks for something that is known only when a visit begins.
    pub fn is_revealed(&self, clause: &Clause<'_>) -> bool {
        clause.literals.iter().any(|literal| match literal.subject() {
            Subject::Past(atom) => self.parts.atoms.is_revealed(atom),
            Subject::Gap(_) => true,
            Subject::Now(_) => false,
        })
    }

    /// Whether a clause asks for what was revealed at the visit before: proofs need it, decisions do not.
    pub fn asks_before(&self, clause: &Clause<'_>) -> bool {
        let atoms = clause.literals.iter().filter_map(|literal| literal.atom());
        atoms
            .map(|atom| &self.parts.atoms.atoms()[atom as usize])
            .any(|atom| matches!(atom, Atom::FactBefore(_)))
    }

    /// The days between two visits as the rules tell them apart.
    pub(crate) fn axis(&self) -> &GapAxis {
        &self.parts.axis
    }

    /// Whether records exist already, so that where they end is given.
    pub fn end_given(&self) -> bool {
        self.parts.end_given
    }

    /// The stages that visits may be at: only [`Stage::OPEN`] unless the end is given.
    pub fn stages(&self) -> Stages {
        self.parts.in_play
    }

    /// Where a visit stands that `following` visits follow, in a record that ended or was cut.
    ///
    /// [`Stage::OPEN`] if the end is not given, and where the plan cannot tell: rules in a decision
    /// diagram do not count visits, and some rules never ask the same of all visits that are far
    /// from the end.
    pub fn stage(&self, following: usize, ended: bool) -> Stage {
        let stage = Stage::before(following, ended);
        let settled = following < HORIZON || self.settled[usize::from(ended)];
        if settled && self.parts.in_play.contains(stage) { stage } else { Stage::OPEN }
    }

    /// Whether some record that was cut obeys the rules; where the plan cannot tell, no.
    pub(crate) fn admits_cut_records(&self) -> bool {
        let impossible =
            |clause: &Clause<'_>| clause.literals.is_empty() && clause.visits.first == 0;
        let excluding = self.clauses().filter(impossible);
        let excluded = excluding.fold(Stages::NONE, |all, clause| all.join(clause.stages));
        self.parts.in_play != Stages::OPEN && !excluded.leaves_no_cut_record()
    }

    /// The most encounters a record may have; the last of them always ends it, unless the end is
    /// given.
    pub fn max_visits(&self) -> usize {
        self.parts.max_visits.into()
    }

    /// The closed clauses, preconditions on the past among them.
    pub fn clauses(&self) -> impl ExactSizeIterator<Item = Clause<'_>> {
        (0..self.parts.clauses.len()).map(|index| self.parts.clause(index))
    }

    /// A clause by its number, from 0 on.
    pub fn clause(&self, number: u32) -> Clause<'_> {
        self.parts.clause(number as usize)
    }

    /// The soft rules, ready to be drawn.
    pub fn soft(&self) -> &[SoftImplication] {
        &self.parts.soft
    }

    /// When the rules that conclude `END`, as they are written, end a record that exists: once all
    /// these literals are false, at one of these visits. None if the end is not given.
    pub fn endings(&self) -> impl ExactSizeIterator<Item = (&[LiteralId], VisitRange)> {
        self.parts.endings.iter().map(|(literals, visits)| (literals.as_slice(), *visits))
    }

    /// The decision diagram of codes that depend on each other too densely for clauses, if any do.
    pub fn diagram(&self) -> Option<&Diagram> {
        self.parts.diagram.as_ref()
    }

    /// Codes that depend on each other in a cycle.
    pub fn cycles(&self) -> &[Vec<Code>] {
        &self.parts.cycles
    }

    /// A numbered literal as what it asks for and its sign; `None` for one about the days since the visit
    /// before, which no rule can ask for.
    pub fn decode(&self, literal: LiteralId) -> Option<Literal> {
        decode(&self.parts.order, &self.parts.atoms, literal)
    }
}

pub(crate) fn decode(order: &Order, atoms: &Atoms, literal: LiteralId) -> Option<Literal> {
    let asked = match literal.subject() {
        Subject::Now(position) => Asked::Now(order.code(position)),
        Subject::Past(atom) => match (atoms.seen_in(atom), atoms.fact(atom)) {
            (Some((code, window)), _) => Asked::In(window.clone(), code),
            (_, fact) => Asked::Fact(fact?.clone()),
        },
        Subject::Gap(_) => return None,
    };
    Some(Literal { asked, present: literal.present() })
}
