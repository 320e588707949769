//! One writer at a time.
//!
//! A lock is a lock of the operating system on a file `.NAME.lock` beside what it protects. It ends
//! with its process, however that ends, so a file that a killed program left behind locks nothing.
//!
//! Three things keep the file and the lock together:
//! - it is only ever deleted by a process that holds it alone;
//! - a process that gets the lock looks whether the file it locked is still the one with the name,
//!   and begins again if it is not;
//! - its number is in the file only while a process holds the lock alone.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::StoreError;

/// How often to ask for a lock that others hold: one that is about to go away is not worth a
/// refusal.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// How often the file may turn out to be another than the one with the name.
const RACES: u32 = 1000;

/// A file or folder that is locked, until this is dropped or the process ends.
///
/// Where the file for the lock cannot be made (no right to write there, no such directory), or the
/// system has no locks, there is none: a writer gets the error of the
/// system when it writes, and a reader goes on.
///
/// ```
/// use consequence_store::{Lock, StoreError};
///
/// let directory = tempfile::tempdir()?;
/// let target = directory.path().join("cohort");
/// let first = Lock::exclusive(&target)?;
/// let refused = Lock::exclusive(&target).unwrap_err();
/// assert!(matches!(refused, StoreError::Busy { process: Some(_), .. }));
/// drop(first);
///
/// let reader = Lock::shared(&target)?;
/// assert!(Lock::shared(&target).is_ok() && Lock::exclusive(&target).is_err());
/// drop(reader);
/// assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "what is locked is free as soon as this is dropped"]
pub struct Lock(Option<Held>);

#[cfg_attr(not(unix), allow(dead_code, reason = "the file stays, and closing it unlocks it"))]
struct Held {
    file: File,
    path: PathBuf,
    shared: bool,
}

impl Lock {
    /// Locks a target for one that writes it.
    pub fn exclusive(target: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::take(target.as_ref(), false)
    }

    /// Locks a target for one that reads it: others may read too, and nobody may write.
    pub fn shared(target: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::take(target.as_ref(), true)
    }

    fn take(target: &Path, shared: bool) -> Result<Self, StoreError> {
        let Some(path) = beside(target) else { return Ok(Self(None)) };
        let (mut tries, mut races) = (TRIES, RACES);
        loop {
            let Ok(file) = open(&path) else { return Ok(Self(None)) };
            match if shared { file.try_lock_shared() } else { file.try_lock() } {
                Ok(()) if has_name(&file, &path) => {
                    note_holder(&file, shared);
                    return Ok(Self(Some(Held { file, path, shared })));
                }
                // Deleted by the last that held it, between our opening and our locking it.
                Ok(()) if races > 0 => races -= 1,
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(_)) => {
                    // A system without locks has no use for the file.
                    let _ = fs::remove_file(&path);
                    return Ok(Self(None));
                }
                Err(TryLockError::WouldBlock) if tries > 0 => {
                    tries -= 1;
                    sleep(BETWEEN_TRIES);
                }
                Ok(()) | Err(TryLockError::WouldBlock) => {
                    let process = holder(&path);
                    return Err(StoreError::Busy { path: target.to_path_buf(), process });
                }
            }
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Lock").field(&self.0.as_ref().map(|held| &held.path)).finish()
    }
}

#[cfg(unix)]
impl Drop for Held {
    fn drop(&mut self) {
        // The last of several readers deletes the file: it alone gets the whole lock.
        let alone = !self.shared || self.file.unlock().is_ok() && self.file.try_lock().is_ok();
        if alone && has_name(&self.file, &self.path) {
            // A file that stays locks nothing.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file for the lock of a target, beside it; none for a target without a name.
fn beside(target: &Path) -> Option<PathBuf> {
    // A link and what it points to are one target.
    let whole = fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
    let mut name = std::ffi::OsString::from(".");
    name.push(whole.file_name()?);
    name.push(".lock");
    Some(whole.with_file_name(name))
}

fn open(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match opened {
        // The file of another user can be locked if it can be read.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    }
}

/// Whether an open file is the one that has the name now.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Here the file is never deleted, so it is always the one.
#[cfg(not(unix))]
fn has_name(_file: &File, _path: &Path) -> bool {
    true
}

/// Writes down who holds the lock, for messages only.
fn note_holder(mut file: &File, shared: bool) {
    let noted = file.set_len(0);
    if !shared && noted.is_ok() {
        let _ = writeln!(file, "{}", std::process::id());
    }
}

fn holder(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
