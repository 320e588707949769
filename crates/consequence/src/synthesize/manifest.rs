//! What a run was begun with, so that none is gone on with by mistake.

use std::fs;
use std::path::Path;

use consequence_store::{StoreError, remove_file, sweep};
use serde_json::{Value, json};

use super::{Origin, SynthesizeTask, Workspace};
use crate::train::ModelChoice;
use consequence_pipeline::{Error, begun_with, goes_on, refuse_cohort, write_note};

/// Makes the folder and writes down what the run is begun with. A run that is there is gone on with if
/// it was begun with the same; else it is refused, or forced out of the way.
pub(super) fn settle(task: &SynthesizeTask, places: &Workspace) -> Result<(), Error> {
    sweep(&task.out.path)?;
    let wanted = manifest(task);
    if task.out.resume && goes_on(&places.manifest, &wanted, task.out.force)? {
        return Ok(());
    }
    // What another run left must not be taken for a part of this one, should this one be stopped.
    remove_file(&places.manifest)?;
    remove_file(&places.rules)?;
    if !matches!(task.origin, Origin::Cohort(_)) && places.cohort.is_dir() {
        refuse_cohort(&places.cohort, true)?;
        fs::remove_dir_all(&places.cohort)
            .map_err(|error| StoreError::new(&places.cohort, error))?;
    }
    write_note(&places.manifest, &wanted)
}

/// All that what is made depends on.
fn manifest(task: &SynthesizeTask) -> Value {
    let model_kind = match &task.model_kind {
        ModelChoice::Halo(network) => {
            json!({ "mode": network.mode.to_string(), "network": network.settings() })
        }
        ModelChoice::Markov => json!("markov"),
    };
    let rules: Vec<String> = task.rules.iter().map(|path| whole(path)).collect();
    let (source, from) = match &task.origin {
        Origin::Cohort(path) => (whole(path), None),
        Origin::Tables { kind, path } => (whole(path), Some(format!("{kind:?}"))),
        Origin::Simulated { .. } => (String::new(), Some(format!("{:?}", task.origin))),
    };
    begun_with(json!({
        "source": source,
        "from": from,
        "rules": rules,
        "unknown_codes": format!("{:?}", task.unknown_codes),
        "records": task.records,
        "learner": model_kind,
        "seed": task.seed,
    }))
}

/// A path that means the same in every folder.
fn whole(path: &Path) -> String {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}
