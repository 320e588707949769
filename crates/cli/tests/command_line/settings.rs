//! What every command takes: options from a file, a log, silence; and what is made of the arguments themselves.

use crate::common::Folder;

const SIMULATE: &str = "simulate inpatient --out cohort.jsonl --force";

#[test]
fn a_file_gives_options_and_the_command_line_counts() {
    let folder = Folder::new();
    folder.write(
        "run.toml",
        "seed = 9\n[simulate]\npatients = 7\ncodes-only = true\n[train]\nepochs = 3\n",
    );
    folder.run(&format!("{SIMULATE} --config run.toml")).exits(0);
    let by_file = folder.read("cohort.jsonl");
    folder.run(&format!("{SIMULATE} --seed 9 --patients 7 --codes-only")).exits(0);
    assert_eq!(by_file, folder.read("cohort.jsonl"));
    assert_eq!(by_file.lines().count(), 7);
    folder.run(&format!("--config=run.toml {SIMULATE} --patients=3")).exits(0);
    assert_eq!(folder.read("cohort.jsonl").lines().count(), 3);
}

#[test]
fn lists_and_inner_commands() {
    let folder = Folder::with_clinic();
    folder.write("b.rules", "rule never: not EXTRA\n");
    folder.write("run.toml", "[audit]\nrules = ['a.rules', 'b.rules']\nallow-unknown = true\n");
    folder.run("audit cohort.jsonl --config run.toml").prints("a.rules and b.rules");
    folder.write("events.csv", "who,when,what\n1,2020-01-01,A\n");
    folder.write("run.toml", "[import.csv]\nsubject = 'who'\ntime = 'when'\ncode = 'what'\n");
    folder.run("import csv events.csv --out cohort --config run.toml").exits(0);
}

#[test]
fn a_file_of_options_that_cannot_be_used_is_refused() {
    let folder = Folder::new();
    for (text, parts) in [
        (
            "[simulate]\npatiens = 7",
            ["`simulate` has no option `patiens`", "did you mean `patients`?"],
        ),
        ("[simulat]\npatients = 7", ["`simulat` is no command", "did you mean `simulate`?"]),
        ("patients = 7", ["`patients` is no command, and no option", "run.toml"]),
        ("[simulate]\npatients = true", ["`simulate.patients` is a text or a number", "run.toml"]),
        ("[simulate]\ncodes-only = 3", ["`simulate.codes-only` is true or false", "run.toml"]),
        ("[train]\nepochs = [true]", ["`train.epochs` is a list", "run.toml"]),
        ("[simulate", ["run.toml", "line 1"]),
    ] {
        folder.write("run.toml", text);
        folder.run(&format!("{SIMULATE} --config run.toml")).refuses(&parts);
    }
    folder.run(&format!("{SIMULATE} --config none.toml")).refuses(&["none.toml", "--config names"]);
    assert_eq!(folder.names(), ["run.toml"]);
}

#[test]
fn quiet_runs_and_what_the_log_keeps() {
    let folder = Folder::with_clinic();
    folder.run("simulate inpatient --patients 300 --codes-only --out records.jsonl").exits(0);
    let command = "synthesize records.jsonl --out out --records 20 --generator markov --force";
    let spoken = folder.run(&format!("{command} --log run.log")).exits(0);
    assert!(spoken.err.contains("note: ") && spoken.err.contains("warning: "), "{}", spoken.err);
    let quiet = folder.run(&format!("{command} --log quiet.log --quiet")).exits(0);
    assert!(!quiet.err.contains("note: ") && quiet.err.contains("warning: "), "{}", quiet.err);
    assert_eq!(spoken.out, quiet.out);
    let (log, quiet_log) = (folder.read("run.log"), folder.read("quiet.log"));
    assert_eq!(log.lines().count(), quiet_log.lines().count());
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].contains("Z consequence 0"), "{}", lines[0]);
    assert!(lines[lines.len() - 1].contains("exit status"));
    assert!(lines.iter().all(|line| line.as_bytes()[..5].ends_with(b"-")), "{log}");

    folder.run("check none.rules --log run.log --quiet").refuses(&["none.rules"]);
    let log = folder.read("run.log");
    assert!(
        log.lines().nth(lines.len() + 1).is_some_and(|line| line.contains("Z error: ")),
        "{log}"
    );
    folder.run("check a.rules --log none/run.log").refuses(&["none/run.log", "create it"]);
}

#[test]
fn manuals_and_completions() {
    let folder = Folder::new();
    folder.run("manual").prints(".TH consequence 1");
    folder.run("manual rules from").prints("consequence\\-rules\\-from");
    folder.run("manual rules form").refuses(&["`rules` has no command `form`", "from"]);
    for shell in ["bash", "zsh", "fish"] {
        folder.run(&format!("completions {shell}")).prints("synthesize");
    }
}
