//! The folder of a model, and what is in it already.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use consequence_model::{CARD_FILE, CHECKPOINT_FILE, TABLES_FILE, WEIGHTS_FILE};
use consequence_store::StoreError;

use crate::Error;

/// The files of a model's folder.
const FILES: [&str; 4] = [CARD_FILE, WEIGHTS_FILE, TABLES_FILE, CHECKPOINT_FILE];

/// What a folder for a model holds.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// The file that a stopped run can be taken up from.
    pub checkpoint: PathBuf,
    /// Whether there is a model.
    pub has_model: bool,
    /// Whether there is a run that was stopped.
    pub has_checkpoint: bool,
}

impl Place {
    /// Looks at a folder, and refuses one that no model can be written to.
    pub fn look(folder: &Path) -> Result<Self, Error> {
        let path = folder.to_path_buf();
        match fs::read_dir(folder) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.map_err(|error| StoreError::new(folder, error))?;
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    if !FILES.contains(&&*name) && !name.starts_with(".partial-") {
                        return Err(StoreError::NotEmpty { path }.into());
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
                if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
                    let directory = parent.to_path_buf();
                    return Err(StoreError::NoDirectory { path, directory }.into());
                }
            }
            Err(_) if folder.is_file() => return Err(StoreError::NotADirectory { path }.into()),
            Err(error) => return Err(StoreError::new(folder, error).into()),
        }
        let checkpoint = folder.join(CHECKPOINT_FILE);
        Ok(Self {
            has_model: folder.join(CARD_FILE).exists(),
            has_checkpoint: checkpoint.exists(),
            folder: path,
            checkpoint,
        })
    }

    /// Refuses to write over what is there, unless that was asked for.
    pub fn refuse(&self, resume: bool, force: bool) -> Result<(), Error> {
        match (resume || force, self.has_checkpoint, self.has_model) {
            (false, true, _) => Err(Error::Stopped(self.checkpoint.clone())),
            (false, false, true) => Err(Error::Exists(self.folder.clone())),
            _ => Ok(()),
        }
    }
}
