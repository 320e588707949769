//! One writer at a time, and nothing left behind.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use consequence_feedback::Advise;
use consequence_store::{Lock, StoreError};

/// Names the target to the program that is killed.
const TARGET: &str = "CONSEQUENCE_TEST_LOCK";

/// The program that another test starts and kills.
#[test]
#[ignore = "run by the test that kills it"]
fn program() {
    if let Some(target) = env::var_os(TARGET) {
        let _lock = Lock::exclusive(PathBuf::from(target)).unwrap();
        println!("\nlocked");
        loop {
            std::thread::park();
        }
    }
}

/// A process that holds the lock.
fn holder(target: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["locks::program", "--ignored", "--exact", "--nocapture"])
        .env(TARGET, target)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "locked"), "it never got the lock");
    child
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn the_other_process_is_named_and_a_killed_one_holds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("cohort");
    let mut child = holder(&target);
    for refused in [Lock::exclusive(&target), Lock::shared(&target)] {
        let error = refused.unwrap_err();
        assert_eq!(error.path(), target);
        let told = error.to_string();
        let named = format!("another run is at work here (process {})\n  --> ", child.id());
        assert!(told.starts_with(&named) && error.advice().is_some(), "{told}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(directory.path().join(".cohort.lock").is_file(), "left by the process that was killed");
    drop(Lock::exclusive(&target).unwrap());
    assert_eq!(count(directory.path()), usize::from(cfg!(not(unix))));
}

#[test]
fn readers_share_and_the_last_one_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("model");
    // What a killed writer left must not be told of the readers.
    fs::write(directory.path().join(".model.lock"), "4711\n").unwrap();
    let readers = [Lock::shared(&target).unwrap(), Lock::shared(&target).unwrap()];
    for reader in readers {
        let refused = Lock::exclusive(&target).unwrap_err();
        assert!(matches!(refused, StoreError::Busy { process: None, .. }), "{refused:?}");
        drop(reader);
    }
    drop(Lock::exclusive(&target).unwrap());
    assert_eq!(count(directory.path()), usize::from(cfg!(not(unix))));
}

#[cfg(unix)]
#[test]
fn a_link_and_what_it_points_to_are_one() {
    let directory = tempfile::tempdir().unwrap();
    let [target, link] = ["cohort", "link"].map(|name| directory.path().join(name));
    fs::create_dir(&target).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let _lock = Lock::exclusive(&link).unwrap();
    assert!(Lock::exclusive(&target).is_err());
    assert!(Lock::exclusive(directory.path().join("cohort/../link/")).is_err());
}

#[test]
fn where_no_file_can_be_made_there_is_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    for target in ["missing/cohort", ".."] {
        drop(Lock::exclusive(directory.path().join(target)).unwrap());
    }
    assert_eq!(count(directory.path()), 0);
}

/// Never two at a time, while the file for the lock is made and deleted over and over.
#[test]
fn many_that_ask_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("cohort");
    let (inside, got) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    match Lock::exclusive(&target) {
                        Ok(lock) => {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                            got.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                        }
                        Err(error) => assert!(matches!(error, StoreError::Busy { .. })),
                    }
                }
            });
        }
    });
    assert!(got.into_inner() >= 200);
    assert_eq!(count(directory.path()), usize::from(cfg!(not(unix))));
}
