//! What an earlier run left is looked through before it is kept.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use consequence_feedback::{Advise, Unwatched};
use consequence_model::NetworkGenerator;
use consequence_rules::RuleSet;
use consequence_sample::{
    DatasetOptions, Mode, Request, SampleError, Sampler, Written, write_dataset,
};

use common::*;

const MANIFEST: &str = "metadata/generation.json";

/// A dataset of five data files, the same in mode `off`, and a folder to complete it in.
struct World {
    folder: tempfile::TempDir,
    generator: NetworkGenerator,
    rules: RuleSet,
}

impl World {
    fn new() -> Self {
        let vocabulary = vocabulary(3, 40);
        let text = "rule one: exactly one of S0, S1, S2  rule lasts: E3 in previous => E3";
        let (generator, rules) = (network(&vocabulary, 8, 4), rules(text, &vocabulary));
        let world = Self { folder: tempfile::tempdir().unwrap(), generator, rules };
        world.generate("whole", Mode::Guided, false).unwrap();
        world.generate("off", Mode::Off, false).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn generate(&self, name: &str, mode: Mode, resume: bool) -> Result<Written, SampleError> {
        let request = Request { mode, ..Request::default() };
        let sampler = Sampler::new(&self.generator, &self.rules, request).unwrap();
        let options =
            DatasetOptions { records: 90, shard_records: 20, resume, ..DatasetOptions::default() };
        write_dataset(&sampler, self.path(name), &options, &Unwatched)
    }

    /// The whole dataset as a killed run leaves it, or complete, and then changed.
    fn changed(&self, name: &str, change: impl FnOnce(&Path)) -> Result<Written, SampleError> {
        for old in ["out", "out.unfinished"] {
            let _ = fs::remove_dir_all(self.path(old));
        }
        let folder = self.path(name);
        for (name, bytes) in files(&self.path("whole")) {
            fs::create_dir_all(folder.join(&name).parent().unwrap()).unwrap();
            fs::write(folder.join(name), bytes).unwrap();
        }
        change(&folder);
        self.generate("out", Mode::Guided, true)
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for inner in ["data", "metadata"] {
        for entry in fs::read_dir(folder.join(inner)).unwrap() {
            let path = entry.unwrap().path();
            all.insert(path.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn what_was_changed_is_written_again() {
    let world = World::new();
    let [second, last] = ["data/000001.parquet", "data/000004.parquet"];
    let off = fs::read(world.path("off").join(second)).unwrap();
    let flipped = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    type Change<'a> = &'a dyn Fn(&Path);
    let changes: [(Change<'_>, u64, &[&str]); 7] = [
        (&|folder| fs::write(folder.join(second), "").unwrap(), 70, &[second]),
        (&|folder| flipped(&folder.join(second)), 70, &[second]),
        (&|folder| fs::write(folder.join(second), &off).unwrap(), 70, &[second]),
        (&|folder| flipped(&folder.join(last)), 80, &[last]),
        (&|folder| fs::remove_file(folder.join(last)).unwrap(), 80, &[]),
        (
            &|folder| flipped(&folder.join("metadata/codes.parquet")),
            90,
            &["metadata/codes.parquet"],
        ),
        (&|_| {}, 90, &[]),
    ];
    let expected = files(&world.path("whole"));
    for name in ["out", "out.unfinished"] {
        for (number, (change, kept, rewritten)) in changes.iter().enumerate() {
            let written = world.changed(name, change).unwrap();
            assert_eq!(written.kept, *kept, "change {number} in {name}");
            assert_eq!(written.rewritten, *rewritten, "change {number} in {name}");
            assert_eq!(written.totals.records, 90 - kept, "those judged now");
            assert!(files(&world.path("out")) == expected, "change {number} in {name}");
            assert!(!world.path("out.unfinished").exists());
        }
    }
}

#[test]
fn a_file_of_nobody_is_refused_by_name() {
    let world = World::new();
    let off = fs::read(world.path("off/data/000001.parquet")).unwrap();
    for name in ["out", "out.unfinished"] {
        for stranger in [
            "data/000005.parquet",
            "data/strange.parquet",
            "metadata/subjects.parquet",
            "notes.txt",
        ] {
            let refused = world.changed(name, |folder| {
                fs::write(folder.join(stranger), &off).unwrap();
                fs::remove_file(folder.join("data/000000.parquet")).unwrap();
            });
            let error = refused.unwrap_err();
            assert!(matches!(error, SampleError::Stranger(_)), "{error}");
            assert!(error.to_string().ends_with(&format!("{name}/{stranger}")), "{error}");
            let advice = "move it away, or give FORCE without RESUME to begin anew";
            assert_eq!(error.advice().unwrap().worded(|it| it.name.to_uppercase()), advice);
            let missing = world.path(name).join("data/000000.parquet");
            assert!(!missing.exists(), "refused before anything is generated");
        }
    }
}

#[test]
fn what_another_version_began_is_refused() {
    let world = World::new();
    let refused = |from: &str, to: &str| {
        let changed = ["out", "out.unfinished"].map(|name| {
            let change = |folder: &Path| {
                let path = folder.join(MANIFEST);
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.contains(from), "{text}");
                fs::write(path, text.replacen(from, to, 1)).unwrap();
            };
            world.changed(name, change).unwrap_err()
        });
        let advised = |error: &SampleError| error.advice().unwrap().worded(|it| it.name.into());
        let complete = "complete it with that version";
        assert!(changed.iter().all(|error| advised(error).starts_with(complete)));
        changed[0].to_string()
    };
    let said = refused("\"format\": 4", "\"format\": 9");
    assert!(said.contains("by a newer version of this program: its format is 9, and"), "{said}");
    let said = refused("\"format\": 4", "\"format\": 1");
    assert!(said.contains("by an older version of this program: its format is 1, and"), "{said}");
    let version = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    let said = refused(version, "\"version\": \"0.0.7\"");
    assert!(said.contains("begun by version 0.0.7 of this program"), "{said}");
}

/// Has a manifest say that something drew the records.
fn say_drawn_by(folder: &Path, drawn_by: &str) {
    let path = folder.join(MANIFEST);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"drawn_by\": \"cpu\""), "{text}");
    fs::write(&path, text.replace("\"drawn_by\": \"cpu\"", &format!("\"drawn_by\": {drawn_by}")))
        .unwrap();
}

#[test]
fn records_of_another_device_are_not_gone_on_with() {
    let world = World::new();
    let gpu = r#"{"gpu": {"name": "H200", "precision": "fast"}}"#;
    for name in ["out", "out.unfinished"] {
        let refused = world.changed(name, |folder| {
            say_drawn_by(folder, gpu);
            fs::remove_file(folder.join("data/000003.parquet")).unwrap();
        });
        let error = refused.unwrap_err();
        let said =
            "what is there was drawn by a GPU (H200, fast precision), and here the CPU draws";
        assert!(error.to_string().contains(said), "{error}");
        let advice = error.advice().unwrap().worded(|setting| match setting.value {
            Some(value) => format!("{}={value}", setting.name),
            None => setting.name.to_owned(),
        });
        assert_eq!(
            advice,
            "on a machine with such a GPU (H200) give device=cuda:0 and precision=fast, or give force without \
             resume to begin anew"
        );
        assert!(!world.path(name).join("data/000003.parquet").exists(), "nothing was written");
    }
    // Nothing is to be drawn, or nothing was.
    let whole = world.changed("out", |folder| say_drawn_by(folder, gpu)).unwrap();
    assert_eq!((whole.kept, whole.totals.records), (90, 0));
    let none = world.changed("out.unfinished", |folder| {
        say_drawn_by(folder, gpu);
        fs::remove_dir_all(folder.join("data")).unwrap();
    });
    assert_eq!(none.unwrap().totals.records, 90);
    assert_eq!(files(&world.path("out")), files(&world.path("whole")));
}

/// One of several files that are encoded at once cannot be put in place.
#[test]
fn a_file_that_cannot_be_written_ends_the_run_and_the_others_stay() {
    let world = World::new();
    let blocked = Path::new("data/000002.parquet");
    let refused = world.changed("out.unfinished", |folder| {
        fs::remove_dir_all(folder.join("data")).unwrap();
        fs::create_dir_all(folder.join(blocked)).unwrap();
        fs::write(folder.join(blocked).join("in-the-way"), "").unwrap();
    });
    assert!(matches!(
        refused,
        Err(SampleError::Store(_) | SampleError::Write(_) | SampleError::Stranger(_))
    ));
    let folder = world.path("out.unfinished");
    let refused = world.changed("out.unfinished", |folder| {
        fs::remove_dir_all(folder.join("data")).unwrap();
        fs::create_dir_all(folder.join(blocked)).unwrap();
    });
    assert!(refused.is_err() && !world.path("out").exists());
    fs::remove_dir(folder.join(blocked)).unwrap();
    let there = files(&folder).into_keys().filter(|name| name.starts_with("data")).count() as u64;
    let resumed = world.generate("out", Mode::Guided, true).unwrap();
    assert!(
        there > 0 && resumed.kept > 0 && resumed.kept + resumed.totals.records == 90,
        "{there}"
    );
    assert_eq!(files(&world.path("out")), files(&world.path("whole")));
}
