//! Generation killed with -9, and resumed.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use std::{env, fs};

use consequence_feedback::Unwatched;
use consequence_sample::{DatasetOptions, Request, Sampler, write_dataset};

use common::*;

/// Names the folder to the program that is killed.
const OUT: &str = "CONSEQUENCE_TEST_OUT";

const SHARDS: usize = 30;

fn generate(out: &Path) {
    let vocabulary = vocabulary(3, 90);
    let generator = network(&vocabulary, 8, 4);
    let rules =
        rules("rule one: exactly one of S0, S1, S2  rule lasts: E3 in previous => E3", &vocabulary);
    let sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let options = DatasetOptions {
        records: 100 * SHARDS as u64 - 50,
        shard_records: 100,
        resume: true,
        ..DatasetOptions::default()
    };
    write_dataset(&sampler, out, &options, &Unwatched).unwrap();
}

/// The program that the other test kills.
#[test]
#[ignore = "run by the test that kills it"]
fn program() {
    if let Some(out) = env::var_os(OUT) {
        generate(&PathBuf::from(out));
    }
}

fn start(out: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["program", "--ignored", "--exact"])
        .env(OUT, out)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for inner in ["data", "metadata"] {
        for entry in fs::read_dir(folder.join(inner)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            all.insert(path.strip_prefix(folder).unwrap().to_path_buf(), bytes);
        }
    }
    all
}

/// Whole data files in an unfinished folder.
fn finished(unfinished: &Path) -> usize {
    let entries = fs::read_dir(unfinished.join("data")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.')).count()
}

#[test]
fn three_kills_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, out] = ["whole", "out"].map(|name| folder.path().join(name));
    let unfinished = folder.path().join("out.unfinished");
    generate(&whole);
    let mut kills = 0;
    for (wait, shards) in [(0, 0), (3, 4), (7, 12)] {
        let mut child = start(&out);
        while finished(&unfinished) < shards && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(wait));
        // On Unix this is SIGKILL.
        kills += usize::from(child.kill().is_ok() && !child.wait().unwrap().success());
        assert!(!out.exists() || finished(&unfinished) == 0, "in place whole or not at all");
    }
    assert_eq!(kills, 3, "killed at work");
    assert!(finished(&unfinished) >= 12, "what was finished is kept");
    assert!(start(&out).wait().unwrap().success());
    assert_eq!(files(&out).len(), SHARDS + 4);
    assert!(files(&out) == files(&whole) && !unfinished.exists());
}
