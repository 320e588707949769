//! Why a file could not be written, or the folder of a run not be used.

use std::io;
use std::path::{Path, PathBuf};

use consequence_feedback::{Advice, Advise};
use thiserror::Error;

/// Why a file could not be written. The target is then as it was before.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The directory of the target is missing, or is not a directory.
    #[error("there is no directory `{}`\n  --> {}", directory.display(), path.display())]
    NoDirectory {
        /// The file that was to be written.
        path: PathBuf,
        /// The directory that is missing.
        directory: PathBuf,
    },
    /// The target is a directory, or a path without a file name.
    #[error("the target is a directory\n  --> {}", path.display())]
    IsDirectory {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// The target is a device, a pipe or a socket, which no file can replace.
    #[error("the target is not a regular file\n  --> {}", path.display())]
    NotAFile {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// The target of a folder is a file.
    #[error("the target is not a folder\n  --> {}", path.display())]
    NotADirectory {
        /// The folder that was to be written.
        path: PathBuf,
    },
    /// The target of a folder holds something that it will not write over.
    #[error("the folder is not empty\n  --> {}", path.display())]
    NotEmpty {
        /// The folder that was to be written.
        path: PathBuf,
    },
    /// Something is there, and was not to be replaced.
    #[error("the target is already there\n  --> {}", path.display())]
    Exists {
        /// The file or folder that was to be written.
        path: PathBuf,
    },
    /// Another process writes it, or reads what was to be written.
    #[error(
        "another run is at work here{}\n  --> {}",
        process.map_or_else(String::new, |process| format!(" (process {process})")), path.display()
    )]
    Busy {
        /// The file or folder that was to be used.
        path: PathBuf,
        /// The number of the other process, where it is known.
        process: Option<u32>,
    },
    /// The system does not let this user write here.
    #[error("no permission to write\n  --> {}", path.display())]
    PermissionDenied {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no room left, on the disk or in the user's share of it.
    #[error("the disk is full\n  --> {}", path.display())]
    DiskFull {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else, the writer's own failures among them.
    #[error("cannot write the file: {source}\n  --> {}", path.display())]
    Failed {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system, or the writer, said.
        source: io::Error,
    },
}

impl Advise for StoreError {
    fn advice(&self) -> Option<Advice> {
        Some(Advice::new(match self {
            Self::NoDirectory { .. } => "create it, or choose another place",
            Self::IsDirectory { .. } => "name a file inside it, or choose another name",
            Self::NotAFile { .. } => "choose the name of a file",
            Self::NotADirectory { .. } => "choose another name",
            Self::NotEmpty { .. } => "choose a new folder, or ask to replace one of the same kind",
            Self::Exists { .. } => "choose another name, or ask to replace it",
            Self::Busy { .. } => "wait until it is done, or choose another name",
            Self::PermissionDenied { .. } => {
                "choose a directory you may write to, or ask for access"
            }
            Self::DiskFull { .. } => "free some space, or choose another disk",
            Self::Failed { .. } => return None,
        }))
    }
}

impl StoreError {
    /// Sorts an error met while creating, writing or renaming the file at `path`.
    ///
    /// ```
    /// use std::{io, path::Path};
    /// use consequence_store::StoreError;
    ///
    /// let error = StoreError::new(Path::new("out.jsonl"), io::ErrorKind::StorageFull.into());
    /// assert!(error.to_string().starts_with("the disk is full\n  --> out.jsonl"));
    /// ```
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                let directory = directory_of(&path).to_path_buf();
                Self::NoDirectory { path, directory }
            }
            io::ErrorKind::IsADirectory => Self::IsDirectory { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::PermissionDenied { path, source }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path, source }
            }
            _ => Self::Failed { path, source },
        }
    }

    /// The same, told of another path: of the folder that was to be written rather than of a file
    /// in a folder that nobody will find.
    ///
    /// ```
    /// use std::{io, path::Path};
    /// use consequence_store::StoreError;
    ///
    /// let inside = Path::new(".partial-7/codes.txt");
    /// let error = StoreError::new(inside, io::ErrorKind::StorageFull.into());
    /// assert_eq!(error.told_of(Path::new("cohort")).path(), Path::new("cohort"));
    /// ```
    pub fn told_of(mut self, other: &Path) -> Self {
        match &mut self {
            Self::NoDirectory { path, .. }
            | Self::IsDirectory { path }
            | Self::NotAFile { path }
            | Self::NotADirectory { path }
            | Self::NotEmpty { path }
            | Self::Exists { path }
            | Self::Busy { path, .. }
            | Self::PermissionDenied { path, .. }
            | Self::DiskFull { path, .. }
            | Self::Failed { path, .. } => *path = other.to_path_buf(),
        }
        self
    }

    /// The file that was to be written.
    pub fn path(&self) -> &Path {
        match self {
            Self::NoDirectory { path, .. }
            | Self::IsDirectory { path }
            | Self::NotAFile { path }
            | Self::NotADirectory { path }
            | Self::NotEmpty { path }
            | Self::Exists { path }
            | Self::Busy { path, .. }
            | Self::PermissionDenied { path, .. }
            | Self::DiskFull { path, .. }
            | Self::Failed { path, .. } => path,
        }
    }
}

/// Why the folder of a run cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Something is there that the run may not replace.
    #[error("the target is already there\n  --> {}", .0.display())]
    Exists(PathBuf),
    /// A run that was stopped is there.
    #[error("a run that was stopped is in the way\n  --> {}", .0.display())]
    Unfinished(PathBuf),
    /// What is there was begun with another task.
    #[error(
        "the run that is there was begun with another source or with other options\n  --> {}",
        path.display()
    )]
    OtherTask {
        /// The manifest.
        path: PathBuf,
        /// What it was begun with; none if there is no manifest, or none that can be read.
        found: Option<serde_json::Value>,
    },
    /// What is there was begun by another version of the program, or is of another format.
    #[error(
        "the run that is there was begun by {} of this program, and this is version {ours}\n  --> {}",
        begun_by(version.as_deref(), *format), path.display()
    )]
    OtherVersion {
        /// The manifest.
        path: PathBuf,
        /// The version that it was begun by, where it says so.
        version: Option<String>,
        /// The number of its format, where it says so.
        format: Option<u64>,
        /// The version of this program.
        ours: String,
    },
    /// A note is not as it was kept.
    #[error("a note of the run was changed since it was kept\n  --> {}", .0.display())]
    Changed(PathBuf),
    /// A file of the run cannot be read.
    #[error("cannot read a file of the run: {source}\n  --> {}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// What was to be kept has no form as JSON: a defect of the program.
    #[error("what the run keeps cannot be written as JSON: {source}\n  --> {}", path.display())]
    Json {
        /// The file that was to be written.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The folder cannot be written, or is busy.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn begun_by(version: Option<&str>, format: Option<u64>) -> String {
    match (version, format) {
        (Some(version), Some(format)) => format!("version {version} (format {format})"),
        (Some(version), None) => format!("version {version} (no format)"),
        (None, _) => "an older version".into(),
    }
}

impl Advise for RunError {
    fn advice(&self) -> Option<Advice> {
        Some(Advice::new(match self {
            Self::Exists(_) => "choose another name, or give {force} to replace it",
            Self::Unfinished(_) => "go on with it by {resume}, or give {force} to begin anew",
            Self::OtherTask { .. } => {
                "give them as they were, choose another folder, or give {force} to begin anew"
            }
            Self::OtherVersion { .. } => {
                "complete it with that version, choose another name, or give {force} to begin anew"
            }
            Self::Changed(_) | Self::Unread { .. } => {
                "put the file back as it was, or give {force} to begin anew"
            }
            Self::Json { .. } => "this is a defect of the program; please report it",
            Self::Store(error) => return error.advice(),
        }))
    }
}

/// The directory a path is in; `.` for a bare name.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
