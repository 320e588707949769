//! What the commands are given.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::audit::AuditArguments;
use crate::commands::check::CheckArguments;
use crate::commands::codes::CodesArguments;
use crate::commands::common_sense::CommonSenseArguments;
use crate::commands::compare::CompareArguments;
use crate::commands::convert::ConvertArguments;
use crate::commands::demo::DemoArguments;
use crate::commands::describe::DescribeArguments;
use crate::commands::diff::DiffArguments;
use crate::commands::enforce::EnforceArguments;
use crate::commands::evaluate::EvaluateArguments;
use crate::commands::export::ExportArguments;
use crate::commands::generate::GenerateArguments;
use crate::commands::head::HeadArguments;
use crate::commands::import::ImportCommand;
use crate::commands::manual::{CompletionsArguments, ManualArguments};
use crate::commands::mine::MineArguments;
use crate::commands::parts::MergeArguments;
use crate::commands::release::ReleaseArguments;
use crate::commands::rules_from::FromCommand;
use crate::commands::simulate::SimulateArguments;
use crate::commands::synthesize::SynthesizeArguments;
use crate::commands::train::TrainArguments;

/// Patient records that obey medical rules, and the proof that they do.
#[derive(Debug, Parser)]
#[command(
    name = "consequence",
    version,
    after_help = "Exit status: 0 done; 1 checked, and something was found; 2 failed; 3 counts added up, and \
                  another round wanted.\n\
                  Start with:  consequence demo"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub shared: Shared,
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct Shared {
    /// What every random draw depends on
    #[arg(long, global = true, default_value = "1", value_name = "NUMBER", value_parser = consequence::parse_count)]
    pub seed: u64,
    /// Threads to work with [default: one for each core]
    #[arg(long, global = true, value_name = "NUMBER", value_parser = threads)]
    pub threads: Option<usize>,
    /// Say nothing but warnings and errors
    #[arg(long, global = true)]
    pub quiet: bool,
    /// A file to which all that is said is added, line by line with the time
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// A TOML file of options, for runs that are repeated; what is given here counts
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Analyse rules, and prove that they can always be kept
    #[command(after_help = "Example:\n  consequence check clinic.rules --cohort cohort.jsonl\n  \
                            consequence check clinic.rules --explain one-sex\n\n\
                            Exit status 1: no record can obey all the rules.")]
    Check(CheckArguments),
    /// Count the violations in a cohort, and show where they are
    #[command(after_help = "Example:\n  consequence audit cohort.jsonl --rules clinic.rules\n  \
                            consequence audit cohort --rules clinic.rules --all violations.csv \
                            --html audit.html\n  consequence audit cohort --rules clinic.rules \
                            --record patient-17\n\n\
                            Exit status 1: there are violations.")]
    Audit(AuditArguments),
    /// Repair a cohort, so that every record obeys every hard rule
    #[command(after_help = "Example:\n  consequence enforce cohort.jsonl --rules clinic.rules \
                            --out repaired.jsonl")]
    Enforce(EnforceArguments),
    /// Make a cohort of simulated patients, and the rules that they obey
    #[command(
        after_help = "Example:\n  consequence simulate inpatient --patients 10k --out cohort\n\n\
                            Records have births, dates, stays, deaths and the values of ten \
                            tests; docs/files.md tells which. The rules that every record obeys \
                            are written to truth.rules in the folder, and beside x.jsonl to \
                            x.truth.rules."
    )]
    Simulate(SimulateArguments),
    /// Make a cohort of the tables that you have
    #[command(
        subcommand,
        after_help = "Example:\n  consequence import mimic3 mimic-iii --truncate 3 --min-patients 5 \
                      --out cohort\n  consequence import csv events.csv --subject patient --time day \
                      --out cohort"
    )]
    Import(ImportCommand),
    /// Tell what a cohort looks like: sizes, lengths, dates, codes, values, and what is odd
    #[command(
        after_help = "Example:\n  consequence describe cohort\n  consequence describe cohort \
                            --titles icd9dx2015.csv.gz --html cohort.html"
    )]
    Describe(DescribeArguments),
    /// Show the first records of a cohort, with dates, titles and values
    #[command(after_help = "Example:\n  consequence head cohort\n  consequence head cohort -n 1 \
                            --show-ids")]
    Head(HeadArguments),
    /// Search the codes of a cohort by name or title, and count who has them
    #[command(after_help = "Example:\n  consequence codes cohort diabetes\n  consequence codes \
                            cohort 'ICD9CM//25*'")]
    Codes(CodesArguments),
    /// Tell what differs between two cohorts: sizes, records, codes, frequencies, dates, values
    #[command(after_help = "Example:\n  consequence diff cohort synthetic\n\n\
                            Exit status 1: they differ.")]
    Diff(DiffArguments),
    /// Write a cohort for other programs
    #[command(after_help = "Example:\n  consequence export cohort csv --out cohort.csv")]
    Export(ExportArguments),
    /// Find rules in a cohort, with the evidence for each
    #[command(after_help = "Example:\n  consequence mine cohort --out mined.rules\n  \
                            consequence mine cohort --out mined.rules --review review.html\n\n\
                            Rules are mined in the train split of the cohort and held against its \
                            tuning split.")]
    Mine(MineArguments),
    /// Add up what was counted of all parts of a cohort, and tell what was found
    #[command(
        after_help = "Example, for parts on eight machines:\n  consequence audit cohort --rules \
                            clinic.rules --shard 3/8 --state s3\n  consequence merge s1 s2 s3 s4 s5 s6 \
                            s7 s8\n\n\
                            Some commands count in rounds: then merge writes what is known so far to --out, \
                            exits with 3, and every part is counted again with --after and that file."
    )]
    Merge(MergeArguments),
    /// Train a model on a cohort, with the rules that it is to obey
    #[command(
        after_help = "Example:\n  consequence train cohort --rules mined.rules --out model\n\n\
                            It trains on the train split; the tuning split tells it when to stop. \
                            Ctrl-C stops it so that --resume goes on, bit for bit."
    )]
    Train(TrainArguments),
    /// Write new records with a model, each obeying every hard rule
    #[command(
        after_help = "Example:\n  consequence generate model --records 10k --out synthetic\n  \
                            consequence generate model --records 100 --given 'SEX//F, AGE//65+' \
                            --out women.jsonl"
    )]
    Generate(GenerateArguments),
    /// Measure a model on real records, or generated records beside real ones
    #[command(after_help = "Example:\n  consequence evaluate --perplexity model --real cohort\n  \
                            consequence evaluate --real cohort --synthetic synthetic --rules \
                            mined.rules --out report\n\nExit status 1: generated records break a rule.")]
    Evaluate(EvaluateArguments),
    /// Whether a synthetic cohort can leave the house: rules, copies, small counts, each with a limit
    #[command(
        after_help = "Example:\n  consequence release synthesis/synthetic --real cohort --rules \
                            synthesis/mined.rules --html release.html\n\n\
                            Exit status 1: a limit is passed, or a check could not be made."
    )]
    Release(ReleaseArguments),
    /// Every method of the paper on one cohort: its tables and figures, as a report
    #[command(after_help = "Example:\n  consequence compare cohort --out comparison --quick\n  \
                            consequence compare cohort --rules clinic.rules --out comparison\n  \
                            consequence compare cohort --out comparison --seeds 3 --also-halo\n\n\
                            Without --rules, rules are mined in the cohort. Ctrl-C stops it so that \
                            --resume goes on.")]
    Compare(CompareArguments),
    /// From a cohort to generated records in one go: mine, check, train, generate, audit, evaluate
    #[command(after_help = "Example:\n  consequence synthesize cohort --out synthesis\n  \
                            consequence synthesize mimic-iii --from mimic3 --out synthesis")]
    Synthesize(SynthesizeArguments),
    /// See it at work: simulate records, find rules in them, prove them, train, generate, audit
    #[command(after_help = "Example:\n  consequence demo\n  consequence demo --clinic --out \
                            my-clinic --records 10k")]
    Demo(DemoArguments),
    /// Work on rule files
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Write the manual page of a command
    #[command(after_help = "Example:\n  consequence manual train | man -l -\n  \
                            consequence manual > consequence.1")]
    Manual(ManualArguments),
    /// Write what a shell needs to complete commands
    #[command(after_help = "Example:\n  consequence completions bash > \
                            ~/.local/share/bash-completion/completions/consequence")]
    Completions(CompletionsArguments),
}

#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// Write a rule file in another form
    #[command(after_help = "Example:\n  consequence rules convert clinic.rules --to json --out \
                            clinic.json")]
    Convert(ConvertArguments),
    /// Write the rules that nobody needs to be told: one sex, one age, nothing after death
    #[command(after_help = "Example:\n  consequence rules common-sense cohort --out \
                            common-sense.rules")]
    CommonSense(CommonSenseArguments),
    /// Make a rule file of a table that experts publish
    #[command(
        subcommand,
        after_help = "Example:\n  consequence rules from mce MCE_Simple_Code_Edits_v32.txt --out \
                      sex-and-age.rules"
    )]
    From(FromCommand),
}

/// Where codes come from.
#[derive(Debug, Args)]
pub struct CodeArguments {
    /// A file of codes: {"static": [...], "encounter": [...]}
    #[arg(long)]
    pub vocabulary: Option<PathBuf>,
    /// Take codes that only the rules name as never present, rather than as mistakes
    #[arg(long)]
    pub allow_unknown: bool,
    /// Leave out the rules that the cohort brings along from its import
    #[arg(long)]
    pub no_own_rules: bool,
}

/// Where titles of codes come from.
#[derive(Debug, Args)]
pub struct TitleArguments {
    /// Titles for codes that the cohort gives none: tables of code and title, or lists of ICD codes such
    /// as icd9dx2015.csv
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub titles: Vec<PathBuf>,
}

pub fn number(text: &str) -> Result<usize, String> {
    let count = consequence::parse_count(text).map_err(|error| error.to_string())?;
    usize::try_from(count).map_err(|_| format!("{count} is too many"))
}

fn threads(text: &str) -> Result<usize, String> {
    match number(text)? {
        count @ 0..=4096 => Ok(count),
        count => Err(format!("{count} threads are too many; 4096 is the most")),
    }
}

pub fn split(text: &str) -> Result<consequence::Split, String> {
    text.replace('-', "_").parse().map_err(|()| "the splits are train, tuning and held_out".into())
}

pub fn positive(text: &str) -> Result<usize, String> {
    match number(text)? {
        0 => Err("at least 1 is needed".into()),
        count => Ok(count),
    }
}

pub fn records(text: &str) -> Result<u64, String> {
    match consequence::parse_count(text).map_err(|error| error.to_string())? {
        0 => Err("a cohort has at least one record".into()),
        count => Ok(count),
    }
}

pub fn visits(text: &str) -> Result<u16, String> {
    match u16::try_from(number(text)?) {
        Ok(count @ 1..=10_000) => Ok(count),
        _ => Err("a record has 1 to 10_000 encounters".into()),
    }
}
