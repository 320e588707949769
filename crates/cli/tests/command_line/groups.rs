//! Groups of patients: generated, and compared by themselves.

use crate::common::Folder;

/// A hundred patients with a fever in some visits, of whom a third have it in two.
fn with_model() -> Folder {
    let folder = Folder::new();
    let line = |number: usize| {
        let sex = ["SEX//F", "SEX//M"][number % 2];
        let visits = match number % 3 {
            0 => "[\"FEVER\"], [\"COUGH\"], [\"FEVER\", \"COUGH\"]",
            1 => "[\"COUGH\"], [\"FEVER\"]",
            _ => "[\"COUGH\"], [\"RASH\"]",
        };
        format!("{{\"id\": {number}, \"static\": [\"{sex}\"], \"visits\": [{visits}]}}\n")
    };
    folder.write("real.jsonl", (0..300).map(line).collect::<String>());
    folder.run("train real.jsonl --generator markov --out model").exits(0);
    folder.write(
        "groups.rules",
        "let ill = FEVER, RASH\nlet again = FEVER and FEVER in past\nlet woman = SEX//F in static and ill\n\
         rule of-no-use-here: UNKNOWN => ill\n",
    );
    folder
}

#[test]
fn records_of_groups() {
    let folder = with_model();
    let generate = "generate model --records 100 --groups groups.rules --out";
    folder
        .run_with(&format!("{generate} new.jsonl --given"), "again, SEX//F, not RASH")
        .exits(0)
        .prints("were not as given, and were drawn again");
    folder.write(
        "all.rules",
        "rule not-women: SEX//F\nrule rash: not RASH\nrule again: END => (FEVER and FEVER in past) or FEVER at least twice in past\n",
    );
    folder.run("audit new.jsonl --rules all.rules --allow-unknown").exits(0);
    folder.run_with(&format!("{generate} off.jsonl --mode off --given"), "not ill").exits(0);
    let text = folder.read("off.jsonl");
    assert!(!text.contains("FEVER") && !text.contains("RASH"), "{text}");

    folder.run_with(&format!("{generate} x --given"), "agian").refuses(&[
        "no code `agian`, and no group has that name",
        "again",
        "help",
    ]);
    let rare = format!("{generate} x --attempts 3 --given");
    folder.write("never.rules", "let never = FEVER and not FEVER\n");
    let never = rare.replace("groups.rules", "never.rules");
    folder.run_with(&never, "never").refuses(&[
        "none of 3 attempts at record 1 is as given; not met: `never` (3 times)",
        "--attempts",
    ]);
    folder.write("none.rules", "rule a: FEVER => COUGH\n");
    folder.run_with(&rare.replace("groups.rules", "none.rules"), "COUGH").refuses(&[
        "the file defines no name",
        "--> none.rules",
        "help: name groups by `let`",
    ]);
    folder.write("days.rules", "let soon = FEVER in last 3 days\n");
    folder
        .run_with(&rare.replace("groups.rules", "days.rules"), "soon")
        .refuses(&["trained without dates"]);
}

#[test]
fn groups_compared_by_themselves() {
    let folder = with_model();
    folder.run("generate model --records 300 --out new.jsonl").exits(0);
    let evaluate = "evaluate --real real.jsonl --synthetic new.jsonl --groups groups.rules";
    folder.run(evaluate).exits(0).prints("groups, with R2 within them").prints("  again\n");
    let report = folder.run(&format!("{evaluate} --json")).exits(0).json();
    let names: Vec<&str> = report["strata"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["again", "woman"], "what another is made of is left out");
    let again = &report["strata"][0];
    let share =
        |side: &str| again[side]["records"].as_f64().unwrap() / again[side]["of"].as_f64().unwrap();
    assert!((share("real") - 1.0 / 3.0).abs() < 0.05, "{again}");
    assert!((share("synthetic") - 1.0 / 3.0).abs() < 0.25, "{again}");
    assert!(again["agreement"]["code"]["r2"].as_f64().unwrap() > 0.0, "{again}");
    let named = folder.run(&format!("{evaluate} --strata ill --json")).exits(0).json();
    assert_eq!(named["strata"][0]["name"], "ill");
    folder.run(&format!("{evaluate} --strata lung")).refuses(&["no group is called `lung`", "ill"]);
    folder.run(&format!("{evaluate} --strata ill --out report")).exits(0);
    assert!(folder.read("report/report.html").contains("Groups of patients"));
}
