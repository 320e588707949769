//! From simulated records to new ones: train a model with rules, generate, audit.
//!
//! `cargo run -p consequence --release --example train_and_generate`

use consequence::generate::GenerateTask;
use consequence::simulate::{Preset, SimulateTask};
use consequence::train::{ModelChoice, TrainTask};
use consequence::{Dataset, Task, Unwatched};

/// Prints what each step reports.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let [cohort, model, synthetic] =
        ["cohort", "model", "synthetic"].map(|name| folder.path().join(name));
    let simulate =
        SimulateTask { patients: Some(2_000), ..SimulateTask::new(Preset::Inpatient, &cohort) };
    print!("{}", simulate.run(&Unwatched)?);

    // The Markov model trains in a moment; leave the line out for a network.
    let mut task = TrainTask { model_kind: ModelChoice::Markov, ..TrainTask::new(&cohort, &model) };
    task.inputs.rules = vec![cohort.join("truth.rules").into()];
    print!("{}", task.run(&Unwatched)?);

    let report = GenerateTask::new(&model, 500, &synthetic).run(&Unwatched)?;
    print!("{report}");
    assert_eq!(Dataset::open(&synthetic)?.cohort.len(), 500);
    Ok(())
}
