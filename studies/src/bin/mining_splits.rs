//! Mines ten splits of each cohort, and counts the rules that held-out records break.
//!
//! `mining_splits [SEED] [rules]`: the seed of the first split, 1 if not said. With `rules`, the rules
//! that are broken are listed, and those of the first split of Synthea.

use std::process::ExitCode;

use consequence_studies::mining_splits::{Outcome, Subjects, judge_split, mine_split};

const SPLITS: u64 = 10;
const COHORTS: [Subjects; 7] = [
    Subjects::Synthea,
    Subjects::Synpuf,
    Subjects::Uci,
    Subjects::Inpatients(5_000),
    Subjects::Outpatients(3_000),
    Subjects::Mimic3,
    Subjects::Mimic4,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1);
    match study(first, arguments.iter().any(|argument| argument == "rules")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn study(first: u64, listed: bool) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:32}{:>8}{:>18}{:>18}{:>10}{:>9}",
        "cohort", "splits", "certain, broken", "likely, broken", "frequent", "doubted"
    );
    let (mut all, mut demos) = (Outcome::default(), Outcome::default());
    for subjects in COHORTS {
        let Some(dataset) = subjects.load()? else { continue };
        let mut outcome = Outcome::default();
        for seed in first..first + SPLITS {
            outcome += judge_split(&dataset, seed)?;
        }
        row(&subjects.name(), &outcome);
        if listed {
            for (rule, times) in &outcome.broken {
                println!("    broken in {times}: {rule}");
            }
            if subjects == Subjects::Synthea {
                for rule in mine_split(&dataset, first)?.0.rules {
                    println!("    {:9}{} ({})", rule.class.name(), rule.statement, rule.evidence());
                }
            }
        }
        if subjects.is_demo() { demos += outcome } else { all += outcome }
    }
    row("all but the demos", &all);
    row("the demos", &demos);
    Ok(())
}

fn row(name: &str, outcome: &Outcome) {
    let broken = |[all, broken]: [usize; 2]| {
        format!("{all}, {broken} ({:.1}%)", 100.0 * broken as f64 / all.max(1) as f64)
    };
    println!(
        "{name:32}{:>8}{:>18}{:>18}{:>10}{:>9}",
        outcome.splits,
        broken(outcome.certain),
        broken(outcome.likely),
        outcome.frequent,
        outcome.doubted
    );
}
