//! Rules that were closed and proved.

use std::sync::Arc;

use consequence::Derivation;
use pyo3::prelude::*;

use crate::rules::{NamedCode, named_codes};

/// Rules that were closed and proved. Immutable, and shared by all threads.
#[pyclass(frozen, module = "conseq._native")]
pub struct Plan {
    plan: Arc<consequence::Plan>,
}

impl Plan {
    /// A plan for Python.
    pub fn new(plan: consequence::Plan) -> Self {
        Self { plan: Arc::new(plan) }
    }

    /// The plan itself.
    pub fn plan(&self) -> &Arc<consequence::Plan> {
        &self.plan
    }
}

#[pymethods]
impl Plan {
    /// The codes that the rules were read over, with whether each is static; `END` is left out.
    fn codes(&self) -> Vec<NamedCode> {
        named_codes(self.plan.rules().vocabulary())
    }

    /// The codes in the order in which they are decided, `END` among them.
    fn order(&self) -> Vec<String> {
        let vocabulary = self.plan.rules().vocabulary();
        let codes = self.plan.order().codes();
        codes.iter().map(|&code| vocabulary.name(code).to_owned()).collect()
    }

    /// Rules, those of them that must hold, clauses, and those of them that were derived.
    fn sizes(&self) -> (usize, usize, usize, usize) {
        let rules = self.plan.rules();
        let clauses = || self.plan.clauses().filter(|clause| !clause.rules.is_empty());
        let derived = clauses().filter(|one| one.derivation != Derivation::Written).count();
        (rules.len(), rules.hard().count(), clauses().count(), derived)
    }

    /// What was proved: kinds of visits told apart, and statements whose negation is impossible.
    fn proof(&self) -> (usize, usize) {
        let proof = self.plan.proof();
        (proof.stages, proof.goals)
    }

    /// The most encounters of a record that the proof holds for.
    fn max_visits(&self) -> usize {
        self.plan.max_visits()
    }
}
