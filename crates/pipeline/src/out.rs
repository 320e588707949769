//! What a run writes: locked before anyone looks, refused before any work is done, and never put in
//! the place of something that nobody asked to replace.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use consequence_store::{
    Lock, RunOptions, Site, StoreError, create_directory, write_atomically, write_new,
};
use consequence_tables::jsonl::codes_path;
use consequence_tables::{CohortWriter, Format};

use crate::Error;

/// What a task writes, and what may become of what is already there.
///
/// ```
/// use consequence_pipeline::Out;
///
/// let folder = tempfile::tempdir()?;
/// let out = Out::new(folder.path().join("a.rules"));
/// out.file()?.write(|file| file.write_all(b"rule a: A => B"))?;
/// assert!(out.file().is_err(), "it is there");
/// assert!(out.replacing(true).file().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Out {
    /// The file or folder.
    pub path: PathBuf,
    /// Whether what is there may be replaced.
    pub force: bool,
    /// Whether to resume what a stopped run left there.
    pub resume: bool,
}

impl<P: Into<PathBuf>> From<P> for Out {
    fn from(path: P) -> Self {
        Self::new(path)
    }
}

impl Out {
    /// A new file or folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), force: false, resume: false }
    }

    /// The same, and whether what is there may be replaced.
    pub fn replacing(self, force: bool) -> Self {
        Self { force, ..self }
    }

    /// The same, and whether to resume what a stopped run left there.
    pub fn resuming(self, resume: bool) -> Self {
        Self { resume, ..self }
    }

    /// Something inside of a folder, to be treated alike.
    pub fn inside(&self, name: &str) -> Self {
        Self { path: self.path.join(name), ..self.clone() }
    }

    /// The path, as messages show it.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Opens a file to be written.
    pub fn file(&self) -> Result<OpenOut<'_>, Error> {
        self.opened(|| refuse_file(&self.path, self.force))
    }

    /// Opens a file of JSON lines, and the list of codes beside it.
    pub fn lines(&self) -> Result<OpenOut<'_>, Error> {
        self.opened(|| refuse_lines(&self.path, self.force))
    }

    /// Opens a folder, which is refused if it is there and not empty, unless it may be replaced.
    pub fn folder(&self) -> Result<OpenOut<'_>, Error> {
        self.opened(|| refuse_folder(&self.path, self.force))
    }

    /// Opens a folder that is filled where it stands, and made if it is not there. One that is not
    /// empty is refused, unless it may be resumed or replaced.
    pub fn filled_in_place(&self) -> Result<OpenOut<'_>, Error> {
        if let Some(parent) = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            create_directory(parent)?;
        }
        let open = self.opened(|| refuse_folder(&self.path, self.force || self.resume))?;
        create_directory(&self.path)?;
        Ok(open)
    }

    /// Opens a cohort: a file of JSON lines or the folder of a dataset, as its name says.
    pub fn cohort(&self) -> Result<OpenOut<'_>, Error> {
        self.opened(|| refuse_cohort(&self.path, self.force))
    }

    /// How a run that can be resumed uses the folder; see [`RunFolder`](consequence_store::RunFolder).
    pub fn run_options(&self, site: Site, format: u32) -> RunOptions<'static> {
        RunOptions {
            resume: self.resume,
            force: self.force,
            ..RunOptions::new(site, format, env!("CARGO_PKG_VERSION"))
        }
    }

    /// Locks it without a look at what is there.
    pub fn lock(&self) -> Result<OpenOut<'_>, Error> {
        self.opened(|| Ok(()))
    }

    fn opened(&self, refuse: impl FnOnce() -> Result<(), Error>) -> Result<OpenOut<'_>, Error> {
        let lock = Lock::exclusive(&self.path)?;
        refuse()?;
        Ok(OpenOut { out: self, lock })
    }
}

/// The file or folder that a run writes. Nobody else writes it as long as this lives.
#[derive(Debug)]
pub struct OpenOut<'a> {
    out: &'a Out,
    lock: Lock,
}

impl OpenOut<'_> {
    /// Writes the file, whole or not at all.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        write_file(&self.out.path, self.out.force, fill)
    }

    /// The lock alone, for one that goes on longer than what is written here.
    pub fn into_lock(self) -> Lock {
        self.lock
    }
}

/// A path that means the same in every folder, as a run writes down what it was begun with.
pub fn whole_path(path: &Path) -> String {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

/// Writes a file, whole or not at all, where none is unless it may be replaced.
pub fn write_file(
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

/// Refuses a path for a file.
pub fn refuse_file(path: &Path, force: bool) -> Result<(), Error> {
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

/// Refuses a path for a folder that is there and not empty, unless it may be replaced.
pub fn refuse_folder(path: &Path, force: bool) -> Result<(), Error> {
    let occupied = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if !force && occupied() {
        return Err(Error::Exists(path.to_path_buf()));
    }
    Ok(())
}

/// Refuses a path for a file of JSON lines, or for the list of codes beside it.
pub fn refuse_lines(path: &Path, force: bool) -> Result<(), Error> {
    refuse_file(path, force)?;
    refuse_file(&codes_path(path), force)
}

/// Refuses a path for a cohort: a file of JSON lines or the folder of a dataset, as its name says.
pub fn refuse_cohort(path: &Path, force: bool) -> Result<(), Error> {
    match Format::to_write(path) {
        Format::Lines => refuse_lines(path, force)?,
        Format::Meds => refuse_folder(path, force)?,
    }
    Ok(CohortWriter::try_path(path, force)?)
}
