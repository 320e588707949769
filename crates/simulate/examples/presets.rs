//! Simulates every preset at full size, and prints its figures beside the paper's.
//!
//!     cargo run --release -p consequence-simulate --example presets

use std::time::Instant;

use consequence_simulate::{Figures, Preset, Simulation, measure};

fn main() {
    println!("preset      seconds      records  visits/record  codes/visit  codes  demographic");
    for preset in Preset::ALL {
        let paper = preset.figures();
        let simulation = Simulation::new(preset, paper.records, 1);
        let start = Instant::now();
        let cohort = simulation.cohort();
        let seconds = start.elapsed().as_secs_f64();
        row(preset.name(), &format!("{seconds:.2}"), &measure(&cohort, simulation.vocabulary()));
        row("  paper", "", &paper);
    }
}

fn row(name: &str, seconds: &str, figures: &Figures) {
    println!(
        "{name:10} {seconds:>8}  {:>11}  {:>13.3}  {:>11.3}  {:>5}  {:>11}",
        figures.records,
        figures.visits_per_record,
        figures.codes_per_visit,
        figures.codes,
        figures.demographic,
    );
}
