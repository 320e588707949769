//! How far two lists of frequencies agree.

/// Sums over the counts of two cohorts, key by key: whole numbers, so their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    pub keys: u128,
    real: u128,
    real_squares: u128,
    products: u128,
    synthetic_squares: u128,
}

impl Moments {
    /// Adds a key that was seen so often in each cohort.
    pub fn add(&mut self, real: u64, synthetic: u64) {
        let (real, synthetic) = (u128::from(real), u128::from(synthetic));
        self.keys += 1;
        self.real += real;
        self.real_squares += real * real;
        self.products += real * synthetic;
        self.synthetic_squares += synthetic * synthetic;
    }

    /// `1 - SS(real - synthetic) / SS(real - mean)` of frequencies: counts over the trials of each
    /// cohort. None without trials, or where all real frequencies are the same.
    pub fn r2(&self, real_trials: u64, synthetic_trials: u64) -> Option<f64> {
        let (real, synthetic) = (u128::from(real_trials), u128::from(synthetic_trials));
        if real == 0 || synthetic == 0 {
            return None;
        }
        // Both sums times the squares of the trials, so that they are whole numbers.
        let spread = match self.exact_spread() {
            Some(0) => return None,
            Some(exact) => exact as f64 / self.keys as f64,
            None => self.real_squares as f64 - (self.real as f64).powi(2) / self.keys as f64,
        };
        let missed = match self.exact_missed(real, synthetic) {
            Some(exact) => exact as f64 / (synthetic * synthetic) as f64,
            None => {
                let ratio = real as f64 / synthetic as f64;
                self.real_squares as f64 - 2.0 * ratio * self.products as f64
                    + ratio * ratio * self.synthetic_squares as f64
            }
        };
        Some(1.0 - missed / spread)
    }

    fn exact_spread(&self) -> Option<u128> {
        self.keys.checked_mul(self.real_squares)?.checked_sub(self.real.checked_mul(self.real)?)
    }

    fn exact_missed(&self, real: u128, synthetic: u128) -> Option<u128> {
        let squares = self
            .real_squares
            .checked_mul(synthetic.checked_mul(synthetic)?)?
            .checked_add(self.synthetic_squares.checked_mul(real.checked_mul(real)?)?)?;
        squares
            .checked_sub(self.products.checked_mul(real.checked_mul(synthetic)?)?.checked_mul(2)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_too_large_for_whole_numbers_give_the_same_figure() {
        let counts = [(3u64, 5u64), (10, 9), (0, 4), (7, 0), (20, 31)];
        let [mut small, mut large] = [Moments::default(); 2];
        let scale = 1 << 52;
        for (real, synthetic) in counts {
            small.add(real, synthetic);
            large.add(real * scale, synthetic * scale);
        }
        assert!(large.exact_missed(40 * scale as u128, 50 * scale as u128).is_none());
        let [small, large] = [small.r2(40, 50), large.r2(40 * scale, 50 * scale)];
        assert!((small.unwrap() - large.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn the_same_counts_agree_exactly_and_equal_ones_have_no_figure() {
        let [mut same, mut equal] = [Moments::default(); 2];
        for count in [1, 7, 3] {
            same.add(count, count);
            equal.add(5, count);
        }
        assert_eq!(same.r2(9, 9), Some(1.0));
        assert_eq!((equal.r2(9, 9), same.r2(0, 9), same.r2(9, 0)), (None, None, None));
    }
}
