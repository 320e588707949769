//! What a network of few, long records writes has the frequencies of what it trained on.

use consequence::evaluate::EvaluateTask;
use consequence::generate::GenerateTask;
use consequence::simulate::{Preset, SimulateTask};
use consequence::train::{self, ModelChoice, NetworkTask, TrainTask};
use consequence::{Task, Unwatched};

#[test]
fn records_do_not_drift() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let [cohort, model, written] =
        ["cohort", "model", "written"].map(|name| folder.path().join(name));
    SimulateTask { patients: Some(300), ..SimulateTask::new(Preset::Outpatient, &cohort) }
        .run(&Unwatched)?;
    let network = NetworkTask::of(train::Preset::TINY);
    TrainTask { model_kind: ModelChoice::Network(network), ..TrainTask::new(&cohort, &model) }
        .run(&Unwatched)?;
    GenerateTask::new(&model, 3_000, &written).run(&Unwatched)?;
    let found = EvaluateTask::new(&cohort, &written).run(&Unwatched)?;
    // It is 0.43 where what is written is not looked at.
    let r2 = found.comparison.all.code.r2.expect("codes that differ");
    assert!(r2 > 0.9, "{r2}");
    Ok(())
}
