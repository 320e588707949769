//! `consequence mine`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consequence::mine::{Cutoffs, LikelyRules, MineTask, NearRules, SearchOptions};
use consequence::parts::{CountTask, Work};
use consequence::{Error, Out};

use super::Outcome;
use super::parts::PartArguments;

/// Bytes that counts of pairs may take in a round, where records are counted in parts.
const IN_A_ROUND: usize = 128 << 20;

#[derive(Debug, Args)]
pub struct MineArguments {
    /// The cohort (JSON lines, or a MEDS dataset), from any source
    pub cohort: PathBuf,
    /// The rule file to write
    #[arg(long, required_unless_present = "shard", conflicts_with = "shard")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub parts: PartArguments,
    /// A page to write (HTML) on which an expert chooses from the rules, and saves the chosen ones
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub review: Option<PathBuf>,
    /// Replace the files if they are there
    #[arg(long)]
    pub force: bool,
    /// How often codes must have been seen [default: by the size of the cohort]
    #[arg(long, value_name = "KIND")]
    pub cutoffs: Option<Kind>,
    /// Visits with a code before a rule is made of it, for every kind of rule
    #[arg(long, value_name = "VISITS", conflicts_with = "cutoffs", value_parser = support)]
    pub min_support: Option<u64>,
    /// What becomes of likely rules, which have no exception on less evidence
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Likely::Hard)]
    pub likely: Likely,
    /// Leave out what has exceptions, rather than make soft rules of it
    #[arg(long)]
    pub no_soft: bool,
    /// Look for ages at which codes never come, and for the fewest days between two of a code; needs dates
    #[arg(long)]
    pub ages_and_days: bool,
    /// Titles for codes that the cohort gives none: a table of code and title, or a list of ICD codes
    /// such as icd9dx2015.csv
    #[arg(long, value_name = "FILE")]
    pub titles: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// The kinds of cohorts that the paper's cut-offs are for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// Some ten thousand records with few visits
    Inpatient,
    /// A million records with many visits
    Outpatient,
}

/// What becomes of likely rules.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Likely {
    /// Rules that must hold, under a heading of their own
    Hard,
    /// Soft rules with a small probability of an exception, where one can say it
    Soft,
    /// No rules: they are listed in comments
    Leave,
}

pub fn run(arguments: &MineArguments) -> Result<Outcome, Error> {
    let cutoffs = match arguments.cutoffs {
        Some(Kind::Inpatient) => Some(Cutoffs::inpatient()),
        Some(Kind::Outpatient) => Some(Cutoffs::outpatient()),
        None => arguments.min_support.map(Cutoffs::alike),
    };
    let search = SearchOptions {
        cutoffs,
        likely: match arguments.likely {
            Likely::Hard => LikelyRules::Hard,
            Likely::Soft => LikelyRules::Soft,
            Likely::Leave => LikelyRules::Leave,
        },
        near: (!arguments.no_soft).then(NearRules::default),
        ..SearchOptions::default()
    };
    let ages_and_days = arguments.ages_and_days;
    let work = || {
        // What is counted of pairs in a round travels from machine to machine.
        let search = SearchOptions { memory: IN_A_ROUND, ..search };
        Ok(Work::Mine { ages_and_days, search })
    };
    if let Some(task) = arguments.parts.task(work, &[&arguments.cohort], arguments.force)? {
        let titles = arguments.titles.iter().cloned().collect();
        return super::run(&CountTask { titles, ..task }, arguments.json);
    }
    let out = |path: &PathBuf| Out::new(path).replacing(arguments.force);
    let task = MineTask {
        cohort: (&arguments.cohort).into(),
        out: arguments.out.as_ref().map(out),
        review: arguments.review.as_ref().map(out),
        titles: arguments.titles.clone(),
        ages_and_days,
        search,
    };
    super::run(&task, arguments.json)
}

fn support(text: &str) -> Result<u64, String> {
    match consequence::parse_count(text).map_err(|error| error.to_string())? {
        0 => Err("a rule needs at least one visit that shows it".into()),
        count => Ok(count),
    }
}
