//! Tables by the Arrow C stream: from anything that has `__arrow_c_stream__`, and to anything that takes it.
//!
//! The one file with unsafe code: an address that comes in a capsule from Python is read as the stream
//! that the capsule's name promises.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;

const STREAM: &CStr = c"arrow_array_stream";

/// The batches of anything with `__arrow_c_stream__`: a frame of pandas or polars, a table of pyarrow, a
/// relation of duckdb.
pub fn batches(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let py = table.py();
    let Ok(made) = table.getattr("__arrow_c_stream__") else {
        let what = format!("a {} is no table", table.get_type().name()?);
        let advice = "give anything with `__arrow_c_stream__`: a frame of pandas 2.2 or polars, a table of \
                      pyarrow, a relation of duckdb";
        return Err(errors::unusable(py, &what, advice));
    };
    let capsule = made.call0()?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule's name says that it holds a stream, and Python keeps the capsule alive here. The
    // stream is moved out and left released in its place, so the capsule frees nothing twice.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    RecordBatchStreamReader::try_new(stream).map_err(|error| {
        errors::unusable(py, &error.to_string(), "give a table of rows and columns")
    })
}

/// Batches of a table on their way to Python.
#[pyclass(frozen, module = "conseq._native")]
pub struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    /// A table of these batches.
    pub fn new(schema: Schema, batches: Vec<RecordBatch>) -> Self {
        Self { schema: Arc::new(schema), batches }
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
