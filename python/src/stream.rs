//! Tables by the Arrow C stream: from anything that has `__arrow_c_stream__`, and to anything that takes it.
//!
//! The one file with unsafe code: an address that comes in a capsule from Python is read as the stream
//! that the capsule's name promises.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use consequence::Error;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;

const STREAM: &CStr = c"arrow_array_stream";

/// A table on its way from Python.
pub struct Table(RecordBatchStreamReader);

impl<'a, 'py> FromPyObject<'a, 'py> for Table {
    type Error = PyErr;

    /// Takes anything with `__arrow_c_stream__`: a frame of pandas or polars, a table of pyarrow, a relation of
    /// duckdb.
    fn extract(table: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = table.py();
        let Ok(made) = table.getattr("__arrow_c_stream__") else {
            let what = format!("a {} is no table", table.get_type().name()?);
            let advice = "give anything with `__arrow_c_stream__`: a frame of pandas 2.2 or polars, a table of \
                          pyarrow, a relation of duckdb";
            return Err(errors::input(py, &what, Some(advice.into())));
        };
        let capsule = made.call0().map_err(|error| unmade(py, error))?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: the capsule's name says that it holds a stream, and Python keeps the capsule alive here. The
        // stream is moved out and left released in its place, so the capsule frees nothing twice.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        let reader = RecordBatchStreamReader::try_new(stream);
        reader.map(Self).map_err(|error| errors::raised(py, &unreadable(&error)))
    }
}

impl Table {
    /// Every batch; one without rows where there is none, so that the columns are known.
    pub fn batches(self) -> Result<Vec<RecordBatch>, Error> {
        let schema = self.0.schema();
        let batches = self.0.collect::<Result<Vec<_>, _>>();
        let mut batches = batches.map_err(|error| unreadable(&error))?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok(batches)
    }

    /// The whole table as one batch.
    pub fn whole(self) -> Result<RecordBatch, Error> {
        let schema = self.0.schema();
        let batches = self.batches()?;
        concat_batches(&schema, &batches).map_err(|error| unreadable(&error))
    }
}

/// The exception of a table that has no form in Arrow. What its library says may show a value, and so is only the
/// cause.
fn unmade(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyException>(py) {
        return error;
    }
    let what = "the table has a column that Arrow has no type for";
    let advice = "give each column one type: all texts, all numbers, all times with a time zone or all without";
    let raised = errors::input(py, what, Some(advice.into()));
    raised.set_cause(py, Some(error));
    raised
}

fn unreadable(error: &ArrowError) -> Error {
    // Only the first line: the rest is a trace of the program that made the table.
    let said = error.to_string();
    let what = format!("the table cannot be read: {}", said.lines().next().unwrap_or_default());
    Error::refused(what, "give a table of rows and columns")
}

/// Batches of a table on their way to Python.
#[pyclass(frozen, module = "conseq._native")]
pub struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    /// A table of these batches.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }
}

#[pymethods]
impl Batches {
    /// The table as an Arrow C stream; it can be asked for more than once.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that asked for other types casts by itself: the protocol lets a producer decline.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    /// Rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}
