//! Every verb of the library on the files of a folder, each report written as JSON.
//!
//! ```text
//! cargo run -p consequence --example every_verb -- FOLDER OUT
//! ```
//! The folder has a dataset `cohort`, another `synthetic`, records that break rules in `broken.jsonl`, rules in
//! `truth.rules` and `clinic.rules`, a table of experts in `edits.txt`, tables of OMOP in `omop`, and a model in
//! `model`. The tests of the Python package hold its reports against these.

use std::error::Error;
use std::path::{Path, PathBuf};

use consequence::audit::AuditTask;
use consequence::check::CheckTask;
use consequence::codes::CodesTask;
use consequence::common_sense::CommonSenseTask;
use consequence::describe::DescribeTask;
use consequence::diff::DiffTask;
use consequence::enforce::EnforceTask;
use consequence::evaluate::{EvaluateTask, PerplexityTask};
use consequence::export::{ExportForm, ExportTask};
use consequence::generate::GenerateTask;
use consequence::head::HeadTask;
use consequence::import::{ImportTask, Source};
use consequence::mine::MineTask;
use consequence::packs::RulesFromTask;
use consequence::release::ReleaseTask;
use consequence::simulate::{Preset, SimulateTask};
use consequence::synthesize::{Origin, SynthesizeTask};
use consequence::train::{ModelChoice, TrainTask};
use consequence::{Inputs, Out, RecordInputs, Report, RuleInput, Task, Unwatched, store};

/// Runs a task, and writes its report.
fn tell(out: &Path, verb: &str, task: impl Task) -> Result<(), Box<dyn Error>> {
    let json = task.run(&Unwatched)?.json()?;
    store::write_atomically(out.join(format!("{verb}.json")), |file| {
        file.write_all(json.as_bytes())
    })?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut given = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(out)) = (given.next(), given.next()) else {
        return Err("two folders are needed: that of the files, and that of the reports".into());
    };
    store::create_directory(&out)?;
    let at = |name: &str| folder.join(name);
    let rules = || -> Vec<RuleInput> { vec![at("truth.rules").into()] };
    let records = |name: &str| RecordInputs::new(at(name)).with_rules([at("truth.rules")]);

    let inputs = Inputs {
        rules: vec![at("clinic.rules").into()],
        cohort: Some(at("cohort").into()),
        ..Inputs::default()
    };
    tell(&out, "check", CheckTask { inputs, ..CheckTask::default() })?;
    tell(&out, "audit", AuditTask::new(records("broken.jsonl")))?;
    tell(
        &out,
        "enforce",
        EnforceTask { seed: 1, ..EnforceTask::in_memory(records("broken.jsonl")) },
    )?;
    tell(&out, "describe", DescribeTask::new(at("cohort")))?;
    tell(&out, "head", HeadTask::new(at("cohort")))?;
    tell(&out, "codes", CodesTask::new(at("cohort")))?;
    tell(&out, "diff", DiffTask::new(at("cohort"), at("synthetic")))?;
    tell(&out, "export", ExportTask::new(at("cohort"), ExportForm::Csv, out.join("cohort.csv")))?;
    tell(&out, "import", ImportTask::in_memory(Source::Omop, at("omop")))?;
    tell(&out, "mine", MineTask::in_memory(at("cohort")))?;
    let sense = CommonSenseTask { cohort: at("cohort").into(), out: None, never_seen: None };
    tell(&out, "common_sense", sense)?;
    let experts = RulesFromTask { out: None, ..RulesFromTask::new(at("edits.txt"), Out::new("")) };
    tell(&out, "rules_from", experts)?;
    let patients = Some(100);
    tell(
        &out,
        "simulate",
        SimulateTask { patients, ..SimulateTask::in_memory(Preset::Inpatient) },
    )?;
    let train = TrainTask {
        inputs: records("cohort"),
        model_kind: ModelChoice::Markov,
        ..TrainTask::new(at("cohort"), out.join("model"))
    };
    tell(&out, "train", train)?;
    tell(&out, "generate", GenerateTask::in_memory(at("model"), 40))?;
    tell(&out, "perplexity", PerplexityTask::new(at("model"), at("cohort")))?;
    let (real, synthetic) = (at("cohort"), at("synthetic"));
    tell(
        &out,
        "evaluate",
        EvaluateTask { rules: rules(), ..EvaluateTask::new(&real, &synthetic) },
    )?;
    tell(&out, "release", ReleaseTask { rules: rules(), ..ReleaseTask::new(&real, &synthetic) })?;
    let all = SynthesizeTask {
        records: Some(30),
        ..SynthesizeTask::new(Origin::Cohort(real), out.join("synthesis"), ModelChoice::Markov)
    };
    tell(&out, "synthesize", all)
}
