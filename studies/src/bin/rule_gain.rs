//! Prints nats of held-out records that break no rule, trained without rules and with those that are mined and those
//! of common sense: the same records for both, three seeds.
//!
//! `cargo run --release -p consequence-studies --bin rule_gain -- [SEEDS] [synthea] [mimic3] [mimic4] [synpuf]
//! [uci]`; all but the last, which takes long, if none is named.

use std::process::ExitCode;

use consequence_studies::mining_splits::Subjects;
use consequence_studies::rule_gain::gain;
use consequence_train::Preset;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seeds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(3);
    match study(seeds, &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

const COHORTS: [(&str, Subjects); 5] = [
    ("synthea", Subjects::Synthea),
    ("mimic3", Subjects::Mimic3),
    ("mimic4", Subjects::Mimic4),
    ("synpuf", Subjects::Synpuf),
    ("uci", Subjects::Uci),
];

fn study(seeds: u64, asked: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let named = |name: &str| asked.iter().any(|argument| argument == name);
    let any = COHORTS.iter().any(|(name, _)| named(name));
    let wanted = |name: &str| if any { named(name) } else { name != "uci" };
    println!("| cohort | seed | rules | held out | break none | nats without | with | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for (_, subjects) in COHORTS.into_iter().filter(|(name, _)| wanted(name)) {
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
