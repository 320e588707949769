//! `consequence audit`

use consequence::Error;
use consequence::audit::AuditTask;

use super::{Outcome, inputs};
use crate::args::AuditArguments;

pub fn run(arguments: &AuditArguments) -> Result<Outcome, Error> {
    let task = AuditTask {
        top: arguments.top,
        show_ids: arguments.show_ids,
        referee: arguments.referee,
        split: arguments.split,
        ..AuditTask::new(inputs(&arguments.rules, &arguments.cohort, &arguments.codes))
    };
    super::run(&task, arguments.json)
}
