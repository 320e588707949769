//! Which files of a folder hold which table.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{ImportError, ImportProblem};

/// A folder of tables.
pub(crate) struct Folder {
    path: PathBuf,
    entries: Vec<Entry>,
}

/// A file or folder that may be a table.
struct Entry {
    path: PathBuf,
    /// The name without what it ends in, in lower case.
    table: String,
    /// The name as it is.
    shown: String,
}

/// The files of one table.
#[derive(Debug)]
pub(crate) struct Parts {
    pub table: &'static str,
    pub files: Vec<PathBuf>,
}

impl Folder {
    /// Looks through a folder, and through those of its folders that are named in `inner`.
    pub fn open(path: &Path, inner: &[&str]) -> Result<Self, ImportError> {
        let mut entries = list(path)?;
        let folders: Vec<PathBuf> = entries
            .iter()
            .filter(|entry| inner.contains(&entry.table.as_str()) && entry.path.is_dir())
            .map(|entry| entry.path.clone())
            .collect();
        for folder in folders {
            entries.extend(list(&folder)?);
        }
        Ok(Self { path: path.to_path_buf(), entries })
    }

    /// The files of a table that may be missing.
    pub fn find(&self, table: &'static str) -> Result<Option<Parts>, ImportError> {
        let wanted = table.to_ascii_lowercase();
        let found: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.table == wanted).collect();
        match found.as_slice() {
            [] => Ok(None),
            [entry] if entry.path.is_dir() => {
                let mut files: Vec<PathBuf> = list(&entry.path)?
                    .into_iter()
                    .filter(|part| part.path.is_file())
                    .map(|part| part.path)
                    .collect();
                files.sort();
                Ok((!files.is_empty()).then_some(Parts { table, files }))
            }
            [entry] => Ok(Some(Parts { table, files: vec![entry.path.clone()] })),
            several => {
                let files = several.iter().map(|entry| entry.shown.clone()).collect();
                Err(self.fail(ImportProblem::TwoTables { table, files }))
            }
        }
    }

    /// The files of a table that must be there.
    pub fn need(&self, table: &'static str) -> Result<Parts, ImportError> {
        self.find(table)?.ok_or_else(|| {
            let found = self.entries.iter().map(|entry| entry.shown.clone()).collect();
            self.fail(ImportProblem::MissingTable { table, found })
        })
    }

    fn fail(&self, problem: ImportProblem) -> ImportError {
        ImportError::whole(self.path.display().to_string(), problem)
    }
}

/// What a folder holds that may be a table, by name.
fn list(path: &Path) -> Result<Vec<Entry>, ImportError> {
    let fail = |error| ImportError::whole(path.display().to_string(), ImportProblem::Open(error));
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let shown = entry.file_name().to_string_lossy().into_owned();
        let name = shown.to_ascii_lowercase();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        let table = ["csv", "tsv", "txt", "parquet"].iter().find_map(|end| {
            stem.strip_suffix(end).and_then(|stem| stem.strip_suffix('.')).map(str::to_owned)
        });
        let path = entry.path();
        let table = match table {
            Some(table) => table,
            None if path.is_dir() => name.clone(),
            None => continue,
        };
        if !name.starts_with(['.', '_']) {
            entries.push(Entry { path, table, shown });
        }
    }
    entries.sort_by(|one, other| one.shown.cmp(&other.shown));
    Ok(entries)
}
