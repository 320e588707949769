//! A program stopped at any moment leaves the whole file or none.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Folder, program};

#[test]
fn an_interrupt_leaves_no_half_file() {
    let folder = Folder::new();
    folder.run("demo --clinic --records 20k").exits(0);
    let demo = folder.path("consequence-clinic");
    let whole = std::fs::read(demo.join("repaired.jsonl")).expect("the repaired records");
    let enforce =
        "enforce cohort.jsonl --rules clinic.rules --vocabulary codes.json --out out.jsonl";
    let mut stopped = 0;
    for delay in (0..240).step_by(12) {
        let mut child = program(&demo)
            .args(enforce.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        std::thread::sleep(Duration::from_millis(delay));
        // The program may be done by now; then there is nobody to stop. TERM, because a shell that
        // runs things in the background has them ignore INT.
        let _ = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        stopped += u32::from(!child.wait().expect("it ends").success());
        let path = demo.join("out.jsonl");
        if let Ok(bytes) = std::fs::read(&path) {
            assert_eq!(bytes, whole, "half a file after {delay} milliseconds");
            std::fs::remove_file(&path).expect("the file goes");
        }
    }
    assert!(stopped > 0, "the program was never stopped in time");
}
