//! Parts of a cohort, each counted by a program of its own, and added up by another.

use crate::common::{Folder, Ran};

/// Two cohorts of several data files each, and rules.
fn with_cohorts() -> Folder {
    let folder = Folder::new();
    folder.run("simulate inpatient --patients 600 --out cohort").exits(0);
    folder.run("train cohort --generator markov --out model").exits(0);
    folder.run("generate model --records 500 --shard-records 90 --out real --seed 5").exits(0);
    folder.run("generate model --records 300 --shard-records 70 --out synthetic --seed 6").exits(0);
    folder.write(
        "a.rules",
        "# Nobody leaves twice.\nrule once: DISCHARGE//* in past => none of DISCHARGE//*\n\
         rule months: RX//sedation in last 90 days => not RX//sedation\n\
         rule seen: DISCHARGE//FACILITY => any of PROC//dialysis, PROC//cast, PROC//intubation\n",
    );
    folder
}

const PARTS: usize = 3;

/// Counts all parts, round by round, until `merge` has the report; gives what it printed and the rounds.
fn in_parts(folder: &Folder, command: &str, merge: &str) -> (Ran, usize) {
    let mut after = String::new();
    for round in 1..40 {
        let states: Vec<String> = (1..=PARTS).map(|part| format!("s{round}-{part}")).collect();
        // The last part first: the order does not matter.
        for part in (1..=PARTS).rev() {
            let state = &states[part - 1];
            folder
                .run(&format!("{command} --shard {part}/{PARTS} --state {state}{after} --force"))
                .exits(0)
                .prints(&format!("{state}: part {part} of {PARTS} of "));
        }
        let ran = folder.run(&format!("merge {} --out m{round} --force {merge}", states.join(" ")));
        if ran.code != 3 {
            return (ran, round);
        }
        after = format!(" --after m{round}");
    }
    panic!("there is no end to it");
}

#[test]
fn every_verb_counts_in_parts_what_it_counts_in_one() {
    let folder = with_cohorts();
    for (command, rounds) in [
        ("describe real --hide-below 3", 1..2),
        ("audit real --rules a.rules", 2..3),
        ("audit real --rules a.rules --hide-below 20 --referee --split train", 2..4),
        ("enforce real --rules a.rules --seed 3", 5..6),
        ("evaluate --real real --synthetic synthetic --rules a.rules", 7..8),
    ] {
        let whole = match command.starts_with("enforce") {
            true => folder.run(&format!("{command} --out repaired --json")),
            false => folder.run(&format!("{command} --json")),
        };
        let (parts, found) = in_parts(&folder, command, "--json");
        assert!(rounds.contains(&found), "{command}: {found} rounds");
        assert_eq!(parts.code, whole.code, "{command}: {}", parts.err);
        let (mut ours, mut theirs) = (parts.json(), whole.json());
        for report in [&mut ours, &mut theirs] {
            // Where records are told one by one, and where they were written.
            for rule in report["broken"].as_array_mut().into_iter().flatten() {
                rule.as_object_mut().and_then(|rule| rule.remove("examples"));
            }
            report.as_object_mut().and_then(|report| report.remove("out"));
        }
        assert_eq!(ours, theirs, "{command}");
    }
    // As people read it, too.
    let whole = folder.run("describe real").exits(0);
    assert_eq!(in_parts(&folder, "describe real", "").0.out, whole.out);
}

#[test]
fn rules_and_records_of_parts_are_those_of_the_whole() {
    let folder = with_cohorts();
    folder.run("export cohort jsonl --out cohort.jsonl").exits(0);
    folder.run("mine cohort.jsonl --out lines.rules").exits(0);
    let (_, rounds) = in_parts(&folder, "mine cohort.jsonl", "--rules parts.rules");
    assert!(rounds > 5, "{rounds}");
    folder.same("lines.rules", "parts.rules");

    folder.run("enforce real --rules a.rules --out repaired --seed 3").exits(0);
    folder.run("export repaired jsonl --out repaired.jsonl").exits(0);
    in_parts(&folder, "enforce real --rules a.rules --seed 3 --out part.jsonl", "");
    // The last round wrote the records; here each part to one place, so they are written again one by one.
    let lines = |name: &str| {
        let mut lines: Vec<String> = folder.read(name).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let mut all = Vec::new();
    for part in 1..=PARTS {
        let command = format!(
            "enforce real --rules a.rules --seed 3 --shard {part}/{PARTS} --state s --after m4 --force"
        );
        folder
            .run(&format!("{command} --out part-{part}.jsonl"))
            .exits(0)
            .prints(&format!("repaired records: part-{part}.jsonl"));
        all.extend(lines(&format!("part-{part}.jsonl")));
    }
    all.sort();
    assert_eq!(all, lines("repaired.jsonl"));

    folder.run("generate model --records 100 --out all.jsonl").exits(0);
    let mut parts = String::new();
    for part in 1..=7 {
        let out = format!("g{part}.jsonl");
        folder.run(&format!("generate model --records 100 --shard {part}/7 --out {out}")).exits(0);
        parts += &folder.read(&out);
    }
    assert_eq!(parts, folder.read("all.jsonl"));
    folder.run("generate model --records 2 --shard 1/7 --out x").refuses(&["no part is left"]);
}

/// Whether a file has some bytes in it.
fn has(folder: &Folder, name: &str, bytes: &[u8]) -> bool {
    let file = std::fs::read(folder.path(name)).unwrap();
    file.windows(bytes.len()).any(|some| some == bytes)
}

#[test]
fn no_id_is_in_a_file_of_counts_but_for_a_page() {
    let folder = Folder::new();
    for name in ["real", "new"] {
        let line = |n: usize| {
            let visits = format!("[\"A{}\", \"B{}\"], [\"C{}\"]", n % 3, n % 7, n % 5);
            format!(
                "{{\"id\": \"CANARY-{name}-{n}\", \"static\": [\"SEX//F\"], \"visits\": [{visits}]}}\n"
            )
        };
        folder.write(&format!("{name}.jsonl"), (0..300).map(line).collect::<String>());
    }
    folder.write("a.rules", "rule a: C1 => B2 in past\n");
    let evaluate = "evaluate --real real.jsonl --synthetic new.jsonl --rules a.rules";
    let page = format!("{evaluate} --out page");
    for (command, may_have_records) in [
        ("describe real.jsonl", false),
        ("audit real.jsonl --rules a.rules --referee", false),
        ("mine real.jsonl", false),
        ("enforce real.jsonl --rules a.rules", false),
        (evaluate, false),
        (&page, true),
    ] {
        let (_, rounds) = in_parts(&folder, command, "");
        let states = (1..=rounds).flat_map(|round| (1..=PARTS).map(move |part| (round, part)));
        let told =
            states.filter(|(round, part)| has(&folder, &format!("s{round}-{part}"), b"CANARY"));
        assert_eq!(told.count() > 0, may_have_records, "{command}");
    }
}

#[test]
fn parts_that_do_not_fit_together() {
    let folder = with_cohorts();
    let audit = "audit real --rules a.rules";
    for part in 1..=2 {
        folder.run(&format!("{audit} --shard {part}/2 --state s{part}")).exits(0);
    }
    folder.run(&format!("{audit} --shard 1/2 --state s1")).refuses(&["already there", "--force"]);
    folder.run("merge s1 s2").refuses(&["are to be counted again", "--out"]);
    folder
        .run("merge s1 s1 --out m")
        .refuses(&["part 1 of 2 is there twice", "give every part once"]);
    folder.run("merge s1 --out m").refuses(&["parts are missing: 2"]);
    folder.run(&format!("{audit} --shard 1/3 --state t1")).exits(0);
    folder.run("merge s2 t1 --out m").refuses(&["parts of 2 and parts of 3", "help: "]);
    folder.run("describe real --shard 1/2 --state d1").exits(0);
    folder.run("merge s2 d1 --out m").refuses(&["differ in the task", "help: "]);
    folder.write("b.rules", "rule other: PROC//cast => not PROC//dialysis\n");
    folder.run("audit real --rules b.rules --shard 1/2 --state o1").exits(0);
    folder.run("merge o1 s2 --out m").refuses(&["differ in the task, its rules"]);
    folder.run("merge s1 s2 --out m").exits(3).prints("next: audit").prints("--after");
    folder
        .run("audit real --rules b.rules --shard 1/2 --state x --after m")
        .refuses(&["of another task, or other rules", "--after"]);
    for part in 1..=2 {
        folder.run(&format!("{audit} --shard {part}/2 --state u{part} --after m")).exits(0);
    }
    folder
        .run("merge u1 s2 --out n")
        .refuses(&["differ in the task, its rules, the codes or the rounds"]);
    assert_eq!(folder.run("merge u1 u2").code, folder.run(audit).code);
    folder.run(&format!("{audit} --shard 1/9 --state x")).refuses(&[
        "6 data files",
        "9 parts",
        "help",
    ]);
    for odd in ["0/3", "4/3", "3", "a/b", "1/0"] {
        folder.run(&format!("{audit} --shard {odd} --state x")).refuses(&["a part is a number"]);
    }
    folder.run(&format!("{audit} --shard 1/2")).refuses(&["--state"]);
    folder
        .run(&format!("{audit} --shard 1/2 --state x --html y"))
        .refuses(&["cannot be used with"]);
    folder.write("odd", "not counts");
    folder.run("merge odd").refuses(&["these are no counts", "--> odd", "help"]);
    let bytes = std::fs::read(folder.path("s1")).unwrap();
    std::fs::write(folder.path("cut"), &bytes[..bytes.len() - 9]).unwrap();
    folder.run("merge cut s2 --out m2").refuses(&["cut short or damaged", "--> cut"]);
    folder.run("merge none").refuses(&["cannot be read", "--> none"]);
}
