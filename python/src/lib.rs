//! The native half of the Python package `conseq`.
//!
//! It converts and calls: what is given from Python becomes a task of the library, what a task ends in
//! becomes JSON, text and handles. How people call it, and what they read about it, is in `conseq/*.py`.
//!
//! - [`call`]: work on a thread of its own, so that Ctrl-C is heard, on as many threads as were asked for.
//! - [`watch`]: how far it has come, told to Python now and then.
//! - [`errors`]: every error of the library as an exception of `conseq.errors`.
//! - [`joined`]: OMOP tables that a cluster joins.
//! - [`model_tensors`]: the weights of networks.
//! - [`parts`]: records in many places, counted and repaired where they are.
//! - [`plan_tensors`]: plans as arrays of numbers, for layers of a network.
//! - [`stream`]: tables by the Arrow C stream; the one file with unsafe code.

mod call;
mod cohort;
mod errors;
mod given;
mod joined;
mod model;
mod model_tensors;
mod parts;
mod plan;
mod plan_tensors;
mod report;
mod rules;
mod stream;
mod verbs;
mod watch;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line, the name of the program first, and gives the exit status.
#[pyfunction]
fn command_line(py: Python<'_>, given: Vec<OsString>) -> u8 {
    py.detach(|| consequence_cli::run(given))
}

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::cohort::Cohort;
    #[pymodule_export]
    use super::command_line;
    #[pymodule_export]
    use super::joined::{Joined, RecordsOfRows, joined_concepts, joined_count, joined_sum};
    #[pymodule_export]
    use super::model::{Model, Parts, generate, sample, stream, train};
    #[pymodule_export]
    use super::model_tensors::{network, with_network};
    #[pymodule_export]
    use super::parts::{
        Counting, Generation, Job, Repairing, add_up_written, model_digest, outline,
        outline_of_dataset, outline_tables, sample_keys, told, work,
    };
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::plan_tensors::{PlanTensors, random_words};
    #[pymodule_export]
    use super::report::Finished;
    #[pymodule_export]
    use super::rules::Rules;
    #[pymodule_export]
    use super::stream::Batches;
    #[pymodule_export]
    use super::verbs::{
        audit, check, codes, common_sense, compare, describe, diff, enforce, evaluate, export,
        head, import_tables, log_probabilities, mine, perplexity, release, rules_from, simulate,
        synthesize, write_text,
    };

    /// What is done once when the package is imported.
    #[pymodule_init]
    fn begin(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        consequence::keep_kernels(|variable| std::env::var_os(variable));
        Ok(())
    }

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// The number of the format of reports.
    #[pymodule_export]
    const REPORT_FORMAT: u32 = consequence::REPORT_FORMAT;
}
