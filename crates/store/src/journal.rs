//! A file that lines are added to as things happen.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::StoreError;

/// A file that only grows: what is in it stays, and a line is in it once it was added.
///
/// ```
/// use consequence_store::Journal;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("night.log");
/// for line in ["one", "two"] {
///     Journal::open(&path)?.add(line)?;
/// }
/// assert_eq!(std::fs::read_to_string(&path)?, "one\ntwo\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Opens a file to add to, or makes it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let file = OpenOptions::new().append(true).create(true).open(path);
        file.map(Self).map_err(|error| StoreError::new(path, error))
    }

    /// Adds a line in one piece, so that lines of two programs do not run into each other.
    pub fn add(&self, line: &str) -> io::Result<()> {
        (&self.0).write_all(format!("{line}\n").as_bytes())
    }
}
