//! Finds rules in records, with the evidence for each.
//!
//! `cargo run -p consequence --release --example mine`

use consequence::Unwatched;
use consequence::mine::{MineOptions, mine};
use consequence::simulate::{Preset, SimulateOptions, simulate};

/// Prints the first rules of the file that mining writes.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let [cohort, rules] = ["cohort", "mined.rules"].map(|name| folder.path().join(name));
    let options = SimulateOptions {
        preset: Preset::Inpatient,
        patients: Some(3_000),
        out: cohort.clone(),
        force: false,
        seed: 1,
    };
    simulate(&options, &Unwatched)?;
    let options = MineOptions { cohort, out: rules.clone(), ..MineOptions::default() };
    print!("{}", mine(&options, &Unwatched)?);
    let text = std::fs::read_to_string(rules)?;
    for line in text.lines().filter(|line| line.starts_with("rule ")).take(5) {
        println!("{line}");
    }
    assert!(text.contains("\nrule "));
    Ok(())
}
