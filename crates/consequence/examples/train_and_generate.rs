//! From simulated records to new ones: train a model with rules, generate, audit.
//!
//! `cargo run -p consequence --release --example train_and_generate`

use consequence::generate::{GenerateTask, generate};
use consequence::simulate::{Preset, SimulateOptions, simulate};
use consequence::train::{ModelChoice, TrainTask, train};
use consequence::{Dataset, Unwatched};

/// Prints what each step reports.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let [cohort, model, synthetic] =
        ["cohort", "model", "synthetic"].map(|name| folder.path().join(name));
    let options = SimulateOptions {
        preset: Preset::Inpatient,
        patients: Some(2_000),
        out: cohort.clone(),
        force: false,
        seed: 1,
    };
    print!("{}", simulate(&options, &Unwatched)?);

    // The Markov model trains in a moment; leave the line out for a network.
    let mut task = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(&cohort, &model) };
    task.inputs.rules = vec![cohort.join("truth.rules")];
    print!("{}", train(&task, &Unwatched)?);

    let report = generate(&GenerateTask::new(&model, 500, &synthetic), &Unwatched)?;
    print!("{report}");
    assert_eq!(Dataset::open(&synthetic)?.cohort.len(), 500);
    Ok(())
}
