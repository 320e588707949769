//! Data that others published, where it lies beside the workspace.

use std::path::PathBuf;

/// A file or folder of the material beside the workspace; `None`, with a line on stderr that says so, if
/// it is not there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    if !found.exists() {
        eprintln!("SKIPPED: ../shared/{path} is not there");
        return None;
    }
    Some(found)
}
