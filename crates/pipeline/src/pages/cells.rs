//! Figures as cells of tables and bars of plots.

use consequence_evaluate::Interval;
use consequence_report::{Cell, Measure};

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
