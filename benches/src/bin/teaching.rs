//! Prints what rules cost while a network trains: what they decide of each visit, worked out on the CPU, and how much
//! longer an epoch takes.
//!
//! `cargo run --release -p consequence-benches --bin teaching -- [--short | PATIENTS]`. Simulated outpatients, the default
//! network; the rules of the simulation, rules that were mined from its records, and those of a simulation with days and
//! values. Where a GPU is found, or what stands for one (`make gpu-test` builds it), batches are laid out for it as well.

use consequence_benches::teaching::{Workload, cost, epochs, extrapolate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1);
    let (patients, trained, repeats) = match argument.as_deref() {
        Some("--short") => (200, 50, 1),
        Some(patients) => (patients.replace('_', "").parse()?, 1_000, 5),
        None => (5_000, 1_000, 5),
    };
    println!("{patients} outpatients; microseconds a visit on one core; codes that rules settle\n");
    println!(
        "{:<26}{:>7}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "rules", "number", "without", "taught", "scored", "added", "settled"
    );
    let all = [
        Workload::simulated(patients)?,
        Workload::mined(patients)?,
        Workload::with_days(patients)?,
    ];
    let costs = all.iter().map(|workload| cost(workload, repeats));
    let added = costs.collect::<Result<Vec<f64>, _>>()?;
    extrapolate(added[0]);
    println!("\nan epoch of {trained} outpatients on the CPU, validation included:");
    epochs(&Workload::simulated(trained)?, repeats.min(3))
}
