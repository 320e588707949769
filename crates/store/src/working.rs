//! A folder that takes more than one run of the program to fill.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::directory::sweep;
use crate::folder::{Belongs, put_in_place, replaceable};

/// A folder being filled beside its target, under the target's name with `.unfinished` after it. It
/// outlives the program, so that a later run can go on; [`commit`](Self::commit) puts it in place.
///
/// What is written into [`path`](Self::path) should be written with [`AtomicFile`], so that a file
/// is there whole or not at all.
///
/// [`AtomicFile`]: crate::AtomicFile
///
/// ```
/// use consequence_store::{WorkingFolder, write_atomically};
///
/// let directory = tempfile::tempdir()?;
/// let target = directory.path().join("cohort");
/// let folder = WorkingFolder::open(&target)?;
/// write_atomically(folder.path().join("a.txt"), |writer| writer.write_all(b"one"))?;
/// drop(folder);
///
/// let folder = WorkingFolder::open(&target)?;
/// assert!(folder.path().ends_with("cohort.unfinished") && folder.path().join("a.txt").is_file());
/// folder.commit()?;
/// assert!(target.join("a.txt").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WorkingFolder {
    target: PathBuf,
    path: PathBuf,
    belongs: Option<Belongs>,
}

impl WorkingFolder {
    /// Finds the folder of an earlier run, or makes one. Nothing but an empty folder may stand at
    /// the target.
    pub fn open(target: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::begin(target.as_ref(), None)
    }

    /// The same; a folder that stands at the target is replaced in the end if every name in it is
    /// one that `belongs` to what is being written.
    pub fn replacing(target: impl AsRef<Path>, belongs: Belongs) -> Result<Self, StoreError> {
        Self::begin(target.as_ref(), Some(belongs))
    }

    /// Takes a folder that stands at the target back, to be worked on again: it is there no more
    /// until it is [committed](Self::commit).
    ///
    /// ```
    /// use consequence_store::WorkingFolder;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let target = directory.path().join("cohort");
    /// WorkingFolder::open(&target)?.commit()?;
    /// let folder = WorkingFolder::reopen(&target)?;
    /// assert!(!target.exists() && folder.path().is_dir());
    /// folder.commit()?;
    /// assert!(target.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reopen(target: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = Self::path_for(&target)?;
        let fail = |error| StoreError::new(target.as_ref(), error);
        let target = fs::canonicalize(&target).map_err(fail)?;
        fs::rename(&target, &path).map_err(fail)?;
        Ok(Self { target, path, belongs: None })
    }

    fn begin(target: &Path, belongs: Option<Belongs>) -> Result<Self, StoreError> {
        let path = Self::path_for(target)?;
        let target = replaceable(target, belongs)?;
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made.map_err(|error| StoreError::new(&path, error))?,
        }
        Ok(Self { target, path, belongs })
    }

    /// Where the folder for a target is while it is filled, whether it is there or not.
    pub fn path_for(target: impl AsRef<Path>) -> Result<PathBuf, StoreError> {
        let target = target.as_ref();
        let whole = fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
        let Some(name) = whole.file_name() else {
            return Err(StoreError::IsDirectory { path: target.to_path_buf() });
        };
        let mut name = name.to_os_string();
        name.push(".unfinished");
        Ok(whole.with_file_name(name))
    }

    /// Where to write what the folder is to hold.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes the files that a program killed half-way left in the folder and those inside it.
    pub fn sweep(&self) -> Result<(), StoreError> {
        sweep(&self.path)
    }

    /// Deletes the folder.
    pub fn discard(self) -> Result<(), StoreError> {
        fs::remove_dir_all(&self.path).map_err(|error| StoreError::new(&self.path, error))
    }

    /// Puts the folder in place, as [`AtomicFolder::commit`](crate::AtomicFolder::commit) does.
    pub fn commit(self) -> Result<(), StoreError> {
        put_in_place(&self.path, &self.target, self.belongs)
    }
}
