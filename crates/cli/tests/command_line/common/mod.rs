//! Running the real program on files in a folder of its own.

pub mod clinic;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Rules that the cohort below breaks once each.
pub const RULES: &str = "\
rule lifelong: DIABETES in previous => DIABETES
rule treated:  DIABETES => INSULIN or DIET
rule no-delivery-in-men: SEX//M in static => not DELIVERY
";

/// Three records: two with violations.
pub const COHORT: &str = r#"{"id": "secret-1", "static": ["SEX//M"], "visits": [["DIABETES", "DIET"], []]}
{"id": "secret-2", "static": ["SEX//F"], "visits": [["DELIVERY"], ["INSULIN"]]}
{"id": "secret-3", "static": ["SEX//M"], "visits": [["DIABETES"], ["DELIVERY", "DIABETES", "DIET"]]}
"#;

/// A folder that goes away by itself.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for the test"))
    }

    /// A folder with `a.rules` and `cohort.jsonl`.
    pub fn with_clinic() -> Self {
        let folder = Self::new();
        folder.write("a.rules", RULES);
        folder.write("cohort.jsonl", COHORT);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file for the test");
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file that was written")
    }

    /// The names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs the program here, words split at blanks.
    pub fn run(&self, arguments: &str) -> Ran {
        Ran::of(program(self.0.path()).args(arguments.split_whitespace()))
    }

    /// The same with a last word that has blanks in it.
    pub fn run_with(&self, arguments: &str, last: &str) -> Ran {
        Ran::of(program(self.0.path()).args(arguments.split_whitespace()).arg(last))
    }
}

/// The program, started in a folder.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consequence"));
    command.current_dir(folder).env_remove("RUST_BACKTRACE");
    command
}

/// What came of a run.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().expect("the program starts");
        let ran = Self {
            code: status.code().expect("the program ends by itself"),
            out: String::from_utf8(stdout).expect("text"),
            err: String::from_utf8(stderr).expect("text"),
        };
        let panicked = ran.err.contains("panicked") || ran.err.contains("RUST_BACKTRACE");
        assert!(!panicked, "the program panicked: {}", ran.err);
        ran
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn prints(self, part: &str) -> Self {
        assert!(self.out.contains(part), "no `{part}` in: {}", self.out);
        self
    }

    /// Failed with a message that has all these parts, and no data.
    #[track_caller]
    pub fn refuses(self, parts: &[&str]) {
        let ran = self.exits(2);
        assert_eq!(ran.out, "", "a failure prints no data");
        for part in parts {
            assert!(ran.err.contains(part), "no `{part}` in: {}", ran.err);
        }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).expect("stdout is JSON")
    }
}
