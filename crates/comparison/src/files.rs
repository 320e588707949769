//! Where a comparison keeps what it has done, so that it can be resumed.

use std::path::PathBuf;

use consequence_pipeline::{Error, whole_path};
use consequence_store::{RunError, RunFolder, RunOptions, Site};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::ComparisonTask;

/// The number of the format of the folder.
const RUN_FORMAT: u32 = 2;

/// The folder of what is measured.
const WORK: &str = "work";

/// The page to read, which is written last.
const REPORT: &str = "report.html";

/// The folder of a comparison.
pub(super) struct Files {
    pub report: PathBuf,
    pub metrics: PathBuf,
    pub rules: PathBuf,
    run: RunFolder,
}

impl Files {
    /// Opens the folder, with what an earlier run left or without.
    pub fn open(task: &ComparisonTask) -> Result<Self, Error> {
        let options = RunOptions {
            notes: Some(WORK),
            parts: &["mined.rules", "metrics.json"],
            last: Some(REPORT),
            ..task.out.run_options(Site::InPlace, RUN_FORMAT)
        };
        let run = RunFolder::open(&task.out.path, &manifest(task), &options)?;
        let file = |name: &str| task.out.path.join(name);
        let [report, metrics, rules] = [REPORT, "metrics.json", "mined.rules"].map(file);
        Ok(Self { report, metrics, rules, run })
    }

    /// Refuses to go on with figures of other records or rules: files may have changed under their
    /// names.
    pub fn keep_to(&self, digests: &[String; 2]) -> Result<(), Error> {
        match self.kept::<[String; 2]>("inputs.json")? {
            Some(found) if found != *digests => {
                let path = self.run.path(WORK).join("inputs.json");
                Err(RunError::OtherTask { path, found: None }.into())
            }
            Some(_) => Ok(()),
            None => self.keep("inputs.json", digests),
        }
    }

    /// The path of a file that is no note.
    pub fn path(&self, name: &str) -> PathBuf {
        self.run.path(WORK).join(name)
    }

    /// A note; none if there is none, or none that is as it was kept: it is then made again.
    pub fn kept<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        match self.run.kept(name) {
            Err(RunError::Changed(_) | RunError::Unread { .. }) => Ok(None),
            found => Ok(found?),
        }
    }

    /// Keeps a note.
    pub fn keep(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        Ok(self.run.keep(name, value)?)
    }

    /// Drops a note.
    pub fn forget(&self, name: &str) -> Result<(), Error> {
        Ok(self.run.forget(name)?)
    }

    /// Ends the run.
    pub fn finish(self) -> Result<(), Error> {
        Ok(self.run.finish()?)
    }
}

/// All that the figures depend on.
fn manifest(task: &ComparisonTask) -> Value {
    let rules: Vec<String> = task.rules.iter().map(|path| whole_path(path)).collect();
    let methods: Vec<&str> = task.methods.iter().map(|method| method.name()).collect();
    let mut manifest = json!({
        "cohort": whole_path(&task.cohort),
        "rules": rules,
        "unknown_codes": format!("{:?}", task.unknown_codes),
        "methods": methods,
        "network": task.network.settings(),
        "also": task.also.as_ref().map(|network| network.settings()),
        "effort": task.effort,
        "seed": task.seed,
    });
    if task.no_own_rules {
        manifest["no_own_rules"] = json!(true);
    }
    if !task.rates.is_empty() {
        manifest["rates"] = json!(task.rates);
    }
    manifest
}
