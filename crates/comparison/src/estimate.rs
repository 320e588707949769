//! A figure over trainings and generations: its mean, and how far off that may be.

use std::fmt::{self, Display, Formatter};

use consequence_evaluate::Interval;
use serde::Serialize;

/// The mean of a figure, and its 95% interval.
///
/// With two trainings or more, generations of one network are alike in what that network is, so that
/// they are no independent evidence: the interval is that of the means of each training, with as many
/// standard errors on each side as Student's distribution asks for. The means spread with trainings and
/// with generations, so that it covers both. By luck they can lie closer together than generations do;
/// the interval is never narrower than that of all generations taken as one.
///
/// With one training it is the interval over generations, and says nothing of another training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean; of the means of each training, where there are several.
    pub mean: f64,
    /// How far the interval reaches on each side; none where a figure was measured once.
    pub half_width: Option<f64>,
    /// The generations behind it; none for a figure of the networks themselves.
    pub runs: u64,
    /// The trainings behind it.
    pub trainings: u64,
}

impl Estimate {
    /// Of a figure of every generation, by the training of its network; none without a generation, or
    /// if a value is not finite.
    ///
    /// ```
    /// use consequence_comparison::Estimate;
    ///
    /// // One training: over generations.
    /// let once = Estimate::of_generations(&[vec![0.974, 0.975, 0.976]]).unwrap();
    /// assert_eq!(format!("{once:.5}"), "0.97500 ± 0.00248");
    /// // Two: 12.706 standard errors of the means 1 and 3.
    /// let twice = Estimate::of_generations(&[vec![0.5, 1.5], vec![3.0]]).unwrap();
    /// assert_eq!(format!("{twice:.2}"), "2.00 ± 12.71");
    /// assert_eq!((twice.trainings, twice.runs), (2, 3));
    /// ```
    pub fn of_generations(trainings: &[Vec<f64>]) -> Option<Self> {
        let all: Vec<f64> = trainings.iter().flatten().copied().collect();
        let generations = Interval::of(&all)?;
        let groups = trainings.iter().filter(|values| !values.is_empty());
        let means: Vec<f64> =
            groups.map(|values| values.iter().sum::<f64>() / values.len() as f64).collect();
        let interval = match means.len() {
            1 => generations,
            _ => Interval::of(&means)?,
        };
        let half_width = match (interval.half_width, generations.half_width) {
            (Some(trainings), Some(generations)) => Some(trainings.max(generations)),
            (one, other) => one.or(other),
        };
        Some(Self {
            mean: interval.mean,
            half_width,
            runs: all.len() as u64,
            trainings: means.len() as u64,
        })
    }

    /// Of a figure of every trained network; none without a training, or if a value is not finite.
    ///
    /// ```
    /// use consequence_comparison::Estimate;
    ///
    /// let perplexity = Estimate::of_trainings(&[35.0, 36.0, 37.0]).unwrap();
    /// assert_eq!(perplexity.to_string(), "36.000 ± 2.484");
    /// assert_eq!(Estimate::of_trainings(&[35.0]).unwrap().half_width, None);
    /// ```
    pub fn of_trainings(values: &[f64]) -> Option<Self> {
        let Interval { mean, half_width, .. } = Interval::of(values)?;
        Some(Self { mean, half_width, runs: 0, trainings: values.len() as u64 })
    }

    /// The same figure in another measure.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            mean: self.mean * factor,
            half_width: self.half_width.map(|width| width * factor.abs()),
            ..self
        }
    }

    /// The ends of the interval.
    fn ends(&self) -> [f64; 2] {
        let width = self.half_width.unwrap_or(0.0);
        [self.mean - width, self.mean + width]
    }

    /// Whether it is less than another figure.
    pub(crate) fn less(&self, other: &Self) -> Answer {
        let ([low, high], [other_low, other_high]) = (self.ends(), other.ends());
        Answer::of(high < other_low, other_high < low)
    }

    /// Whether it is at most a limit.
    pub(crate) fn at_most(&self, limit: f64) -> Answer {
        within(self.ends(), limit)
    }

    /// The same as what pages show.
    pub(crate) fn interval(self) -> Interval {
        Interval { mean: self.mean, half_width: self.half_width, runs: self.runs }
    }
}

impl Display for Estimate {
    /// Three decimals, unless the format asks for others.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.interval().fmt(out)
    }
}

/// Whether an interval is at most a limit.
pub(crate) fn within([low, high]: [f64; 2], limit: f64) -> Answer {
    Answer::of(high <= limit, low > limit)
}

/// Whether something is so, as far as intervals can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is not.
    No,
    /// The intervals overlap: there is no clear difference.
    Unclear,
    /// It is.
    Yes,
}

impl Answer {
    fn of(yes: bool, no: bool) -> Self {
        match (yes, no) {
            (true, _) => Self::Yes,
            (_, true) => Self::No,
            _ => Self::Unclear,
        }
    }

    /// Whether both are so.
    pub(crate) fn and(self, other: Self) -> Self {
        self.min(other)
    }

    /// Whether it is not so.
    pub(crate) fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Unclear => Self::Unclear,
            Self::Yes => Self::No,
        }
    }
}

impl From<bool> for Answer {
    fn from(so: bool) -> Self {
        if so { Self::Yes } else { Self::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("a width");
        assert!((found - expected).abs() < 1e-9, "{found}, and not {expected}");
    }

    #[test]
    fn trainings_are_groups_of_generations() {
        // Means 10, 13 and 16: their deviation is 3, its standard error 3 / sqrt(3), and Student's
        // distribution with two degrees asks for 4.302652729749462 of these.
        let groups = [vec![9.0, 10.0, 11.0], vec![13.0], vec![15.0, 17.0]];
        let found = Estimate::of_generations(&groups).expect("a figure");
        assert_eq!((found.mean, found.runs, found.trainings), (13.0, 6, 3));
        near(found.half_width, 4.302652729749462 * 3.0 / 3f64.sqrt());
        // One training: 9, 10 and 11 deviate by 1.
        let once = Estimate::of_generations(&groups[..1]).expect("a figure");
        assert_eq!((once.mean, once.runs, once.trainings), (10.0, 3, 1));
        near(once.half_width, 4.302652729749462 / 3f64.sqrt());
    }

    #[test]
    fn trainings_that_agree_by_luck_do_not_hide_what_generations_differ() {
        // Both means are 2; the four generations deviate by sqrt(4 / 3).
        let found = Estimate::of_generations(&[vec![1.0, 3.0], vec![1.0, 3.0]]).expect("a figure");
        near(found.half_width, 3.1824463052837078 * (4.0f64 / 3.0).sqrt() / 2.0);
    }

    #[test]
    fn what_was_measured_once_has_no_interval() {
        let found = Estimate::of_generations(&[vec![1.0], vec![]]).expect("a figure");
        assert_eq!((found.half_width, found.trainings), (None, 1));
        assert_eq!(Estimate::of_generations(&[vec![], vec![]]), None);
        assert_eq!(Estimate::of_generations(&[vec![f64::NAN], vec![1.0]]), None);
        assert_eq!(Estimate::of_trainings(&[]), None);
    }

    #[test]
    fn overlapping_intervals_are_no_clear_difference() {
        let of = |mean, width| Estimate { mean, half_width: Some(width), runs: 0, trainings: 3 };
        assert_eq!(of(1.0, 0.4).less(&of(2.0, 0.5)), Answer::Yes);
        assert_eq!(of(1.0, 0.6).less(&of(2.0, 0.5)), Answer::Unclear);
        assert_eq!(of(2.0, 0.5).less(&of(1.0, 0.4)), Answer::No);
        assert_eq!(of(2.0, 0.5).less(&of(1.0, 0.4).times(3.0)), Answer::Unclear);
        let limits = [1.5, 1.4, 0.4].map(|limit| of(1.0, 0.5).at_most(limit));
        assert_eq!(limits, [Answer::Yes, Answer::Unclear, Answer::No]);
        assert_eq!(Answer::Yes.and(Answer::Unclear), Answer::Unclear);
        assert_eq!(Answer::Unclear.and(Answer::No), Answer::No);
    }
}
