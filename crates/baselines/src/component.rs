//! Clauses that share codes, apart from those that do not.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::Clause;

/// Clauses tied together by the codes of the visit they share.
///
/// What is known does not tie clauses together: once it is known, codes of different components do
/// not depend on each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The positions of its codes, ascending. A clause that names none is a component by itself.
    pub codes: Vec<u32>,
    /// What its clauses ask about what is known, by number, ascending.
    pub known: Vec<u32>,
    /// Its clauses, by number, ascending.
    pub clauses: Vec<u32>,
}

impl Component {
    /// The components of some clauses, in the order of their first codes.
    pub(crate) fn split(clauses: &[Clause], wanted: impl Fn(&Clause) -> bool) -> Vec<Self> {
        let mut sets = Sets::default();
        for clause in clauses.iter().filter(|clause| wanted(clause)) {
            let mut codes = clause.now().map(|(position, _)| position);
            if let Some(first) = codes.next() {
                codes.for_each(|other| sets.join(first, other));
            }
        }
        let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut alone = Vec::new();
        for (index, clause) in (0..).zip(clauses).filter(|(_, clause)| wanted(clause)) {
            match clause.now().next() {
                Some((first, _)) => parts.entry(sets.root(first)).or_default().push(index),
                None => alone.push(vec![index]),
            }
        }
        let whole = |own: Vec<u32>| {
            let each = || own.iter().map(|&index| &clauses[index as usize]);
            let codes = each().flat_map(Clause::now).map(|(position, _)| position);
            let known = each().flat_map(Clause::known).map(|(atom, _)| atom);
            let (codes, known) = (ascending(codes), ascending(known));
            Self { codes, known, clauses: own }
        };
        parts.into_values().chain(alone).map(whole).collect()
    }
}

/// The numbers in ascending order, each once.
fn ascending(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    numbers.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// Positions that belong together; the smallest of a set stands for it.
#[derive(Default)]
struct Sets {
    parents: FxHashMap<u32, u32>,
}

impl Sets {
    fn root(&mut self, position: u32) -> u32 {
        let mut root = position;
        while let Some(&parent) = self.parents.get(&root) {
            root = parent;
        }
        let mut at = position;
        while let Some(parent) = self.parents.get_mut(&at) {
            at = std::mem::replace(parent, root);
        }
        root
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.parents.insert(one.max(other), one.min(other));
        }
    }
}
