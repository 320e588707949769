//! Where a comparison keeps what it has done, so that it can be gone on with.

use std::fs;
use std::path::{Path, PathBuf};

use consequence_baselines::Method;
use consequence_store::{StoreError, create_directory, remove_file, sweep};
use serde_json::{Value, json};

use super::ComparisonTask;
use consequence_pipeline::{Error, OTHER_RUN, OpenOut, begun_with, goes_on, read_note, write_note};

/// The folder of a comparison.
pub(super) struct Place<'a> {
    pub report: PathBuf,
    pub metrics: PathBuf,
    pub rules: PathBuf,
    work: PathBuf,
    _out: OpenOut<'a>,
}

impl<'a> Place<'a> {
    /// Makes the folder and writes down what the comparison is begun with. One that is there is gone on
    /// with if it was begun with the same; else it is refused, or forced out of the way.
    pub fn settle(task: &'a ComparisonTask) -> Result<Self, Error> {
        let out = task.out.filled_in_place()?;
        let file = |name: &str| task.out.path.join(name);
        let place = Self {
            report: file("report.html"),
            metrics: file("metrics.json"),
            rules: file("mined.rules"),
            work: file("work"),
            _out: out,
        };
        sweep(&task.out.path)?;
        let manifest = file("task.json");
        let wanted = manifest_of(task);
        if task.out.resume && goes_on(&manifest, &wanted, task.out.force)? {
            create_directory(&place.work)?;
            sweep(&place.work)?;
            return Ok(place);
        }
        // A folder of this name may be somebody's, unless a comparison stands beside it.
        if place.work.is_dir() && !manifest.is_file() {
            return Err(Error::Exists(place.work));
        }
        // What another run left must not be taken for a part of this one, should this one be stopped.
        for path in [&manifest, &place.rules, &place.report, &place.metrics] {
            remove_file(path)?;
        }
        if place.work.is_dir() {
            fs::remove_dir_all(&place.work).map_err(|error| StoreError::new(&place.work, error))?;
        }
        create_directory(&place.work)?;
        write_note(&manifest, &wanted)?;
        Ok(place)
    }

    /// Refuses to go on with figures of other records or rules: files may have changed under their names.
    pub fn keep_to(&self, digests: &[String; 2]) -> Result<(), Error> {
        let path = self.work.join("inputs.json");
        match read_note::<[String; 2]>(&path)? {
            Some(found) if found != *digests => Err(Error::OtherRun { what: OTHER_RUN, path }),
            Some(_) => Ok(()),
            None => write_note(&path, digests),
        }
    }

    /// A file about a method.
    pub fn of(&self, method: Method, what: &str) -> PathBuf {
        self.work.join(format!("{}-{what}", method.name()))
    }

    /// The figures of one generation of a method.
    pub fn run(&self, method: Method, run: u32) -> PathBuf {
        self.of(method, &format!("run-{run:03}.json"))
    }
}

/// All that the figures depend on.
fn manifest_of(task: &ComparisonTask) -> Value {
    let whole = |path: &Path| {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
    };
    let rules: Vec<String> = task.rules.iter().map(|path| whole(path)).collect();
    let methods: Vec<&str> = task.methods.iter().map(|method| method.name()).collect();
    begun_with(json!({
        "cohort": whole(&task.cohort),
        "rules": rules,
        "unknown_codes": format!("{:?}", task.unknown_codes),
        "methods": methods,
        "network": task.network.settings(),
        "effort": task.effort,
        "seed": task.seed,
    }))
}
