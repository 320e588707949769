//! Cohorts in memory: read, written, and handed on as tables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use consequence::jsonl::ReadOptions;
use consequence::{Dataset, HeldCohort, Out, jsonl};
use pyo3::prelude::*;

use crate::call::Call;
use crate::errors;
use crate::rules::{NamedCode, named_codes};

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

#[pymethods]
impl Cohort {
    /// Reads JSON lines, or a MEDS dataset.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, call: Call) -> PyResult<Self> {
        call.run(py, move |watch| Ok(Self::new(HeldCohort::open(&path, watch)?)))
    }

    /// Reads records as lines of JSON.
    #[staticmethod]
    fn from_lines(py: Python<'_>, text: String, name: String) -> PyResult<Self> {
        let read = py.detach(|| jsonl::read_from(text.as_bytes(), &name, &ReadOptions::default()));
        let loaded = read.map_err(|error| errors::raised(py, &error.into()))?;
        let details = loaded.details;
        let dataset = Dataset { details, ..Dataset::new(loaded.cohort, loaded.vocabulary) };
        Ok(Self::new(HeldCohort::new(name, dataset)))
    }

    /// The same under another name, with the rules that it is known to obey.
    fn renamed(&self, name: String, truth: Option<String>) -> Self {
        let held = HeldCohort { name, ..HeldCohort::clone(&self.held) };
        Self { held: Arc::new(held), truth: truth.map(Into::into) }
    }

    /// Writes it: JSON lines or a MEDS dataset, as the name says.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool, call: Call) -> PyResult<()> {
        let (held, truth) = (Arc::clone(&self.held), self.truth.clone());
        call.run(py, move |_| held.save(&Out::new(path).replacing(force), truth.as_deref()))
    }

    /// What reports and messages call it.
    fn name(&self) -> &str {
        &self.held.name
    }

    /// Records.
    fn __len__(&self) -> usize {
        self.held.dataset.cohort.len()
    }

    /// Encounters of all records.
    fn encounters(&self) -> usize {
        self.held.dataset.cohort.records().map(|record| record.len() - 1).sum()
    }

    /// The codes, with whether each is static; `END` is left out.
    fn codes(&self) -> Vec<NamedCode> {
        named_codes(&self.held.dataset.vocabulary)
    }

    /// What codes mean.
    fn titles(&self) -> BTreeMap<&str, &str> {
        let Dataset { titles, vocabulary, .. } = &*self.held.dataset;
        titles.iter().map(|(&code, title)| (vocabulary.name(code), title.as_str())).collect()
    }

    /// The split of every record.
    fn splits(&self) -> Vec<&'static str> {
        self.held.dataset.splits.iter().map(|split| split.name()).collect()
    }

    /// Whose record each is.
    fn ids(&self) -> Vec<&str> {
        let cohort = &self.held.dataset.cohort;
        (0..cohort.len()).map(|index| cohort.id(index)).collect()
    }

    /// The rules that it brings along.
    fn own_rules(&self) -> Option<&str> {
        self.held.own_rules.as_deref()
    }

    /// The rules that it is known to obey.
    fn truth(&self) -> Option<&str> {
        self.truth.as_deref()
    }
}
