//! Mined and expert rules on the real diabetes cohort and on synthetic claims: who breaks what.

use std::process::ExitCode;

use consequence_record::Split;
use consequence_studies::real_rules::lines;

fn main() -> ExitCode {
    let Some(lines) = lines() else {
        println!("skipped: the data are not beside this workspace");
        return ExitCode::SUCCESS;
    };
    let lines = match lines {
        Ok(lines) => lines,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    println!(
        "{:<9}{:<20}{:<10}{:>6}{:>9}{:>8}{:>12}{:>9}{:>9}",
        "rules", "cohort", "split", "rules", "records", "broken", "violations", "invalid", "%"
    );
    for line in &lines {
        let share = 100.0 * line.invalid as f64 / line.records as f64;
        println!(
            "{:<9}{:<20}{:<10}{:>6}{:>9}{:>8}{:>12}{:>9}{share:>9.3}",
            line.rules_from,
            line.cohort,
            line.split.map_or("all", Split::name),
            line.rules,
            line.records,
            line.broken,
            line.violations,
            line.invalid,
        );
    }
    ExitCode::SUCCESS
}
