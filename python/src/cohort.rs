//! Cohorts in memory: read, written, and handed on as tables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use consequence::arrow::{self, EventBatches, TableOptions, Tables};
use consequence::jsonl::{ReadOptions, WriteError};
use consequence::{Dataset, HeldCohort, Out, jsonl};
use pyo3::prelude::*;

use crate::call::Call;
use crate::errors;
use crate::given::Settings;
use crate::parts::read_options;
use crate::rules::{NamedCode, named_codes, vocabulary};
use crate::stream::{Batches, Table};

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

    /// Reads tables: `events`, and where they are there `codes`, `subjects`, `concepts` and `scales`.
    #[staticmethod]
    fn from_table(
        py: Python<'_>,
        tables: BTreeMap<String, Table>,
        name: String,
        settings: Settings<'_>,
        call: Call,
    ) -> PyResult<Self> {
        let mut options = read_options(&settings)?;
        let codes: Option<Vec<NamedCode>> = settings.get("vocabulary")?;
        options.vocabulary = codes.map(|codes| vocabulary(py, codes)).transpose()?;
        call.run(py, move |watch| {
            let mut read = Tables::default();
            for (name, table) in tables {
                match name.as_str() {
                    "codes" => read.codes = Some(table.whole()?),
                    "subjects" => read.subjects = Some(table.whole()?),
                    "concepts" => read.concepts = Some(table.whole()?),
                    "scales" => read.scales = Some(table.whole()?),
                    _ => read.events = table.batches()?,
                }
            }
            watch.begin("reading the table", None);
            let dataset = arrow::read(&read, &options);
            watch.finish();
            Ok(Self::new(HeldCohort::new(name, dataset?)))
        })
    }

    /// One of the tables that the cohort is told by; none where there is nothing to tell.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Option<Batches>> {
        let dataset = &*self.held.dataset;
        let failed = |error: WriteError| errors::raised(py, &error.into());
        let options = TableOptions::default();
        if name == "events" {
            let made = py.detach(|| {
                let events = EventBatches::new(dataset, &options)?;
                Ok((events.schema(), events.collect::<Result<Vec<_>, _>>()?))
            });
            let (schema, batches) = made.map_err(failed)?;
            return Ok(Some(Batches::new(schema, batches)));
        }
        if name == "long" {
            let batch = py.detach(|| arrow::long_table(dataset, 0..dataset.cohort.len()));
            let batch = batch.map_err(failed)?;
            return Ok(Some(Batches::new(batch.schema(), vec![batch])));
        }
        let tables = py.detach(|| arrow::tables(dataset, &options)).map_err(failed)?;
        let table = match name {
            "codes" => tables.codes,
            "subjects" => tables.subjects,
            "concepts" => tables.concepts,
            "scales" => tables.scales,
            _ => {
                let what = format!("a cohort has no table {name:?}");
                let advice = "there is events, codes, subjects, concepts, scales and long";
                return Err(errors::input(py, &what, Some(advice.into())));
            }
        };
        Ok(table.map(|batch| Batches::new(batch.schema(), vec![batch])))
    }

    /// Reads records as lines of JSON.
    #[staticmethod]
    fn from_lines(
        py: Python<'_>,
        text: String,
        name: String,
        codes: Option<Vec<NamedCode>>,
    ) -> PyResult<Self> {
        let vocabulary = codes.map(|codes| vocabulary(py, codes)).transpose()?;
        let options = ReadOptions { vocabulary, ..ReadOptions::default() };
        let read = py.detach(|| jsonl::read_from(text.as_bytes(), &name, &options));
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
