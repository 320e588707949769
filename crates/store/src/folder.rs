//! Folders: one that appears whole or not at all, and one that takes more than one run of the
//! program to fill; and what a killed program leaves in them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::atomic::{PARTIAL, sync_directory, temporary_names};
use crate::error::directory_of;

/// Whether a name belongs to what is being written. A
/// folder is replaced only if all names in it do.
pub type Belongs = fn(&OsStr) -> bool;

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
/// let directory = tempfile::tempdir()?;
/// let target = directory.path().join("cohort");
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
    /// The target as the caller gave it, for messages.
    given: PathBuf,
    target: PathBuf,
    temporary: PathBuf,
    belongs: Option<Belongs>,
    /// Whether the folder is in place.
    committed: bool,
}

impl AtomicFolder {
    /// Makes a temporary folder beside `path`, where nothing but an empty folder may stand.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::begin(path.as_ref(), None)
    }

    /// Makes a temporary folder beside `path`. A folder that stands there is replaced if every
    /// name in it is one that `belongs` to what is being written.
    pub fn replacing(path: impl AsRef<Path>, belongs: Belongs) -> Result<Self, StoreError> {
        Self::begin(path.as_ref(), Some(belongs))
    }

    fn begin(path: &Path, belongs: Option<Belongs>) -> Result<Self, StoreError> {
        let target = replaceable(path, belongs)?;
        let temporary = make_beside(&target).map_err(|error| StoreError::new(path, error))?;
        Ok(Self { given: path.to_path_buf(), target, temporary, belongs, committed: false })
    }

    /// Where to write what the folder is to hold.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Puts the folder in place: syncs, renames, and syncs the directory it is in. What has come to
    /// stand there meanwhile is refused as it would have been at the beginning.
    ///
    /// A folder that is replaced is exchanged with the new one in a single step and is deleted
    /// last. Where the system has no such step, it is moved aside first: a program killed just then
    /// leaves both folders under names with `.partial-`.
    pub fn commit(mut self) -> Result<(), StoreError> {
        put_in_place(&self.temporary, &self.target, self.belongs)
            .map_err(|error| error.told_of(&self.given))?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for AtomicFolder {
    fn drop(&mut self) {
        if !self.committed {
            // If the temporary cannot be deleted, there is nothing else to do.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// Where a folder is to stand, if nothing is there that may not be replaced.
pub(crate) fn replaceable(path: &Path, belongs: Option<Belongs>) -> Result<PathBuf, StoreError> {
    let fail = |error| StoreError::new(path, error);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            for entry in fs::read_dir(path).map_err(fail)? {
                let name = entry.map_err(fail)?.file_name();
                if !belongs.is_some_and(|belongs| belongs(&name)) {
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

/// Syncs a folder, puts it where its target is, and syncs the directory it is in. What stood there
/// is deleted last.
pub(crate) fn put_in_place(
    folder: &Path,
    target: &Path,
    belongs: Option<Belongs>,
) -> Result<(), StoreError> {
    let fail = |error| StoreError::new(target, error);
    sync_directories(folder).map_err(fail)?;
    // Something else may have come since the beginning.
    replaceable(target, belongs)?;
    let before = if belongs.is_some() && target.exists() {
        Some(swap(folder, target).map_err(fail)?)
    } else {
        rename_to_empty(folder, target)?;
        None
    };
    sync_directory(directory_of(target)).map_err(fail)?;
    before.map_or(Ok(()), fs::remove_dir_all).map_err(fail)
}

/// Renames a folder to where nothing or an empty folder is; the system refuses anything else.
fn rename_to_empty(folder: &Path, target: &Path) -> Result<(), StoreError> {
    if cfg!(not(unix)) {
        // Elsewhere an empty folder is in the way as well.
        let _ = fs::remove_dir(target);
    }
    fs::rename(folder, target).map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory => StoreError::Exists { path: target.to_path_buf() },
        _ => StoreError::new(target, error),
    })
}

/// Replaces a folder by another, and gives the name that the other has then.
fn swap(folder: &Path, target: &Path) -> io::Result<PathBuf> {
    let aside = make_beside(target)?;
    if exchange(folder, target) {
        // What is deleted must not be found under the name of a folder that is being filled.
        fs::rename(folder, &aside)?;
        return Ok(aside);
    }
    fs::rename(target, &aside)?;
    if let Err(error) = fs::rename(folder, target) {
        // The first failure is the one to report.
        let _ = fs::rename(&aside, target);
        return Err(error);
    }
    Ok(aside)
}

/// Exchanges two folders in a single step; false where the system cannot do that.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_one: &Path, _other: &Path) -> bool {
    false
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
pub(crate) fn sync_directories(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    sync_directory(folder)
}

/// A folder being filled beside its target, under the target's name with `.unfinished` after it. It
/// outlives the program, so that a later run can resume; [`commit`](Self::commit) puts it in place.
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

/// Makes a directory and those above it, where they are not there yet.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let inner = folder.path().join("a/b");
/// consequence_store::create_directory(&inner)?;
/// consequence_store::create_directory(&inner)?;
/// assert!(inner.is_dir());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_directory(path: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(path).map_err(|error| StoreError::new(path, error))
}

/// Deletes a file, if it is there.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.txt");
/// std::fs::write(&path, "one")?;
/// consequence_store::remove_file(&path)?;
/// consequence_store::remove_file(&path)?;
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn remove_file(path: &Path) -> Result<(), StoreError> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        removed => removed.and_then(|()| sync_directory(directory_of(path))),
    };
    removed.map_err(|error| StoreError::new(path, error))
}

/// Deletes the files that a program killed half-way left in a folder and those inside it.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join(".partial-7"), "hal")?;
/// consequence_store::sweep(folder.path())?;
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sweep(folder: &Path) -> Result<(), StoreError> {
    sweep_inside(folder).map_err(|error| StoreError::new(folder, error))
}

fn sweep_inside(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sweep_inside(&entry.path())?;
        } else if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
