//! The list of codes beside a file of JSON lines.
//!
//! Lines hold the codes that records happen to have. Which others there are, for rules that name
//! them and for the next reader, is in a vocabulary file beside the lines: `x.codes.json` for
//! `x.jsonl`. The lines come first: a code that only they have is a code all the same, and where
//! the two disagree about its kind, the lines are right. So lines that were edited, or put in the
//! place of others, are read as what they are, and a list that was left behind adds codes and no
//! more.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use consequence_record::Vocabulary;

use crate::problem::Document;
use crate::{Limits, Problem, TableError, vocabulary};

/// Where the codes of a file of JSON lines are listed: `x.codes.json` for `x.jsonl` and for
/// `x.jsonl.gz`; for a file of another name, that name with `.codes.json` after it.
///
/// ```
/// use std::path::Path;
/// use consequence_tables::jsonl::codes_path;
///
/// assert_eq!(codes_path(Path::new("a/x.jsonl")), Path::new("a/x.codes.json"));
/// assert_eq!(codes_path(Path::new("x.jsonl.gz")), Path::new("x.codes.json"));
/// assert_eq!(codes_path(Path::new("x.2.txt")), Path::new("x.2.txt.codes.json"));
/// ```
pub fn codes_path(path: &Path) -> PathBuf {
    let ends_in = |path: &Path, end: &str| {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(end))
    };
    let unpacked = if ends_in(path, "gz") { path.with_extension("") } else { path.to_path_buf() };
    if ends_in(&unpacked, "jsonl") {
        return unpacked.with_extension("codes.json");
    }
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".codes.json");
    path.with_file_name(name)
}

/// The codes listed beside a file of JSON lines; none if no list is there.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<Option<Vocabulary>, TableError> {
    let path = codes_path(path);
    let name = path.display().to_string();
    let file = match File::open(&path) {
        Ok(file) => file,
        // Also where there is no folder for it, as beside a pipe.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => {
            return Err(TableError {
                problem: Problem::Open(error),
                file: name.into(),
                line: None,
                column: None,
                document: Document::Codes,
            });
        }
    };
    match vocabulary::read_from(file, &name, limits) {
        Ok(listed) => Ok(Some(listed)),
        Err(error) => Err(TableError { document: Document::Codes, ..error }),
    }
}
