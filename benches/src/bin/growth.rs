//! Prints how the cost of keeping rules grows with visits, codes and rules, beside the paper's way.
//!
//! `cargo run --release -p consequence-benches --bin growth -- [--short] [--json]`. With `--short`
//! it takes the first two values of each sweep and measures them badly, to see that all works. It
//! fails if a rule is broken, or if override and the paper's pass do not leave the same visits.

use consequence_benches::growth::{Effort, Exponents, Judgement, Point, Sweep, exponents, measure};
use consequence_benches::timing::Times;
use serde_json::{Value, json};

const FULL: Effort = Effort { encounters: 2_048, repeats: 61, judged: 1_024 };
const SHORT: Effort = Effort { encounters: 64, repeats: 3, judged: 64 };
const SHORT_VALUES: usize = 2;
const MICROSECOND: f64 = 1e-6;

/// A name and what it is called in JSON.
type Way = (&'static str, &'static str, fn(&Point) -> Times);

const WAYS: [Way; 3] = [
    ("override", "ours_override", |point| point.ours_override),
    ("guided adds", "ours_guided", |point| point.ours_guided),
    ("paper's", "paper", |point| point.paper),
];

fn main() {
    let (mut json, mut short) = (false, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            "--short" => short = true,
            _ => {
                eprintln!("usage: growth [--short] [--json]");
                std::process::exit(2);
            }
        }
    }
    let (mut rows, mut fits, mut wrong) = (Vec::new(), Vec::new(), 0);
    for sweep in Sweep::ALL {
        let values = sweep.values();
        let points = match short {
            true => measure(sweep, &values[..SHORT_VALUES], SHORT),
            false => measure(sweep, values, FULL),
        };
        if !json {
            print(sweep, &points);
        }
        wrong += points.iter().map(|point| faults(&point.judgement)).sum::<usize>();
        rows.extend(points.iter().map(|point| row(sweep, point)));
        fits.push(fit(sweep, &points));
    }
    if json {
        println!("{:#}", json!({"points": rows, "exponents": fits}));
    }
    if wrong > 0 {
        eprintln!("{wrong} violations or differences: the ways did not do the same work");
        std::process::exit(1);
    }
}

fn faults(judgement: &Judgement) -> usize {
    let Judgement { ours_override, ours_guided, paper, different, .. } = judgement;
    ours_override + ours_guided + paper + different
}

fn print(sweep: Sweep, points: &[Point]) {
    println!("{}: {}", sweep.name(), sweep.fixed());
    let titles = WAYS.map(|(title, ..)| format!("{title:>13}")).concat();
    println!(
        "{:>10}{titles}{:>13}{:>9}{:>22}{:>8}",
        "us a visit", "(walk)", "groups", "violations before", "after"
    );
    points.iter().for_each(print_point);
    print_exponents(points);
}

fn print_point(point: &Point) {
    let times =
        WAYS.map(|(_, _, way)| format!("{:>13.3}", way(point).median / MICROSECOND)).concat();
    let judgement = &point.judgement;
    let before = judgement.proposed as f64 / judgement.encounters.max(1) as f64;
    println!(
        "{:>10}{times}{:>13.2}{:>9}{:>13.2} a visit{:>9}",
        point.x,
        point.walk.median / MICROSECOND,
        point.groups,
        before,
        faults(judgement)
    );
}

fn print_exponents(points: &[Point]) {
    let all = WAYS.map(|(_, _, way)| exponents(points, way));
    let line = |name: &str, which: fn(&Exponents) -> Option<f64>| {
        let cells = all.each_ref().map(|way| match which(way) {
            Some(exponent) => format!("{exponent:>13.2}"),
            None => format!("{:>13}", "none"),
        });
        println!("{name:>10}{}", cells.concat());
    };
    line("exponent", |way| way.fitted);
    line("at the end", |way| way.last);
    println!();
}

fn row(sweep: Sweep, point: &Point) -> Value {
    let judgement = &point.judgement;
    json!({
        "sweep": sweep.name(),
        "x": point.x,
        "ours_override_us": point.ours_override.median / MICROSECOND,
        "ours_guided_us": point.ours_guided.median / MICROSECOND,
        "paper_us": point.paper.median / MICROSECOND,
        "walk_us": point.walk.median / MICROSECOND,
        "fastest_us": {
            "ours_override": point.ours_override.minimum / MICROSECOND,
            "ours_guided": point.ours_guided.minimum / MICROSECOND,
            "paper": point.paper.minimum / MICROSECOND,
            "walk": point.walk.minimum / MICROSECOND,
        },
        "paper_groups": point.groups,
        "judged_encounters": judgement.encounters,
        "violations": {
            "proposed": judgement.proposed,
            "ours_override": judgement.ours_override,
            "ours_guided": judgement.ours_guided,
            "paper": judgement.paper,
        },
        "records_left_different": judgement.different,
    })
}

fn fit(sweep: Sweep, points: &[Point]) -> Value {
    let mut fit = json!({"sweep": sweep.name()});
    for (_, name, way) in WAYS {
        let Exponents { fitted, last } = exponents(points, way);
        fit[name] = json!({"fitted": fitted, "last": last});
    }
    fit
}
