//! `consequence release`

use std::path::PathBuf;

use clap::Args;
use consequence::release::{ReleaseLimits, ReleaseTask};
use consequence::{Error, Out};

use super::{Outcome, unknown_codes};
use crate::args::number;

#[derive(Debug, Args)]
pub struct ReleaseArguments {
    /// The synthetic cohort, from any tool (JSON lines, or a MEDS dataset)
    #[arg(value_name = "COHORT")]
    pub synthetic: PathBuf,
    /// The real cohort that it was learned from, with its splits
    #[arg(long, value_name = "COHORT")]
    pub real: PathBuf,
    /// Rule files that every record must obey
    #[arg(long, num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// Write a page to read and to sign
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace a page that is there
    #[arg(long, requires = "html")]
    pub force: bool,
    /// What fewer patients than this have is rare
    #[arg(long, value_name = "PATIENTS", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    pub rare_below: u32,
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Take codes that only the rules name as never present, rather than as mistakes
    #[arg(long)]
    pub allow_unknown: bool,
    /// Leave out the rules that the real cohort brings along from its import
    #[arg(long)]
    pub no_own_rules: bool,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// How much of each is allowed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArguments {
    /// The fewest patients to have learned from
    #[arg(long, value_name = "NUMBER", default_value = "100", value_parser = number)]
    pub least_patients: usize,
    /// Violations of hard rules
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = number)]
    pub most_violations: usize,
    /// Copies of one patient's record, as a share, above what other real records are
    #[arg(long, value_name = "SHARE", default_value = "0.001", value_parser = share)]
    pub most_copies: f64,
    /// Records nearer to one trained on than to one held out, as a share
    #[arg(long, value_name = "SHARE", default_value = "0.55", value_parser = share)]
    pub most_nearer: f64,
    /// The AUROC of telling who was trained on
    #[arg(long, value_name = "AUROC", default_value = "0.55", value_parser = share)]
    pub most_membership: f64,
    /// What guesses of sensitive codes of those trained on gain over what can be guessed of anyone, in F1
    #[arg(long, value_name = "F1", default_value = "0.05", value_parser = share)]
    pub most_attributes: f64,
    /// Records whose static codes few patients have, as a share
    #[arg(long, value_name = "SHARE", default_value = "0.01", value_parser = share)]
    pub most_small_cells: f64,
    /// Records with a code that few patients have, as a share
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share)]
    pub most_rare_codes: f64,
    /// Values that few patients have, as a share, above those of other real records
    #[arg(long, value_name = "SHARE", default_value = "0.01", value_parser = share)]
    pub most_rare_values: f64,
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "a number from 0 to 1 is needed".into())
}

pub fn run(arguments: &ReleaseArguments) -> Result<Outcome, Error> {
    let limits = &arguments.limits;
    let task = ReleaseTask {
        rules: super::rule_inputs(&arguments.rules),
        unknown_codes: unknown_codes(arguments.allow_unknown),
        no_own_rules: arguments.no_own_rules,
        rare_below: arguments.rare_below,
        limits: ReleaseLimits {
            patients: limits.least_patients as u64,
            violations: limits.most_violations as u64,
            copies: limits.most_copies,
            nearer: limits.most_nearer,
            membership: limits.most_membership,
            attributes: limits.most_attributes,
            small_cells: limits.most_small_cells,
            rare_codes: limits.most_rare_codes,
            rare_values: limits.most_rare_values,
        },
        page: arguments.html.as_ref().map(|path| Out::new(path).replacing(arguments.force)),
        ..ReleaseTask::new(&arguments.real, &arguments.synthetic)
    };
    super::run(&task, arguments.json)
}
