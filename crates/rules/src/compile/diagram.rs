//! Where closing clauses by resolution grows too large: a decision diagram for the codes involved.
//!
//! The diagram asks about the past first and about codes in the order they are decided, so a value
//! is allowed exactly if its branch is not false: deciding codes along it never meets a dead end.
//! The visits after are looked at from the last one back: `D_t` is what the clauses ask of visit
//! `t` together with "this is the end, or the visit after is possible".

use std::sync::Arc;

use consequence_record::Kind;
use rustc_hash::FxHashMap;

use super::clause::{Encoder, LiteralId, Subject};
use super::closure::Closure;
use super::written::{Written, WrittenClause};
use crate::decisions::{FALSE, Function, Functions, Node, TRUE, TooManyNodes};

/// The most variables a diagram may have; its functions recurse to that depth.
const MAX_VARIABLES: usize = 5_000;

/// A decision diagram over codes that depend on each other too densely for clauses.
#[derive(Clone, Debug)]
pub struct Diagram {
    /// The atoms about the past it asks for, in order.
    pub atoms: Vec<u32>,
    /// The positions of the codes it decides, ascending.
    pub positions: Vec<u32>,
    /// The rules it stands for, by index.
    pub rules: Vec<u32>,
    nodes: Arc<[Node]>,
    /// Where to begin, for each encounter from the first.
    roots: Vec<Function>,
}

/// A position in a [`Diagram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch(u32);

impl Branch {
    /// The branch no values lead to.
    pub const IMPOSSIBLE: Self = Self(FALSE);

    /// Its number: a branch has a higher one than those it leads to.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Diagram {
    /// The branch before any code of an encounter is decided, given what holds of the past.
    pub fn start(&self, visit: usize, mut holds: impl FnMut(u32) -> bool) -> Branch {
        let mut at = self.root(visit).0;
        loop {
            let node = self.nodes[at as usize];
            let Some(&atom) = self.atoms.get(node.variable as usize) else { return Branch(at) };
            at = if holds(atom) { node.high } else { node.low };
        }
    }

    /// Where an encounter begins, before the past is asked for.
    pub(crate) fn root(&self, visit: usize) -> Branch {
        Branch(self.roots[visit - 1])
    }

    /// The branches for the code at a position being absent and being present.
    pub fn branches(&self, at: Branch, position: u32) -> [Branch; 2] {
        let node = self.nodes[at.0 as usize];
        let index = (node.variable as usize).checked_sub(self.atoms.len());
        if index.and_then(|index| self.positions.get(index)) == Some(&position) {
            [Branch(node.low), Branch(node.high)]
        } else {
            [at, at]
        }
    }

    /// The probability that codes drawn apart from each other take values that the rules allow: of
    /// every branch that `from` leads to and of `from` itself, by number. `probabilities` has one for
    /// each of [`Diagram::positions`]; those of codes decided before do not matter.
    pub fn weigh(&self, from: Branch, probabilities: &[f64], weights: &mut Vec<f64>) {
        weights.clear();
        weights.extend([0.0, 1.0]);
        for node in &self.nodes[2..(from.index() + 1).max(2)] {
            let probability = self.probability(node, probabilities);
            let [low, high] = [node.low, node.high].map(|child| weights[child as usize]);
            weights.push(probability * high + (1.0 - probability) * low);
        }
    }

    /// Adds to `gradient` what a change of each probability means, given what a change of the weight of
    /// each branch means. Those of branches, up to `from`, are used up.
    pub fn weigh_backward(
        &self,
        from: Branch,
        probabilities: &[f64],
        weights: &[f64],
        changes: &mut [f64],
        gradient: &mut [f64],
    ) {
        for index in (2..=from.index()).rev() {
            let (node, change) = (&self.nodes[index], std::mem::take(&mut changes[index]));
            let Some(code) = self.code(node).filter(|_| change != 0.0) else { continue };
            let probability = probabilities[code];
            let [low, high] = [node.low, node.high].map(|child| child as usize);
            changes[high] += change * probability;
            changes[low] += change * (1.0 - probability);
            gradient[code] += change * (weights[high] - weights[low]);
        }
    }

    fn probability(&self, node: &Node, probabilities: &[f64]) -> f64 {
        self.code(node).map_or(0.0, |code| probabilities[code])
    }

    /// Which of the positions a node asks for; none if it asks about the past.
    fn code(&self, node: &Node) -> Option<usize> {
        (node.variable as usize).checked_sub(self.atoms.len())
    }

    /// What a branch asks for next, and where the answers lead.
    pub(crate) fn question(&self, at: Branch) -> Option<(Subject, [Branch; 2])> {
        let node = self.nodes[at.0 as usize];
        let variable = node.variable as usize;
        let question = match self.atoms.get(variable) {
            Some(&atom) => Subject::Past(atom),
            None => Subject::Now(*self.positions.get(variable - self.atoms.len())?),
        };
        Some((question, [Branch(node.low), Branch(node.high)]))
    }

    /// The positions of the codes that some branch asks for.
    pub(crate) fn asked(&self) -> impl Iterator<Item = u32> {
        let position = |node: &Node| {
            let index = (node.variable as usize).checked_sub(self.atoms.len())?;
            self.positions.get(index).copied()
        };
        self.nodes.iter().filter_map(position)
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the diagram leaves everything open.
    pub fn is_empty(&self) -> bool {
        self.roots.iter().all(|&root| root == TRUE)
    }
}

/// A diagram, and what it asks of the static visit: clauses over static codes.
pub(crate) struct Built {
    pub diagram: Diagram,
    pub static_clauses: Vec<Vec<LiteralId>>,
}

/// Builds the diagram of clauses about encounters. With `forces_end` it ends the record at the last
/// position; else that is for others, and it says nothing of `END` unless the clauses do.
pub(crate) fn build(
    encoder: &mut Encoder<'_>,
    clauses: &[WrittenClause<'_>],
    forces_end: bool,
    max_nodes: usize,
) -> Result<Built, TooManyNodes> {
    Builder::new(encoder, clauses, max_nodes)?.build(clauses, forces_end)
}

struct Builder<'e, 'a> {
    encoder: &'e mut Encoder<'a>,
    functions: Functions,
    atoms: Vec<u32>,
    positions: Vec<u32>,
    variables: FxHashMap<LiteralId, u32>,
}

impl<'e, 'a> Builder<'e, 'a> {
    fn new(
        encoder: &'e mut Encoder<'a>,
        clauses: &[WrittenClause<'_>],
        max_nodes: usize,
    ) -> Result<Self, TooManyNodes> {
        let literals = || clauses.iter().flat_map(|clause| clause.literals.iter().copied());
        let end = encoder.order.position(encoder.vocabulary.end());
        let mut positions: Vec<u32> =
            literals().filter_map(LiteralId::position).chain([end]).collect();
        let mut atoms: Vec<u32> = literals().filter_map(LiteralId::atom).collect();
        let mut next = 0;
        // An atom one visit earlier is an atom again, and may be asked of a code of its own.
        while let Some(&atom) = atoms.get(next) {
            next += 1;
            let Some((code, window)) = encoder.atoms.seen_in(atom) else {
                return Err(TooManyNodes);
            };
            let earlier = window.one_visit_earlier();
            let earlier = encoder.past(code, &earlier, true, Kind::Encounter);
            if let Some(earlier) = earlier.literal().and_then(LiteralId::atom)
                && !atoms.contains(&earlier)
            {
                atoms.push(earlier);
            }
            let now = encoder.now(code, true, Kind::Encounter).literal();
            positions.extend(now.and_then(LiteralId::position));
        }
        atoms.sort_unstable();
        atoms.dedup();
        positions.sort_unstable();
        positions.dedup();
        if atoms.len() + positions.len() > MAX_VARIABLES {
            return Err(TooManyNodes);
        }
        let asked = atoms.iter().map(|&atom| LiteralId::past(atom, true));
        let decided = positions.iter().map(|&position| LiteralId::now(position, true));
        let variables = asked.chain(decided).zip(0..).collect();
        let functions = Functions::new(max_nodes);
        Ok(Self { encoder, functions, atoms, positions, variables })
    }

    fn build(
        mut self,
        clauses: &[WrittenClause<'_>],
        forces_end: bool,
    ) -> Result<Built, TooManyNodes> {
        let mut all = TRUE;
        for clause in clauses {
            let mut any = FALSE;
            for &literal in clause.literals {
                let literal = self.literal(literal)?;
                any = self.functions.or(any, literal)?;
            }
            all = self.functions.and(all, any)?;
        }
        let end = self.encoder.order.position(self.encoder.vocabulary.end());
        let end = self.literal(LiteralId::now(end, true))?;
        let codes = self.atoms.len() as u32;
        let last = usize::from(self.encoder.max_visits);
        let last_root = if forces_end { self.functions.and(all, end)? } else { all };
        let mut roots = vec![last_root; last];
        for visit in (1..last).rev() {
            let after = self.functions.possible(roots[visit], codes)?;
            let step = self.step(visit)?;
            let possible = self.functions.substitute(after, &step)?;
            let goes_on = self.functions.or(end, possible)?;
            roots[visit - 1] = self.functions.and(all, goes_on)?;
            if roots[visit - 1] == roots[visit] && !self.names_encounters() {
                // Nothing changes any more on the way back to the first encounter.
                let root = roots[visit];
                roots[..visit].fill(root);
                break;
            }
        }
        let first = self.functions.possible(roots[0], codes)?;
        let step = self.step(0)?;
        let first = self.functions.substitute(first, &step)?;
        let static_clauses = self.paths_to_false(first);
        let mut rules: Vec<u32> = clauses.iter().map(|clause| clause.rule).collect();
        rules.dedup();
        let (nodes, roots) = self.compact(&roots);
        let Self { atoms, positions, .. } = self;
        Ok(Built { diagram: Diagram { atoms, positions, rules, nodes, roots }, static_clauses })
    }

    /// Whether a window names an encounter by number, so that visits differ by their number.
    fn names_encounters(&self) -> bool {
        let mut seen = self.atoms.iter().filter_map(|&atom| self.encoder.atoms.seen_in(atom));
        seen.any(|(_, window)| window.visits().iter().any(|&visit| visit > 0))
    }

    fn literal(&mut self, literal: LiteralId) -> Result<Function, TooManyNodes> {
        let present = if literal.present() { literal } else { literal.negated() };
        self.functions.variable(self.variables[&present], literal.present())
    }

    /// For each variable, its value at the visit after `visit` in terms of `visit`. At the static
    /// visit, static atoms stand for the static codes themselves.
    fn step(&mut self, visit: usize) -> Result<Vec<Function>, TooManyNodes> {
        let mut step = Vec::new();
        for index in 0..self.atoms.len() {
            let atom = self.atoms[index];
            let seen = self.encoder.atoms.seen_in(atom);
            let (code, window) =
                seen.map(|(code, window)| (code, window.clone())).ok_or(TooManyNodes)?;
            let selected = window.selects(visit + 1, visit);
            let mut value = FALSE;
            if visit == 0 {
                if selected && self.encoder.vocabulary.kind(code) == Kind::Static {
                    value = self.functions.variable(index as u32, true)?;
                }
            } else {
                let now = self.encoder.now(code, true, Kind::Encounter).literal();
                if let Some(now) = now.filter(|_| selected) {
                    value = self.literal(now)?;
                }
                let earlier = window.one_visit_earlier();
                let past = self.encoder.past(code, &earlier, true, Kind::Encounter);
                if let Some(past) = past.literal() {
                    let past = self.literal(past)?;
                    value = self.functions.or(value, past)?;
                }
            }
            step.push(value);
        }
        for index in 0..self.positions.len() {
            step.push(self.functions.variable((self.atoms.len() + index) as u32, true)?);
        }
        Ok(step)
    }

    /// What a function of static atoms excludes, as clauses over the static codes.
    fn paths_to_false(&self, function: Function) -> Vec<Vec<LiteralId>> {
        let mut clauses = Vec::new();
        let mut open = vec![(function, Vec::new())];
        while let Some((at, path)) = open.pop() {
            if at == FALSE {
                clauses.push(path);
            } else if at != TRUE {
                let node = self.functions.node(at);
                let atom = self.atoms[node.variable as usize];
                let Some((code, _)) = self.encoder.atoms.seen_in(atom) else { continue };
                let position = self.encoder.order.position(code);
                for (next, present) in [(node.low, true), (node.high, false)] {
                    let mut path = path.clone();
                    path.push(LiteralId::now(position, present));
                    open.push((next, path));
                }
            }
        }
        clauses
    }

    /// The nodes that the roots reach, numbered anew.
    fn compact(&self, roots: &[Function]) -> (Arc<[Node]>, Vec<Function>) {
        let mut numbers: FxHashMap<Function, Function> =
            [(FALSE, FALSE), (TRUE, TRUE)].into_iter().collect();
        let mut nodes = vec![self.functions.node(FALSE), self.functions.node(TRUE)];
        let mut open: Vec<Function> = roots.to_vec();
        while let Some(&top) = open.last() {
            if numbers.contains_key(&top) {
                open.pop();
                continue;
            }
            let node = self.functions.node(top);
            match (numbers.get(&node.low).copied(), numbers.get(&node.high).copied()) {
                (Some(low), Some(high)) => {
                    numbers.insert(top, nodes.len() as Function);
                    nodes.push(Node { variable: node.variable, low, high });
                    open.pop();
                }
                (low, _) => open.push(if low.is_none() { node.low } else { node.high }),
            }
        }
        (nodes.into(), roots.iter().map(|root| numbers[root]).collect())
    }
}

/// Groups of encounter codes such that no clause, and no clause moved to an earlier visit, speaks
/// of codes of two groups.
pub(crate) struct Components {
    parents: Vec<u32>,
    statics: u32,
    /// A code of the group that facts are about: no diagram stands for it.
    facts: Option<u32>,
}

impl Components {
    pub fn new(written: &Written, encoder: &Encoder<'_>) -> Self {
        let codes = encoder.order.codes();
        let is_static =
            |code: &&consequence_record::Code| encoder.vocabulary.kind(**code) == Kind::Static;
        let statics = codes.iter().take_while(is_static).count() as u32;
        let parents = (0..codes.len() as u32).collect();
        let mut components = Self { parents, statics, facts: None };
        let end = encoder.order.position(encoder.vocabulary.end());
        for clause in written.iter() {
            let mut positions: Vec<u32> = clause
                .literals
                .iter()
                .filter_map(|&literal| components.position(encoder, literal))
                .collect();
            let facts =
                clause.literals.iter().filter_map(|literal| encoder.atoms.fact(literal.atom()?));
            for fact in facts {
                fact.for_each_code(&mut |code, _| positions.push(encoder.order.position(code)));
                positions.push(*components.facts.get_or_insert(end));
            }
            positions.retain(|&position| position >= statics);
            for &position in &positions {
                components.join(positions[0], position);
            }
            // A clause that says another thing one visit later may come to ask for the end: all
            // that look back do, but for those that look at the static visit by its number.
            let looks_back = |literal: &LiteralId| {
                literal.atom().is_some_and(|atom| {
                    let seen = encoder.atoms.seen_in(atom);
                    components.position(encoder, *literal).is_some()
                        || seen.is_some_and(|(_, window)| !window.distances().is_empty())
                })
            };
            if let Some(&first) = positions.first()
                && clause.literals.iter().any(looks_back)
            {
                components.join(first, end);
            }
        }
        for (code, _) in &encoder.axis.told {
            components.join(end, encoder.order.position(*code));
        }
        components
    }

    /// The component of a clause; `None` for a clause about static codes only.
    pub fn of(&self, encoder: &Encoder<'_>, literals: &[LiteralId]) -> Option<u32> {
        let mut positions = literals.iter().filter_map(|&literal| self.position(encoder, literal));
        positions.next().map(|position| self.root(position))
    }

    /// Whether a clause is of one of these components.
    pub fn is_of(
        &self,
        encoder: &Encoder<'_>,
        clause: &WrittenClause<'_>,
        components: &[u32],
    ) -> bool {
        clause.visits.first > 0
            && self.of(encoder, clause.literals).is_some_and(|root| components.contains(&root))
    }

    /// The component of encounter codes that most of the work went into.
    pub fn heaviest(&self, closure: &Closure) -> Option<u32> {
        let mut weights = vec![0u64; self.parents.len()];
        for (position, &work) in closure.work().iter().enumerate().skip(self.statics as usize) {
            weights[self.root(position as u32) as usize] += u64::from(work);
        }
        let (root, &weight) = weights.iter().enumerate().max_by_key(|(_, weight)| **weight)?;
        let root = root as u32;
        let has_facts = self.facts.is_some_and(|position| self.root(position) == root);
        (weight > 0 && !has_facts).then_some(root)
    }

    /// The position of the encounter code a literal speaks of.
    fn position(&self, encoder: &Encoder<'_>, literal: LiteralId) -> Option<u32> {
        let position = match literal.atom() {
            Some(atom) => encoder.order.position(encoder.atoms.seen_in(atom)?.0),
            None => literal.position()?,
        };
        (position >= self.statics).then_some(position)
    }

    pub fn root(&self, position: u32) -> u32 {
        let mut at = position;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
        }
        at
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }
}
