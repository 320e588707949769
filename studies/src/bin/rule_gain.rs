//! Prints nats of held-out records that break no rule, trained without rules and with those that are mined and those
//! of common sense: the same records for both, three seeds.
//!
//! `cargo run --release -p consequence-studies --bin rule_gain -- [SEEDS] [uci]`; the diabetes data take long, and are
//! left out unless named.

use std::process::ExitCode;

use consequence_studies::mining_splits::Subjects;
use consequence_studies::rule_gain::gain;
use consequence_train::Preset;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seeds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(3);
    match study(seeds, arguments.iter().any(|argument| argument == "uci")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn study(seeds: u64, uci: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut cohorts = vec![Subjects::Synthea, Subjects::Mimic3, Subjects::Mimic4, Subjects::Synpuf];
    if uci {
        cohorts = vec![Subjects::Uci];
    }
    println!("| cohort | seed | rules | held out | break none | nats without | with | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for subjects in cohorts {
        let Some(dataset) = subjects.load()? else {
            eprintln!("SKIPPED: {}: the data are not there", subjects.name());
            continue;
        };
        for seed in 1..=seeds {
            let found = gain(&dataset, Preset::default(), seed)?;
            let [all, valid] = found.records;
            let [without, with] = found.nats;
            println!(
                "| {} | {seed} | {} | {all} | {valid} | {without:.1} | {with:.1} | {:.4} |",
                subjects.name(),
                found.rules,
                with / without
            );
        }
    }
    Ok(())
}
