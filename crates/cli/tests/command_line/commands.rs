//! Every command on small files, as a user runs it.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use crate::common::{Folder, Ran, program};

#[test]
fn check_proves() {
    let folder = Folder::with_clinic();
    let ran = folder.run("check a.rules").exits(0);
    let ran =
        ran.prints("3 rules (3 hard, 0 soft").prints("proved: no input can end in a violation");
    assert_eq!(ran.err, "");
    folder.run("check a.rules --cohort cohort.jsonl").exits(0).prints("from cohort.jsonl");
    let ran = folder.run("check a.rules --json --max-visits 1_0").exits(0);
    let report = ran.json();
    assert_eq!(report["verdict"]["outcome"], "proved");
    assert_eq!(report["max_visits"], 10);
    assert_eq!(report["rules"]["temporal"], 2);
}

#[test]
fn the_rules_of_the_clinic_are_proved_without_a_warning() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ran = Ran::of(program(&crates).arg("check").arg("consequence/src/clinic.rules")).exits(0);
    assert_eq!(ran.prints("proved: no input").err, "");
}

#[test]
fn check_names_the_rules_that_cannot_be_kept() {
    let folder = Folder::new();
    folder.write("a.rules", "rule one: A\nrule other: B => C\nrule two: not A\n");
    let ran = folder.run("check a.rules").exits(1);
    let ran = ran.prints("impossible").prints("a.rules:1: rule one: A").prints("a.rules:3");
    assert!(!ran.out.contains("rule other"));
    let report = folder.run("check a.rules --json").exits(1).json();
    assert_eq!(report["verdict"]["core"][1]["name"], "two");
}

#[test]
fn check_explains_one_rule() {
    let folder = Folder::new();
    folder.write("a.rules", "rule ab: A => B\nrule bc: B => C\nrule not-c: D => not C\n");
    let ran = folder.run("check a.rules --explain bc").exits(0);
    ran.prints("a.rules:2: rule bc: B => C").prints("takes part in:").prints("from bc and not-c");
    folder.run("check a.rules --explain bcc").refuses(&["no rule is called `bcc`", "`bc`"]);
}

#[test]
fn check_tells_what_one_pass_would_break() {
    let folder = Folder::new();
    folder.write("a.rules", "rule bc: B => C\nrule ab: A => B\n");
    folder.run("check a.rules").exits(0).prints("as listed: unsafe").prints("`bc` broken");
}

#[test]
fn check_reports_conflicts_soft_rules_and_superfluous_ones() {
    let folder = Folder::new();
    folder.write(
        "a.rules",
        "rule treat: ILL => DRUG\nrule spare: ALLERGY => not DRUG\nrule again: ILL and X => DRUG\n\
         rule maybe: X => Y with probability 0.25\nrule perhaps: Z => Y with probability 0.5\n",
    );
    let ran = folder.run("check a.rules").exits(0);
    ran.prints("DRUG is demanded and forbidden")
        .prints("`again` (a.rules:3) follows from `treat`")
        .prints("`maybe` with probability 0.25")
        .prints("`maybe` and `perhaps` all draw Y")
        .prints("derived within a visit: 1");
}

#[test]
fn check_calls_no_rule_superfluous_because_of_itself() {
    let folder = Folder::new();
    let texts = [
        "rule r: not A in past\n",
        "rule r: A in past => not END\n",
        "rule one: A in previous => B\nrule two: A in previous => not B\n",
    ];
    for text in texts {
        folder.write("a.rules", text);
        let ran = folder.run("check a.rules").exits(0);
        assert!(!ran.out.contains("superfluous"), "{text}: {}", ran.out);
    }
}

#[test]
fn only_cut_records_obey_not_end() {
    let folder = Folder::new();
    folder.write("a.rules", "rule r: not END\n");
    let ran = folder.run("check a.rules").exits(1);
    ran.prints("only a record that was cut before its end can obey these rules");
    let report = folder.run("check a.rules --json").exits(1).json();
    assert_eq!(report["verdict"]["cut_obeys"], true);
    folder.write("b.rules", "rule a: A\nrule b: not A\n");
    let ran = folder.run("check b.rules").exits(1);
    ran.prints("no record can obey these rules together");

    let cut = "{\"id\": 1, \"static\": [], \"visits\": [[\"A\"], [\"A\"]], \"ended\": false}\n";
    let ended = "{\"id\": 2, \"static\": [], \"visits\": [[\"A\"]]}\n";
    folder.write("cohort.jsonl", format!("{cut}{ended}"));
    folder.run("audit cohort.jsonl --rules a.rules").exits(1).prints("50.00% valid");
    let ran = folder.run("enforce cohort.jsonl --rules a.rules --out fixed.jsonl").exits(0);
    ran.prints("1 record written").prints("1 record left out: no record of that length");
    folder.write("cohort.jsonl", ended);
    folder
        .run("enforce cohort.jsonl --rules a.rules --out none.jsonl")
        .refuses(&["no record can be kept", "END"]);
}

#[test]
fn enforce_keeps_visits_where_no_rule_concludes_the_end() {
    let folder = Folder::new();
    folder.write(
        "a.rules",
        "rule stays: A in previous => A\nrule stops: B in 2 visits ago => not A\n",
    );
    let visits = "[[\"A\", \"B\"], [\"A\"], []]";
    let line = |rest: &str| format!("{{\"id\": 1, \"static\": [], \"visits\": {visits}{rest}}}\n");
    for (rest, written) in [("", "]]}\n"), (", \"ended\": false", "]],\"ended\":false}\n")] {
        folder.write("cohort.jsonl", line(rest));
        folder.run("enforce cohort.jsonl --rules a.rules --out fixed.jsonl --force").exits(0);
        let fixed = folder.read("fixed.jsonl");
        assert!(fixed.contains("[[\"A\"],[\"A\"],[\"A\"]]") && fixed.ends_with(written), "{fixed}");
    }
}

#[test]
fn audit_counts_without_naming_patients() {
    let folder = Folder::with_clinic();
    for arguments in ["", " --referee", " --threads 1", " --vocabulary codes.json"] {
        folder.write(
            "codes.json",
            r#"{"static": ["SEX//F", "SEX//M"],
                "encounter": ["DELIVERY", "DIABETES", "DIET", "INSULIN"]}"#,
        );
        let ran = folder.run(&format!("audit cohort.jsonl --rules a.rules{arguments}")).exits(1);
        let ran = ran.prints("33.33% valid (1 of 3 records)").prints("3 violations");
        let ran = ran.prints("record 1, visit 2");
        assert!(!ran.out.contains("secret"), "ids stay private: {}", ran.out);
    }
    let ran = folder.run("audit cohort.jsonl --rules a.rules --show-ids").exits(1);
    ran.prints("record 1 (secret-1), visit 2");
    let ran = folder.run("audit cohort.jsonl --rules a.rules --top 1").exits(1);
    ran.prints("and 2 more rules");
    let report = folder.run("audit cohort.jsonl --rules a.rules --json").exits(1).json();
    assert_eq!(report["temporal_violations"], 2);
    assert_eq!(report["within_visit_violations"], 1);
    assert_eq!((&report["records"], &report["encounters"]), (&3.into(), &6.into()));
    assert_eq!(report["split"], serde_json::Value::Null);
    assert_eq!(report["broken"].as_array().map(Vec::len), Some(3));
    assert_eq!(report["broken"][0]["examples"][0]["id"], serde_json::Value::Null);
}

#[test]
fn enforce_repairs() {
    let folder = Folder::with_clinic();
    let enforce = "enforce cohort.jsonl --rules a.rules --out fixed.jsonl";
    let ran = folder.run(enforce).exits(0);
    ran.prints("3 records written, each obeying all 3 hard rules").prints("2 records changed");
    assert!(folder.read("fixed.jsonl").starts_with("{\"id\":\"secret-1\""));
    folder
        .run("audit fixed.jsonl --rules a.rules --allow-unknown")
        .exits(0)
        .prints("no violations");
    let before = folder.read("fixed.jsonl");
    folder.run(enforce).refuses(&["already there", "--> fixed.jsonl", "--force"]);
    let report = folder.run(&format!("{enforce} --force --json")).exits(0).json();
    assert_eq!((&report["records"], &report["written"]), (&3.into(), &3.into()));
    assert_eq!(folder.read("fixed.jsonl"), before, "the same repair again");
    assert_eq!(folder.names(), ["a.rules", "cohort.jsonl", "fixed.codes.json", "fixed.jsonl"]);
}

#[test]
fn enforce_lists_every_change() {
    let folder = Folder::new();
    folder.write("a.rules", "rule \"stays, always\": A in previous => A\nrule never: not B\n");
    folder
        .write("cohort.jsonl", "{\"id\": \"p\", \"static\": [], \"visits\": [[\"A\"], [\"B\"]]}\n");
    let enforce = "enforce cohort.jsonl --rules a.rules --out fixed.jsonl";
    folder.run(&format!("{enforce} --changes changes.csv")).exits(0).prints("1 code added");
    assert_eq!(
        folder.read("changes.csv"),
        "record,visit,code,change,rules\np,2,A,added,\"stays, always\"\np,2,B,removed,never\n"
    );
    let again = format!("{enforce} --force --changes changes");
    let report = folder.run(&format!("{again} --json")).exits(0).json();
    assert_eq!(report["changes"], "changes");
    let lines = folder.read("changes");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["code"], "A");
    assert_eq!((&lines[1]["change"], &lines[1]["rules"][0]), (&"removed".into(), &"never".into()));
    folder.write("other.jsonl", folder.read("cohort.jsonl"));
    let taken = "enforce other.jsonl --rules a.rules --out new.jsonl --changes changes";
    folder.run(taken).refuses(&["already there", "--> changes", "--force"]);
    assert!(!folder.names().contains(&"new.jsonl".into()), "nothing is written");
}

#[test]
fn enforce_chooses_by_a_model() {
    let folder = Folder::new();
    // All patients have A or B or C before X; where X is alone, a model has to say what is likely.
    let line = |id: usize| {
        let code = if id.is_multiple_of(10) { "A" } else { "C" };
        format!("{{\"id\": {id}, \"static\": [], \"visits\": [[\"{code}\", \"X\"]]}}\n")
    };
    folder.write("known.jsonl", (0..400).map(line).collect::<String>());
    let alone = |id: usize| format!("{{\"id\": {id}, \"static\": [], \"visits\": [[\"X\"]]}}\n");
    folder.write("cohort.jsonl", (0..200).map(alone).collect::<String>());
    folder.write("a.rules", "rule r: X => any of A, B, C\n");
    folder.write("codes.json", r#"{"static": [], "encounter": ["A", "B", "C", "X"]}"#);
    folder.run("train known.jsonl --generator markov --out model").exits(0);
    let enforce = "enforce cohort.jsonl --rules a.rules --vocabulary codes.json --out fixed.jsonl \
                   --force --json";
    let counts = |folder: &Folder| {
        let text = folder.read("fixed.jsonl");
        ["A", "B", "C"].map(|code| text.matches(&format!("\"{code}\"")).count())
    };
    folder.run(enforce).exits(0);
    let [a, b, c] = counts(&folder);
    assert!(a.min(b).min(c) > 40, "nothing is known of any: {a}, {b}, {c}");
    let report = folder.run(&format!("{enforce} --model model")).exits(0).json();
    assert_eq!(report["model"], "model");
    let [a, b, c] = counts(&folder);
    assert!((5..40).contains(&a) && b == 0 && c > 150, "{a}, {b}, {c}");
    folder.run(&format!("{enforce} --model none")).refuses(&["no such model", "--> none"]);
}

#[test]
fn one_hard_rule_and_none() {
    let folder = Folder::with_clinic();
    folder.write("one.rules", "rule lifelong: DIABETES in previous => DIABETES\n");
    let enforce = "enforce cohort.jsonl --force --out fixed.jsonl --rules";
    folder.run(&format!("{enforce} one.rules")).exits(0).prints("each obeying the hard rule (");
    folder.write("none.rules", "# nothing yet\n");
    let ran = folder.run("check none.rules").exits(0).prints("no rules: every record is allowed");
    assert!(!ran.out.contains("proved"), "{}", ran.out);
    folder.run("audit cohort.jsonl --rules none.rules").exits(0).prints("no hard rules: ");
    folder.run(&format!("{enforce} none.rules")).exits(0).prints("there is no hard rule to obey");
}

#[test]
fn audit_of_one_split_keeps_the_numbers_of_records() {
    let folder = Folder::new();
    folder.write("a.rules", "rule a: A\n");
    let line = |id| format!("{{\"id\": {id}, \"static\": [], \"visits\": [[\"B\"]]}}\n");
    folder.write("cohort.jsonl", (0..200).map(line).collect::<String>());
    let held_out = |id: &u64| consequence::Split::of(&id.to_string()).name() == "held_out";
    let places: Vec<u64> = (0..200).filter(held_out).collect();
    let audit = "audit cohort.jsonl --rules a.rules --allow-unknown --split held_out --referee";
    let ran = folder.run(audit).exits(1).prints("cohort.jsonl (held_out split): ");
    ran.prints(&format!("record {}, visit 1", places[0] + 1)).prints("record N is line N");
    let report = folder.run(&format!("{audit} --json")).exits(1).json();
    assert_eq!((&report["records"], &report["split"]), (&places.len().into(), &"held_out".into()));
    assert_eq!(report["broken"][0]["examples"][1]["record"], places[1] + 1);
}

#[test]
fn enforce_draws_soft_rules_when_asked() {
    let folder = Folder::new();
    folder.write("a.rules", "rule maybe: A => B with probability 0.5\n");
    let line =
        |id: usize| format!("{{\"id\": {id}, \"static\": [], \"visits\": [[\"A\"], [\"B\"]]}}\n");
    folder.write("cohort.jsonl", (0..400).map(line).collect::<String>());
    folder
        .run("enforce cohort.jsonl --rules a.rules --out hard.jsonl")
        .exits(0)
        .prints("0 records changed");
    let ran = folder.run("enforce cohort.jsonl --rules a.rules --out soft.jsonl --soft --seed 7");
    ran.exits(0).prints("1 soft rule drawn");
    let drawn =
        folder.read("soft.jsonl").lines().filter(|line| line.contains("[[\"A\",\"B\"]")).count();
    assert!((150..250).contains(&drawn), "{drawn} of 400");
    folder
        .run("enforce cohort.jsonl --rules a.rules --out again.jsonl --soft --seed 7 --threads 1")
        .exits(0);
    assert_eq!(folder.read("soft.jsonl"), folder.read("again.jsonl"), "same seed, same records");
}

#[test]
fn convert_goes_round() {
    let folder = Folder::with_clinic();
    folder.run("rules convert a.rules --to json --out a.json").exits(0);
    let ran = folder.run("rules convert a.json --to text").exits(0);
    assert_eq!(ran.out, crate::common::RULES.replace("treated:  ", "treated: "));
    folder.run("check a.json").exits(0).prints("proved");
    folder.run("rules convert a.rules --to json --out a.json").refuses(&["already there"]);
    folder.run("rules convert a.rules --to tuples").refuses(&["treated", "a.rules:2"]);
    folder.write("simple.rules", "rule a: A in previous => B\nrule b: SEX//F in static => not A\n");
    folder.run("rules convert simple.rules --to tuples --out tuples.json").exits(0);
    folder.run("check tuples.json").exits(0).prints("2 rules");
}

#[test]
fn patterns_in_tuples_stand_for_the_codes_there_are() {
    let folder = Folder::with_clinic();
    folder.write("a.rules", "rule calm: none of DI* => not DELIVERY\nrule diet: DIET => DIET\n");
    let ran = folder.run("rules convert a.rules --to tuples").exits(0);
    assert!(ran.err.contains("warning: patterns such as `DI*` were expanded"), "{}", ran.err);
    assert!(ran.err.contains("help: give all codes there are by --vocabulary or --cohort"));
    assert_eq!(ran.json()["rules"][0][4].as_array().map(Vec::len), Some(1), "DIET alone");
    for codes in ["--cohort cohort.jsonl", "--vocabulary codes.json"] {
        folder.write(
            "codes.json",
            r#"{"static": [], "encounter": ["DELIVERY", "DIABETES", "DIET", "DISCHARGE"]}"#,
        );
        let ran = folder.run(&format!("rules convert a.rules --to tuples {codes}")).exits(0);
        assert_eq!(ran.err, "", "{codes}");
        let expected = if codes.contains("cohort") { 2 } else { 3 };
        assert_eq!(ran.json()["rules"][0][4].as_array().map(Vec::len), Some(expected), "{codes}");
    }
    // Text keeps patterns, so it needs no codes.
    assert_eq!(folder.run("rules convert a.rules --to text").exits(0).err, "");
    let refused = folder.run("rules convert a.rules --to tuples --vocabulary none.json");
    refused.refuses(&["none.json"]);
    folder.write("codes.json", r#"{"static": [], "encounter": ["DIET"]}"#);
    let few = "rules convert a.rules --to tuples --vocabulary codes.json";
    folder.run(few).refuses(&["unknown code `DELIVERY`", "--allow-unknown"]);
}

#[test]
fn tuples_may_name_their_codes() {
    let folder = Folder::with_clinic();
    folder.write("a.json", r#"[[[-1], ["DIABETES"], [], [], [], "DIABETES", 1]]"#);
    folder.run("check a.json").exits(0).prints("1 rule (1 hard");
    folder.run("audit cohort.jsonl --rules a.json").exits(1).prints("record 1, visit 2");
    let counted =
        r#"{"codes": 9, "labels": 9, "rules": [[[1], ["SEX//M"], [], [], [], "DELIVERY", 0]]}"#;
    folder.write("b.json", counted);
    let audit = "audit cohort.jsonl --rules b.json";
    folder.run(audit).exits(1).prints("record 3, visit 2");
    folder.write("b.json", counted.replace("DELIVERY", "DELIVERI"));
    folder.run(audit).refuses(&["unknown code `DELIVERI`", "b.json:1", "did you mean `DELIVERY`?"]);
}

#[test]
fn the_clinic_leaves_its_files() {
    let folder = Folder::new();
    let ran = folder.run("demo --clinic --records 1k").exits(0);
    ran.prints("$ consequence check").prints("$ consequence enforce").prints("no violations");
    assert!(folder.path("consequence-clinic/repaired.jsonl").is_file());
    folder.run("demo --clinic").refuses(&["already there", "--force"]);
    folder.run("demo --clinic --force --records 50").exits(0);
    let audit = "audit consequence-clinic/cohort.jsonl --rules consequence-clinic/clinic.rules";
    folder.run(&format!("{audit} --vocabulary consequence-clinic/codes.json")).exits(1);
}

#[test]
fn help_and_version_and_wrong_words() {
    let folder = Folder::new();
    folder.run("--version").exits(0).prints("consequence 0.");
    for command in [
        "check",
        "audit",
        "enforce",
        "mine",
        "demo",
        "rules convert",
        "rules from",
        "rules from mce",
    ] {
        folder.run(&format!("{command} --help")).exits(0).prints("Example");
    }
    folder.run("chekc").refuses(&["check"]);
    folder.run("demo --records ten").refuses(&["`ten` is not a count", "10k"]);
    folder.run("demo --records 0").refuses(&["at least one record"]);
    folder.run("check a.rules --max-visits 0").refuses(&["1 to 10_000"]);
    folder.run("").exits(2);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = Folder::new();
    let rules: String = (0..3_000).map(|n| format!("rule r{n}: A{n} => B{n}\n")).collect();
    folder.write("many.rules", rules);
    let mut child = program(&folder.path(""))
        .args(["rules", "convert", "many.rules", "--to", "text"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut err).expect("text");
    assert_eq!((child.wait().expect("it ends").code(), err.as_str()), (Some(0), ""));
}

#[test]
fn several_rule_files_and_words_with_blanks() {
    let folder = Folder::with_clinic();
    folder.write("b.rules", "rule extra: DIET => DIABETES\n");
    folder
        .run("audit cohort.jsonl --rules a.rules b.rules")
        .exits(1)
        .prints("4 hard rules of a.rules and b.rules");
    folder.write("with blanks.rules", "rule x: \"a b\" => C\n");
    Ran::of(program(&folder.path("")).args(["check", "with blanks.rules"]))
        .exits(0)
        .prints("1 rule ");
}

/// A static code is asked for once a record, whether or not a record has it.
#[test]
fn unknown_static_codes_are_counted_once() {
    let folder = Folder::new();
    folder
        .write("cohort.jsonl", "{\"id\": 1, \"static\": [], \"visits\": [[\"A\"], [], [\"A\"]]}\n");
    let sex = "static SEX//F, SEX//M\nrule sex: exactly one of SEX//F, SEX//M\n";
    folder.write("a.rules", format!("{sex}rule fever: FEVER\nrule cold: A => COLD\n"));
    let codes = r#"{"static": ["SEX//F", "SEX//M"], "encounter": ["A", "COLD", "FEVER"]}"#;
    folder.write("codes.json", codes);
    let audit = "audit cohort.jsonl --rules a.rules --referee --json";
    // What breaks them is told by codes, and a code that is not known cannot be.
    let without_reasons = |mut report: serde_json::Value| {
        for rule in report["broken"].as_array_mut().expect("rules") {
            rule["examples"][0]["why"].take();
        }
        report
    };
    let known = folder.run(&format!("{audit} --vocabulary codes.json")).exits(1).json();
    assert_eq!(known["broken"][0]["examples"][0]["why"], "lacks FEVER");
    let unknown = folder.run(&format!("{audit} --allow-unknown")).exits(1).json();
    let [known, unknown] = [known, unknown].map(without_reasons);
    assert_eq!(unknown["broken"], known["broken"]);
    assert_eq!(unknown["within_visit_violations"], 1 + 3 + 2);
    // One that a record has tells what the other is.
    folder.write(
        "women.jsonl",
        "{\"id\": 1, \"static\": [\"SEX//F\"], \"visits\": [[\"A\"], [\"A\"]]}\n",
    );
    folder.write("b.rules", "rule sex: exactly one of SEX//F, SEX//M\n");
    folder.run("audit women.jsonl --rules b.rules --allow-unknown").exits(0);
    folder.run("enforce women.jsonl --rules b.rules --allow-unknown --out same.jsonl").exits(0);
    folder.write("a.rules", sex);
    folder
        .run("audit cohort.jsonl --rules a.rules --allow-unknown")
        .exits(1)
        .prints("  sex            1        1  record 1, static\n");
}

#[test]
fn thousands_of_codes_are_counted() {
    let folder = Folder::new();
    let list = |count: usize| (0..count).map(|code| format!("C{code}")).collect::<Vec<String>>();
    folder.write("large.rules", format!("rule one: at most one of {}\n", list(2_000).join(", ")));
    folder.run("check large.rules").exits(0).prints("proved: no input can end in a violation");

    // More than a million pairs; in a visit of three, two go.
    let codes = list(1_500);
    folder.write("a.rules", format!("rule one: at most one of {}\n", codes.join(", ")));
    let listed = serde_json::json!({ "static": ["S"], "encounter": codes });
    folder.write("cohort.codes.json", listed.to_string());
    let record = |id: usize| {
        let visit = |more: usize| format!("\"C{}\"", (7 * id + more) % 1_500);
        let three = [visit(0), visit(500), visit(1_000)].join(",");
        format!("{{\"id\":{id},\"static\":[\"S\"],\"visits\":[[{}],[{three}]]}}\n", visit(0))
    };
    folder.write("cohort.jsonl", (0..60).map(record).collect::<String>());
    let audit = folder.run("audit cohort.jsonl --rules a.rules --referee --json").exits(1).json();
    assert_eq!(audit["within_visit_violations"], 60);
    let enforce = "enforce cohort.jsonl --rules a.rules --out obeying.jsonl --json";
    assert_eq!(folder.run(enforce).exits(0).json()["removed_codes"], 120);
    folder.run("audit obeying.jsonl --rules a.rules --referee").exits(0);
    let train = "train cohort.jsonl --rules a.rules --generator markov --out model";
    folder.run(train).refuses(&["records (100.00%): one of a.rules", "--accept-broken"]);
    folder.run(&format!("{train} --accept-broken")).exits(0);
    folder.run("generate model --records 200 --out new.jsonl").exits(0);
    folder.run("audit new.jsonl --rules a.rules --referee").exits(0);
}
