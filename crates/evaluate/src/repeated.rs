//! A figure over repeated generations: its mean, and how far off that may be.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// Standard errors on each side of the mean that hold 95% of a normal distribution.
const STANDARD_ERRORS: f64 = 1.96;

/// The mean of a figure over runs, and 1.96 standard errors on each side of it, as in the paper: there
/// over 25 generations from one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// 1.96 times the standard deviation (over `n - 1`) over the root of the runs; none for one run.
    pub half_width: Option<f64>,
    /// The runs.
    pub runs: u64,
}

impl Interval {
    /// The interval of the values of some runs; none without a run, or if a value is not finite.
    ///
    /// ```
    /// use consequence_evaluate::Interval;
    ///
    /// let interval = Interval::of(&[0.974, 0.975, 0.976]).unwrap();
    /// assert_eq!(interval.to_string(), "0.975 ± 0.001");
    /// assert_eq!(format!("{interval:.5}"), "0.97500 ± 0.00113");
    /// assert_eq!(Interval::of(&[0.5]).unwrap().half_width, None);
    /// assert_eq!(Interval::of(&[]), None);
    /// ```
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs as f64;
        // Without a run the mean is not a number either.
        if !mean.is_finite() {
            return None;
        }
        let half_width = (runs > 1).then(|| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            STANDARD_ERRORS * (squares / (runs - 1) as f64 / runs as f64).sqrt()
        });
        if half_width.is_some_and(|width| !width.is_finite()) {
            return None;
        }
        Some(Self { mean, half_width, runs: runs as u64 })
    }
}

impl Display for Interval {
    /// Three decimals, unless the format asks for others.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let decimals = out.precision().unwrap_or(3);
        write!(out, "{:.decimals$}", self.mean)?;
        match self.half_width {
            Some(width) => write!(out, " ± {width:.decimals$}"),
            None => Ok(()),
        }
    }
}
