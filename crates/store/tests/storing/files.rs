//! A file is whole or absent, and what stood there before stays until then.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use consequence_feedback::{Advice, Advise};
use consequence_store::{AtomicFile, AtomicFolder, StoreError, WorkingFolder, write_atomically};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn fill(writer: &mut dyn Write) -> io::Result<()> {
    writer.write_all(b"whole")
}

fn fail_half_way(writer: &mut dyn Write) -> io::Result<()> {
    writer.write_all(&[b'x'; 1 << 20])?;
    Err(io::Error::other("the source ran dry"))
}

#[test]
fn writes_and_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    write_atomically(&path, |writer| writer.write_all(b"first, and longer")).unwrap();
    write_atomically(&path, fill).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    assert_eq!(names(folder.path()), ["a.txt"]);
}

#[test]
fn a_failing_writer_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let error = write_atomically(folder.path().join("a.txt"), fail_half_way).unwrap_err();
    assert!(error.to_string().contains("the source ran dry"), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_failing_writer_leaves_an_existing_target() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "before").unwrap();
    write_atomically(&path, fail_half_way).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(names(folder.path()), ["a.txt"]);
}

#[test]
fn a_panicking_writer_leaves_an_existing_target() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "before").unwrap();
    let outcome = std::panic::catch_unwind(|| {
        let _ = write_atomically(&path, |writer| {
            writer.write_all(b"half")?;
            std::panic::resume_unwind(Box::new("stopped"))
        });
    });
    assert!(outcome.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(names(folder.path()), ["a.txt"]);
}

#[test]
fn a_file_never_committed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = AtomicFile::create(folder.path().join("a.txt")).unwrap();
    file.write_all(b"half").unwrap();
    file.flush().unwrap();
    assert_eq!(names(folder.path()).len(), 1, "the temporary");
    drop(file);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn two_writers_of_one_target_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    let mut first = AtomicFile::create(&path).unwrap();
    let mut second = AtomicFile::create(&path).unwrap();
    first.write_all(b"first").unwrap();
    second.write_all(b"second").unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(names(folder.path()), ["a.txt"]);
}

#[test]
fn a_missing_directory_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("a.txt");
    let error = write_atomically(&path, fill).unwrap_err();
    assert!(matches!(error, StoreError::NoDirectory { .. }), "{error:?}");
    assert_eq!(error.path(), path);
    assert!(error.to_string().contains("missing`\n  --> "), "{error}");
    assert_eq!(error.advice(), Some(Advice::new("create it, or choose another place")));

    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    let error = write_atomically(plain.join("a.txt"), fill).unwrap_err();
    assert!(matches!(error, StoreError::NoDirectory { .. }), "a file is no directory: {error:?}");
}

#[test]
fn a_directory_is_not_a_target() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_path_buf(), folder.path().join("new/"), folder.path().join("..")]
    {
        let error = write_atomically(&path, fill).unwrap_err();
        assert!(matches!(error, StoreError::IsDirectory { .. }), "{error:?}");
    }
    let error = write_atomically("", fill).unwrap_err();
    assert!(matches!(error, StoreError::IsDirectory { .. }), "{error:?}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_device_is_never_replaced() {
        let error = write_atomically("/dev/null", fill).unwrap_err();
        assert!(matches!(error, StoreError::NotAFile { .. }), "{error:?}");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.txt"), folder.path().join("link.txt"));
        fs::write(&real, "before").unwrap();
        symlink(&real, &link).unwrap();
        write_atomically(&link, fill).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"whole");
    }

    #[test]
    fn permissions_of_the_target_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private.txt");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write_atomically(&path, fill).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_forbidden_directory_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let outcome = write_atomically(folder.path().join("a.txt"), fill);
        // The superuser may write anywhere; everyone else is told.
        if let Err(error) = outcome {
            assert!(matches!(error, StoreError::PermissionDenied { .. }), "{error:?}");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

/// A folder with one file in it, ready to be put in place.
fn filled(target: &Path) -> AtomicFolder {
    let folder = AtomicFolder::replacing(target, |name| name == "new").unwrap();
    write_atomically(folder.path().join("new"), |writer| writer.write_all(b"new")).unwrap();
    folder
}

#[test]
fn a_folder_appears_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("cohort");
    drop(filled(&target));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    fs::create_dir(&target).unwrap();
    filled(&target).commit().unwrap();
    fs::write(target.join("new"), "old").unwrap();
    filled(&target).commit().unwrap();
    assert_eq!(fs::read_to_string(target.join("new")).unwrap(), "new");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_is_not_put_where_something_else_is() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "text").unwrap();
    assert!(matches!(AtomicFolder::create(&file), Err(StoreError::NotADirectory { .. })));
    let within = AtomicFolder::create(file.join("inside"));
    assert!(matches!(within, Err(StoreError::NoDirectory { .. })), "{within:?}");
    let nowhere = AtomicFolder::create(directory.path().join("missing/cohort"));
    assert!(matches!(nowhere, Err(StoreError::NoDirectory { .. })), "{nowhere:?}");
    let occupied = AtomicFolder::create(directory.path());
    assert!(matches!(occupied, Err(StoreError::NotEmpty { .. })), "{occupied:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
}

#[test]
fn what_came_meanwhile_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.txt");
    let mut file = AtomicFile::create_new(&path).unwrap();
    file.write_all(b"ours").unwrap();
    fs::write(&path, "theirs").unwrap();
    let error = file.commit().unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert!(matches!(AtomicFile::create_new(&path), Err(StoreError::Exists { .. })));

    // A folder, filled in one run or in several.
    let target = directory.path().join("cohort");
    let [once, often] = ["once", "often"].map(|name| directory.path().join(name));
    let folder = AtomicFolder::create(&once).unwrap();
    let working = WorkingFolder::open(&often).unwrap();
    for path in [&once, &often] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("theirs"), "").unwrap();
    }
    for refused in [folder.commit(), working.commit()] {
        assert!(matches!(refused, Err(StoreError::NotEmpty { .. })), "{refused:?}");
    }
    assert_eq!((names(&once), names(&often)), (vec!["theirs".into()], vec!["theirs".into()]));
    // Also where it was to be replaced, but is of another kind now.
    let folder = filled(&target);
    fs::create_dir(&target).unwrap();
    fs::write(target.join("theirs"), "").unwrap();
    assert!(matches!(folder.commit(), Err(StoreError::NotEmpty { .. })));
    assert_eq!(names(directory.path()), ["a.txt", "cohort", "often", "often.unfinished", "once"]);
}

#[test]
fn one_of_many_writers_of_a_new_file_wins() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.txt");
    let files: Vec<AtomicFile> = (0..8).map(|_| AtomicFile::create_new(&path).unwrap()).collect();
    let committed = std::thread::scope(|scope| {
        let runs: Vec<_> = files.into_iter().map(|file| scope.spawn(|| file.commit())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).filter(Result::is_ok).count()
    });
    assert_eq!(committed, 1);
    assert_eq!(names(directory.path()), ["a.txt"]);
}

#[test]
fn a_replaced_folder_is_never_missing() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("cohort");
    filled(&target).commit().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let missing = std::thread::scope(|scope| {
        let look = scope.spawn(|| {
            let mut missing = 0;
            while !done.load(order) {
                missing += usize::from(!target.join("new").exists());
            }
            missing
        });
        for _ in 0..300 {
            filled(&target).commit().unwrap();
        }
        done.store(true, order);
        look.join().unwrap()
    });
    assert!(missing == 0 || cfg!(not(target_os = "linux")), "missing {missing} times");
    assert_eq!(names(directory.path()), ["cohort"]);
}
