//! How good a model is, how close records come to real ones, and whether they can leave the house.

use std::path::PathBuf;

use consequence::Split;
use consequence::evaluate::{EvaluateTask, PerplexityTask};
use consequence::release::ReleaseTask;
use consequence::train::Size;
use consequence_comparison::{ComparisonTask, Effort, Method};
use pyo3::prelude::*;

use super::run;
use crate::call::Call;
use crate::errors;
use crate::given::{CohortGiven, ModelGiven, RulesGiven, Settings};
use crate::model::network_settings;
use crate::report::Finished;
use crate::rules::unknown_codes;

/// Measures synthetic records beside real ones.
#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    real: CohortGiven<'_>,
    synthetic: CohortGiven<'_>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let task = EvaluateTask {
        rules: rules.into(),
        unknown_codes: unknown_codes(settings.is_on("allow_unknown")?),
        no_own_rules: settings.is_on("no_own_rules")?,
        groups: settings.rules("groups")?,
        strata: settings.get("strata")?.unwrap_or_default(),
        out: settings.out("out")?,
        ..EvaluateTask::new(real, synthetic)
    };
    run(py, &call, task)
}

fn perplexity_task(
    model: ModelGiven<'_>,
    real: CohortGiven<'_>,
    rules: RulesGiven,
    settings: &Settings<'_>,
) -> PyResult<PerplexityTask> {
    Ok(PerplexityTask {
        split: settings.split()?.unwrap_or(Split::HeldOut),
        rules: rules.into(),
        no_rules: settings.is_on("no_rules")?,
        unknown_codes: unknown_codes(settings.is_on("allow_unknown")?),
        ..PerplexityTask::new(model, real)
    })
}

/// Measures how well a model predicts real records.
#[pyfunction]
pub fn perplexity(
    py: Python<'_>,
    model: ModelGiven<'_>,
    real: CohortGiven<'_>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    run(py, &call, perplexity_task(model, real, rules, &settings)?)
}

/// The logarithm of the probability of every record.
#[pyfunction]
pub fn log_probabilities(
    py: Python<'_>,
    model: ModelGiven<'_>,
    real: CohortGiven<'_>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Vec<f64>> {
    let task = perplexity_task(model, real, rules, &settings)?;
    call.run(py, move |watch| task.log_probabilities(watch))
}

/// Tells whether a synthetic cohort can leave the house.
#[pyfunction]
pub fn release(
    py: Python<'_>,
    real: CohortGiven<'_>,
    synthetic: CohortGiven<'_>,
    rules: RulesGiven,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let mut task = ReleaseTask {
        rules: rules.into(),
        unknown_codes: unknown_codes(settings.is_on("allow_unknown")?),
        no_own_rules: settings.is_on("no_own_rules")?,
        page: settings.out("html")?,
        ..ReleaseTask::new(real, synthetic)
    };
    settings.put("rare_below", &mut task.rare_below)?;
    let limits = &mut task.limits;
    settings.put("least_patients", &mut limits.patients)?;
    settings.put("most_violations", &mut limits.violations)?;
    for (name, limit) in [
        ("most_copies", &mut limits.copies),
        ("most_nearer", &mut limits.nearer),
        ("most_membership", &mut limits.membership),
        ("most_attributes", &mut limits.attributes),
        ("most_small_cells", &mut limits.small_cells),
        ("most_rare_codes", &mut limits.rare_codes),
        ("most_rare_values", &mut limits.rare_values),
    ] {
        settings.put(name, limit)?;
        if !(0.0..=1.0).contains(limit) {
            return Err(errors::input(py, &format!("{name}={limit} is not from 0 to 1"), None));
        }
    }
    run(py, &call, task)
}

/// Every method of the paper on one cohort.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    cohort: PathBuf,
    rules: Vec<PathBuf>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let Some(out) = settings.out("out")? else {
        return Err(errors::input(py, "a comparison is written to a folder", None));
    };
    let (usual, effort) = match settings.is_on("quick")? {
        true => (Size::Tiny, Effort::QUICK),
        false => (Size::Small, Effort::PAPER),
    };
    let seed = settings.get("seed")?.unwrap_or(1);
    let network = network_settings(&settings)?;
    let failed = |error| errors::raised(py, &error);
    let mut task = ComparisonTask {
        rules,
        unknown_codes: unknown_codes(settings.is_on("allow_unknown")?),
        no_own_rules: settings.is_on("no_own_rules")?,
        network: network.task(usual, seed).map_err(failed)?,
        also: match settings.is_on("also_halo")? {
            true => Some(network.halo_beside(usual).map_err(failed)?),
            false => None,
        },
        rates: settings.get("rates")?.unwrap_or_default(),
        device: crate::model::device(py, &settings)?,
        effort,
        seed,
        ..ComparisonTask::new(cohort, out)
    };
    settings.put("seeds", &mut task.effort.trainings)?;
    settings.put("runs", &mut task.effort.runs)?;
    settings.put("records", &mut task.effort.records)?;
    settings.put("deep_runs", &mut task.effort.deep_runs)?;
    task.effort.train_records = settings.get("train_records")?.or(effort.train_records);
    if let Some(names) = settings.get::<Vec<String>>("methods")? {
        let named = |name: &String| {
            name.parse::<Method>().map_err(|error| errors::input(py, &error.to_string(), None))
        };
        let methods = names.iter().map(named).collect::<PyResult<Vec<_>>>()?;
        task.methods.retain(|method| methods.contains(method));
    }
    run(py, &call, task)
}
