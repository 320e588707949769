//! A record depends on the seed and its number alone.

mod common;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use consequence_feedback::{Unwatched, Watch};
use consequence_model::NetworkGenerator;
use consequence_record::{Cohort, Record, Vocabulary};
use consequence_rules::RuleSet;
use consequence_sample::{
    DatasetOptions, Identity, Mode, Request, SampleError, Sampler, Totals, write_dataset,
    write_lines,
};
use consequence_tables::Dataset;

use common::*;

struct World {
    vocabulary: Arc<Vocabulary>,
    generator: NetworkGenerator,
    rules: RuleSet,
}

fn world() -> World {
    let vocabulary = vocabulary(3, 90);
    let text = "rule one: exactly one of S0, S1, S2
                rule lasts: E3 in previous => E3
                rule bars: S1 in static and E5 => not E4
                rule asks: E7 in past and E8 => any of E10, E11
                rule ends: E20 and E21 => END
                rule seldom: E1 => E2 with probability 0.1";
    let generator = network(&vocabulary, 8, 4);
    World { generator, rules: rules(text, &vocabulary), vocabulary }
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn whatever_the_batch_and_the_threads() {
    let World { generator, rules, .. } = world();
    for mode in Mode::ALL {
        let request = |batch| Request { mode, batch, proposals: 5, ..Request::default() };
        let count = if mode == Mode::Reject { 60 } else { 300 };
        let (expected, totals) = sample(&generator, &rules, request(256), count);
        assert!(totals.encounters > count && totals.codes > totals.encounters, "{totals:?}");
        for (batch, threads) in [(1, 1), (32, 2), (1000, 7), (32, 7), (1000, 1)] {
            let again = on_threads(threads, || sample(&generator, &rules, request(batch), count));
            assert!(again.0 == expected, "{mode}, batch {batch}, {threads} threads");
            assert_eq!(again.1, totals, "{mode}, batch {batch}, {threads} threads");
        }
        // Whatever others are written.
        let sampler = Sampler::new(&generator, &rules, request(7)).unwrap();
        let mut some = Vec::new();
        let numbers = [3, 4, 17, 59];
        let push = |number, record: Record| {
            some.push((number, record));
            Ok(())
        };
        sampler.records(numbers, &mut Totals::default(), push).unwrap();
        for ((number, record), expected_number) in some.iter().zip(numbers) {
            assert_eq!(*number, expected_number);
            assert_eq!(*record, expected[*number as usize], "{mode}");
        }
    }
}

#[test]
fn another_seed_is_another_cohort() {
    let World { generator, rules, .. } = world();
    let of = |seed| sample(&generator, &rules, Request { seed, ..Request::default() }, 50).0;
    assert_ne!(of(1), of(2));
}

fn options(shard_records: u64, resume: bool) -> DatasetOptions {
    let made_from = Identity { model: "m".into(), ..Identity::default() };
    DatasetOptions { records: 250, shard_records, resume, made_from, ..DatasetOptions::default() }
}

/// Every file of a folder with its bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for inner in ["data", "metadata"] {
        for entry in fs::read_dir(folder.join(inner)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{inner}/{}", path.file_name().unwrap().to_str().unwrap());
            all.push((name, fs::read(path).unwrap()));
        }
    }
    all.sort();
    all
}

fn cohort(path: &Path, vocabulary: &Arc<Vocabulary>) -> Cohort {
    let options = consequence_tables::meds::MedsOptions {
        vocabulary: Some(Arc::clone(vocabulary)),
        ..Default::default()
    };
    Dataset::open_with(path, &options).unwrap().cohort
}

#[test]
fn in_one_shard_or_ten_or_in_lines() {
    let World { generator, rules, vocabulary } = world();
    let sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    write_dataset(&sampler, path("one"), &options(1000, false), &Unwatched).unwrap();
    write_dataset(&sampler, path("ten"), &options(25, false), &Unwatched).unwrap();
    write_lines(&sampler, path("lines.jsonl"), 250, false, &Unwatched).unwrap();
    let one = cohort(&path("one"), &vocabulary);
    assert_eq!(one.len(), 250);
    assert_eq!(one, cohort(&path("ten"), &vocabulary));
    assert_eq!(one, cohort(&path("lines.jsonl"), &vocabulary));
    assert_eq!(files(&path("ten")).iter().filter(|(name, _)| name.starts_with("data")).count(), 10);
    for (index, record) in records(&sampler, 250).0.iter().enumerate() {
        assert_eq!(one.id(index), (index + 1).to_string());
        assert_eq!(one.record(index).to_record(), *record);
    }
}

/// Counts the records that it is told of, and is through with it after so many.
struct Counter {
    done: AtomicU64,
    most: u64,
}

impl Counter {
    fn new(most: u64) -> Self {
        Self { done: AtomicU64::new(0), most }
    }
}

impl Watch for Counter {
    fn begin(&self, _task: &str, _total: Option<u64>) {}
    fn advance(&self, steps: u64) {
        if self.done.fetch_add(steps, Ordering::Relaxed) >= self.most {
            resume_unwind(Box::new("stopped"));
        }
    }
    fn finish(&self) {}
}

#[test]
fn stopped_and_resumed() {
    let World { generator, rules, .. } = world();
    let sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let whole = path("whole");
    let written = write_dataset(&sampler, &whole, &options(30, false), &Unwatched).unwrap();
    assert_eq!((written.kept, written.totals.records), (0, 250));
    let expected = files(&whole);
    for stop in [0, 1, 29, 31, 100, 249] {
        let out = path(&format!("stopped-{stop}"));
        let unfinished = path(&format!("stopped-{stop}.unfinished"));
        let stopping = Counter::new(stop);
        let stopped = catch_unwind(AssertUnwindSafe(|| {
            write_dataset(&sampler, &out, &options(30, stop > 0), &stopping)
        }));
        assert!(stopped.is_err() && !out.exists() && unfinished.is_dir());
        // What a kill leaves of a file that was being written.
        fs::write(unfinished.join("data/.partial-7-8-9"), "half").unwrap();
        let refused = write_dataset(&sampler, &out, &options(30, false), &Unwatched).unwrap_err();
        assert!(matches!(refused, SampleError::Unfinished(_)), "{refused}");
        let telling = Counter::new(u64::MAX);
        let written = write_dataset(&sampler, &out, &options(30, true), &telling).unwrap();
        assert_eq!(written.kept + written.totals.records, 250);
        assert_eq!(telling.done.into_inner(), 250);
        assert!(written.kept + 30 > stop && written.kept <= stop + 1, "finished shards are kept");
        assert!(files(&out) == expected && !unfinished.exists(), "stopped at {stop}");
    }
}

#[test]
fn any_shards_may_be_missing() {
    let World { generator, rules, .. } = world();
    let sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [whole, out] = ["whole", "out"].map(|name| folder.path().join(name));
    write_dataset(&sampler, &whole, &options(30, false), &Unwatched).unwrap();
    let expected = files(&whole);
    let unfinished = folder.path().join("out.unfinished");
    for missing in [vec![0], vec![8], vec![0, 3, 4, 8], (0..9).collect(), vec![]] {
        let _ = fs::remove_dir_all(&out);
        for inner in ["data", "metadata"] {
            fs::create_dir_all(unfinished.join(inner)).unwrap();
        }
        for (name, bytes) in &expected {
            let shard = missing.iter().any(|file| *name == format!("data/{file:06}.parquet"));
            if name == "metadata/generation.json" || name.starts_with("data") && !shard {
                fs::write(unfinished.join(name), bytes).unwrap();
            }
        }
        write_dataset(&sampler, &out, &options(30, true), &Unwatched).unwrap();
        assert!(files(&out) == expected, "{missing:?}");
        // Killed once it was in place.
        let again = write_dataset(&sampler, &out, &options(30, true), &Unwatched).unwrap();
        assert_eq!((again.kept, again.totals.records), (250, 0));
    }
}

#[test]
fn only_the_same_request_is_resumed() {
    let World { generator, rules, .. } = world();
    let sampler = Sampler::new(&generator, &rules, Request::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    write_dataset(&sampler, &out, &options(30, false), &Unwatched).unwrap();
    let expected = files(&out);
    let refused = |sampler: &Sampler<'_, _>, options: &DatasetOptions| {
        write_dataset(sampler, &out, options, &Unwatched).unwrap_err().to_string()
    };
    for name in ["out", "out.unfinished"] {
        if name == "out.unfinished" {
            fs::rename(&out, out.with_file_name(name)).unwrap();
        }
        let said = refused(&sampler, &options(31, true));
        assert!(said.contains("it has records in a shard 30, and not 31"), "{said}");
        let request = Request { seed: 9, ..Request::default() };
        let said = refused(&Sampler::new(&generator, &rules, request).unwrap(), &options(30, true));
        assert!(said.contains("it has seed 1, and not 9"), "{said}");
        let other = Identity { model: "n".into(), ..Identity::default() };
        let said = refused(&sampler, &DatasetOptions { made_from: other, ..options(30, true) });
        assert!(said.contains("it has the model m, and not n"), "{said}");
    }
    // What is not ours is not taken for ours.
    let unfinished = out.with_file_name("out.unfinished");
    fs::write(unfinished.join("metadata/generation.json"), "{").unwrap();
    let said = refused(&sampler, &options(30, true));
    assert!(said.starts_with("cannot tell how the unfinished run was begun"), "{said}");
    fs::remove_file(unfinished.join("metadata/generation.json")).unwrap();
    let said = refused(&sampler, &options(30, true));
    assert!(said.contains("it has data, and no manifest"), "{said}");
    // Whoever insists begins anew.
    let insisting = DatasetOptions { replace: true, ..options(30, false) };
    write_dataset(&sampler, &out, &insisting, &Unwatched).unwrap();
    assert!(files(&out) == expected && !unfinished.exists());
    let said = refused(&sampler, &options(30, false));
    assert!(said.contains("the folder is not empty"), "{said}");
    write_dataset(&sampler, &out, &insisting, &Unwatched).unwrap();
    assert!(files(&out) == expected);
}
