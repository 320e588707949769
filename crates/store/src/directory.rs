//! Directories.

use std::path::Path;

use crate::StoreError;

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
    std::fs::create_dir_all(path).map_err(|error| StoreError::new(path, error))
}
