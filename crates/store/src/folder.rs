//! A folder that appears whole or not at all.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::atomic::{sync_directory, temporary_names};
use crate::error::directory_of;

/// A folder being filled beside its target; [`commit`](Self::commit) puts it in place, dropping it
/// without that leaves no trace.
///
/// What is written into [`path`](Self::path) should be written with [`AtomicFile`], which syncs it.
///
/// [`AtomicFile`]: crate::AtomicFile
///
/// ```
/// use consequence_store::{AtomicFolder, write_atomically};
///
/// let place = tempfile::tempdir()?;
/// let target = place.path().join("cohort");
/// let folder = AtomicFolder::create(&target)?;
/// write_atomically(folder.path().join("codes.txt"), |writer| writeln!(writer, "ICD9CM//250"))?;
/// assert!(!target.exists());
/// folder.commit()?;
/// assert!(target.join("codes.txt").is_file());
///
/// // What is there is not written over, unless all of it is of the kind that is being written.
/// assert!(AtomicFolder::create(&target).is_err());
/// assert!(AtomicFolder::replacing(&target, |name| name == "codes.json").is_err());
/// assert!(AtomicFolder::replacing(&target, |name| name == "codes.txt").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFolder {
    target: PathBuf,
    temporary: PathBuf,
    /// Whether the folder is in place.
    committed: bool,
}

impl AtomicFolder {
    /// Makes a temporary folder beside `path`, where nothing but an empty folder may stand.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::replacing(path, |_| false)
    }

    /// Makes a temporary folder beside `path`. A folder that stands there is replaced if every
    /// name in it is one that `belongs` to what is being written.
    pub fn replacing(
        path: impl AsRef<Path>,
        belongs: impl Fn(&OsStr) -> bool,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let fail = |error| StoreError::new(path, error);
        let target = replaceable(path, belongs)?;
        let temporary = make_beside(&target).map_err(fail)?;
        Ok(Self { target, temporary, committed: false })
    }

    /// Where to write what the folder is to hold.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Puts the folder in place: syncs, renames, and syncs the directory it is in.
    ///
    /// A folder that is replaced is first moved aside and deleted last, so that a program killed in
    /// between leaves either of the two under its name, or both under names with `.partial-`.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.place().map_err(|error| StoreError::new(&self.target, error))
    }

    fn place(&mut self) -> io::Result<()> {
        put_in_place(&self.temporary, &self.target)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for AtomicFolder {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing is left to be done about a temporary that will not go.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// Where a folder is to stand, if nothing is there that may not be replaced.
pub(crate) fn replaceable(
    path: &Path,
    belongs: impl Fn(&OsStr) -> bool,
) -> Result<PathBuf, StoreError> {
    let fail = |error| StoreError::new(path, error);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            for entry in fs::read_dir(path).map_err(fail)? {
                let name = entry.map_err(fail)?.file_name();
                if !belongs(&name) {
                    return Err(StoreError::NotEmpty { path: path.to_path_buf() });
                }
            }
        }
        Ok(_) => return Err(StoreError::NotADirectory { path: path.to_path_buf() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(fail(error)),
    }
    // A link to a folder stays a link, and `..` or a last `/` have no name to put things beside.
    match fs::canonicalize(path) {
        Ok(whole) => Ok(whole),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
        Err(error) => Err(fail(error)),
    }
}

/// Syncs a folder, renames it to its target, and syncs the directory it is in. What stood there is
/// moved aside first and deleted last.
pub(crate) fn put_in_place(folder: &Path, target: &Path) -> io::Result<()> {
    sync_directories(folder)?;
    let mut aside = None;
    if target.exists() {
        let name = make_beside(target)?;
        fs::rename(target, &name)?;
        aside = Some(name);
    }
    if let Err(error) = fs::rename(folder, target) {
        if let Some(before) = aside {
            // The first failure is the one to tell of.
            let _ = fs::rename(before, target);
        }
        return Err(error);
    }
    sync_directory(directory_of(target))?;
    aside.map_or(Ok(()), fs::remove_dir_all)
}

/// Makes a folder with a name of its own in the directory of `target`.
fn make_beside(target: &Path) -> io::Result<PathBuf> {
    for name in temporary_names() {
        let temporary = directory_of(target).join(name);
        match fs::create_dir(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| temporary),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Syncs a folder and those inside it.
fn sync_directories(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    sync_directory(folder)
}
