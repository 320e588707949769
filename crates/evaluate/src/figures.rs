//! Figures as text, and a figure over repeated generations: its mean, and how far off that may be.

use std::fmt::{self, Display, Formatter};

use consequence_feedback::words::number;
use serde::Serialize;

/// Standard errors on each side of the mean that hold 95% of a normal distribution: what the paper
/// takes for 25 runs.
const STANDARD_ERRORS: f64 = 1.96;

/// The same of Student's distribution, by the runs less one: few runs know little of their own
/// spread.
const FEW_RUNS: [f64; 19] = [
    f64::NAN,
    12.706204736174694,
    4.302652729749462,
    3.1824463052837078,
    2.7764451051977934,
    2.5705818356363146,
    2.4469118511449786,
    2.364624251592784,
    2.306004135204166,
    2.262157162798205,
    2.228138851986274,
    2.200985160091639,
    2.1788128296672284,
    2.1603686564627913,
    2.144786687917804,
    2.131449545559776,
    2.1199052992212546,
    2.1098155778333156,
    2.1009220402410382,
];

/// The mean of a figure over runs, and its 95% interval: 1.96 standard errors on each side, as in
/// the paper, and below 20 runs as many as Student's distribution asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The standard errors (the deviation over `n - 1`, over the root of the runs) on each side;
    /// none for one run.
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
    /// assert_eq!(interval.to_string(), "0.975 ± 0.002");
    /// assert_eq!(format!("{interval:.5}"), "0.97500 ± 0.00248");
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
            let errors = FEW_RUNS.get(runs - 1).copied().unwrap_or(STANDARD_ERRORS);
            errors * (squares / (runs - 1) as f64 / runs as f64).sqrt()
        });
        if half_width.is_some_and(|width| !width.is_finite()) {
            return None;
        }
        Some(Self { mean, half_width, runs: runs as u64 })
    }
}

/// What says how wide the interval of so many runs is, to stand in a caption.
///
/// ```
/// use consequence_evaluate::interval_by;
///
/// assert_eq!(interval_by(5), "Student's t");
/// assert_eq!(interval_by(25), "1.96 standard errors");
/// ```
pub fn interval_by(runs: u64) -> &'static str {
    if runs <= FEW_RUNS.len() as u64 { "Student's t" } else { "1.96 standard errors" }
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

/// Nats, to a tenth.
pub(crate) fn nats(value: f64) -> String {
    let tenths = (value * 10.0).round();
    if tenths.abs() >= 1e15 || !tenths.is_finite() {
        return format!("{value:.1}");
    }
    let sign = if tenths < 0.0 { "-" } else { "" };
    let tenths = tenths.abs() as u64;
    format!("{sign}{}.{}", number(tenths / 10), tenths % 10)
}
