//! Where a model is trained and where it goes: a folder of its own beside its target, put in place whole.
//!
//! While it is trained, all of it is in `NAME.unfinished`. What stands at the target stays there until the
//! new model is complete, and then changes places with it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use consequence_model::{CARD_FILE, CHECKPOINT_FILE, TABLES_FILE, WEIGHTS_FILE};
use consequence_store::{StoreError, WorkingFolder};

use consequence_pipeline::{Error, Out};

/// The files of a model's folder.
const FILES: [&str; 4] = [CARD_FILE, WEIGHTS_FILE, TABLES_FILE, CHECKPOINT_FILE];

/// What there is of a model and of a run that trains it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The folder of the model.
    target: PathBuf,
    /// The folder that it is trained in.
    pub unfinished: PathBuf,
    /// Whether there is a model at the target.
    pub has_model: bool,
    /// Whether there is a run that was stopped.
    pub has_run: bool,
    /// Whether there is a run at the target, where older versions trained.
    has_old_run: bool,
}

impl Place {
    /// Looks at a folder, and refuses one that no model can be written to.
    pub fn look(target: &Path) -> Result<Self, Error> {
        let path = target.to_path_buf();
        match fs::read_dir(target) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.map_err(|error| StoreError::new(target, error))?;
                    if !is_part(&entry.file_name()) {
                        return Err(StoreError::NotEmpty { path }.into());
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
                if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
                    let directory = parent.to_path_buf();
                    return Err(StoreError::NoDirectory { path, directory }.into());
                }
            }
            Err(_) if target.is_file() => return Err(StoreError::NotADirectory { path }.into()),
            Err(error) => return Err(StoreError::new(target, error).into()),
        }
        let unfinished = WorkingFolder::path_for(target)?;
        Ok(Self {
            has_model: target.join(CARD_FILE).exists(),
            has_run: [CHECKPOINT_FILE, CARD_FILE].iter().any(|name| unfinished.join(name).exists()),
            has_old_run: target.join(CHECKPOINT_FILE).exists(),
            target: path,
            unfinished,
        })
    }

    /// Refuses to write over what is there, unless that was asked for.
    pub fn refuse(&self, out: &Out) -> Result<(), Error> {
        match (out.resume, out.force) {
            (_, true) => Ok(()),
            (false, false) if self.has_run => Err(Error::Stopped(self.unfinished.clone())),
            _ if self.has_old_run => {
                let path = self.target.join(CHECKPOINT_FILE);
                Err(Error::OtherVersion { path, begun_by: "an older version".into() })
            }
            (false, false) if self.has_model => Err(Error::Exists(self.target.clone())),
            _ => Ok(()),
        }
    }

    /// Opens the folder to train in: with the run that was stopped, or empty.
    pub fn open(&self, out: &Out) -> Result<WorkingFolder, StoreError> {
        let open = || match out.force {
            true => WorkingFolder::replacing(&self.target, is_part),
            false => WorkingFolder::open(&self.target),
        };
        if !(out.resume && self.has_run) && self.unfinished.is_dir() {
            open()?.discard()?;
        }
        let folder = open()?;
        folder.sweep()?;
        Ok(folder)
    }
}

/// Whether a name is that of a part of a model, or of something that a killed run left among them.
fn is_part(name: &OsStr) -> bool {
    FILES.iter().any(|file| name == *file) || name.to_string_lossy().starts_with(".partial-")
}
