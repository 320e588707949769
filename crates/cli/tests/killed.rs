//! Training and generating killed (-9) at random moments: the same bytes as if nobody had.
#![cfg(unix)]

use std::path::Path;

use consequence_studies::kills::{generating, training};

const PROGRAM: &str = env!("CARGO_BIN_EXE_consequence");

#[test]
fn training_goes_on_after_three_kills() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let killed = training(Path::new(PROGRAM), folder.path(), 3);
    assert!(killed.equal && killed.kills >= 3, "{killed:?}");
}

#[test]
fn generating_goes_on_after_three_kills() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let killed = generating(Path::new(PROGRAM), folder.path(), 3);
    assert!(killed.equal && killed.kills >= 3, "{killed:?}");
}
