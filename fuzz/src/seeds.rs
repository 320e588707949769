//! Inputs that are there already: the corpus, the examples, and the files of each format.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
struct Corpus {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    rules: String,
}

/// A file of the repository.
pub(crate) fn file(path: &str) -> Vec<u8> {
    let path = root().join(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rules of every case of the corpus, those that are refused among them.
pub(crate) fn corpus() -> Vec<String> {
    let entries = fs::read_dir(root().join("corpus")).expect("the corpus");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut rules = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a corpus file");
        let Corpus { case } = toml::from_str(&text).expect("cases");
        rules.extend(case.into_iter().map(|case| case.rules));
    }
    rules
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
