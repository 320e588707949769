//! Rules within a visit in disjunctive normal form: a component's clauses hold if and only if one of its
//! terms does.

use consequence_rules::decisions::{FALSE, Functions, TRUE, TooManyNodes};
use rustc_hash::FxHashMap;

use crate::circuit::satisfiable;
use crate::{BaselineError, Clause, Component, Diagram, Limits, Variable, World};

/// A conjunction: codes by position, ascending, and whether each is in the visit.
pub type Term = Vec<(u32, bool)>;

/// The terms of one component.
///
/// ```
/// use std::sync::Arc;
/// use consequence_baselines::{Constraint, Limits, Terms};
/// use consequence_record::Kind;
/// use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};
///
/// let rules = Arc::new(RuleSet::parse("rule implies: A => B", None)?);
/// let codes = Order::natural(Arc::clone(rules.vocabulary()));
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// let constraint = Constraint::new(&written, &codes)?;
/// let world = constraint.world(Kind::Encounter);
/// let terms = Terms::new(world, &world.static_components()[0], &Limits::default())?;
/// assert_eq!(terms.terms(), [vec![(0, false)], vec![(1, true)]]); // no A, or B
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    codes: Vec<u32>,
    terms: Vec<Term>,
}

impl Terms {
    /// The terms of a component of static clauses.
    ///
    /// Each term begins as a way through the decision diagram that no term before covers, and then
    /// drops every literal that the clauses do not need. So there are at most as many terms as
    /// ways, and mostly far fewer.
    pub fn new(
        world: &World,
        component: &Component,
        limits: &Limits,
    ) -> Result<Self, BaselineError> {
        let diagram = satisfiable(world, component, limits)?;
        let all = component.clauses.iter();
        let satisfied = Satisfied::new(all.map(|&clause| &world.clauses()[clause as usize]));
        let mut terms = Vec::new();
        let mut rest = Functions::begin(&diagram.nodes, limits.nodes.max(diagram.size()));
        let mut uncovered = diagram.root;
        while uncovered != FALSE {
            if terms.len() == limits.terms {
                return Err(BaselineError::TooManyTerms {
                    codes: component.codes.len(),
                    limit: limits.terms,
                    paths: diagram.paths(),
                    rules: world.rule_names(component),
                });
            }
            let mut term = way(&diagram, &some_visit(&rest, uncovered, diagram.levels.len()));
            satisfied.shorten(&mut term);
            // Levels ascend with positions: there is nothing but codes in a static component.
            let outside = term.iter().filter_map(|&(position, value)| {
                let at = diagram.codes().binary_search(&position).ok()?;
                Some((diagram.code_levels[at], !value))
            });
            let outside: Vec<(u32, bool)> = outside.collect();
            uncovered = rest.and_clause(uncovered, &outside).map_err(|TooManyNodes| {
                BaselineError::TooManyNodes {
                    codes: component.codes.len(),
                    limit: limits.nodes,
                    rules: world.rule_names(component),
                }
            })?;
            terms.push(term);
        }
        Ok(Self { codes: component.codes.clone(), terms })
    }

    /// The positions of the component's codes, ascending.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The terms. They may overlap.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

/// The value of every level in some visit that satisfies a function.
fn some_visit(nodes: &Functions, function: u32, levels: usize) -> Vec<bool> {
    let mut values = vec![false; levels];
    let mut at = function;
    while at > TRUE {
        let node = nodes.node(at);
        let high = node.low == FALSE;
        values[node.variable as usize] = high;
        at = node.child(high);
    }
    values
}

/// The decisions on the way that values take through a diagram.
fn way(diagram: &Diagram, values: &[bool]) -> Term {
    let mut term = Term::new();
    let mut at = diagram.root;
    while at > TRUE {
        let node = diagram.nodes[at as usize];
        let value = values[node.variable as usize];
        if let Variable::Now(position) = diagram.levels[node.variable as usize] {
            term.push((position, value));
        }
        at = node.child(value);
    }
    term
}

/// Which clauses each literal satisfies.
struct Satisfied {
    clauses: usize,
    by_literal: FxHashMap<(u32, bool), Vec<u32>>,
}

impl Satisfied {
    fn new<'a>(clauses: impl ExactSizeIterator<Item = &'a Clause>) -> Self {
        let count = clauses.len();
        let mut by_literal: FxHashMap<(u32, bool), Vec<u32>> = FxHashMap::default();
        for (number, clause) in (0..).zip(clauses) {
            for literal in clause.now() {
                by_literal.entry(literal).or_default().push(number);
            }
        }
        Self { clauses: count, by_literal }
    }

    fn of(&self, literal: &(u32, bool)) -> &[u32] {
        self.by_literal.get(literal).map_or(&[], Vec::as_slice)
    }

    /// Drops the literals without which every clause still has one of the term's.
    fn shorten(&self, term: &mut Term) {
        let mut counts = vec![0u32; self.clauses];
        for &clause in term.iter().flat_map(|literal| self.of(literal)) {
            counts[clause as usize] += 1;
        }
        term.retain(|literal| {
            let own = self.of(literal);
            let needed = own.iter().any(|&clause| counts[clause as usize] == 1);
            if !needed {
                own.iter().for_each(|&clause| counts[clause as usize] -= 1);
            }
            needed
        });
    }
}
