//! Reports on any pair of cohorts, good and bad.

use crate::common::Folder;
use serde_json::Value;

fn with_cohorts() -> Folder {
    let folder = Folder::new();
    folder.run("simulate inpatient --patients 900 --codes-only --out real").exits(0);
    folder.run("simulate inpatient --patients 300 --seed 5 --codes-only --out other").exits(0);
    folder
}

#[test]
fn a_report_and_the_figures_of_any_pair() {
    let folder = with_cohorts();
    let evaluate = "evaluate --real real --synthetic other --rules real/truth.rules --out report";
    let ran = folder.run(evaluate).exits(0);
    ran.prints("report: report/report.html").prints("membership inference").prints("AUROC");
    let page = folder.read("report/report.html");
    for part in ["Are the rules kept?", "What do the records give away?", "A few records"] {
        assert!(page.contains(part), "no `{part}`");
    }
    let metrics: Value = serde_json::from_str(&folder.read("report/metrics.json")).expect("JSON");
    assert_eq!(metrics["violations"]["all"]["violations"], 0);
    let auroc = &metrics["deep"]["privacy"]["membership"]["measured"]["auroc"];
    assert!((0.4..0.6).contains(&auroc.as_f64().expect("a figure")), "{auroc}");
    assert!(metrics["deep"]["utility"]["measured"]["real"]["auroc"].is_number());
    folder.run(evaluate).refuses(&["--force"]);
    folder.run(&format!("{evaluate} --force")).exits(0);
}

#[test]
fn a_report_is_put_in_place_whole() {
    let folder = with_cohorts();
    let evaluate = "evaluate --real real --synthetic other --out report";
    folder.run(evaluate).exits(0);
    let [page, metrics] =
        ["report/report.html", "report/metrics.json"].map(|name| folder.read(name));
    // What cannot be replaced is refused before anything is: never one file of the two.
    folder.write("report/notes.txt", "precious");
    folder.write("report/metrics.json", "old");
    folder.run(&format!("{evaluate} --force")).refuses(&["not empty", "--> report", "help"]);
    assert_eq!(folder.read("report/metrics.json"), "old");
    std::fs::remove_file(folder.path("report/notes.txt")).expect("it goes");
    // Where one of the two could not be written alone, both are replaced.
    std::fs::remove_file(folder.path("report/report.html")).expect("it goes");
    std::fs::create_dir(folder.path("report/report.html")).expect("a folder");
    folder.run(&format!("{evaluate} --force")).exits(0);
    assert_eq!(folder.read("report/metrics.json"), metrics);
    assert_eq!(folder.read("report/report.html"), page);
    assert!(metrics.starts_with("{\n  \"format\": 2,\n"), "{}", &metrics[..40]);
    assert!(folder.names().iter().all(|name| !name.starts_with('.')), "{:?}", folder.names());
}

#[test]
fn names_are_text_and_what_differs_is_said() {
    let folder = Folder::new();
    let line = |id: usize, codes: &str| {
        format!("{{\"id\": {id}, \"static\": [\"SEX//F\"], \"visits\": [[{codes}], [{codes}]]}}\n")
    };
    let bad = "\"<script>alert(1)</script>\"";
    let real: String = (0..60).map(|id| line(id, &format!("\"A\", {bad}"))).collect();
    let synthetic: String = (0..30).map(|id| line(id, "\"A\", \"NEW\"")).collect();
    folder.write("real.jsonl", real);
    folder.write("synthetic.jsonl", synthetic);
    folder.write("a.rules", "rule never: A => not NEW");
    let ran = folder
        .run("evaluate --real real.jsonl --synthetic synthetic.jsonl --rules a.rules --out report");
    ran.exits(1).prints("0.00% valid");
    let page = folder.read("report/report.html");
    assert!(!page.contains("<script>alert"), "a name is never markup");
    assert!(page.contains("1 code only in the real one, 1 code only in the synthetic one"));
    assert!(page.contains("only 30 synthetic records"), "few records are told of");
    assert!(page.contains("Records that break a rule"));
}

#[test]
fn copies_of_patients_are_no_synthetic_records() {
    let folder = with_cohorts();
    folder
        .run("evaluate --real real --synthetic real --rules real/truth.rules --out report")
        .exits(0);
    let page = folder.read("report/report.html");
    assert!(page.contains("may have been seen too"), "nothing is said to be private");
    assert!(page.contains("Many synthetic records have exactly the codes of a real one"));
    assert!(!page.contains("A few records"), "no real record is shown");
}

#[test]
fn tiny_and_empty_cohorts() {
    let folder = with_cohorts();
    folder.write("empty.jsonl", "");
    folder
        .run("evaluate --real real --synthetic empty.jsonl --out report")
        .refuses(&["no records in the file", "--> empty.jsonl"]);
    folder.write("one.jsonl", "{\"id\":1,\"static\":[\"SEX//F\"],\"visits\":[[]]}\n");
    folder.run("evaluate --real real --synthetic one.jsonl --out report").exits(0);
    let page = folder.read("report/report.html");
    assert!(page.contains("This cannot be measured: no synthetic record has two encounters"));
    assert!(page.contains("no rules were given"));
    assert!(!page.contains("NaN") && !page.contains(">inf"), "no figure that is none");
    folder.write("odd.rules", "rule odd: NO//SUCH//CODE => END");
    folder
        .run("evaluate --real real --synthetic other --rules odd.rules --out second")
        .refuses(&["NO//SUCH//CODE", "--allow-unknown"]);
    assert!(!folder.path("second").exists(), "nothing half-written");
}

#[test]
fn dates_are_held_against_each_other() {
    let folder = Folder::new();
    // Two visits a patient, on two Mondays: a week apart, or two weeks.
    let rows = |second: &str, first_id: usize| {
        let visits = |id: usize| format!("{id},2024-01-01,A\n{id},2024-01-{second},B\n");
        let patients = (first_id..first_id + 60).map(visits);
        format!("subject_id,time,code\n{}", patients.collect::<String>())
    };
    for (name, text) in [("real", rows("08", 0)), ("other", rows("15", 500))] {
        folder.write(&format!("{name}.csv"), text);
        folder.run(&format!("import csv {name}.csv --out {name}")).exits(0);
    }
    let ran = folder.run("evaluate --real real --synthetic other --out report").exits(0);
    ran.prints("days between visits").prints("  after A").prints("weekdays, total variation");
    let page = folder.read("report/report.html");
    for part in [
        "Are dates, ages and values like real ones?",
        "Days between visits are spread as in real records",
        "Nothing happens after a patient&#39;s death or before birth",
        "Weekdays",
    ] {
        assert!(page.contains(part) || page.contains(&part.replace("&#39;", "'")), "no `{part}`");
    }
    let metrics: Value = serde_json::from_str(&folder.read("report/metrics.json")).expect("JSON");
    let days = &metrics["timing"]["days_between_visits"];
    assert_eq!((&days["ks"], &days["other_ks"]), (&1.0.into(), &0.0.into()));
    assert_eq!(days["real"]["quartiles"], serde_json::json!([7.0, 7.0, 7.0]));
    assert_eq!(metrics["timing"]["days_after"][0]["code"], "A");
    assert_eq!(metrics["timing"]["weekdays"]["total_variation"], 0.0);
    assert_eq!(metrics["timing"]["weekdays"]["rows"][0]["synthetic"], 120);

    // Without dates the report says so, and tells the rest.
    folder.write("plain.jsonl", "{\"id\":1,\"static\":[],\"visits\":[[\"A\"],[\"B\"]]}\n");
    let ran = folder.run("evaluate --real real --synthetic plain.jsonl --out undated").exits(0);
    ran.prints("the synthetic records have no dates");
    assert!(folder.read("undated/report.html").contains("the synthetic records have no dates"));
}
