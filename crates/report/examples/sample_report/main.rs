//! Writes sample reports into a folder: `compare`, `evaluate` and `empty`, each as a page and as
//! the figures behind it; and reviews, `choices` and `no-choices`.
//!
//! The figures are made up: the pages show what a report looks like, and the browser test opens
//! them. Some names try to be markup.

mod compare;
mod evaluate;
mod invented;
mod review;

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use consequence_report::{
    Bars, Block, Findings, Head, Histograms, Lines, Records, Report, RuleTable, Scatter, Section,
    Table,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name a folder")?;
    fs::create_dir_all(&folder)?;
    for (name, report) in
        [("compare", compare::report()), ("evaluate", evaluate::report()), ("empty", empty())]
    {
        fs::write(folder.join(name).with_extension("html"), report.html())?;
        fs::write(folder.join(name).with_extension("json"), serde_json::to_string(&report)?)?;
    }
    for (name, review) in [("choices", review::review(3_000)), ("no-choices", review::review(0))] {
        fs::write(folder.join(name).with_extension("html"), review.html())?;
        fs::write(folder.join(name).with_extension("json"), serde_json::to_string(&review)?)?;
    }
    Ok(())
}

/// What is left where there are no records and no rules: every block, with nothing in it.
fn empty() -> Report {
    let blocks = vec![
        Block::Table(Table { title: "Violations".to_owned(), ..Table::default() }),
        Block::Findings(Findings::default()),
        Block::Scatter(Scatter { title: "Codes".to_owned(), ..Scatter::default() }),
        Block::Bars(Bars::default()),
        Block::Histograms(Histograms::default()),
        Block::Lines(Lines::default()),
        Block::Rules(RuleTable { title: "Rules".to_owned(), ..RuleTable::default() }),
        Block::Records(Records::default()),
    ];
    Report {
        head: Head { title: "No records, no rules".to_owned(), ..Head::default() },
        sections: vec![Section::new("all", "Everything", blocks)],
        ..Report::default()
    }
}
