//! Directories, and what goes out of them.

use std::fs;
use std::io;
use std::path::Path;

use crate::StoreError;
use crate::atomic::{PARTIAL, sync_directory};
use crate::error::directory_of;

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
