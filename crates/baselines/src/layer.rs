//! The coherent-by-construction network (CCN): a last layer of maxima and minima.
//!
//! A rule `a and not c => b` lifts the probability of its output to what its antecedents say:
//! `b' = max(b, min(a', 1 - c'))`, antecedents first. So a visit that the layer decides obeys every
//! rule of this form (Giunchiglia and Lukasiewicz, Multi-Label Classification Neural Networks with
//! Hard Logical Constraints, 2021).
//!
//! It can express rules within a visit that demand one code, present, of antecedents that do not depend on
//! that code. It cannot express temporal rules, rules that demand an absence, rules that leave a
//! choice between outputs, or rules in a cycle.
//!
//! A clause with a single present code is taken to conclude that code, even where its rule was
//! written the other way around (`not B => not A` is `A => B`). Where it has several, the output of
//! its rule tells which is meant.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{Clause, NamedRule, Reason, Unexpressed, World};

/// `body => head`: codes counted from the first of the range, with the values that the body wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub literals: Vec<(u32, bool)>,
}

impl Body {
    pub fn holds(&self, mut present: impl FnMut(u32) -> bool) -> bool {
        self.literals.iter().all(|&(code, value)| present(code) == value)
    }
}

/// A code that rules conclude.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub code: u32,
    pub bodies: Vec<Body>,
}

/// The rules of one world that a layer of maxima and minima can express.
///
/// ```
/// use std::sync::Arc;
/// use consequence_baselines::{Constraint, Layer, Reason};
/// use consequence_record::Kind;
/// use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};
///
/// let text = "rule lift: A and not B => C  rule drop: A => not B";
/// let rules = Arc::new(RuleSet::parse(text, None)?);
/// let codes = Order::natural(Arc::clone(rules.vocabulary()));
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// let constraint = Constraint::new(&written, &codes)?;
/// let layer = Layer::new(constraint.world(Kind::Encounter));
/// assert_eq!(layer.unexpressed()[0].reason, Reason::Absence);
/// // A is likely, B is not: so C is likely.
/// assert_eq!(layer.logits(&[2.0, -3.0, -9.0, 0.0]), [2.0, -3.0, 2.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Layer {
    pub(crate) range: Range<u32>,
    /// Antecedents before what hangs on them.
    pub(crate) heads: Vec<Head>,
    /// Where each code is among the heads.
    numbers: Vec<Option<u32>>,
    expressed: Vec<u32>,
    unexpressed: Vec<Unexpressed>,
    late: Vec<Arc<str>>,
}

impl Layer {
    /// The rules of a world.
    pub fn new(world: &World) -> Self {
        let range = world.range();
        let mut reasons: Vec<Option<Reason>> = Vec::with_capacity(world.clauses().len());
        let mut implications: Vec<(usize, u32, Body)> = Vec::new();
        for (index, clause) in world.clauses().iter().enumerate() {
            let output = output(world, clause);
            reasons.push(output.err());
            if let Ok(output) = output {
                let others = clause.now().filter(|&(position, _)| position != output);
                let literals = others.map(|(position, value)| (position - range.start, !value));
                let body = Body { literals: literals.collect() };
                implications.push((index, output - range.start, body));
            }
        }
        let (order, cycles) = strata(
            range.len(),
            implications
                .iter()
                .map(|(_, head, body)| (*head, body.literals.iter().map(|&(code, _)| code))),
        );
        let cycles: FxHashSet<usize> = cycles.into_iter().collect();
        let mut bodies: BTreeMap<u32, Vec<Body>> = BTreeMap::new();
        let (mut expressed, mut late) = (Vec::new(), Vec::new());
        for (number, (index, head, body)) in implications.into_iter().enumerate() {
            if cycles.contains(&number) {
                reasons[index] = Some(Reason::Cyclic);
                continue;
            }
            expressed.push(index as u32);
            let NamedRule { name, .. } = world.rule(world.clauses()[index].rule);
            let is_late = body.literals.iter().any(|&(code, _)| code > head);
            if is_late && late.last() != Some(name) {
                late.push(Arc::clone(name));
            }
            bodies.entry(head).or_default().push(body);
        }
        let heads = order
            .into_iter()
            .filter_map(|code| bodies.remove(&code).map(|bodies| Head { code, bodies }));
        let heads: Vec<Head> = heads.collect();
        let mut numbers = vec![None; range.len()];
        for (number, head) in (0..).zip(&heads) {
            numbers[head.code as usize] = Some(number);
        }
        let mut reasons = reasons.into_iter();
        let unexpressed = world.unexpressed(|_| reasons.next().flatten());
        Self { range, heads, numbers, expressed, unexpressed, late }
    }

    /// Rules it cannot express, or not all of.
    pub fn unexpressed(&self) -> &[Unexpressed] {
        &self.unexpressed
    }

    /// The clauses it expresses, by their number in [`World::clauses`].
    pub fn expressed(&self) -> &[u32] {
        &self.expressed
    }

    /// Rules whose output is decided before an antecedent. [`Layer::forced`] alone does not keep
    /// them; [`Layer::complete`] does.
    pub fn late(&self) -> &[Arc<str>] {
        &self.late
    }

    /// Whether rules demand a code, counted from the first that the visit may hold, given the codes
    /// that are decided.
    pub fn forced(&self, code: u32, mut decided: impl FnMut(u32) -> Option<bool>) -> bool {
        let Some(head) = self.numbers[code as usize] else { return false };
        self.heads[head as usize]
            .bodies
            .iter()
            .any(|body| body.literals.iter().all(|&(code, value)| decided(code) == Some(value)))
    }

    /// Adds to a whole visit what the rules demand. Afterwards every rule it expresses holds.
    pub fn complete(&self, visit: &mut [bool]) {
        for head in &self.heads {
            if head.bodies.iter().any(|body| body.holds(|code| visit[code as usize])) {
                visit[head.code as usize] = true;
            }
        }
    }
}

/// The position that a clause concludes, or why it concludes none.
fn output(world: &World, clause: &Clause) -> Result<u32, Reason> {
    if !clause.is_static() {
        return Err(Reason::Temporal);
    }
    let demanded = clause.now().filter(|(_, value)| *value).map(|(position, _)| position);
    let demanded: Vec<u32> = demanded.collect();
    let outputs = demanded.iter().copied();
    let outputs: Vec<u32> =
        outputs.filter(|&position| world.is_output(clause.rule, position)).collect();
    match (demanded.as_slice(), outputs.as_slice()) {
        ([], _) if clause.literals.is_empty() => Err(Reason::Impossible),
        ([], _) => Err(Reason::Absence),
        ([only], _) | (_, [only]) => Ok(*only),
        // It names present codes, but what it concludes is an absence.
        (_, []) => Err(Reason::Absence),
        _ => Err(Reason::Choice),
    }
}

/// Codes so that antecedents come before what hangs on them, and the implications that are part of
/// a cycle, by number. Without those the order is right.
///
/// Implications are a conclusion and its antecedents.
pub(crate) fn strata<I>(
    codes: usize,
    implications: impl ExactSizeIterator<Item = (u32, I)>,
) -> (Vec<u32>, Vec<usize>)
where
    I: Iterator<Item = u32>,
{
    let mut edges: Vec<(u32, u32, usize)> = Vec::new();
    for (number, (head, body)) in implications.enumerate() {
        edges.extend(body.map(|code| (head, code, number)));
    }
    edges.sort_unstable();
    let group = groups(codes, &edges);
    let mut cycles: Vec<usize> = edges
        .iter()
        .filter(|(head, code, _)| group[*head as usize] == group[*code as usize])
        .map(|&(_, _, number)| number)
        .collect();
    cycles.sort_unstable();
    cycles.dedup();
    let mut order: Vec<u32> = (0..codes as u32).collect();
    order.sort_by_key(|&code| group[code as usize]);
    (order, cycles)
}

/// A number for each code: the same for codes that hang on each other, and smaller for those that
/// others hang on. (Tarjan's strongly connected components, with a stack of its own.)
fn groups(codes: usize, edges: &[(u32, u32, usize)]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let start = |code: u32| edges.partition_point(|&(head, _, _)| head < code);
    let (mut found, mut lowest, mut group) = (vec![NEW; codes], vec![NEW; codes], vec![NEW; codes]);
    let (mut clock, mut finished) = (0, 0);
    let mut waiting: Vec<u32> = Vec::new();
    for first in 0..codes as u32 {
        if found[first as usize] != NEW {
            continue;
        }
        let mut path: Vec<(u32, usize)> = vec![(first, start(first))];
        while let Some((code, edge)) = path.last_mut() {
            let at = *code as usize;
            if found[at] == NEW {
                (found[at], lowest[at]) = (clock, clock);
                clock += 1;
                waiting.push(*code);
            }
            if let Some(&(_, next, _)) = edges.get(*edge).filter(|(head, ..)| head == code) {
                let next_at = next as usize;
                if found[next_at] == NEW {
                    // The edge is looked at again when the way through it has been seen.
                    path.push((next, start(next)));
                } else {
                    if group[next_at] == NEW {
                        lowest[at] = lowest[at].min(lowest[next_at]);
                    }
                    *edge += 1;
                }
                continue;
            }
            if lowest[at] == found[at] {
                while let Some(member) = waiting.pop() {
                    group[member as usize] = finished;
                    if member as usize == at {
                        break;
                    }
                }
                finished += 1;
            }
            path.pop();
        }
    }
    group
}
