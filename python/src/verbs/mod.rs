//! One function a verb: settings in, a task run, a report out.

mod judging;
mod looking;
mod making;
mod measuring;

use consequence::{RecordInputs, Task};
use pyo3::prelude::*;

pub use judging::{audit, check, enforce};
pub use looking::{codes, describe, diff, export, head};
pub use making::{
    common_sense, import_tables, mine, rules_from, search, simulate, synthesize, write_text,
};
pub use measuring::{compare, evaluate, log_probabilities, perplexity, release};

use crate::call::Call;
use crate::given::{CohortGiven, RulesGiven, Settings};
use crate::report::Finished;
use crate::rules::unknown_codes;

/// Runs a task, and gives its report.
fn run(py: Python<'_>, call: &Call, task: impl Task + Send + 'static) -> PyResult<Finished> {
    call.run(py, move |watch| Finished::new(&task.run(watch)?))
}

/// A cohort with rules, and how the codes of the one and of the other meet.
pub fn record_inputs(
    cohort: CohortGiven<'_>,
    rules: RulesGiven,
    settings: &Settings<'_>,
) -> PyResult<RecordInputs> {
    Ok(RecordInputs {
        rules: rules.into(),
        vocabulary: settings.get("vocabulary")?,
        unknown_codes: unknown_codes(settings.is_on("allow_unknown")?),
        no_own_rules: settings.is_on("no_own_rules")?,
        ..RecordInputs::new(cohort)
    })
}
