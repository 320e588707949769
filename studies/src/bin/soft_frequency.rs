//! How often soft rules hold, over a million draws each.

use std::process::ExitCode;

use consequence_studies::soft_frequency::frequencies;

fn main() -> ExitCode {
    let mut far = 0;
    println!("{:<40}{:>9}{:>12}{:>8}", "rule", "expected", "observed", "z");
    for frequency in frequencies(1_000_000, 41) {
        let (observed, score) = (frequency.observed(), frequency.score());
        println!("{:<40}{:>9.2}{observed:>12.6}{score:>8.2}", frequency.name, frequency.expected);
        far += u64::from(score.abs() > 3.0);
    }
    println!("{far} beyond three standard errors");
    if far == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
