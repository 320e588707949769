//! How far two samples of numbers are apart, and what one looks like.

use serde::Serialize;

/// Fewer numbers than this are counted and not told: a quartile of three would be somebody's.
const FEWEST: u64 = 10;

/// What a sample of numbers looks like. Quantiles lie between the two nearest numbers, as far as they
/// are apart in rank (as NumPy has it).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The numbers.
    pub count: u64,
    /// What a quarter, a half and three quarters of them are at most; none of fewer than 10.
    pub quartiles: Option<[f64; 3]>,
    /// The same of tenths, from one to nine.
    pub deciles: Option<[f64; 9]>,
    /// The same of hundredths, from one to 99, for curves.
    #[serde(skip)]
    pub percentiles: Vec<f64>,
}

impl Summary {
    /// Of numbers in order, with how often each is there, divided by a unit.
    pub(super) fn of<T: Number>(sorted: &[(T, u64)], unit: f64) -> Self {
        let mut passed = 0;
        // By number: how many there are up to it.
        let up_to: Vec<u64> = sorted
            .iter()
            .map(|&(_, times)| {
                passed += times;
                passed
            })
            .collect();
        let count = passed;
        let number =
            |rank: u64| sorted[up_to.partition_point(|&up_to| up_to <= rank)].0.float() / unit;
        let at = |share: f64| {
            let rank = share * (count - 1) as f64;
            let low = rank.floor() as u64;
            let [below, above] = [low, (low + 1).min(count - 1)].map(number);
            below + (above - below) * (rank - low as f64)
        };
        let told = count >= FEWEST;
        Self {
            count,
            quartiles: told.then(|| [0.25, 0.5, 0.75].map(at)),
            deciles: told.then(|| std::array::from_fn(|tenth| at((tenth + 1) as f64 / 10.0))),
            percentiles: match told {
                true => (1..100).map(|part| at(f64::from(part) / 100.0)).collect(),
                false => Vec::new(),
            },
        }
    }

    /// The number in the middle, where it is told.
    pub fn median(&self) -> Option<f64> {
        self.quartiles.map(|[_, median, _]| median)
    }
}

/// Numbers that can be put in order.
pub(super) trait Number: Copy {
    fn order(&self, other: &Self) -> std::cmp::Ordering;
    fn float(self) -> f64;
}

impl Number for i32 {
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.cmp(other)
    }
    fn float(self) -> f64 {
        self.into()
    }
}

impl Number for f32 {
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        // Both zeros are one number.
        self.partial_cmp(other).unwrap_or_else(|| self.total_cmp(other))
    }
    fn float(self) -> f64 {
        self.into()
    }
}

/// The furthest that the shares of two samples below any number are apart (Kolmogorov and Smirnov); none where one is
/// empty. Numbers are in order, with how often each is there.
pub(super) fn kolmogorov_smirnov<T: Number>(one: &[(T, u64)], other: &[(T, u64)]) -> Option<f64> {
    let [all, all_other] = [one, other]
        .map(|numbers| numbers.iter().map(|&(_, times)| i128::from(times)).sum::<i128>());
    if all == 0 || all_other == 0 {
        return None;
    }
    let (mut rest, mut other_rest) = (one, other);
    let (mut passed, mut passed_other, mut furthest) = (0, 0, 0);
    while let (Some(first), Some(other_first)) = (rest.first(), other_rest.first()) {
        let least = if first.0.order(&other_first.0).is_le() { first.0 } else { other_first.0 };
        let take = |numbers: &mut &[(T, u64)]| {
            let equal = numbers.partition_point(|number| number.0.order(&least).is_le());
            let (taken, left) = numbers.split_at(equal);
            *numbers = left;
            taken.iter().map(|&(_, times)| i128::from(times)).sum::<i128>()
        };
        passed += take(&mut rest);
        passed_other += take(&mut other_rest);
        // Both shares times both lengths, so that the difference is a whole number.
        furthest = furthest.max((passed * all_other - passed_other * all).abs());
    }
    Some(furthest as f64 / (all * all_other) as f64)
}

/// Half of what the shares of two lists of counts differ by (total variation); none where one is empty.
pub(super) fn total_variation(one: &[u64], other: &[u64]) -> Option<f64> {
    let [all, all_other] = [one, other].map(|counts| counts.iter().sum::<u64>() as f64);
    if all == 0.0 || all_other == 0.0 {
        return None;
    }
    let apart = one.iter().zip(other).map(|(&a, &b)| (a as f64 / all - b as f64 / all_other).abs());
    Some(apart.sum::<f64>() / 2.0)
}

/// Numbers in order, with how often each is there.
pub(super) fn sorted<T: Number>(numbers: impl IntoIterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut numbers: Vec<(T, u64)> = numbers.into_iter().collect();
    numbers.sort_unstable_by(|one, other| one.0.order(&other.0));
    numbers
}

#[cfg(test)]
mod tests {
    use consequence_prng::{Draws, Purpose};

    use super::*;

    /// The definition, taken literally.
    fn literal(one: &[i32], other: &[i32]) -> f64 {
        let share = |numbers: &[i32], most: i32| {
            numbers.iter().filter(|&&number| number <= most).count() as f64 / numbers.len() as f64
        };
        let points = one.iter().chain(other);
        points.map(|&at| (share(one, at) - share(other, at)).abs()).fold(0.0, f64::max)
    }

    fn counted(numbers: &[i32]) -> Vec<(i32, u64)> {
        let mut counts = std::collections::BTreeMap::new();
        numbers.iter().for_each(|&number| *counts.entry(number).or_default() += 1);
        sorted(counts)
    }

    #[test]
    fn distances_are_what_their_definition_says() {
        for seed in 0..300u64 {
            let sample = |which: u64| -> Vec<i32> {
                let mut values = Draws::new(seed).visit(which, 0, 0, Purpose::Code);
                let count = 1 + (values.uniform(0) * 30.0) as u32;
                let range = 1.0 + 20.0 * values.uniform(1);
                (0..count).map(|at| (values.uniform(2 + at) * range) as i32 - 3).collect()
            };
            let (first, second) = (sample(1), sample(2));
            let (one, other) = (counted(&first), counted(&second));
            let found = kolmogorov_smirnov(&one, &other).unwrap();
            assert!((found - literal(&first, &second)).abs() < 1e-12, "{one:?} {other:?}");
            assert_eq!(Some(found), kolmogorov_smirnov(&other, &one));
            assert_eq!(kolmogorov_smirnov(&one, &one), Some(0.0));
            let floats = |numbers: &[(i32, u64)]| -> Vec<(f32, u64)> {
                numbers.iter().map(|&(number, times)| (number as f32 / 4.0, times)).collect()
            };
            assert_eq!(kolmogorov_smirnov(&floats(&one), &floats(&other)), Some(found));
        }
        assert_eq!(kolmogorov_smirnov::<i32>(&[], &[(1, 1)]), None);
        assert_eq!(kolmogorov_smirnov(&[(-0.0f32, 1)], &[(0.0, 3)]), Some(0.0));
        assert_eq!(kolmogorov_smirnov(&[(1, 1)], &[(2, 1), (3, 4)]), Some(1.0));
    }

    #[test]
    fn shares_and_quantiles() {
        assert_eq!(total_variation(&[1, 1], &[2, 0]), Some(0.5));
        assert_eq!(total_variation(&[5, 0, 0], &[0, 1, 1]), Some(1.0));
        assert_eq!(total_variation(&[3, 3], &[7, 7]), Some(0.0));
        assert_eq!(total_variation(&[0, 0], &[7, 7]), None);
        let numbers: Vec<i32> = (0..=20).collect();
        let found = Summary::of(&counted(&numbers), 2.0);
        assert_eq!(found.quartiles, Some([2.5, 5.0, 7.5]));
        assert_eq!(found.deciles.map(|tenths| (tenths[0], tenths[8])), Some((1.0, 9.0)));
        assert_eq!((found.percentiles.len(), found.count), (99, 21));
        // Between two numbers: a quarter of the way from the third to the fourth.
        let ten: Vec<i32> = (0..10).map(|number| number * number).collect();
        assert_eq!(Summary::of(&counted(&ten), 1.0).quartiles.unwrap()[0], 4.0 + 0.25 * 5.0);
        // Of a few, one would be somebody's.
        let few = Summary::of(&counted(&numbers[..9]), 1.0);
        assert_eq!((few.count, few.quartiles, few.median()), (9, None, None));
    }
}
