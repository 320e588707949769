//! `consequence demo`: a simulated hospital, the rules found in it, and what they are good for.

use std::path::{Path, PathBuf};

use consequence::audit::{AuditOptions, audit};
use consequence::check::{CheckOptions, check};
use consequence::demo::Hospital;
use consequence::evaluate::{CompareTask, PerplexityTask, compare, perplexity};
use consequence::generate::GenerateTask;
use consequence::mine::{MineOptions, MineReport, Template, mine};
use consequence::simulate::{self, SimulateOptions, simulate};
use consequence::train::{ModelChoice, NetworkTask, Preset, TrainTask};
use consequence::{Error, Inputs, Split};

use super::{shown, step};
use crate::bar::Bar;
use crate::commands::Outcome;
use crate::commands::generate::write;
use crate::commands::train::fit;
use crate::output;

pub fn run(folder: &Path, patients: u64, seed: u64, force: bool) -> Result<Outcome, Error> {
    let bar = Bar::default();
    let hospital = Hospital::in_folder(folder);
    let _lock = hospital.prepare(force)?;
    let Hospital { cohort, rules, model, synthetic, report } = &hospital;
    let [cohort, rules, model, synthetic, page] =
        [cohort, rules, model, synthetic, report].map(|path| shown(path));
    output::data(
        "Records of a simulated hospital, rules that nobody wrote, and new records that obey them.\n",
    );

    // One is what `--seed` is without being told.
    let other_seed = if seed == 1 { String::new() } else { format!(" --seed {seed}") };
    let simulated = format!("simulate inpatient --patients {patients} --out {cohort}{other_seed}");
    step("Make records.", &simulated);
    let options = SimulateOptions {
        preset: simulate::Preset::Inpatient,
        patients: Some(usize::try_from(patients).unwrap_or(usize::MAX)),
        out: hospital.cohort.clone(),
        force,
        seed,
    };
    output::data(&simulate(&options, &bar)?.to_string());

    step("Which rules do they obey?", &format!("mine {cohort} --out {rules}"));
    let options = MineOptions {
        cohort: hospital.cohort.clone(),
        out: hospital.rules.clone(),
        force,
        ..MineOptions::default()
    };
    let report = mine(&options, &bar)?;
    output::data(&report.to_string());
    output::data(&format!("\nThe best supported rule of each kind, as {rules} has it:\n"));
    output::data(&best(&report, &hospital.rules));

    let inputs = |cohort: &PathBuf| Inputs {
        rules: vec![hospital.rules.clone()],
        cohort: Some(cohort.clone()),
        ..Inputs::default()
    };
    step("Can the rules always be kept?", &format!("check {rules} --cohort {cohort}"));
    let proof = check(&inputs(&hospital.cohort), &CheckOptions::default(), &bar)?;
    output::data(&proof.to_string());

    step(
        "Do they hold for patients that mining never saw?",
        &format!("audit {cohort} --rules {rules} --split held_out"),
    );
    let held_out = AuditOptions { split: Some(Split::HeldOut), ..AuditOptions::default() };
    output::data(&audit(&inputs(&hospital.cohort), &held_out, &bar)?.to_string());

    let trained = format!("train {cohort} --rules {rules} --size tiny --out {model}{other_seed}");
    step("Train a network on them, with the rules.", &trained);
    let mut network = NetworkTask::of(Preset::Tiny);
    network.options.seed = seed;
    let task = TrainTask {
        inputs: inputs(&hospital.cohort),
        force,
        model_kind: ModelChoice::Halo(network),
        ..TrainTask::new(&hospital.cohort, &hospital.model)
    };
    output::data(&fit(&task)?.to_string());

    let generated = format!("generate {model} --records {patients} --out {synthetic}{other_seed}");
    step("Write new records.", &generated);
    let task = GenerateTask {
        force,
        seed,
        ..GenerateTask::new(&hospital.model, patients, &hospital.synthetic)
    };
    output::data(&write(&task)?.to_string());

    step("Do they obey the rules?", &format!("audit {synthetic} --rules {rules} --referee"));
    let twice = AuditOptions { referee: true, ..AuditOptions::default() };
    let audited = audit(&inputs(&hospital.synthetic), &twice, &bar)?;
    output::data(&audited.to_string());

    step(
        "How well does the network predict patients that it never saw?",
        &format!("evaluate --perplexity {model} --real {cohort}"),
    );
    let task = PerplexityTask::new(&hospital.model, &hospital.cohort);
    output::data(&perplexity(&task, &bar)?.to_string());

    step(
        "How close do the new records come to the real ones?",
        &format!("evaluate --real {cohort} --synthetic {synthetic} --rules {rules} --out {page}"),
    );
    let task = CompareTask {
        real: hospital.cohort.clone(),
        synthetic: hospital.synthetic.clone(),
        rules: vec![hospital.rules.clone()],
        out: Some(hospital.report.clone()),
        force,
        ..CompareTask::default()
    };
    output::data(&compare(&task, &bar)?.to_string());
    output::data(
        "\nOpen the report in a browser: it is written for a reviewer.\n\
         Rules of your own, conflicts between them and repairs: consequence demo --clinic\n\
         Every method of the paper on these records:            consequence compare --quick\n",
    );
    Ok(Outcome::found(audited.violations() > 0))
}

/// The rule of each kind with the most occasions to fail, with the comments above it.
fn best(report: &MineReport, file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut shown = String::new();
    for template in Template::ALL {
        let of_kind = report.mined.rules.iter().filter(|rule| rule.template == template);
        let best = of_kind.max_by_key(|rule| (rule.probability.is_none(), rule.train.support));
        let block = best.and_then(|rule| {
            text.split("\n\n").find(|block| block.trim_end().ends_with(&rule.statement))
        });
        if let Some(block) = block {
            shown.push('\n');
            for line in block.trim().lines() {
                shown.push_str(&format!("    {line}\n"));
            }
        }
    }
    shown
}
