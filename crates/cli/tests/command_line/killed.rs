//! Training and generating killed (-9) at random moments: the same bytes as if nobody had.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use consequence_testing::kills::{generating, training};

const PROGRAM: &str = env!("CARGO_BIN_EXE_consequence");

#[test]
fn training_goes_on_after_three_kills() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let killed = training(Path::new(PROGRAM), folder.path(), 3);
    assert!(killed.equal && killed.kills >= 3, "{killed:?}");
}

/// A model that is to be replaced is there and whole, whenever the run that replaces it is killed.
#[test]
fn a_model_survives_the_kill_of_its_successor() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let run = |words: &str| {
        let mut program = Command::new(PROGRAM);
        program.args(words.split_whitespace()).current_dir(folder.path());
        program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
    };
    let done = |words: &str| run(words).wait().is_ok_and(|status| status.success());
    assert!(done("demo --clinic --records 300 --out clinic"));
    let train = "train clinic/repaired.jsonl --rules clinic/clinic.rules --vocabulary \
                 clinic/codes.json --size tiny --epochs 2 --checkpoint-every 0 --force --out model";
    let began = Instant::now();
    assert!(done(train));
    let length = began.elapsed();
    let mut kills = 0;
    for moment in 1..=20 {
        let mut child = run(&format!("{train} --seed {moment}"));
        std::thread::sleep(length.mul_f64(f64::from(moment) / 20.0));
        let _ = child.kill();
        kills += u32::from(child.wait().is_ok_and(|status| !status.success()));
        let out = format!("generate model --records 5 --out {moment}.jsonl");
        assert!(done(&out), "there is no model after kill {moment}");
    }
    assert!(kills > 0, "no run was killed in time");
}

#[test]
fn generating_goes_on_after_three_kills() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let killed = generating(Path::new(PROGRAM), folder.path(), 3);
    assert!(killed.equal && killed.kills >= 3, "{killed:?}");
}
