//! A simulated hospital: its records, the rules found in them, and records that make no sense.

use std::path::{Path, PathBuf};

use consequence_record::{Code, Cohort};
use consequence_store::create_directory;
use consequence_tables::{Dataset, jsonl};

use crate::Error;
use crate::place::refuse_place;

/// The files of the simulated hospital.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hospital {
    /// The simulated cohort, a folder.
    pub cohort: PathBuf,
    /// The rules found in it.
    pub rules: PathBuf,
    /// Its records with their parts mixed up.
    pub mixed: PathBuf,
    /// Where the mixed records go once they are repaired.
    pub repaired: PathBuf,
}

impl Hospital {
    /// The files in a folder, whether or not they are there.
    pub fn in_folder(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        Self {
            cohort: file("cohort"),
            rules: file("mined.rules"),
            mixed: file("mixed.jsonl"),
            repaired: file("repaired.jsonl"),
        }
    }

    /// Makes the folder, and refuses it if a file would be replaced that must not be.
    pub fn prepare(&self, force: bool) -> Result<(), Error> {
        if let Some(folder) = self.cohort.parent() {
            create_directory(folder)?;
        }
        for path in [&self.rules, &self.mixed, &self.repaired] {
            refuse_place(path, force)?;
        }
        Ok(())
    }

    /// Writes the records of the cohort as a careless tool might make them up: the static visit of
    /// one patient, and the visits of the next, the last of them first.
    ///
    /// ```
    /// use consequence::demo::Hospital;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let cohort = folder.path().join("cohort.jsonl");
    /// std::fs::write(
    ///     &cohort,
    ///     "{\"id\": 1, \"static\": [\"SEX//F\"], \"visits\": [[\"A\"], [\"B\"]]}\n\
    ///      {\"id\": 2, \"static\": [\"SEX//M\"], \"visits\": [[\"C\"]]}\n",
    /// )?;
    /// let hospital = Hospital { cohort, ..Hospital::in_folder(folder.path()) };
    /// hospital.write_mixed()?;
    /// assert_eq!(
    ///     std::fs::read_to_string(&hospital.mixed)?,
    ///     "{\"id\":\"1\",\"static\":[\"SEX//F\"],\"visits\":[[\"C\"]]}\n\
    ///      {\"id\":\"2\",\"static\":[\"SEX//M\"],\"visits\":[[\"B\"],[\"A\"]]}\n"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_mixed(&self) -> Result<(), Error> {
        let Dataset { cohort, vocabulary, .. } = Dataset::open(&self.cohort)?;
        let mut mixed = Cohort::default();
        for index in 0..cohort.len() {
            let other = cohort.record((index + 1) % cohort.len());
            let mut visits: Vec<&[Code]> = other.visits().skip(1).collect();
            visits.push(cohort.record(index).visit(0));
            visits.reverse();
            mixed.push_visits(cohort.id(index), visits, true);
        }
        jsonl::write(&self.mixed, &mixed, &vocabulary)?;
        Ok(())
    }
}
