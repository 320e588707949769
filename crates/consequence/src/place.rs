//! What a run writes: locked before anyone looks, refused before any work is done, and never put in
//! the place of something that nobody asked to replace.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use consequence_store::{Lock, StoreError, create_directory, write_atomically, write_new};
use consequence_tables::jsonl::codes_path;
use consequence_tables::{CohortWriter, Format};

use crate::Error;

/// The file or folder that a run writes. Nobody else writes it as long as this lives.
#[derive(Debug)]
pub(crate) struct Out {
    path: PathBuf,
    /// Whether what is there may be replaced.
    force: bool,
    _lock: Lock,
}

impl Out {
    /// A file.
    pub fn file(path: &Path, force: bool) -> Result<Self, Error> {
        let out = Self::lock(path, force)?;
        out.refuse_file()?;
        Ok(out)
    }

    /// A file of JSON lines, and the list of codes beside it.
    pub fn lines(path: &Path, force: bool) -> Result<Self, Error> {
        let out = Self::lock(path, force)?;
        refuse_lines(path, force)?;
        Ok(out)
    }

    /// A folder, which is refused if it is there and not empty, unless it may be replaced.
    pub fn folder(path: &Path, force: bool) -> Result<Self, Error> {
        let out = Self::lock(path, force)?;
        refuse_folder(path, force)?;
        Ok(out)
    }

    /// A folder that is filled where it stands, and made if it is not there. One that is not empty is
    /// refused, unless it may be gone on with or replaced.
    pub fn filled_in_place(path: &Path, allowed: bool) -> Result<Self, Error> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            create_directory(parent)?;
        }
        let out = Self::folder(path, allowed)?;
        create_directory(path)?;
        Ok(out)
    }

    /// A cohort: a file of JSON lines or the folder of a dataset, as its name says.
    pub fn cohort(path: &Path, force: bool) -> Result<Self, Error> {
        let out = Self::lock(path, force)?;
        refuse_cohort(path, force)?;
        Ok(out)
    }

    /// Locks a place without a look at what is there.
    pub fn lock(path: &Path, force: bool) -> Result<Self, Error> {
        Ok(Self { path: path.to_path_buf(), force, _lock: Lock::exclusive(path)? })
    }

    /// The lock alone, for one that goes on longer than what is written here.
    pub fn into_lock(self) -> Lock {
        self._lock
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        write_file(&self.path, self.force, fill)
    }

    fn refuse_file(&self) -> Result<(), Error> {
        refuse_file(&self.path, self.force)
    }
}

/// Writes a file, whole or not at all, where none is unless it may be replaced.
pub(crate) fn write_file(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    match force {
        true => write_atomically(path, fill)?,
        false => write_new(path, fill)?,
    }
    Ok(())
}

/// Refuses a place for a file.
pub(crate) fn refuse_file(path: &Path, force: bool) -> Result<(), Error> {
    let (path_buf, parent) = (path.to_path_buf(), path.parent().unwrap_or(Path::new("")));
    if path.is_dir() {
        return Err(StoreError::IsDirectory { path: path_buf }.into());
    }
    if !parent.as_os_str().is_empty() && !parent.is_dir() {
        let directory = parent.to_path_buf();
        return Err(StoreError::NoDirectory { path: path_buf, directory }.into());
    }
    if !force && path.is_file() {
        return Err(Error::Exists(path_buf));
    }
    Ok(())
}

/// Refuses a place for a folder that is there and not empty, unless it may be replaced.
pub(crate) fn refuse_folder(path: &Path, force: bool) -> Result<(), Error> {
    let occupied = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if !force && occupied() {
        return Err(Error::Exists(path.to_path_buf()));
    }
    Ok(())
}

/// Refuses a place for a file of JSON lines, or for the list of codes beside it.
pub(crate) fn refuse_lines(path: &Path, force: bool) -> Result<(), Error> {
    refuse_file(path, force)?;
    refuse_file(&codes_path(path), force)
}

/// Refuses a place for a cohort: a file of JSON lines or the folder of a dataset, as its name says.
pub(crate) fn refuse_cohort(path: &Path, force: bool) -> Result<(), Error> {
    match Format::to_write(path) {
        Format::Lines => refuse_lines(path, force)?,
        Format::Meds => refuse_folder(path, force)?,
    }
    Ok(CohortWriter::try_place(path, force)?)
}
