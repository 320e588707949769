//! What a cohort looks like.

use consequence::codes::CodesTask;
use consequence::describe::DescribeTask;
use consequence::diff::DiffTask;
use consequence::export::{ExportForm, ExportTask};
use consequence::head::HeadTask;
use pyo3::prelude::*;

use super::run;
use crate::call::Call;
use crate::errors;
use crate::given::{CohortGiven, Settings};
use crate::report::Finished;

/// Tells what a cohort looks like.
#[pyfunction]
pub fn describe(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let mut task = DescribeTask::new(cohort);
    settings.put("titles", &mut task.titles)?;
    settings.put("top", &mut task.top)?;
    settings.put("hide_below", &mut task.hide_below)?;
    task.split = settings.split()?;
    task.html = settings.out("html")?;
    run(py, &call, task)
}

/// Shows the first records of a cohort.
#[pyfunction]
pub fn head(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let mut task = HeadTask::new(cohort);
    settings.put("records", &mut task.records)?;
    settings.put("titles", &mut task.titles)?;
    settings.put("show_ids", &mut task.show_ids)?;
    settings.put("visits", &mut task.visits)?;
    settings.put("codes", &mut task.codes)?;
    task.split = settings.split()?;
    run(py, &call, task)
}

/// Searches the codes of a cohort.
#[pyfunction]
pub fn codes(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let mut task = CodesTask::new(cohort);
    settings.put("words", &mut task.words)?;
    settings.put("titles", &mut task.titles)?;
    settings.put("top", &mut task.top)?;
    settings.put("hide_below", &mut task.hide_below)?;
    task.split = settings.split()?;
    run(py, &call, task)
}

/// Tells what differs between two cohorts.
#[pyfunction]
pub fn diff(
    py: Python<'_>,
    a: CohortGiven<'_>,
    b: CohortGiven<'_>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let mut task = DiffTask::new(a, b);
    settings.put("titles", &mut task.titles)?;
    settings.put("top", &mut task.top)?;
    run(py, &call, task)
}

/// Writes a cohort for other programs.
#[pyfunction]
pub fn export(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let forms =
        [("jsonl", ExportForm::Jsonl), ("csv", ExportForm::Csv), ("omop", ExportForm::Omop)];
    let (Some(form), Some(out)) = (settings.choice("form", &forms)?, settings.out("out")?) else {
        return Err(errors::input(py, "a cohort is exported in a form, to a path", None));
    };
    let parquet = settings.is_on("parquet")?;
    run(py, &call, ExportTask { cohort: cohort.into(), form, parquet, out })
}
