//! The notes that a run keeps of itself, so that it can be resumed.

use std::fs;
use std::io;
use std::path::Path;

use consequence_store::{StoreError, write_atomically};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;
use crate::out::refuse_folder;

/// The number of the format of the folders in which runs keep what they have done.
const RUN_FORMAT: u32 = 1;

/// Writes a note down.
pub fn write_note(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let text = json_text(value)?;
    Ok(write_atomically(path, |file| file.write_all(text.as_bytes()))?)
}

/// A note; nothing if it is not there or cannot be understood.
pub fn read_note<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(serde_json::from_str(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::new(path, error).into()),
    }
}

/// What is said of a run that was begun with something else.
pub const OTHER_RUN: &str =
    "the run that is there was begun with another source or with other options";

/// What a run is begun with, with the number of the format of its folder and the version of the program.
pub fn begun_with(mut task: Value) -> Value {
    task["format"] = RUN_FORMAT.into();
    task["version"] = env!("CARGO_PKG_VERSION").into();
    task
}

/// Whether a run is there that left a note and was begun with the same. One that was begun with something
/// else or by another version of the program is refused, unless it may be forced out of the way; so is a
/// folder with anything but a run in it.
pub fn goes_on(path: &Path, wanted: &Value, force: bool) -> Result<bool, Error> {
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
        None => Error::OtherRun { what: OTHER_RUN, path: path.to_path_buf() },
    })
}

fn json_text(value: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}
