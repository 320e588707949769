//! Cohorts in memory: read, written, and handed on as tables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use consequence::{HeldCohort, Out, jsonl};
use pyo3::prelude::*;

use crate::call::Call;
use crate::errors;
use crate::rules::{NamedCode, named_codes};
use crate::stream::{self, Batches};

/// A cohort in memory. Immutable, and shared by all threads.
#[pyclass(frozen, module = "conseq._native")]
pub struct Cohort {
    held: Arc<HeldCohort>,
    truth: Option<Arc<str>>,
}

impl Cohort {
    /// A cohort for Python.
    pub fn new(held: HeldCohort) -> Self {
        Self { held: Arc::new(held), truth: None }
    }

    /// The same with the rules that it is known to obey.
    pub fn with_truth(self, truth: &str) -> Self {
        Self { truth: Some(truth.into()), ..self }
    }

    /// The cohort as tasks take it.
    pub fn held(&self) -> &Arc<HeldCohort> {
        &self.held
    }
}
