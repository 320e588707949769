//! Every method of the paper on one cohort, as a user compares them.

use crate::common::Folder;
use serde_json::Value;

const SMALL: &str = "--quick --size tiny --epochs 1 --train-records 150 --runs 2 --records 40 \
                     --deep-runs 1";

fn with_cohort() -> Folder {
    let folder = Folder::new();
    folder.run("simulate inpatient --patients 400 --codes-only --out cohort").exits(0);
    folder
}

/// What a comparison found, but for what it took.
fn lasting(folder: &Folder, name: &str) -> Value {
    let mut metrics: Value = serde_json::from_str(&folder.read(name)).expect("JSON");
    for method in metrics["methods"].as_array_mut().expect("methods") {
        method["training"]["seconds"] = Value::Null;
        method["trainings"][0]["training"]["seconds"] = Value::Null;
        for timed in ["seconds", "seconds_per_epoch", "times_vanilla"] {
            method["over_trainings"][timed] = Value::Null;
        }
        for timed in ["milliseconds", "times_vanilla", "median_times_vanilla"] {
            method["generation"][timed] = Value::Null;
        }
    }
    metrics["findings"] = Value::Null;
    metrics
}

#[test]
fn all_methods_in_one_command_and_again_where_it_was_stopped() {
    let folder = with_cohort();
    let compare = format!("compare cohort --rules cohort/truth.rules --out done {SMALL}");
    let ran = folder.run(&compare).exits(0);
    let ran = ran.prints("findings of the paper").prints("report: done/report.html");
    for title in ["Vanilla  ", "Post-processing", "MultiPlexNet", "Consequence  "] {
        assert!(ran.out.contains(title), "{}", ran.out);
    }
    let found = lasting(&folder, "done/metrics.json");
    let methods = found["methods"].as_array().expect("methods");
    assert_eq!(methods.len(), 8);
    for method in methods {
        let name = method["method"].as_str().expect("a name");
        let broken = |kind: &str| method["generation"][kind]["mean"].as_f64().expect("a mean");
        let (within, back) = (broken("within_visit_violations"), broken("temporal_violations"));
        match name {
            "post-processing" | "consequence" => assert_eq!((within, back), (0.0, 0.0), "{name}"),
            "multiplexnet" | "spl" => assert_eq!(within, 0.0, "{name}"),
            "vanilla" => assert!(within > 0.0, "a network that trained little breaks rules"),
            _ => {}
        }
        assert_eq!(method["prediction"].is_null(), name == "post-processing");
    }
    let page = folder.read("done/report.html");
    for part in ["<!DOCTYPE html>", "Who keeps the rules", "findings, one by one", "Every rule"] {
        assert!(page.contains(part), "no `{part}`");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing from elsewhere");

    // Nothing is replaced unasked, and nothing else is gone on with.
    folder.run(&compare).refuses(&["--force"]);
    folder.run(&format!("{compare} --resume --seed 7")).refuses(&["another source", "--force"]);
    // What is missing is made again, and comes out the same.
    for lost in ["consequence-run-001.json", "spl-seed-1-training.json", "spl-run-000.json"] {
        std::fs::remove_file(folder.path("done/work").join(lost)).expect("it was there");
    }
    let damaged = folder.path("done/work").join("ccn-run-000.json");
    std::fs::write(damaged, "{ not whole").expect("written");
    folder.run(&format!("{compare} --resume")).exits(0);
    assert_eq!(lasting(&folder, "done/metrics.json"), found);
    // A rule file that has changed under its name is another one.
    let rules = folder.read("cohort/truth.rules");
    folder.write("cohort/truth.rules", rules.replacen("rule ", "# rule ", 1));
    folder.run(&format!("{compare} --resume")).refuses(&["another source", "--force"]);
}

#[test]
fn a_method_that_cannot_take_the_rules_is_left_out_and_said() {
    let folder = Folder::new();
    let line = |id: usize| {
        let codes = format!("\"C\", \"A{}\", \"B{}\"", id % 12, 5 * id % 12);
        format!("{{\"id\": {id}, \"static\": [], \"visits\": [[{codes}], [\"C\"]]}}\n")
    };
    folder.write("cohort.jsonl", (0..300).map(line).collect::<String>());
    // Either C, or one of each of twelve pairs: thousands of cases.
    let rule = |n: usize| format!("rule r{n}: not C => A{n} or B{n}\n");
    folder.write("cases.rules", (0..12).map(rule).collect::<String>());
    folder.write("pairs.rules", "rule p: A0 => not A1\n");
    let compare = format!("compare cohort.jsonl {SMALL} --json --rules");
    let methods = "--methods vanilla multiplexnet consequence";
    let ran = folder.run(&format!("{compare} pairs.rules {methods} --out whole")).exits(0);
    assert_eq!(ran.json()["left_out"].as_array().map(Vec::len), Some(0));
    let report = folder.run(&format!("{compare} cases.rules {methods} --out part")).exits(0).json();
    assert_eq!(report["methods"].as_array().map(Vec::len), Some(2));
    assert!(report["left_out"][0]["because"].as_str().is_some_and(|why| why.contains("terms")));
    assert!(folder.read("part/report.html").contains("MultiPlexNet is left out"));
    folder
        .run(&format!("{compare} cases.rules --methods multiplexnet --out none"))
        .refuses(&["terms", "leave out some of these rules"]);
}

#[test]
fn rules_are_mined_where_none_are_given_and_methods_can_be_chosen() {
    let folder = with_cohort();
    let compare = format!("compare cohort --out few {SMALL} --methods vanilla consequence --json");
    let report = folder.run(&compare).exits(0).json();
    assert_eq!(report["mined"], true);
    assert!(folder.read("few/mined.rules").contains("rule "));
    let names: Vec<&str> = report["methods"]
        .as_array()
        .expect("methods")
        .iter()
        .filter_map(|method| method["method"].as_str())
        .collect();
    assert_eq!(names, ["vanilla", "consequence"]);
    let findings = report["findings"].as_array().expect("findings");
    let spl = findings
        .iter()
        .find(|one| one["claim"].as_str().is_some_and(|text| text.starts_with("SPL")));
    assert!(spl.is_some_and(|one| one["verdict"]["not_comparable"].is_string()));
}

#[test]
fn several_seeds_and_the_published_network_beside_the_new_one() {
    let folder = with_cohort();
    let compare = format!(
        "compare cohort --rules cohort/truth.rules --out two {SMALL} --methods vanilla consequence \
         --seeds 2 --also-halo"
    );
    let ran = folder.run(&compare).exits(0).prints("2 trainings and 2 generations of 40 records");
    for title in ["Vanilla, HALO network", "Consequence, HALO network", "rules gain"] {
        assert!(ran.out.contains(title), "{}", ran.out);
    }
    for file in ["vanilla-seed-2-training.json", "consequence-halo-seed-1-weights.safetensors"] {
        assert!(folder.path("two/work").join(file).is_file(), "no {file}");
    }
    // Other seeds are another comparison.
    let other = compare.replace("--seeds 2", "--seeds 1");
    folder.run(&format!("{other} --resume")).refuses(&["another source", "--force"]);
    let out = format!("compare cohort --rules cohort/truth.rules --out never {SMALL}");
    folder.run(&format!("{out} --seeds 3")).refuses(&["3 trainings", "--runs", "--seeds"]);
    folder
        .run(&format!("{out} --also-halo --network halo"))
        .refuses(&["on the HALO network already", "--network recurrent"]);
    folder
        .run(&format!("{out} --also-halo").replace("--size tiny", "--size large"))
        .refuses(&["no halo network of the size large", "--size small"]);
    assert!(!folder.path("never").exists());
}

#[test]
fn bad_input_is_refused_before_any_work() {
    let folder = with_cohort();
    let to = format!("--out never {SMALL}");
    folder.run(&format!("compare cohort {to} --methods halo")).refuses(&["halo", "vanilla", "spl"]);
    folder.run(&format!("compare nobody {to}")).refuses(&["nobody"]);
    folder.write("odd.rules", "rule odd: NO//SUCH//CODE => END");
    let odd = folder.run(&format!("compare cohort --rules odd.rules {to} --force"));
    odd.refuses(&["NO//SUCH//CODE", "--allow-unknown"]);
    folder.write("none.rules", "# nothing\n");
    let none = folder.run(&format!("compare cohort --rules none.rules {to} --force"));
    none.refuses(&["no rule", "--rules"]);
    folder.write("one.jsonl", "{\"id\":1,\"static\":[],\"visits\":[[\"A\"]]}\n");
    folder.write("a.rules", "rule a: A => not END");
    let one = folder.run(&format!("compare one.jsonl --rules a.rules {to} --force"));
    one.refuses(&["no record is in the", "split"]);
    assert!(!folder.path("never/report.html").exists());
}
