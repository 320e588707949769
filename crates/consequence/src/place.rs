//! Places that must not or cannot be written, refused before any work is done.

use std::fs;
use std::path::Path;

use consequence_store::StoreError;
use consequence_tables::jsonl::codes_path;
use consequence_tables::{CohortWriter, Format};

use crate::Error;

/// Refuses a place for a file.
pub(crate) fn refuse_place(path: &Path, force: bool) -> Result<(), Error> {
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
    refuse_place(path, force)?;
    refuse_place(&codes_path(path), force)
}

/// Refuses a place for a cohort: a file of JSON lines or the folder of a dataset, as its name says.
pub(crate) fn refuse_cohort(path: &Path, force: bool) -> Result<(), Error> {
    match Format::to_write(path) {
        Format::Lines => refuse_lines(path, force)?,
        Format::Meds => refuse_folder(path, force)?,
    }
    Ok(CohortWriter::try_place(path, force)?)
}
