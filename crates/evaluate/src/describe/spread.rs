//! Numbers counted by their value, and what they look like: memory grows with the values that differ, and
//! not with the numbers.

use consequence_tally::{Coded, Counts, Damaged, Reader, Values, Writer};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// What a sample of numbers looks like. Quantiles lie between the two nearest numbers, as far as they
/// are apart in rank (as NumPy and pandas have it).
///
/// ```
/// use consequence_evaluate::Spread;
///
/// let spread = Spread::of(vec![(1.0, 2), (4.0, 1), (10.0, 1)]);
/// assert_eq!((spread.count, spread.mean), (4, Some(4.0)));
/// assert_eq!(spread.quartiles, Some([1.0, 2.5, 5.5]));
/// assert_eq!((spread.least, spread.most), (Some(1.0), Some(10.0)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The numbers.
    pub count: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their standard deviation, as estimated from a sample; none of fewer than two.
    pub deviation: Option<f64>,
    /// The smallest.
    pub least: Option<f64>,
    /// What a quarter, a half and three quarters of them are at most.
    pub quartiles: Option<[f64; 3]>,
    /// The largest.
    pub most: Option<f64>,
    /// Each value with how often it is there, in order.
    #[serde(skip)]
    pub counts: Vec<(f64, u64)>,
}

impl Spread {
    /// Of values that differ, in order, with how often each is there.
    pub fn of(counts: Vec<(f64, u64)>) -> Self {
        let count: u64 = counts.iter().map(|&(_, times)| times).sum();
        let (Some(&(least, _)), Some(&(most, _))) = (counts.first(), counts.last()) else {
            return Self::default();
        };
        let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
            counts.iter().map(|&(value, times)| of(value) * times as f64).sum()
        };
        let mean = sum(&|value| value) / count as f64;
        let squares = sum(&|value| (value - mean) * (value - mean));
        let at = |rank: u64| {
            let mut passed = 0;
            let found = counts.iter().find(|&&(_, times)| {
                passed += times;
                rank < passed
            });
            found.map_or(most, |&(value, _)| value)
        };
        let quantile = |share: f64| {
            let rank = share * (count - 1) as f64;
            let low = rank.floor();
            let (below, above) = (at(low as u64), at((low as u64 + 1).min(count - 1)));
            below + (above - below) * (rank - low)
        };
        Self {
            count,
            mean: Some(mean),
            deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            least: Some(least),
            quartiles: Some([0.25, 0.5, 0.75].map(quantile)),
            most: Some(most),
            counts,
        }
    }

    /// The number in the middle.
    pub fn median(&self) -> Option<f64> {
        self.quartiles.map(|[_, median, _]| median)
    }

    /// The numbers that are further from the quartiles than three times what those are apart, which
    /// Tukey called far out. None where half of all numbers are the same.
    pub fn far_out(&self) -> u64 {
        let Some([low, _, high]) = self.quartiles.filter(|[low, _, high]| low < high) else {
            return 0;
        };
        let reach = 3.0 * (high - low);
        let far = |value: f64| value < low - reach || value > high + reach;
        self.counts.iter().filter(|&&(value, _)| far(value)).map(|&(_, times)| times).sum()
    }

    /// The same without its ends, each of which may be one patient's.
    pub fn without_ends(self) -> Self {
        Self { least: None, most: None, ..self }
    }
}

/// Whole numbers, counted by their value.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(FxHashMap<i64, u64>);

impl Tally {
    pub fn push(&mut self, value: i64) {
        *self.0.entry(value).or_default() += 1;
    }

    pub fn finish(self) -> Spread {
        let counts = self.sorted().into_iter();
        Spread::of(counts.map(|(value, times)| (value as f64, times)).collect())
    }

    /// The values in order, with how often each is there.
    pub fn sorted(self) -> Vec<(i64, u64)> {
        let mut counts: Vec<(i64, u64)> = self.0.into_iter().collect();
        counts.sort_unstable();
        counts
    }
}

impl Coded for Tally {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Coded::read(from).map(Self)
    }
}

impl Counts for Tally {
    fn add(&mut self, other: Self) {
        self.0.add(other.0);
    }
}

/// What the values of a test look like. They have no more digits than they are written with: 9.1 is not
/// 9.100000381.
pub(super) fn spread_of(values: &Values) -> Spread {
    let number = |value: f32| value.to_string().parse().unwrap_or_else(|_| value.into());
    Spread::of(values.sorted().into_iter().map(|(value, times)| (number(value), times)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by sorting all numbers.
    fn naive(mut numbers: Vec<f64>, share: f64) -> f64 {
        numbers.sort_by(f64::total_cmp);
        let rank = share * (numbers.len() - 1) as f64;
        let (low, high) = (rank.floor() as usize, rank.ceil() as usize);
        numbers[low] * (1.0 - rank.fract()) + numbers[high] * rank.fract()
    }

    #[test]
    fn quartiles_are_those_of_all_numbers_sorted() {
        for size in 1..40_i64 {
            let numbers: Vec<i64> = (0..size).map(|number| number * number % 17 - 3).collect();
            let mut tally = Tally::default();
            numbers.iter().for_each(|&number| tally.push(number));
            let spread = tally.finish();
            let floats: Vec<f64> = numbers.iter().map(|&number| number as f64).collect();
            let shares = [0.25, 0.5, 0.75];
            let quartiles = shares.map(|share| naive(floats.clone(), share));
            for (ours, theirs) in spread.quartiles.unwrap().into_iter().zip(quartiles) {
                assert!((ours - theirs).abs() < 1e-12, "{size}: {ours} {theirs}");
            }
            assert_eq!(spread.count, size as u64);
            assert_eq!(spread.deviation.is_some(), size > 1);
        }
    }

    #[test]
    fn no_numbers_and_equal_numbers() {
        assert_eq!(Spread::of(Vec::new()), Spread::default());
        let same = Spread::of(vec![(2.0, 5)]);
        assert_eq!((same.deviation, same.far_out()), (Some(0.0), 0));
        let far = Spread::of(vec![(1.0, 5), (2.0, 5), (100.0, 1)]);
        assert_eq!(far.far_out(), 1);
    }

    #[test]
    fn values_have_the_digits_that_they_are_written_with() {
        let mut values = Values::default();
        [9.1, -0.0, 0.0].into_iter().for_each(|value| values.push(value));
        assert_eq!(spread_of(&values).counts, [(0.0, 2), (9.1, 1)]);
    }
}
