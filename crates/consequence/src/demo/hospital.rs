//! A simulated hospital: its records, the rules found in them, a model of them and what it writes.

use std::path::{Path, PathBuf};

use consequence_store::Lock;

use crate::Error;
use crate::place::{Out, refuse_file, refuse_folder};

/// The files of the simulated hospital.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hospital {
    /// The simulated cohort, a folder.
    pub cohort: PathBuf,
    /// The rules found in it.
    pub rules: PathBuf,
    /// The model that is trained on it, a folder.
    pub model: PathBuf,
    /// The cohort that the model writes, a folder.
    pub synthetic: PathBuf,
    /// The report on it, a folder.
    pub report: PathBuf,
}

impl Hospital {
    /// The files in a folder, whether or not they are there.
    pub fn in_folder(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        Self {
            cohort: file("cohort"),
            rules: file("mined.rules"),
            model: file("model"),
            synthetic: file("synthetic"),
            report: file("report"),
        }
    }

    /// Makes the folder, and refuses it if something would be replaced that must not be. No other
    /// demo writes there as long as the lock is kept.
    ///
    /// ```
    /// use consequence::demo::Hospital;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let hospital = Hospital::in_folder(&folder.path().join("demo"));
    /// let lock = hospital.prepare(false)?;
    /// assert!(hospital.prepare(true).is_err(), "another demo is at work");
    /// drop(lock);
    /// std::fs::write(&hospital.rules, "")?;
    /// assert!(hospital.prepare(false).is_err());
    /// assert!(hospital.prepare(true).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(&self, force: bool) -> Result<Lock, Error> {
        let folder = self.cohort.parent().unwrap_or(Path::new("."));
        let out = Out::filled_in_place(folder, true)?;
        refuse_file(&self.rules, force)?;
        for folder in [&self.cohort, &self.model, &self.synthetic, &self.report] {
            refuse_folder(folder, force)?;
        }
        Ok(out.into_lock())
    }
}
