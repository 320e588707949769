//! A run resumes what it began, and nothing else; nothing is lost that nobody asked to replace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use consequence_feedback::Advise;
use consequence_store::{RunError, RunFolder, RunOptions, RunState, Site, StoreError};
use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

fn belongs(name: &OsStr) -> bool {
    ["data", "metadata", "task.json", "work"].iter().any(|part| name == *part)
}

fn in_place() -> RunOptions<'static> {
    RunOptions {
        notes: Some("work"),
        parts: &["mined.rules", "cohort"],
        last: Some("report.html"),
        ..RunOptions::new(Site::InPlace, 1, "0.1.0")
    }
}

fn beside() -> RunOptions<'static> {
    RunOptions { notes: Some("work"), ..RunOptions::new(Site::Beside(belongs), 1, "0.1.0") }
}

fn resume(options: RunOptions<'static>) -> RunOptions<'static> {
    RunOptions { resume: true, ..options }
}

fn force(options: RunOptions<'static>) -> RunOptions<'static> {
    RunOptions { force: true, ..options }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all");
    (folder, path)
}

fn task(seed: u64) -> Value {
    json!({ "source": "cohort", "seed": seed })
}

fn begin(path: &Path, options: RunOptions<'_>) -> RunFolder {
    RunFolder::open(path, &task(7), &options).unwrap()
}

fn refused(path: &Path, options: RunOptions<'_>) -> RunError {
    RunFolder::open(path, &task(7), &options).unwrap_err()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_manifest_is_the_task_with_format_and_version() {
    let (_directory, path) = folder();
    let path = path.join("inside");
    drop(begin(&path, in_place()));
    let text = "{\n  \"format\": 1,\n  \"seed\": 7,\n  \"source\": \"cohort\",\n  \"version\": \"0.1.0\"\n}\n";
    assert_eq!(fs::read_to_string(path.join("task.json")).unwrap(), text);
    let again = begin(&path, resume(in_place()));
    assert_eq!(again.state(), RunState::Resumed);
    let text = fs::read_to_string(again.path("task.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["seed"], 7);
}

#[test]
fn notes_outlive_the_run_that_kept_them() {
    for options in [in_place(), beside()] {
        let (_directory, path) = folder();
        let run = begin(&path, options);
        assert_eq!(run.kept::<u64>("a.json").unwrap(), None);
        run.keep("a.json", &vec![1, 2]).unwrap();
        run.keep("a.json", &vec![1, 2, 3]).unwrap();
        run.keep("inner/b.json", &"b").unwrap();
        run.keep("c.json", &0.5).unwrap();
        run.forget("c.json").unwrap();
        let text = fs::read_to_string(run.path("work/a.json")).unwrap();
        assert_eq!(text, "[\n  1,\n  2,\n  3\n]\n");
        drop(run);
        let run = begin(&path, resume(options));
        assert_eq!(run.kept::<Vec<u64>>("a.json").unwrap(), Some(vec![1, 2, 3]));
        assert_eq!(run.kept::<String>("inner/b.json").unwrap(), Some("b".into()));
        assert_eq!(run.kept::<f64>("c.json").unwrap(), None);
        // A file that no run kept is no note.
        fs::write(run.path("work/d.json"), "4\n").unwrap();
        assert_eq!(run.kept::<u64>("d.json").unwrap(), None);
    }
}

#[test]
fn a_note_that_was_changed_is_an_error() {
    let (_directory, path) = folder();
    let run = begin(&path, in_place());
    run.keep("a.json", &1).unwrap();
    run.keep("b.json", &"text").unwrap();
    fs::write(run.path("work/a.json"), "2\n").unwrap();
    let error = run.kept::<u64>("a.json").unwrap_err();
    assert!(matches!(&error, RunError::Changed(note) if note.ends_with("work/a.json")));
    assert!(matches!(run.kept::<u64>("b.json"), Err(RunError::Unread { .. })));
    run.keep("a.json", &3).unwrap();
    assert_eq!(run.kept::<u64>("a.json").unwrap(), Some(3));
    drop(run);
    fs::write(path.join("work/digests.json"), "{").unwrap();
    assert!(matches!(refused(&path, resume(in_place())), RunError::Unread { .. }));
}

#[test]
fn killed_between_a_digest_and_its_note() {
    let (_directory, path) = folder();
    let run = begin(&path, in_place());
    for value in [1, 2, 3] {
        run.keep("a.json", &value).unwrap();
        let before = fs::read(run.path("work/a.json")).unwrap();
        run.keep("a.json", &(value + 10)).unwrap();
        // As if the digest had been written, and the note not.
        fs::write(run.path("work/a.json"), before).unwrap();
        assert_eq!(run.kept::<u64>("a.json").unwrap(), Some(value));
    }
}

#[test]
fn what_is_there_is_refused_unless_it_may_be_replaced() {
    let (_directory, path) = folder();
    drop(begin(&path, in_place()));
    assert!(matches!(refused(&path, in_place()), RunError::Unfinished(at) if at == path));
    fs::write(path.join("report.html"), "").unwrap();
    assert!(matches!(refused(&path, in_place()), RunError::Exists(at) if at == path));
    assert_eq!(begin(&path, resume(in_place())).state(), RunState::Finished);

    let somebodys = path.join("letter.txt");
    fs::write(&somebodys, "").unwrap();
    fs::write(path.join("mined.rules"), "").unwrap();
    fs::create_dir_all(path.join("cohort/data")).unwrap();
    let run = begin(&path, force(in_place()));
    assert_eq!(run.state(), RunState::New);
    assert_eq!(names(&path), ["letter.txt", "task.json"]);
    drop(run);

    fs::remove_file(path.join("task.json")).unwrap();
    let error = refused(&path, resume(in_place()));
    assert!(matches!(error, RunError::OtherTask { found: None, .. }));
    fs::create_dir(path.join("work")).unwrap();
    let error = refused(&path, force(in_place()));
    assert!(matches!(error, RunError::Exists(at) if at == path.join("work")));
    assert!(somebodys.is_file());
}

#[test]
fn another_task_or_version_is_refused() {
    for options in [in_place(), beside()] {
        let (_directory, path) = folder();
        let run = begin(&path, options);
        run.keep("a.json", &1).unwrap();
        drop(run);
        let other = |options| RunFolder::open(&path, &task(8), &options);
        let error = other(resume(options)).unwrap_err();
        assert!(
            matches!(&error, RunError::OtherTask { found: Some(found), .. } if found["seed"] == 7)
        );
        let newer = RunOptions { version: "0.2.0", ..resume(options) };
        let said = refused(&path, newer).to_string();
        let begun = "begun by version 0.1.0 (format 1) of this program, and this is version 0.2.0";
        assert!(said.contains(begun), "{said}");
        let error = refused(&path, RunOptions { format: 2, ..resume(options) });
        assert!(matches!(error, RunError::OtherVersion { format: Some(1), .. }));
        let run = other(force(resume(options))).unwrap();
        assert_eq!((run.state(), run.kept::<u64>("a.json").unwrap()), (RunState::New, None));
    }
}

#[test]
fn one_run_at_a_time() {
    for options in [in_place(), beside()] {
        let (_directory, path) = folder();
        let run = begin(&path, options);
        let error = refused(&path, resume(options));
        assert!(matches!(error, RunError::Store(StoreError::Busy { .. })), "{error}");
        run.finish().unwrap();
        begin(&path, force(options));
    }
}

#[test]
fn beside_the_folder_until_it_is_finished() {
    let (directory, path) = folder();
    let run = begin(&path, beside());
    fs::create_dir(run.path("data")).unwrap();
    drop(run);
    assert_eq!(names(directory.path()), ["all.unfinished"]);
    let error = refused(&path, beside());
    assert!(matches!(&error, RunError::Unfinished(at) if at.ends_with("all.unfinished")));
    let run = begin(&path, resume(beside()));
    assert_eq!(run.state(), RunState::Resumed);
    // A manifest that is of use to the run alone goes before it is put in place.
    fs::remove_file(run.path("task.json")).unwrap();
    run.finish().unwrap();
    assert_eq!(names(&path), ["data"]);
    assert!(matches!(refused(&path, beside()), RunError::Exists(at) if at == path));

    let run = begin(&path, force(beside()));
    fs::remove_file(run.path("task.json")).unwrap();
    assert_eq!(names(&path), ["data"]);
    run.finish().unwrap();
    assert_eq!(names(&path), [""; 0]);
    fs::write(path.join("letter.txt"), "").unwrap();
    let error = refused(&path, force(beside()));
    assert!(matches!(error, RunError::Store(StoreError::NotEmpty { .. })));
    let nowhere = directory.path().join("none/all");
    let error = refused(&nowhere, beside());
    assert!(matches!(error, RunError::Store(StoreError::NoDirectory { .. })));
}

#[test]
fn a_run_whose_own_files_tell_what_it_is() {
    let (directory, path) = folder();
    let open = |options| RunFolder::reserve(&path, &options).unwrap().begin_without_manifest();
    let run = open(beside()).unwrap();
    fs::write(run.path("data"), "checkpoint").unwrap();
    drop(run);
    let run = open(resume(beside())).unwrap();
    assert_eq!(
        (run.state(), names(&directory.path().join("all.unfinished"))),
        (RunState::Resumed, vec!["data".into()])
    );
    run.discard().unwrap();
    assert_eq!(names(directory.path()), [""; 0]);
}

/// A task with a format and a version of its own.
#[derive(Serialize)]
struct Numbered {
    format: u32,
    version: &'static str,
    seed: u64,
}

#[test]
fn a_manifest_that_stays_with_what_was_made() {
    let (directory, path) = folder();
    let options = RunOptions { manifest: "metadata/generation.json", ..beside() };
    let task = |seed| Numbered { format: 2, version: "0.1.0", seed };
    let run = RunFolder::open(&path, &task(7), &options).unwrap();
    let text = fs::read_to_string(run.path("metadata/generation.json")).unwrap();
    assert_eq!(text, "{\n  \"format\": 2,\n  \"version\": \"0.1.0\",\n  \"seed\": 7\n}\n");
    run.finish().unwrap();
    assert_eq!(names(directory.path()), ["all"]);

    let run = RunFolder::open(&path, &task(7), &resume(options)).unwrap();
    assert_eq!((run.state(), run.path("")), (RunState::Finished, path.join("")));
    drop(run);
    let error = RunFolder::open(&path, &task(8), &resume(options)).unwrap_err();
    assert!(matches!(error, RunError::OtherTask { .. }));
}

#[test]
fn what_is_no_task() {
    let (_directory, path) = folder();
    let error = RunFolder::open(&path, &7, &in_place()).unwrap_err();
    assert!(matches!(error, RunError::Json { .. }));
    assert!(!path.exists());
    let run = begin(&path, in_place());
    let error = run.keep("a.json", &BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert!(error.to_string().starts_with("what the run keeps cannot be written as JSON: "));
    assert!(error.advice().is_some() && !run.path("work").exists());
    drop(run);
    let file = path.join("task.json");
    let error = refused(&file, in_place());
    assert!(matches!(error, RunError::Store(StoreError::NotADirectory { .. })), "{error}");
}
