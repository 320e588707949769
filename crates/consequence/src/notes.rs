//! What is written as JSON: reports, with the number of their format, and the notes that a run keeps of
//! itself so that it can be gone on with.

use std::fs;
use std::io;
use std::path::Path;

use consequence_store::{StoreError, write_atomically};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;
use crate::place::refuse_folder;

/// The number of the format of reports. It counts up when a field of a report goes or comes to mean
/// something else; a new field changes nothing for who reads the others.
pub const REPORT_FORMAT: u32 = 2;

/// The number of the format of the folders in which runs keep what they have done.
const RUN_FORMAT: u32 = 1;

#[derive(Serialize)]
struct Numbered<'a, T> {
    format: u32,
    #[serde(flatten)]
    report: &'a T,
}

/// A report as JSON, with the number of its format before everything else.
///
/// ```
/// use consequence::report_json;
///
/// #[derive(serde::Serialize)]
/// struct Report {
///     records: u64,
/// }
/// assert_eq!(report_json(&Report { records: 7 })?, "{\n  \"format\": 1,\n  \"records\": 7\n}\n");
/// # Ok::<(), consequence::Error>(())
/// ```
pub fn report_json(report: &impl Serialize) -> Result<String, Error> {
    json_text(&Numbered { format: REPORT_FORMAT, report })
}

/// Writes a report down.
pub(crate) fn write_report(path: &Path, report: &impl Serialize) -> Result<(), Error> {
    let text = report_json(report)?;
    Ok(write_atomically(path, |file| file.write_all(text.as_bytes()))?)
}

/// Writes a note down.
pub(crate) fn write_note(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let text = json_text(value)?;
    Ok(write_atomically(path, |file| file.write_all(text.as_bytes()))?)
}

/// A note; nothing if it is not there or cannot be understood.
pub(crate) fn read_note<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(serde_json::from_str(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::new(path, error).into()),
    }
}

/// What a run is begun with, with the number of the format of its folder and the version of the program.
pub(crate) fn begun_with(mut task: Value) -> Value {
    task["format"] = RUN_FORMAT.into();
    task["version"] = env!("CARGO_PKG_VERSION").into();
    task
}

/// Whether a run is there that left a note and was begun with the same. One that was begun with something
/// else or by another version of the program is refused, unless it may be forced out of the way; so is a
/// folder with anything but a run in it.
pub(crate) fn goes_on(path: &Path, wanted: &Value, force: bool) -> Result<bool, Error> {
    let found = read_note::<Value>(path)?;
    if found.as_ref() == Some(wanted) {
        return Ok(true);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if force || refuse_folder(folder, false).is_ok() {
        return Ok(false);
    }
    let other =
        |found: &&Value| ["format", "version"].iter().any(|&name| found[name] != wanted[name]);
    Err(match found.as_ref().filter(other) {
        Some(found) => {
            let begun_by = match (found["version"].as_str(), found["format"].as_u64()) {
                (Some(version), Some(format)) => format!("version {version} (format {format})"),
                (Some(version), None) => format!("version {version} (no format)"),
                (None, _) => "an older version".into(),
            };
            Error::OtherVersion { path: path.to_path_buf(), begun_by }
        }
        None => Error::OtherRun(path.to_path_buf()),
    })
}

fn json_text(value: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A value that JSON has no form for.
    #[derive(Serialize)]
    struct Odd {
        pairs: BTreeMap<(u8, u8), u8>,
    }

    #[test]
    fn what_has_no_json_form_is_an_error_and_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.json");
        let odd = Odd { pairs: BTreeMap::from([((1, 2), 3)]) };
        for written in [write_report(&path, &odd), write_note(&path, &odd)] {
            let said = written.unwrap_err().to_string();
            assert!(said.starts_with("a report cannot be written as JSON: "), "{said}");
            assert!(said.contains("defect of the program"), "{said}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
