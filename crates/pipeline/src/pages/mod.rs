//! Parts of reports that more than one command writes.

mod cells;
mod plots;
mod records;
mod rules;

pub use cells::{cell, interval_cell, measure};
pub use plots::{Panel, histograms, scatters};
pub use records::{Timelines, examples, occurrences};
pub use rules::{RuleCountsOf, rule_table};

use std::time::{SystemTime, UNIX_EPOCH};

use consequence_tables::calendar::Date;

/// The program, as reports name it.
pub fn program() -> String {
    format!("consequence {}", env!("CARGO_PKG_VERSION"))
}

/// Today, as reports write it.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date(since.as_micros() as i64).to_string()
}
