//! Crash-safe files: written aside, synced, renamed.
//!
//! A file appears under its name only once it is whole and on disk. Until then it lives beside its
//! target under a name that starts with `.partial-`. A program killed half-way can leave such a
//! file behind, which is safe to delete, but never half a file under the final name.
//!
//! ```
//! use std::fs;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("greeting.txt");
//! consequence_store::write_atomically(&path, |writer| writer.write_all(b"good morning"))?;
//! assert_eq!(fs::read_to_string(&path)?, "good morning");
//!
//! // A writer that fails leaves what was there.
//! let failed = consequence_store::write_atomically(&path, |writer| {
//!     writer.write_all(b"good ev")?;
//!     Err(std::io::Error::other("interrupted"))
//! });
//! assert!(failed.is_err());
//! assert_eq!(fs::read_to_string(&path)?, "good morning");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod atomic;
mod error;
mod folder;
mod journal;
mod lock;
mod run_folder;

pub use atomic::{AtomicFile, digest, digest_file, write_atomically, write_new};
pub use error::{RunError, StoreError};
pub use folder::{AtomicFolder, Belongs, WorkingFolder, create_directory, remove_file, sweep};
pub use journal::Journal;
pub use lock::Lock;
pub use run_folder::{Reserved, RunFolder, RunOptions, RunState, Site};
