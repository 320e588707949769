//! `consequence demo`: each step printed as the command that a user would type.

mod clinic;
mod hospital;

use std::path::{Path, PathBuf};

use clap::Args;
use consequence::Error;

use super::Outcome;
use crate::args::records;
use crate::output;

#[derive(Debug, Args)]
pub struct DemoArguments {
    /// A small clinic instead: rules written by hand, and records that break them
    #[arg(long)]
    pub clinic: bool,
    /// The folder for its files [default: consequence-demo, or consequence-clinic with --clinic]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Records to make [default: 5000, or 2000 with --clinic]
    #[arg(long, value_name = "NUMBER", value_parser = records)]
    pub records: Option<u64>,
    /// Replace the files of an earlier demo
    #[arg(long)]
    pub force: bool,
}

pub fn run(arguments: &DemoArguments, seed: u64) -> Result<Outcome, Error> {
    let folder = |name: &str| arguments.out.clone().unwrap_or_else(|| name.into());
    let (records, force) = (arguments.records, arguments.force);
    match arguments.clinic {
        true => clinic::run(&folder("consequence-clinic"), records.unwrap_or(2_000), seed, force),
        false => hospital::run(&folder("consequence-demo"), records.unwrap_or(5_000), seed, force),
    }
}

fn step(question: &str, command: &str) {
    output::data(&format!("\n== {question}\n$ consequence {command}\n\n"));
}

/// A path as it is typed: in quotes where a shell would take it apart.
fn shown(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
