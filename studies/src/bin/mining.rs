//! Mines simulated cohorts of ten seeds that were not looked at while the miner was made.
//!
//! `mining [SEED]`: the first seed, 201 if not said. Cohorts of two sizes with the default cut-offs,
//! the paper's, and small ones again with cut-offs so low that counts alone make rules up.

use std::process::ExitCode;

use consequence_mine::MineOptions;
use consequence_simulate::Preset;
use consequence_studies::mining::{Outcome, low_cutoffs, mine_simulated};

const COHORTS: u64 = 10;
const SIZES: [(Preset, usize, bool); 6] = [
    (Preset::Inpatient, 46_520, false),
    (Preset::Inpatient, 5_000, false),
    (Preset::Inpatient, 5_000, true),
    (Preset::Outpatient, 50_000, false),
    (Preset::Outpatient, 3_000, false),
    (Preset::Outpatient, 3_000, true),
];

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let Ok(first) = argument.map_or(Ok(201), |number| number.replace('_', "").parse::<u64>())
    else {
        eprintln!("usage: mining [SEED]");
        return ExitCode::from(2);
    };
    let mut holds = true;
    for (preset, patients, low) in SIZES {
        let cutoffs = low.then(low_cutoffs);
        let careful = MineOptions { cutoffs, ..MineOptions::default() };
        let careless = MineOptions { cutoffs, ..MineOptions::counts_alone() };
        println!("{preset}, {patients} records, {} cut-offs", if low { "low" } else { "default" });
        println!(
            "{:>6}{:>9}{:>6}{:>11}{:>9}{:>11}{:>11}{:>9}{:>7}{:>7}{:>13}",
            "seed",
            "planted",
            "few",
            "by chance",
            "doubted",
            "supported",
            "recovered",
            "implied",
            "hard",
            "soft",
            "not implied"
        );
        let (mut total, mut by_counts) = (Outcome::default(), Outcome::default());
        for seed in first..first + COHORTS {
            let outcome = mine_simulated(preset, patients, seed, &careful);
            row(&seed.to_string(), &outcome);
            for (what, rules) in [
                ("missed", &outcome.missed),
                ("doubted", &outcome.doubts),
                ("wrong", &outcome.wrong),
            ] {
                for rule in rules {
                    println!("         {what}: {rule}");
                }
            }
            total += outcome;
            by_counts += mine_simulated(preset, patients, seed, &careless);
        }
        row("all", &total);
        println!("do not follow from the truth: {}", wrong(&total));
        println!("  with the same cut-offs and no other evidence: {}\n", wrong(&by_counts));
        holds &= total.holds();
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many of the hard rules are wrong.
fn wrong(outcome: &Outcome) -> String {
    let (wrong, hard) = (outcome.wrong.len(), outcome.hard);
    format!("{wrong} of {hard} hard rules, {:.2}%", 100.0 * wrong as f64 / hard.max(1) as f64)
}

fn row(name: &str, outcome: &Outcome) {
    let Outcome { planted, few, by_chance, doubted, supported, recovered, implied, .. } = outcome;
    println!(
        "{name:>6}{planted:>9}{few:>6}{by_chance:>11}{doubted:>9}{supported:>11}{recovered:>11}{implied:>9}{:>7}{:>7}{:>13}",
        outcome.hard,
        outcome.soft,
        outcome.wrong.len()
    );
}
