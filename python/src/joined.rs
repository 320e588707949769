//! OMOP tables that a cluster joins by person: counted where the rows are, and made records of there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use consequence::Error;
use consequence::import::{
    ImportError, JoinedCohort, JoinedConcept, JoinedOptions, JoinedRecords, JoinedRows,
};
use consequence::parts::joined_outline;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyIterator};

use crate::errors;
use crate::given::Settings;
use crate::parts::hand_on;
use crate::stream::{Batches, Table};

/// What becomes of the rows.
fn options(settings: &Settings<'_>) -> PyResult<JoinedOptions> {
    let mut options = JoinedOptions {
        truncate: settings.get("truncate")?,
        max_visits: settings.get("max_visits")?,
        age_bands: settings.get("ages")?,
        ..JoinedOptions::default()
    };
    settings.put("min_patients", &mut options.min_patients)?;
    settings.put("sex", &mut options.sex)?;
    settings.put("gaps", &mut options.gaps)?;
    settings.put("quantiles", &mut options.quantiles)?;
    Ok(options)
}

fn failed(py: Python<'_>, error: ImportError) -> PyErr {
    errors::raised(py, &error.into())
}

fn owned(parts: &[PyBackedBytes]) -> Vec<Vec<u8>> {
    parts.iter().map(|part| part.to_vec()).collect()
}

/// The batches that an iterator of tables gives. What it raises itself is kept, and ends them.
struct Pulled<'a, 'py> {
    tables: Bound<'py, PyIterator>,
    waiting: std::vec::IntoIter<RecordBatch>,
    raised: &'a mut Option<PyErr>,
}

impl Iterator for Pulled<'_, '_> {
    type Item = Result<RecordBatch, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.waiting.next() {
                return Some(Ok(batch));
            }
            let py = self.tables.py();
            let read = |table: Bound<'_, PyAny>| {
                table.extract::<Table>()?.batches().map_err(|error| errors::raised(py, &error))
            };
            match self.tables.next()?.and_then(read) {
                Ok(batches) => self.waiting = batches.into_iter(),
                Err(error) => {
                    *self.raised = Some(error);
                    return None;
                }
            }
        }
    }
}

/// Counts the rows that an iterator gives.
fn counted<'py>(
    tables: Bound<'py, PyIterator>,
    count: impl FnOnce(Pulled<'_, 'py>) -> Result<Vec<u8>, ImportError>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = tables.py();
    let mut raised = None;
    let state = count(Pulled { tables, waiting: Vec::new().into_iter(), raised: &mut raised });
    match raised {
        Some(error) => Err(error),
        None => Ok(PyBytes::new(py, &state.map_err(|error| failed(py, error))?)),
    }
}

/// The first round: which concepts, results and values rows have.
#[pyfunction]
pub fn joined_count<'py>(
    tables: Bound<'py, PyIterator>,
    settings: Settings<'py>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options(&settings)?;
    counted(tables, |batches| JoinedRows::count(&options, batches))
}

/// Adds up what was counted of parts in the first round, or else in the second.
#[pyfunction]
pub fn joined_sum<'py>(
    py: Python<'py>,
    parts: Vec<PyBackedBytes>,
    first: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let parts = owned(&parts);
    let add_up = if first { JoinedRows::add_up } else { JoinedCohort::add_up };
    let sum = py.detach(|| add_up(&parts)).map_err(|error| failed(py, error))?;
    Ok(PyBytes::new(py, &sum))
}

/// The concepts that rows speak of, by what was counted in the first round.
#[pyfunction]
pub fn joined_concepts(py: Python<'_>, counted: Vec<PyBackedBytes>) -> PyResult<Vec<u64>> {
    JoinedCohort::concepts_met(&owned(&counted)).map_err(|error| failed(py, error))
}

/// What is known of joined rows.
#[pyclass(frozen, module = "conseq._native")]
pub struct Joined(Arc<JoinedCohort>);

#[pymethods]
impl Joined {
    /// By what was counted in the first round, and the tables that tell of the concepts.
    #[new]
    fn new(
        py: Python<'_>,
        counted: Vec<PyBackedBytes>,
        concepts: Option<Table>,
        ancestors: Option<Table>,
        settings: Settings<'_>,
    ) -> PyResult<Self> {
        let options = options(&settings)?;
        let made = py.detach(|| {
            let concepts =
                concepts.map(|table| JoinedConcept::read(&table.whole()?).map_err(Error::from));
            let ancestors = ancestors
                .map(|table| JoinedCohort::ancestors(&table.whole()?).map_err(Error::from));
            let concepts = concepts.transpose()?.unwrap_or_default();
            let ancestors = ancestors.transpose()?.unwrap_or_default();
            Ok(JoinedCohort::new(options, &owned(&counted), concepts, ancestors)?)
        });
        made.map(|made| Self(Arc::new(made))).map_err(|error: Error| errors::raised(py, &error))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let made = JoinedCohort::from_bytes(bytes).map_err(|error| failed(py, error))?;
        Ok(Self(Arc::new(made)))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// The second round: which codes records have.
    fn tally<'py>(&self, tables: Bound<'py, PyIterator>) -> PyResult<Bound<'py, PyBytes>> {
        counted(tables, |batches| self.0.tally(batches))
    }

    /// The same with what was counted in the second round.
    fn tallied(&self, py: Python<'_>, counted: Vec<PyBackedBytes>) -> PyResult<Self> {
        let made = self.0.tallied(&owned(&counted)).map_err(|error| failed(py, error))?;
        Ok(Self(Arc::new(made)))
    }

    /// What is known of the records without them.
    fn outline<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, PyBytes>> {
        let outline = joined_outline(name, &self.0).map_err(|error| errors::raised(py, &error))?;
        Ok(PyBytes::new(py, &outline.to_bytes()))
    }

    /// How much was left out, by why.
    fn left_out(&self) -> BTreeMap<String, u64> {
        let dropped = &self.0.summary().dropped;
        dropped.iter().map(|(reason, &count)| (reason.to_string(), count)).collect()
    }

    /// Begins to make records.
    fn records(&self) -> RecordsOfRows {
        RecordsOfRows(Mutex::new(Some(JoinedRecords::new(Arc::clone(&self.0)))))
    }
}

/// Records that are made as their rows come: the events of each.
#[pyclass(frozen, module = "conseq._native")]
pub struct RecordsOfRows(Mutex<Option<JoinedRecords>>);

#[pymethods]
impl RecordsOfRows {
    /// Takes rows, and gives the events of records that are whole.
    fn push(&self, py: Python<'_>, table: Table) -> PyResult<Vec<Batches>> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(records) = records.as_mut() else { return Err(over(py)) };
        let mut events = Vec::new();
        for batch in table.batches().map_err(|error| errors::raised(py, &error))? {
            let part = records.push(&batch).map_err(|error| failed(py, error))?;
            part.iter().try_for_each(|part| put_events(py, part, &mut events))?;
        }
        Ok(events)
    }

    /// The events of the last record.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Batches>> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(records) = records else { return Err(over(py)) };
        let mut events = Vec::new();
        let part = records.finish().map_err(|error| failed(py, error))?;
        part.iter().try_for_each(|part| put_events(py, part, &mut events))?;
        Ok(events)
    }
}

fn put_events(
    py: Python<'_>,
    part: &consequence::Dataset,
    events: &mut Vec<Batches>,
) -> PyResult<()> {
    let put = |batch: RecordBatch| {
        events.push(Batches::new(batch.schema(), vec![batch]));
        true
    };
    hand_on(part, false, put).map_err(|error| errors::raised(py, &error))
}

fn over(py: Python<'_>) -> PyErr {
    errors::unusable(py, "all rows are records already", "make records of other rows anew")
}
