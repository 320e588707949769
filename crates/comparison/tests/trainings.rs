//! Several trainings of each method, and two networks, on a cohort of a few codes.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use consequence::train::{DeviceChoice, NetworkKind, NetworkTask, Precision, Preset, Size};
use consequence_comparison::{ComparisonReport, ComparisonTask, Effort, Method, Verdict};
use consequence_pipeline::{Out, Task, Unwatched, Watch};
use serde_json::Value;

/// Two methods on two networks, each trained twice; five generations.
fn task(folder: &Path, out: &str) -> ComparisonTask {
    let [cohort, rules] = ["cohort.jsonl", "a.rules"].map(|name| folder.join(name));
    let line = |n: usize| {
        let (second, third) = (if n.is_multiple_of(3) { "\"B\"" } else { "\"C\"" }, n % 7);
        format!(
            "{{\"id\": {n}, \"static\": [], \"visits\": [[\"A\", {second}], [\"A\", \"D{third}\"]]}}\n"
        )
    };
    std::fs::write(&cohort, (0..120).map(line).collect::<String>()).expect("a cohort");
    std::fs::write(&rules, "rule lifelong: A in previous => A\nrule apart: B => not C")
        .expect("rules");
    let mut halo = NetworkTask::of(Preset::new(NetworkKind::Halo, Size::Tiny).expect("a preset"));
    halo.options.epochs = 1;
    let mut task = ComparisonTask {
        rules: vec![rules],
        methods: vec![Method::Vanilla, Method::PostProcessing, Method::Consequence],
        also: Some(halo),
        ..ComparisonTask::new(cohort, folder.join(out)).quick()
    };
    task.network.options.epochs = 1;
    task.effort =
        Effort { trainings: 2, runs: 5, records: 30, deep_runs: 1, train_records: Some(80) };
    task
}

/// What was found, but for what it took.
fn lasting(report: &ComparisonReport) -> Value {
    fn untimed(value: &mut Value) {
        const TIMED: [&str; 6] = [
            "seconds",
            "seconds_per_epoch",
            "milliseconds",
            "times_vanilla",
            "median_times_vanilla",
            "findings",
        ];
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !TIMED.contains(&name.as_str()));
                fields.values_mut().for_each(untimed);
            }
            Value::Array(items) => items.iter_mut().for_each(untimed),
            _ => {}
        }
    }
    let mut found = serde_json::to_value(report).expect("JSON");
    for name in ["report", "metrics"] {
        found[name] = Value::Null;
    }
    untimed(&mut found);
    found
}

/// Stops once a line has been said, and remembers all lines.
struct Stopping {
    after: &'static str,
    stop: AtomicBool,
    said: Mutex<Vec<String>>,
}

impl Stopping {
    fn after(after: &'static str) -> Self {
        Self { after, stop: AtomicBool::new(false), said: Mutex::default() }
    }

    fn said(&self, part: &str) -> usize {
        let said = self.said.lock().expect("no panic");
        said.iter().filter(|line| line.contains(part)).count()
    }
}

impl Watch for Stopping {
    fn begin(&self, _task: &str, _total: Option<u64>) {}
    fn advance(&self, _steps: u64) {}
    fn finish(&self) {}

    fn stage(&self, text: &str) {
        if !self.after.is_empty() && text.starts_with(self.after) {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.said.lock().expect("no panic").push(text.to_owned());
    }

    fn wants_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[test]
fn figures_say_how_many_trainings_and_generations_are_behind_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = task(folder.path(), "done").run(&Unwatched).expect("compared");
    let names: Vec<(&str, &str)> =
        report.methods.iter().map(|one| (one.method, one.network)).collect();
    let here = ["vanilla", "post-processing", "consequence"].map(|name| (name, "recurrent"));
    assert_eq!(names[..3], here);
    assert_eq!(names[3..], [("vanilla", "halo"), ("consequence", "halo")]);
    assert_eq!(report.methods[3].title, "Vanilla, HALO network");
    for method in &report.methods {
        let r2 = method.generation.r2[0].expect("frequencies");
        assert_eq!((r2.trainings, r2.runs), (2, 5));
        let seeds: Vec<u64> = method.trainings.iter().map(|once| once.seed).collect();
        assert_eq!(seeds, [1, 2]);
        assert_eq!((method.deep.trainings, method.deep.runs), (1, 1));
        let perplexity = method.over_trainings.perplexity;
        assert_eq!(perplexity.is_none(), method.method == "post-processing");
        // With two trainings: 12.7 standard errors, which are half of what they are apart.
        let Some(perplexity) = perplexity else { continue };
        let each: Vec<f64> = method
            .trainings
            .iter()
            .map(|once| once.prediction.as_ref().and_then(|found| found.perplexity).expect("one"))
            .collect();
        assert!(each[0] != each[1], "another seed is another network");
        let width = 12.706204736174694 * (each[0] - each[1]).abs() / 2.0;
        assert!((perplexity.half_width.expect("a width") - width).abs() < 1e-9);
    }
    // The verdict is what the two intervals say.
    let [plain, ours] = [0, 2].map(|at| {
        let found = report.methods[at].over_trainings.perplexity.expect("a figure");
        let width = found.half_width.expect("a width");
        [found.mean - width, found.mean + width]
    });
    let verdict = match (ours[1] < plain[0], plain[1] < ours[0]) {
        (true, _) => Verdict::Confirmed,
        (_, true) => Verdict::Contradicted,
        _ => Verdict::Unclear,
    };
    let claim = "Consequence has a lower perplexity than vanilla";
    let finding = report.findings.iter().find(|one| one.claim == claim).expect("the finding");
    assert_eq!(finding.verdict, verdict, "{}", finding.here);
    // The networks of vanilla are those of post-processing.
    let [plain, thrown] = [0, 1].map(|at| &report.methods[at].trainings[1].training);
    assert_eq!(plain, thrown);
    assert_eq!(report.gains.len(), 5);
    assert_eq!(report.gains[0].networks.map(|one| one.network), ["recurrent", "halo"]);
    let text = report.to_string();
    assert!(text.contains("2 trainings and 5 generations of 30 records in all"), "{text}");
    assert!(text.contains("on the HALO network"), "{text}");
    let page = std::fs::read_to_string(folder.path().join("done/report.html")).expect("a page");
    for part in [
        "Consequence, HALO network",
        "Means and 95% intervals (Student&#39;s t) over 2 trainings with 5 generations in all.",
        "Means and 95% intervals (Student&#39;s t) over 2 trainings.",
        "What rules gain on each network",
    ] {
        assert!(page.contains(part), "no `{part}`");
    }
}

#[test]
fn stopped_between_two_trainings_and_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = task(folder.path(), "whole").run(&Unwatched).expect("compared");
    let mut stopped = task(folder.path(), "stopped");
    // The last of the first trainings; then a generation of the second ones.
    for after in ["Consequence, HALO network, seed 1: epoch", "Vanilla: generation 2"] {
        let watch = Stopping::after(after);
        let error = stopped.run(&watch).expect_err("it was stopped");
        assert!(error.to_string().contains("what is done is kept"), "{error}");
        stopped.out = Out::new(&stopped.out.path).resuming(true);
    }
    let watch = Stopping::after("");
    let resumed = stopped.run(&watch).expect("resumed");
    assert_eq!(watch.said("epoch"), 0, "nothing is trained again");
    assert_eq!(watch.said("Vanilla: generation 2 of 5 measured"), 0, "nor generated");
    assert_eq!(lasting(&resumed), lasting(&whole));
}

#[test]
fn with_one_training_intervals_are_over_generations() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut task = task(folder.path(), "once");
    (task.also, task.effort.trainings) = (None, 1);
    let report = task.run(&Unwatched).expect("compared");
    assert!(report.gains.is_empty());
    let vanilla = &report.methods[0];
    let r2 = vanilla.generation.r2[0].expect("frequencies");
    assert_eq!((r2.trainings, r2.runs, r2.half_width.is_some()), (1, 5, true));
    let perplexity = vanilla.over_trainings.perplexity.expect("a figure");
    assert_eq!((perplexity.trainings, perplexity.half_width), (1, None));
    let text = report.to_string();
    assert!(text.contains("intervals (95%, Student's t) are over generations alone"), "{text}");
    let page = std::fs::read_to_string(folder.path().join("once/report.html")).expect("a page");
    assert!(page.contains("Of one training, so without an interval."));
    assert!(page.contains("from one trained network"));
}

#[test]
fn what_makes_no_sense_together_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = task(folder.path(), "never");
    let refused = |task: ComparisonTask, part: &str| {
        let error = task.run(&Unwatched).expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    };
    let effort = Effort { trainings: 6, ..base.effort };
    refused(ComparisonTask { effort, ..base.clone() }, "not every network would generate");
    let also = Some(base.network.clone());
    refused(ComparisonTask { also, ..base.clone() }, "on the recurrent network already");
    let methods = vec![Method::Spl];
    refused(ComparisonTask { methods, ..base.clone() }, "neither vanilla nor consequence");
    assert!(!folder.path().join("never").exists());
}

#[test]
fn every_method_takes_the_learning_rate_that_suits_it_best() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut task = task(folder.path(), "chosen");
    task.rates = vec![0.01, 1.0, 4.0];
    let watch = Stopping::after("Consequence, learning rate 0.006");
    task.run(&watch).expect_err("it was stopped");
    task.out = Out::new(&task.out.path).resuming(true);
    let report = task.run(&Unwatched).expect("compared");
    for method in &report.methods {
        let usual = if method.network == "halo" { 0.003 } else { 0.006 };
        let rates: Vec<f32> = method.tried_rates.iter().map(|tried| tried.rate).collect();
        assert_eq!(rates, [0.01, 1.0, 4.0].map(|times| usual * times));
        let nats = method.tried_rates.iter().map(|tried| tried.tuning_nats);
        let best = nats.fold(f64::INFINITY, f64::min);
        let taken = method.tried_rates.iter().find(|tried| tried.rate == method.rate);
        assert_eq!(taken.map(|tried| tried.tuning_nats), Some(best));
        // The training that was chosen is the first that counts.
        assert_eq!(method.training.epochs[0].tuning_nats, best);
        // Of one epoch so slow that nothing moves, none is the best.
        assert_ne!(method.rate, usual * 0.01);
    }
    let page = std::fs::read_to_string(folder.path().join("chosen/report.html")).expect("a page");
    for part in ["Learning rates", "at the usual rate", "at 4 times that"] {
        assert!(page.contains(part), "no `{part}`");
    }
    task.rates = vec![0.0];
    let error = task.run(&Unwatched).expect_err("no rate");
    assert_eq!(error.to_string(), "a learning rate cannot be 0 times the usual one");
}

/// Methods that a GPU can draw for are drawn there when it was chosen; says `SKIPPED` where there is none.
#[test]
fn records_are_drawn_where_networks_train() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = DeviceChoice::Cuda(0);
    if let Err(error) = device.find_all(Precision::Full) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let mut task = ComparisonTask { also: None, device, ..task(folder.path(), "on-gpu") };
    task.methods.push(Method::Published);
    task.effort = Effort { trainings: 1, runs: 1, ..task.effort };
    let report = task.run(&Unwatched).expect("a report");
    let drawn_on_gpu: Vec<(&str, bool)> = report
        .methods
        .iter()
        .map(|one| (one.method, one.generation.drawn_by[0].starts_with("a GPU")))
        .collect();
    assert_eq!(
        drawn_on_gpu,
        [
            ("vanilla", true),
            ("post-processing", false),
            ("consequence", true),
            ("published", false)
        ]
    );
    let page = std::fs::read_to_string(&report.report).expect("a page");
    assert!(page.contains("Drawn by the CPU, but for "), "it is told");
}
