//! `consequence simulate`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consequence::simulate::{Preset, SimulateTask};
use consequence::{Error, Out};

use super::Outcome;
use crate::args::records;

#[derive(Debug, Args)]
pub struct SimulateArguments {
    /// The kind of cohort
    pub preset: PresetName,
    /// Patients to simulate [default: 46,520 inpatient, 1,006,321 outpatient]
    #[arg(long, value_name = "NUMBER", value_parser = records)]
    pub patients: Option<u64>,
    /// The folder to write (MEDS), or the file if its name ends in .jsonl
    #[arg(long, value_name = "COHORT")]
    pub out: PathBuf,
    /// Leave out births, dates, stays and values, and the codes that tell of them
    #[arg(long)]
    pub codes_only: bool,
    /// Replace the cohort if it is there
    #[arg(long)]
    pub force: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// A built-in cohort.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PresetName {
    /// Hospital stays: few and full of codes
    Inpatient,
    /// Visits to a doctor: many and short
    Outpatient,
}

pub fn run(arguments: &SimulateArguments, seed: u64) -> Result<Outcome, Error> {
    let task = SimulateTask {
        preset: match arguments.preset {
            PresetName::Inpatient => Preset::Inpatient,
            PresetName::Outpatient => Preset::Outpatient,
        },
        patients: arguments.patients.map(|patients| patients as usize),
        out: Some(Out::new(&arguments.out).replacing(arguments.force)),
        seed,
        codes_only: arguments.codes_only,
    };
    super::run(&task, arguments.json)
}
