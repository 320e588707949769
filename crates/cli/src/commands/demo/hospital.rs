//! `consequence demo`: a simulated hospital, the rules found in it, and what they are good for.

use std::path::{Path, PathBuf};

use consequence::audit::{AuditOptions, audit};
use consequence::check::{CheckOptions, check};
use consequence::demo::Hospital;
use consequence::enforce::{EnforceOptions, enforce};
use consequence::mine::{MineOptions, MineReport, Template, mine};
use consequence::simulate::{Preset, SimulateOptions, simulate};
use consequence::{Error, Inputs, Split};

use super::{shown, step};
use crate::bar::Bar;
use crate::commands::Outcome;
use crate::output;

pub fn run(folder: &Path, patients: u64, seed: u64, force: bool) -> Result<Outcome, Error> {
    let bar = Bar::default();
    let hospital = Hospital::in_folder(folder);
    hospital.prepare(force)?;
    let [cohort, rules, mixed, repaired] =
        [&hospital.cohort, &hospital.rules, &hospital.mixed, &hospital.repaired]
            .map(|path| shown(path));
    output::data(
        "Records of a simulated hospital, and rules that nobody wrote: found in the data.\n",
    );

    // One is what `--seed` is without being told.
    let other_seed = if seed == 1 { String::new() } else { format!(" --seed {seed}") };
    let simulated = format!("simulate inpatient --patients {patients} --out {cohort}{other_seed}");
    step("Make records.", &simulated);
    let options = SimulateOptions {
        preset: Preset::Inpatient,
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

    hospital.write_mixed()?;
    output::data(&format!(
        "\nNow records that make no sense, as a careless tool might make them up: in {mixed}\n\
         each has the sex and age of one patient and the visits of another, the last one first.\n"
    ));
    let few = AuditOptions { top: 8, ..AuditOptions::default() };
    step("Does anyone notice?", &format!("audit {mixed} --rules {rules} --top {}", few.top));
    output::data(&audit(&inputs(&hospital.mixed), &few, &bar)?.to_string());

    step("Repair them.", &format!("enforce {mixed} --rules {rules} --out {repaired}"));
    let out = hospital.repaired.clone();
    let repair = EnforceOptions { out, force, seed, ..EnforceOptions::default() };
    output::data(&enforce(&inputs(&hospital.mixed), &repair, &bar)?.to_string());
    output::data(
        "\nRules of your own, conflicts between them and more repairs: consequence demo --clinic\n",
    );
    Ok(Outcome::Done)
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
