//! Parts of reports that more than one command writes.

mod plots;
mod records;

use std::time::{SystemTime, UNIX_EPOCH};

use consequence_evaluate::Interval;
use consequence_record::calendar::Date;
use consequence_report::{Cell, Measure};

pub use plots::{Panel, histograms, scatters};
pub use records::{RuleCountsOf, Timelines, examples, occurrences, rule_table};

/// The program, as reports name it.
pub fn program() -> String {
    format!("consequence {}", env!("CARGO_PKG_VERSION"))
}

/// Today, as reports write it.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date(since.as_micros() as i64).to_string()
}

/// A figure, or why there is none.
pub fn cell(figure: Option<f64>, digits: u8, why: &str) -> Cell {
    figure.map_or_else(|| Cell::missing(why), |figure| Cell::number(figure, digits))
}

/// A mean with its interval, or why there is none.
pub fn interval_cell(figure: Option<Interval>, digits: u8, why: &str) -> Cell {
    match figure {
        Some(figure) => Cell::interval(figure.mean, figure.half_width, digits),
        None => Cell::missing(why),
    }
}

/// A mean with its interval, as a bar shows it.
pub fn measure(figure: Option<Interval>) -> Option<Measure> {
    figure.map(|figure| Measure { mean: figure.mean, half_width: figure.half_width })
}
