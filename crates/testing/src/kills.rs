//! Programs killed at any moment, and what becomes of their work.
//!
//! A run of training or of generating is killed (`kill -9`) at random moments and taken up again, as
//! often as asked for. What is there in the end must be, byte for byte, what a run writes that nobody
//! stopped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How a study of kills came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Killed {
    /// Runs that were killed before they were done.
    pub kills: u32,
    /// Runs that were done before the kill, which count for nothing.
    pub too_late: u32,
    /// Whether every result was that of a run that nobody stopped.
    pub equal: bool,
}

/// Kills training, over and over.
pub fn training(program: &Path, folder: &Path, kills: u32) -> Killed {
    clinic(program, folder);
    let train = "train clinic/repaired.jsonl --rules clinic/clinic.rules --vocabulary \
                 clinic/codes.json --size tiny --epochs 6 --checkpoint-every 0 --out";
    study(program, folder, train, kills)
}

/// Kills generating, over and over.
pub fn generating(program: &Path, folder: &Path, kills: u32) -> Killed {
    clinic(program, folder);
    let train = "train clinic/repaired.jsonl --rules clinic/clinic.rules --vocabulary \
                 clinic/codes.json --size tiny --epochs 1 --force --out model";
    assert!(run(program, folder, train).wait().is_ok_and(|status| status.success()), "it learns");
    let generate = "generate model --records 20k --shard-records 500 --out";
    study(program, folder, generate, kills)
}

/// Rules, codes and records to train on.
fn clinic(program: &Path, folder: &Path) {
    let demo = "demo --clinic --records 2000 --force --out clinic";
    assert!(run(program, folder, demo).wait().is_ok_and(|status| status.success()), "a clinic");
}

/// Runs a command to its end, then again with kills, and compares what is there.
fn study(program: &Path, folder: &Path, command: &str, kills: u32) -> Killed {
    let began = Instant::now();
    let whole = format!("{command} whole --force");
    assert!(
        run(program, folder, &whole).wait().is_ok_and(|status| status.success()),
        "a whole run"
    );
    let length = began.elapsed();
    let expected = files(&folder.join("whole"));
    let mut killed = Killed { kills: 0, too_late: 0, equal: true };
    while killed.kills < kills {
        // Some kills on the way to one result, then the next result.
        let way = (kills - killed.kills).min(3);
        let mut resume = "";
        for _ in 0..way {
            let mut child = run(program, folder, &format!("{command} stopped {resume}"));
            // Any moment of what is left, the last ones of all among them.
            thread::sleep(length.mul_f64(probability()));
            match child.try_wait() {
                Ok(Some(_)) => killed.too_late += 1,
                _ => {
                    let _ = child.kill();
                    killed.kills += 1;
                }
            }
            let _ = child.wait();
            resume = "--resume";
        }
        let last = run(program, folder, &format!("{command} stopped --resume")).wait();
        killed.equal &= last.is_ok_and(|status| status.success());
        killed.equal &= files(&folder.join("stopped")) == expected;
        let _ = fs::remove_dir_all(folder.join("stopped"));
    }
    killed
}

fn run(program: &Path, folder: &Path, command: &str) -> Child {
    let mut child = Command::new(program);
    child.args(command.split_whitespace()).current_dir(folder);
    child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// A number from 0 to 1 that is another one every time.
fn probability() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    f64::from(now.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX)
}

/// The bytes of every file in a folder, by its path there.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                found.insert(path.strip_prefix(folder).unwrap_or(&path).to_path_buf(), bytes);
            }
        }
    }
    found
}
