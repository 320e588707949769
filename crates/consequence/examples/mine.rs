//! Finds rules in records, with the evidence for each.
//!
//! `cargo run -p consequence --release --example mine`

use consequence::mine::MineTask;
use consequence::simulate::{Preset, SimulateTask};
use consequence::{Task, Unwatched};

/// Prints the first rules of the file that mining writes.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let [cohort, rules] = ["cohort", "mined.rules"].map(|name| folder.path().join(name));
    let simulate =
        SimulateTask { patients: Some(3_000), ..SimulateTask::new(Preset::Inpatient, &cohort) };
    simulate.run(&Unwatched)?;
    print!("{}", MineTask::new(cohort, &rules).run(&Unwatched)?);
    let text = std::fs::read_to_string(rules)?;
    for line in text.lines().filter(|line| line.starts_with("rule ")).take(5) {
        println!("{line}");
    }
    assert!(text.contains("\nrule "));
    Ok(())
}
