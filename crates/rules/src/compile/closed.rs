//! The closed rule set: clauses, order, windows, soft rules. With its proof it is a plan.

use std::sync::Arc;

use consequence_record::Code;

use super::clause::{Atoms, Encoded, Encoder, Span};
use super::diagram::Diagram;
use super::normal::Literal;
use super::order::Order;
use super::soft::SoftImplication;
use super::stage::{HORIZON, Stage, Stages};
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanClause {
    pub end: u32,
    pub rules_end: u32,
    pub span: Span,
    pub stages: Stages,
    pub derivation: Derivation,
}

/// One clause of a plan.
#[derive(Clone, Copy, Debug)]
pub struct ClauseView<'a> {
    /// Its literals, sorted: past first, then the current visit in the order codes are decided.
    pub literals: &'a [Encoded],
    /// The visits it is required of.
    pub span: Span,
    /// Where a visit must stand in its record for the clause to be required.
    pub stages: Stages,
    /// How it came to be.
    pub derivation: Derivation,
    /// The rules it comes from, by index, sorted.
    pub rules: &'a [u32],
}

impl ClauseView<'_> {
    /// The code position the clause can force, `None` for a precondition on the past.
    pub fn position(&self) -> Option<u32> {
        self.literals.last().and_then(|last| last.position())
    }
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub rules: Arc<RuleSet>,
    pub order: Order,
    pub atoms: Atoms,
    pub max_visits: u16,
    pub end_given: bool,
    pub in_play: Stages,
    pub clauses: Vec<PlanClause>,
    pub literals: Vec<Encoded>,
    pub clause_rules: Vec<u32>,
    pub soft: Vec<SoftImplication>,
    pub endings: Vec<(Vec<Encoded>, Span)>,
    pub diagram: Option<Diagram>,
    pub cycles: Vec<Vec<Code>>,
}

impl Parts {
    pub fn push(
        &mut self,
        literals: &[Encoded],
        rules: &[u32],
        (span, stages): (Span, Stages),
        derivation: Derivation,
    ) {
        self.literals.extend_from_slice(literals);
        self.clause_rules.extend_from_slice(rules);
        self.clauses.push(PlanClause {
            end: self.literals.len() as u32,
            rules_end: self.clause_rules.len() as u32,
            span,
            stages,
            derivation,
        });
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
            atoms: self.parts.atoms.clone(),
        }
    }

    /// The same with one clause taken out, to see whether the prover notices.
    #[cfg(test)]
    pub(crate) fn without(&self, index: usize) -> Self {
        let kept = |other: &(usize, ClauseView<'_>)| other.0 != index;
        let mut parts = Parts {
            rules: Arc::clone(&self.parts.rules),
            order: self.parts.order.clone(),
            atoms: self.parts.atoms.clone(),
            max_visits: self.parts.max_visits,
            end_given: self.parts.end_given,
            in_play: self.parts.in_play,
            clauses: Vec::new(),
            literals: Vec::new(),
            clause_rules: Vec::new(),
            soft: self.parts.soft.clone(),
            endings: self.parts.endings.clone(),
            diagram: self.parts.diagram.clone(),
            cycles: self.parts.cycles.clone(),
        };
        for (_, clause) in self.clauses().enumerate().filter(kept) {
            let where_required = (clause.span, clause.stages);
            parts.push(clause.literals, clause.rules, where_required, clause.derivation);
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

    /// Whether records exist already, so that where they end is given.
    pub fn end_given(&self) -> bool {
        self.parts.end_given
    }

    /// The stages that visits may be at: only [`Stage::OPEN`] unless the end is given.
    pub fn stages(&self) -> Stages {
        self.parts.in_play
    }

    /// Where a visit stands that has so many visits after it, in a record that ended or was cut.
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
            |clause: &ClauseView<'_>| clause.literals.is_empty() && clause.span.first == 0;
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
    pub fn clauses(&self) -> impl ExactSizeIterator<Item = ClauseView<'_>> {
        let parts = &*self.parts;
        (0..parts.clauses.len())
            .map(move |index| view(&parts.clauses, &parts.literals, &parts.clause_rules, index))
    }

    /// The soft rules, ready to be drawn.
    pub fn soft(&self) -> &[SoftImplication] {
        &self.parts.soft
    }

    /// When the rules that conclude `END`, as they are written, end a record that exists: once all
    /// these literals are false, at one of these visits. None if the end is not given.
    pub fn endings(&self) -> impl ExactSizeIterator<Item = (&[Encoded], Span)> {
        self.parts.endings.iter().map(|(literals, span)| (literals.as_slice(), *span))
    }

    /// The decision diagram of codes that depend on each other too densely for clauses, if any do.
    pub fn diagram(&self) -> Option<&Diagram> {
        self.parts.diagram.as_ref()
    }

    /// Codes that depend on each other in a cycle.
    pub fn cycles(&self) -> &[Vec<Code>] {
        &self.parts.cycles
    }

    /// A numbered literal as code, window and sign.
    pub fn decode(&self, literal: Encoded) -> Literal {
        decode(&self.parts.order, &self.parts.atoms, literal)
    }
}

pub(crate) fn decode(order: &Order, atoms: &Atoms, literal: Encoded) -> Literal {
    let present = literal.present();
    match (literal.position(), literal.atom()) {
        (Some(position), _) => Literal { window: None, code: order.code(position), present },
        (None, Some(atom)) => {
            Literal { window: Some(atoms.window(atom).clone()), code: atoms.code(atom), present }
        }
        (None, None) => unreachable!("a literal is about the current visit or about the past"),
    }
}

fn view<'a>(
    clauses: &'a [PlanClause],
    literals: &'a [Encoded],
    rules: &'a [u32],
    index: usize,
) -> ClauseView<'a> {
    let clause = clauses[index];
    let (start, rules_start) = match index {
        0 => (0, 0),
        _ => (clauses[index - 1].end as usize, clauses[index - 1].rules_end as usize),
    };
    ClauseView {
        literals: &literals[start..clause.end as usize],
        span: clause.span,
        stages: clause.stages,
        derivation: clause.derivation,
        rules: &rules[rules_start..clause.rules_end as usize],
    }
}
