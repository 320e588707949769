//! Two runs that write the same place, and files that come while a run is at work.
#![cfg(unix)]

use std::io::Write;
use std::process::{Child, Stdio};

use crate::common::{Folder, Ran, program};
use consequence::store::Lock;

const CLINIC: &str = "--rules clinic/clinic.rules --vocabulary clinic/codes.json";

/// A run that waits for records from its standard input. It has begun to read them, so whatever it
/// refuses at the start it has refused.
fn waiting(folder: &Folder, words: &str) -> Child {
    let mut child = program(&folder.path(""))
        .args(words.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // More than a pipe holds: it is all written only if somebody reads.
    let records = folder.read("clinic/repaired.jsonl");
    let lines = records.lines().enumerate().cycle().take(4000);
    let named = lines.enumerate().map(|(number, (first, line))| {
        let id = format!("\"patient-{:05}\"", first + 1);
        format!("{}\n", line.replace(&id, &format!("\"{number}\"")))
    });
    let text: String = named.collect();
    let input = child.stdin.as_mut().expect("its input");
    input.write_all(text.as_bytes()).expect("it reads");
    child
}

/// Lets a run go on to its end.
fn released(mut child: Child) -> Ran {
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("it ends");
    Ran {
        code: output.status.code().expect("by itself"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

#[test]
fn a_second_writer_is_refused_by_name() {
    let folder = Folder::with_model();
    let generate = "generate model --records 300 --shard-records 100 --out new";
    let first = waiting(&folder, &format!("{generate} --prefix /dev/stdin"));
    let named = format!("another run is at work here (process {})", first.id());
    for second in ["--mode off --force", "--resume", "--resume --force", ""] {
        folder.run(&format!("{generate} {second}")).refuses(&[&named, "--> new", "wait until"]);
    }
    // It reads the model, so nobody replaces that, and others may read it too.
    let train = format!("train clinic/repaired.jsonl {CLINIC} --generator markov --out model");
    folder.run(&format!("{train} --force")).refuses(&["another run is at work", "--> model"]);
    folder.run("generate model --records 5 --out other.jsonl").exits(0);
    released(first).exits(0).prints("(the referee judged every one)");
    folder.run(&format!("audit new {CLINIC}")).exits(0).prints("no violations");
    folder.run(&format!("{train} --force")).exits(0);
    let names = ["clinic", "model", "new", "other.codes.json", "other.jsonl"];
    assert_eq!(folder.names(), names, "no file of a lock is left");
}

#[test]
fn a_file_that_comes_meanwhile_is_not_replaced() {
    let folder = Folder::with_records(300);
    for (out, file) in [("new.jsonl", "new.jsonl"), ("new", "new/notes.txt")] {
        let enforce = format!("enforce /dev/stdin {CLINIC} --out {out}");
        let first = waiting(&folder, &enforce);
        folder.run(&enforce).refuses(&["another run is at work here", &format!("--> {out}")]);
        std::fs::create_dir_all(folder.path(file).parent().expect("a folder")).expect("made");
        folder.write(file, "precious");
        released(first).refuses(&[&format!("--> {out}"), "help"]);
        assert_eq!(folder.read(file), "precious");
        assert!(!folder.path("new.codes.json").exists(), "a list of codes without its lines");
    }
    let forced = format!("enforce /dev/stdin {CLINIC} --out new.jsonl --force");
    released(waiting(&folder, &forced)).exits(0);
    assert_ne!(folder.read("new.jsonl"), "precious");
    assert_eq!(folder.names(), ["clinic", "new", "new.codes.json", "new.jsonl"]);
}

/// Whatever writes is refused while another process writes the same, and works once that is done.
#[test]
fn every_command_that_writes() {
    let folder = Folder::with_model();
    folder.run("simulate inpatient --patients 300 --out cohort").exits(0);
    folder.write(
        "edits.txt",
        "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n\
         32\t9\tMale_Only\tD\t185\tMalign neopl prostate\n",
    );
    folder.run("generate model --records 300 --out synthetic").exits(0);
    let train = format!("train clinic/repaired.jsonl {CLINIC} --generator markov");
    let compare = "compare cohort --rules cohort/truth.rules --quick --size tiny --epochs 1 \
                   --train-records 150 --runs 1 --records 40 --deep-runs 1 --methods vanilla";
    let commands = [
        ("simulate inpatient --patients 50", "a"),
        ("simulate inpatient --patients 50", "a.jsonl"),
        ("import jsonl clinic/cohort.jsonl", "b"),
        ("export cohort jsonl", "c.jsonl"),
        ("export cohort csv", "c.csv"),
        ("export cohort omop", "c"),
        ("mine cohort", "d.rules"),
        ("rules convert clinic/clinic.rules --to json", "e.json"),
        ("rules from mce edits.txt", "f.rules"),
        (&format!("enforce clinic/cohort.jsonl {CLINIC}"), "g"),
        (&train, "h"),
        ("generate model --records 5", "i"),
        ("generate model --records 5", "i.jsonl"),
        ("evaluate --real clinic/repaired.jsonl --synthetic synthetic", "j"),
        (compare, "deep/k"),
        ("synthesize cohort --records 20 --generator markov", "deep/l"),
        ("demo --records 40", "m"),
        ("demo --clinic --records 40", "n"),
    ];
    std::fs::create_dir(folder.path("deep")).expect("a folder");
    let before = folder.names();
    for (command, out) in commands {
        let lock = Lock::exclusive(folder.path(out)).expect("a lock");
        let named = format!("another run is at work here (process {})", std::process::id());
        let command = format!("{command} --out {out}");
        folder.run(&command).refuses(&[&named, &format!("--> {out}")]);
        drop(lock);
    }
    assert_eq!(folder.names(), before, "nothing is written by one that is refused");
    for (command, out) in commands {
        folder.run(&format!("{command} --out {out}")).exits(0);
    }
    let left = folder.names().into_iter().filter(|name| name.starts_with('.'));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}
