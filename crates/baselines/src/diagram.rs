//! The clauses of one component as a reduced ordered decision diagram.

use crate::evaluation::Evaluation;
use crate::{BaselineError, Coin, Component, Variable, World};
use consequence_rules::decisions::{FALSE, Function, Functions, Node, TRUE, TooManyNodes};

/// Which codes of a component may be together, given what is known.
///
/// Codes are decided in ascending order. What is known is asked for just before the first code that
/// may hang on it, not at the top: at the top, clauses that each hang on an atom of their own would
/// need a node for every combination of the atoms.
///
/// ```
/// use std::sync::Arc;
/// use consequence_baselines::{Coin, Constraint, Diagram, Limits};
/// use consequence_record::Kind;
/// use consequence_rules::{CompileLimits, Order, RuleSet, WrittenRules};
///
/// let rules = Arc::new(RuleSet::parse("rule one: exactly one of A, B", None)?);
/// let codes = Order::natural(Arc::clone(rules.vocabulary()));
/// let written = WrittenRules::new(rules, &CompileLimits::default())?;
/// let constraint = Constraint::new(&written, &codes)?;
/// let world = constraint.world(Kind::Encounter);
/// let diagram = Diagram::new(world, &world.components()[0], &Limits::default())?;
///
/// // A has probability 0.5, B has 0.25: exactly one of them is there with probability 0.5.
/// let coins = [0.5, 0.25].map(Coin::from_probability);
/// let evaluation = diagram.evaluate(&[], &coins);
/// assert!((evaluation.log_weight() - 0.5f64.ln()).abs() < 1e-12);
/// let mut walk = evaluation.walk();
/// assert!((walk.probability() - 0.75).abs() < 1e-12);
/// walk.decide(false);
/// assert_eq!(walk.probability(), 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Diagram {
    /// Children before parents; the first two are false and true.
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: Function,
    /// What is decided at each level.
    pub(crate) levels: Vec<Variable>,
    codes: Vec<u32>,
    /// The level of each code.
    pub(crate) code_levels: Vec<u32>,
}

impl Diagram {
    /// The diagram of a component.
    pub fn new(
        world: &World,
        component: &Component,
        limits: &crate::Limits,
    ) -> Result<Self, BaselineError> {
        let levels = levels(world, component);
        let mut ranks: Vec<(Variable, u32)> = levels.iter().copied().zip(0..).collect();
        ranks.sort_unstable();
        let level = |variable: Variable| {
            let found = ranks.binary_search_by_key(&variable, |&(variable, _)| variable);
            found.map_or(u32::MAX, |at| ranks[at].1)
        };
        let mut clauses: Vec<Vec<(u32, bool)>> = component
            .clauses
            .iter()
            .map(|&clause| {
                let literals = &world.clauses()[clause as usize].literals;
                let mut clause: Vec<(u32, bool)> =
                    literals.iter().map(|&(variable, value)| (level(variable), value)).collect();
                clause.sort_unstable();
                clause
            })
            .collect();
        // From the bottom up, so that a clause changes the top of the diagram only.
        let first = |clause: &[(u32, bool)]| clause.first().map_or(0, |&(level, _)| level);
        clauses.sort_unstable_by(|one, other| {
            first(other).cmp(&first(one)).then_with(|| one.cmp(other))
        });
        let mut nodes = Functions::new(limits.nodes);
        let too_many = |TooManyNodes| BaselineError::TooManyNodes {
            codes: component.codes.len(),
            limit: limits.nodes,
            rules: world.rule_names(component),
        };
        let conjoined =
            clauses.iter().try_fold(TRUE, |root, clause| nodes.and_clause(root, clause));
        let root = nodes.keep(conjoined.map_err(too_many)?);
        let code_levels = component.codes.iter().map(|&code| level(Variable::Now(code))).collect();
        let codes = component.codes.clone();
        Ok(Self { nodes: nodes.into_nodes(), root, levels, codes, code_levels })
    }

    /// The positions of its codes, ascending.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The number of its nodes.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing satisfies it, whatever is known.
    pub fn is_false(&self) -> bool {
        self.root == FALSE
    }

    /// Whether codes satisfy it. `known` has a value for every atom of the world, `present` for
    /// every code, by position.
    pub fn holds(&self, known: &[bool], mut present: impl FnMut(u32) -> bool) -> bool {
        let mut at = self.root;
        while at > TRUE {
            let node = self.nodes[at as usize];
            at = node.child(match self.levels[node.variable as usize] {
                Variable::Known(atom) => known[atom as usize],
                Variable::Now(position) => present(position),
            });
        }
        at == TRUE
    }

    /// Weighs it by the probabilities of its codes, one for each of [`Diagram::codes`].
    ///
    /// # Panics
    /// If there are not as many coins as codes, or what is known does not fit the world.
    pub fn evaluate<'a>(&'a self, known: &[bool], coins: &[Coin]) -> Evaluation<'a> {
        Evaluation::new(self, known, coins)
    }

    /// Ways from the root to true, at most [`u64::MAX`].
    pub fn paths(&self) -> u64 {
        let mut paths = vec![0u64, 1];
        for node in &self.nodes[2..] {
            paths.push(paths[node.low as usize].saturating_add(paths[node.high as usize]));
        }
        paths[self.root as usize]
    }
}

/// Codes in ascending order; an atom of what is known before the first code that completes a clause
/// with it.
fn levels(world: &World, component: &Component) -> Vec<Variable> {
    let mut keyed: Vec<(u32, bool, Variable)> =
        component.codes.iter().map(|&code| (code, true, Variable::Now(code))).collect();
    let mut needed: Vec<u32> = vec![u32::MAX; component.known.len()];
    for &clause in &component.clauses {
        let clause = &world.clauses()[clause as usize];
        let last = clause.now().map(|(position, _)| position).max().unwrap_or(0);
        for (atom, _) in clause.known() {
            if let Ok(at) = component.known.binary_search(&atom) {
                needed[at] = needed[at].min(last);
            }
        }
    }
    let atoms = component.known.iter().zip(needed);
    keyed.extend(atoms.map(|(&atom, before)| (before, false, Variable::Known(atom))));
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, variable)| variable).collect()
}
