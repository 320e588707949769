//! Semantic loss: a network is told how unlikely its codes are to obey the rules.
//!
//! The loss of a visit is `-ln P(rules)`, the probability that codes drawn independently from the
//! logits obey every rule, given the visits before. It can express every hard rule, temporal ones
//! too, since the past is known while a network trains. It is a penalty and no more: what the
//! network writes afterwards may break any rule.

use std::ops::Range;
use std::sync::Arc;

use crate::row::Gradient;
use crate::row::log_complement;
use crate::{Clause, Coin, Component, Cost, Diagram, Limits, Row, Unexpressed, World};

/// The semantic loss of visits of one kind.
#[derive(Clone, Debug)]
pub struct SemanticLoss {
    range: Range<u32>,
    parts: Vec<Part>,
    approximated: Vec<Approximated>,
    unexpressed: Vec<Unexpressed>,
}

/// A component too large for a decision diagram: its loss is the sum of the losses of its clauses,
/// as if they had nothing to do with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approximated {
    /// The names of its rules.
    pub rules: Vec<Arc<str>>,
    /// The positions of its codes, ascending.
    pub codes: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Part {
    Exact(Diagram),
    Clauses(Vec<Clause>),
}

impl SemanticLoss {
    /// All hard rules of a world.
    pub fn new(world: &World, limits: &Limits) -> Self {
        let mut approximated = Vec::new();
        let mut part = |component: &Component| match Diagram::new(world, component, limits) {
            Ok(diagram) => Part::Exact(diagram),
            Err(_) => {
                let (rules, codes) = (world.rule_names(component), component.codes.clone());
                approximated.push(Approximated { rules, codes });
                let clauses = component.clauses.iter();
                Part::Clauses(
                    clauses.map(|&clause| world.clauses()[clause as usize].clone()).collect(),
                )
            }
        };
        let parts = world.components().iter().map(&mut part).collect();
        Self { range: world.range(), parts, approximated, unexpressed: world.soft() }
    }

    /// Components whose loss is not exact.
    pub fn approximated(&self) -> &[Approximated] {
        &self.approximated
    }

    /// Rules it cannot express.
    pub fn unexpressed(&self) -> &[Unexpressed] {
        &self.unexpressed
    }

    /// The loss of a visit. `known` is what [`World::known`] gives.
    ///
    /// Where the visits before leave no way to obey a component, it counts as broken. In a
    /// component that is [approximated](Self::approximated) that is seen only if a single clause is
    /// hopeless.
    ///
    /// # Panics
    /// If there are not as many logits as the visit may hold codes.
    pub fn loss(&self, known: &[bool], logits: &[f32]) -> Cost {
        self.cost(known, logits, None)
    }

    /// The loss of a visit; adds `scale` times the gradient by the logits to `into`.
    ///
    /// # Panics
    /// If there are not as many logits, or as much room for the gradient, as the visit may hold
    /// codes.
    pub fn gradient(&self, known: &[bool], logits: &[f32], scale: f64, into: &mut [f32]) -> Cost {
        self.cost(known, logits, Some(Gradient { scale, into }))
    }

    fn cost(&self, known: &[bool], logits: &[f32], mut gradient: Option<Gradient<'_>>) -> Cost {
        let row = Row { logits, present: &[] };
        row.check(&self.range);
        let mut cost = Cost::default();
        for part in &self.parts {
            let nats = match part {
                Part::Exact(diagram) => {
                    exact(diagram, known, row, self.range.start, gradient.as_mut())
                }
                Part::Clauses(clauses) => {
                    one_by_one(clauses, known, row, self.range.start, gradient.as_mut())
                }
            };
            match nats {
                Some(nats) => cost.nats += nats,
                None => cost.broken += 1,
            }
        }
        cost
    }
}

/// The loss of a diagram; `None` if nothing can satisfy it.
fn exact(
    diagram: &Diagram,
    known: &[bool],
    row: Row<'_>,
    start: u32,
    gradient: Option<&mut Gradient<'_>>,
) -> Option<f64> {
    let coins = diagram.codes().iter().map(|&position| row.coin(position - start));
    let coins: Vec<Coin> = coins.collect();
    let evaluation = diagram.evaluate(known, &coins);
    let log = evaluation.log_weight();
    if log == f64::NEG_INFINITY {
        return None;
    }
    if let Some(gradient) = gradient {
        for (&position, tilt) in diagram.codes().iter().zip(evaluation.gradient()) {
            gradient.add(position - start, -tilt);
        }
    }
    // Rounding may carry a sum of probabilities a little past one.
    Some((-log).max(0.0))
}

/// The sum of the losses of clauses; `None` if one of them has failed already.
fn one_by_one(
    clauses: &[Clause],
    known: &[bool],
    row: Row<'_>,
    start: u32,
    mut gradient: Option<&mut Gradient<'_>>,
) -> Option<f64> {
    let open =
        |clause: &&Clause| !clause.known().any(|(atom, value)| known[atom as usize] == value);
    if clauses.iter().filter(open).any(|clause| clause.now().next().is_none()) {
        return None;
    }
    let mut nats = 0.0;
    for clause in clauses.iter().filter(open) {
        // A clause fails when every literal does.
        let failing = |(position, value): (u32, bool)| row.coin(position - start).log(!value);
        let failure: f64 = clause.now().map(failing).sum();
        nats -= log_complement(failure);
        if let Some(gradient) = &mut gradient {
            let odds = 1.0 / (-failure).exp_m1();
            for (position, value) in clause.now() {
                let probability = row.coin(position - start).probability();
                let log_gradient = if value { -probability } else { 1.0 - probability };
                gradient.add(position - start, odds * log_gradient);
            }
        }
    }
    Some(nats)
}
