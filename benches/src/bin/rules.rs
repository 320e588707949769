//! Prints what rules cost, beside what they should cost.
//!
//! `cargo run --release -p consequence-benches --bin rules -- [--json] [NAME...]`, where the names
//! are those of the first column; all of them if none is given.

use consequence_benches::generator::Shape;
use consequence_benches::preparation::{Prepared, prepare};
use consequence_benches::running::{Effort, Running, run};
use consequence_benches::timing::{Times, interleaved, peak_memory};
use consequence_benches::workload::Workload;
use serde_json::{Value, json};

const SEED: u64 = 11;
const MICROSECOND: f64 = 1e-6;
const MEGABYTE: f64 = 1024.0 * 1024.0;

struct Case {
    name: &'static str,
    /// `None` for the published rules.
    shape: Option<Shape>,
    /// Seconds that compiling and proving may take.
    compile_target: Option<f64>,
    /// Microseconds a visit that each way of keeping rules may take.
    visit_target: f64,
    /// What to measure at run time, if anything.
    effort: Option<Effort>,
}

const CASES: [Case; 5] = [
    Case {
        name: "published",
        shape: None,
        compile_target: Some(0.05),
        visit_target: 0.5,
        effort: Some(Effort { records: 250, repeats: 61, judged: 250 }),
    },
    Case {
        name: "2k-10k",
        shape: Some(Shape { codes: 2_000, statics: 500, rules: 10_000 }),
        compile_target: Some(10.0),
        visit_target: 10.0,
        effort: None,
    },
    Case {
        name: "2k-100k",
        shape: Some(Shape { codes: 2_000, statics: 500, rules: 100_000 }),
        compile_target: None,
        visit_target: 10.0,
        effort: Some(Effort { records: 200, repeats: 61, judged: 20 }),
    },
    Case {
        name: "50k-100k",
        shape: Some(Shape { codes: 50_000, statics: 2_000, rules: 100_000 }),
        compile_target: Some(300.0),
        visit_target: 10.0,
        effort: None,
    },
    Case {
        name: "50k-500k",
        shape: Some(Shape { codes: 50_000, statics: 2_000, rules: 500_000 }),
        compile_target: None,
        visit_target: 10.0,
        effort: Some(Effort { records: 25, repeats: 61, judged: 5 }),
    },
];

fn main() {
    let (flags, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let json = match flags.as_slice() {
        [] => false,
        [flag] if flag == "--json" => true,
        _ => {
            eprintln!("usage: rules [--json] [NAME...]");
            std::process::exit(2);
        }
    };
    let mut rows = Vec::new();
    for case in CASES {
        if !names.is_empty() && !names.iter().any(|name| name == case.name) {
            continue;
        }
        let workload = match case.shape {
            Some(shape) => Workload::generated(shape, SEED),
            None => match Workload::published() {
                Some(workload) => workload,
                None => continue,
            },
        };
        let prepared = prepare(&workload.rules);
        let compile = compile_times(&workload, &prepared);
        if !json {
            print_preparation(&case, &workload, &prepared, compile);
        }
        let running = case.effort.map(|effort| run(&workload, &prepared.plan, effort));
        if let (false, Some(running)) = (json, &running) {
            print_running(running, case.visit_target);
        }
        rows.push(row(&case, &workload, &prepared, compile, running.as_ref()));
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&rows).expect("numbers and names"));
    }
}

/// Compiling again where it is quick enough, for a median; the one time it took where it is not.
fn compile_times(workload: &Workload, prepared: &Prepared) -> Times {
    let once = prepared.compile_seconds;
    if once > 1.0 {
        return Times { median: once, minimum: once };
    }
    let [times] = interleaved(
        11,
        [&mut || {
            std::hint::black_box(prepare(&workload.rules));
        }],
    );
    times.times()
}

fn print_preparation(case: &Case, workload: &Workload, prepared: &Prepared, compile: Times) {
    let plan = &prepared.plan;
    println!(
        "{}: {} rules over {} codes, {} clauses in the plan, {} statements proved",
        case.name,
        workload.rules.len(),
        workload.rules.vocabulary().len(),
        plan.clauses().len(),
        plan.proof().goals,
    );
    line("compile and prove", compile, 1e-3, "ms", case.compile_target);
    let enforcer = prepared.enforcer_seconds;
    let enforcer = Times { median: enforcer, minimum: enforcer };
    line("prepare to enforce", enforcer, 1e-3, "ms", None);
    let memory = prepared.enforcer_bytes as f64 / MEGABYTE;
    println!("  {:<34}{memory:>12.2} MB{:>24}", "enforcer's memory", "target 64 MB");
    if let Some(peak) = peak_memory() {
        println!(
            "  {:<34}{:>12.0} MB",
            "peak memory of the process so far",
            peak as f64 / MEGABYTE
        );
    }
}

fn print_running(running: &Running, visit_target: f64) {
    let target = Some(visit_target * MICROSECOND);
    let microseconds = |name: &str, times, target| line(name, times, MICROSECOND, "us", target);
    microseconds("override", running.overridden, target);
    microseconds("audit, as proposed", running.audit_proposed, target);
    microseconds("audit, as repaired", running.audit_repaired, target);
    microseconds("guided adds", running.guided_adds, target);
    microseconds("  guided", running.guided, None);
    microseconds("  walk without rules, own order", running.walk_own_order, None);
    microseconds("  walk without rules, rules' order", running.walk_same_order, None);
    microseconds("  a loop that only draws", running.bare_loop, None);
    microseconds("referee", running.referee, None);
    microseconds("  asking every rule", running.every_rule, None);
    let [proposed, mended, drawn] = running.encounters;
    println!(
        "  encounters a repeat, codes in each: {proposed} of 14 proposed; {mended} of {:.1} overridden; \
         {drawn} of {:.1} guided",
        running.codes_overridden, running.codes_guided
    );
    println!(
        "  violations: {:.2} an encounter as proposed; {} in {} enforced visits, by the referee\n",
        running.violations_before, running.violations, running.judged
    );
}

fn line(name: &str, times: Times, unit: f64, unit_name: &str, target: Option<f64>) {
    let target = target.map_or(String::new(), |target| {
        let verdict = if times.median <= target { "met" } else { "MISSED" };
        format!("target {} {unit_name}  {verdict}", target / unit)
    });
    let (median, minimum) = (times.median / unit, times.minimum / unit);
    println!("  {name:<34}{median:>12.3} {unit_name}  min {minimum:>12.3}   {target}");
}

fn row(
    case: &Case,
    workload: &Workload,
    prepared: &Prepared,
    compile: Times,
    running: Option<&Running>,
) -> Value {
    let times = |times: Times| json!({"median": times.median, "minimum": times.minimum});
    json!({
        "name": case.name,
        "rules": workload.rules.len(),
        "codes": workload.rules.vocabulary().len(),
        "clauses": prepared.plan.clauses().len(),
        "goals": prepared.plan.proof().goals,
        "compile_seconds": times(compile),
        "compile_target_seconds": case.compile_target,
        "enforcer_seconds": prepared.enforcer_seconds,
        "enforcer_bytes": prepared.enforcer_bytes,
        "peak_bytes": peak_memory(),
        "seconds_per_encounter": running.map(|running| json!({
            "override": times(running.overridden),
            "audit_proposed": times(running.audit_proposed),
            "audit_repaired": times(running.audit_repaired),
            "guided_adds": times(running.guided_adds),
            "referee": times(running.referee),
            "every_rule": times(running.every_rule),
            "guided": times(running.guided),
            "walk_own_order": times(running.walk_own_order),
            "walk_same_order": times(running.walk_same_order),
            "bare_loop": times(running.bare_loop),
        })),
        "encounters": running.map(|running| running.encounters),
        "codes_overridden": running.map(|running| running.codes_overridden),
        "codes_guided": running.map(|running| running.codes_guided),
        "violations_before": running.map(|running| running.violations_before),
        "judged_visits": running.map(|running| running.judged),
        "violations": running.map(|running| running.violations),
    })
}
