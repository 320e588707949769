//! How well rules and cohorts go together.

use consequence::audit::AuditTask;
use consequence::check::CheckTask;
use consequence::enforce::EnforceTask;
use consequence::{HeldCohort, Inputs};
use pyo3::prelude::*;

use super::{record_inputs, run};
use crate::call::Call;
use crate::cohort::Cohort;
use crate::given::{CohortGiven, ModelGiven, RulesGiven, Settings};
use crate::report::Finished;
use crate::rules::unknown_codes;

/// Analyses rules, and proves that they can always be kept.
#[pyfunction]
pub fn check(
    py: Python<'_>,
    rules: RulesGiven,
    cohort: Option<CohortGiven<'_>>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let mut task = CheckTask {
        inputs: Inputs {
            rules: rules.into(),
            cohort: cohort.map(Into::into),
            vocabulary: settings.get("vocabulary")?,
            unknown_codes: unknown_codes(settings.is_on("allow_unknown")?),
            no_own_rules: settings.is_on("no_own_rules")?,
        },
        max_visits: settings.get("max_visits")?,
        explain: settings.get("explain")?,
        ..CheckTask::default()
    };
    settings.put("titles", &mut task.titles)?;
    run(py, &call, task)
}

/// Counts the violations in a cohort.
#[pyfunction]
pub fn audit(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let mut task = AuditTask::new(record_inputs(cohort, rules, &settings)?);
    settings.put("examples", &mut task.examples)?;
    settings.put("top", &mut task.top)?;
    settings.put("show_ids", &mut task.show_ids)?;
    settings.put("referee", &mut task.referee)?;
    settings.put("titles", &mut task.titles)?;
    settings.put("hide_below", &mut task.hide_below)?;
    task.split = settings.split()?;
    task.record = settings.get("record")?;
    task.all = settings.out("all")?;
    task.html = settings.out("html")?;
    run(py, &call, task)
}

/// Repairs a cohort, and gives it with the report.
#[pyfunction]
pub fn enforce(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    rules: RulesGiven,
    model: Option<ModelGiven<'_>>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<(Cohort, Finished)> {
    let mut task = EnforceTask {
        changes: settings.get("changes")?,
        model: model.map(Into::into),
        soft: settings.is_on("soft")?,
        ..EnforceTask::in_memory(record_inputs(cohort, rules, &settings)?)
    };
    settings.put("seed", &mut task.seed)?;
    call.run(py, move |watch| {
        let (dataset, report) = task.repaired(watch)?;
        let held = HeldCohort::new(format!("{} (repaired)", task.inputs.cohort), dataset);
        Ok((Cohort::new(held), Finished::new(&report)?))
    })
}
