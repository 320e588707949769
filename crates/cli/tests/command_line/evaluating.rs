//! Models and generated records measured, as a user does it.

use crate::common::Folder;
use crate::common::clinic::TRAIN;

#[test]
fn how_well_a_model_predicts() {
    let folder = Folder::with_model();
    let evaluate = "evaluate --perplexity model --real clinic/repaired.jsonl";
    let ran = folder.run(evaluate).exits(0);
    ran.prints("model on clinic/repaired.jsonl (held_out split), with 17 rules")
        .prints("perplexity ")
        .prints("nats: ");
    let figure = |options: &str| {
        let report = folder.run(&format!("{evaluate} --json {options}")).exits(0).json();
        (report["likelihood"]["nats_per_record"].as_f64().expect("a figure"), report)
    };
    let (own, report) = figure("");
    assert_eq!(report["likelihood"]["forbidden"], 0);
    assert!(report["paper"].is_null());
    assert_ne!(own, figure("--split train").0);
    let (alone, report) = figure("--no-rules");
    assert!(alone > own, "the model trained nothing where rules decide");
    assert_eq!(report["hard_rules"], 0);
    let same = figure("--rules clinic/clinic.rules").0;
    assert!((own - same).abs() < 1e-9);

    let train = format!("{TRAIN} paper --epochs 1 --train-mode paper");
    // A soft rule that could not be used later is refused before training.
    folder.write("early.rules", "rule early: SMOKER => ICD9CM//250 with probability 0.4");
    let early = train.replace("clinic/clinic.rules", "early.rules");
    folder.run(&early).refuses(&["--> early.rules", "--train-mode causal"]);
    let paper = evaluate.replace("model", "paper");
    folder
        .write("hard.rules", folder.read("clinic/clinic.rules").replace(" with probability", "#"));
    let train = train.replace("clinic/clinic.rules", "hard.rules");
    folder.run(&format!("{train} --accept-broken")).exits(0);
    let ran = folder.run(&paper).exits(0);
    ran.prints("not normalised, as the paper measures: ");
    folder.run("evaluate --perplexity none --real clinic/repaired.jsonl").refuses(&[
        "there is no such model",
        "--> none",
        "help",
    ]);
}

#[test]
fn how_close_records_come() {
    let folder = Folder::with_model();
    folder.run("generate model --records 500 --out new").exits(0);
    let evaluate = "evaluate --real clinic/repaired.jsonl --synthetic new";
    let ran = folder.run(&format!("{evaluate} --rules clinic/clinic.rules")).exits(0);
    ran.prints("new: 500 records, beside ")
        .prints("of clinic/repaired.jsonl (train split)")
        .prints("R2 of frequencies")
        .prints("fresh real records")
        .prints("some of them")
        .prints("encounters a record")
        .prints("SEX//F")
        .prints("100% valid (500 of 500 records) by 16 hard rules: 0 violations");
    let report = folder.run(&format!("{evaluate} --json")).exits(0).json();
    let all = &report["comparison"]["all"];
    assert!(all["code"]["r2"].as_f64() > Some(0.8), "{all}");
    assert_eq!(
        (&report["real"], &report["synthetic"]),
        (&"clinic/repaired.jsonl".into(), &"new".into())
    );
    assert!(report["fresh"]["real"]["code"]["r2"].as_f64() > Some(0.8), "{}", report["fresh"]);
    assert!(report["obedience"].is_null());
    // A cohort of any tool, with codes that the real one has not.
    folder.write(
        "odd.jsonl",
        "{\"id\":1,\"static\":[\"SEX//F\"],\"visits\":[[\"NEW\",\"PROC//dialysis\"]]}\n",
    );
    let odd =
        "evaluate --real clinic/repaired.jsonl --synthetic odd.jsonl --rules clinic/clinic.rules";
    folder.run(odd).exits(1).prints("0.00% valid (0 of 1 record)");
    folder.write("kind.jsonl", "{\"id\":1,\"static\":[\"SMOKER\"],\"visits\":[[]]}\n");
    let kind = "evaluate --real clinic/repaired.jsonl --synthetic kind.jsonl";
    folder.run(kind).refuses(&["`SMOKER` is static here", "--> kind.jsonl", "help"]);
    folder.run("evaluate --real clinic/repaired.jsonl").refuses(&["--perplexity"]);
    folder.write("odd.rules", "rule odd: NOBODY => SMOKER");
    let ran = folder.run(&format!("{evaluate} --rules odd.rules")).exits(2);
    assert!(
        !ran.err.contains("--vocabulary") && ran.err.contains("--allow-unknown"),
        "{}",
        ran.err
    );
}

#[test]
fn from_a_cohort_to_records_in_one_go() {
    let folder = Folder::new();
    folder.run("simulate inpatient --patients 400 --out cohort").exits(0);
    let synthesize = "synthesize cohort --records 200 --size tiny --epochs 1 --out all";
    let ran = folder.run(synthesize).exits(0);
    ran.prints("all: 200 records generated, after those of cohort")
        .prints("soft), proved")
        .prints("promised: none of 200 records breaks any of ")
        .prints("R2 of codes ")
        .prints("perplexity ");
    assert!(folder.read("all/summary.json").contains("\"likelihood\""));
    folder.run(synthesize).refuses(&["already there", "--> all", "--force"]);
    let model = folder.read("all/model/model.json");
    std::fs::remove_dir_all(folder.path("all/synthetic")).expect("it goes");
    folder.run(&format!("{synthesize} --resume")).exits(0);
    assert_eq!(folder.read("all/model/model.json"), model);

    folder.write("rows.csv", "subject_id,time,code\n");
    folder.run("synthesize rows.csv --from csv --out rows").exits(2);
    folder.run("export cohort jsonl --out cohort.jsonl").exits(0);
    let imported = "synthesize cohort.jsonl --from jsonl --records 50 --generator markov --out new";
    folder.run(imported).exits(0).prints("new: 50 records generated, after those of new/cohort");
    folder.run(&format!("{imported} --resume")).exits(0);
    folder.write("other.jsonl", folder.read("cohort.jsonl"));
    let other = imported.replace("cohort.jsonl", "other.jsonl");
    for differs in [&other, &format!("{imported} --seed 2")] {
        let refused = ["another source or with other options", "--> new/task.json", "--force"];
        folder.run(&format!("{differs} --resume")).refuses(&refused);
    }
    folder.run(&format!("{other} --resume --force")).exits(0);
    folder.run(&format!("{other} --resume")).exits(0);
}

#[test]
fn nobody_is_held_out() {
    let folder = Folder::new();
    let ids = (0..60).map(|id| id.to_string());
    let kept = ids.filter(|id| consequence::Split::of(id) != consequence::Split::HeldOut);
    let line = |id| format!("{{\"id\":\"{id}\",\"static\":[],\"visits\":[[\"A\"],[\"B\"]]}}\n");
    folder.write("few.jsonl", kept.map(line).collect::<String>());
    let ran = folder.run("synthesize few.jsonl --generator markov --out all").exits(0);
    ran.prints("nobody is in the held-out split");
    assert!(folder.read("all/summary.json").contains("\"likelihood\": null"));
    folder.write("odd.rules", "rule odd: NOBODY => A");
    let ran = folder.run("synthesize few.jsonl --rules odd.rules --out odd").exits(2);
    assert!(
        !ran.err.contains("--vocabulary") && ran.err.contains("--allow-unknown"),
        "{}",
        ran.err
    );
}
