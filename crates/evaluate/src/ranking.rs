//! How well scores tell positives from negatives. Equal scores are tied, and ties count half.

/// Positives and negatives with one score.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    positives: u64,
    negatives: u64,
}

/// Scores of positives and negatives, the highest first.
#[derive(Clone, Debug)]
pub(crate) struct Ranking {
    groups: Vec<Group>,
    positives: u64,
    negatives: u64,
}

impl Ranking {
    /// Ranks scores, each with whether it is of a positive. No score may be other than a number.
    pub fn new(mut scored: Vec<(f64, bool)>) -> Self {
        scored.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
        let groups: Vec<Group> = scored
            .chunk_by(|one, other| one.0 == other.0)
            .map(|tied| {
                let positives = tied.iter().filter(|(_, positive)| *positive).count();
                Group { positives: positives as u64, negatives: (tied.len() - positives) as u64 }
            })
            .collect();
        let positives = groups.iter().map(|group| group.positives).sum();
        Self { positives, negatives: scored.len() as u64 - positives, groups }
    }

    /// The probability that a positive scores above a negative; none if there are none of either.
    pub fn auroc(&self) -> Option<f64> {
        // Twice the pairs in the right order, so that ties are whole numbers.
        let mut twice = 0u128;
        let mut below = self.negatives;
        for group in &self.groups {
            below -= group.negatives;
            twice += u128::from(group.positives) * u128::from(2 * below + group.negatives);
        }
        let pairs = u128::from(self.positives) * u128::from(self.negatives);
        (pairs > 0).then(|| twice as f64 / (2 * pairs) as f64)
    }

    /// The sum over scores, from the highest, of the recall gained times the precision there; none
    /// without a positive.
    pub fn average_precision(&self) -> Option<f64> {
        let (mut positives, mut all, mut sum) = (0, 0, 0.0);
        for group in &self.groups {
            positives += group.positives;
            all += group.positives + group.negatives;
            sum += group.positives as f64 * (positives as f64 / all as f64);
        }
        (positives > 0).then(|| sum / positives as f64)
    }

    /// The standard error of the AUROC by DeLong; none with fewer than two of either.
    pub fn standard_error(&self) -> Option<f64> {
        let auroc = self.auroc()?;
        if self.positives < 2 || self.negatives < 2 {
            return None;
        }
        let (positives, negatives) = (self.positives as f64, self.negatives as f64);
        let (mut of_positives, mut of_negatives) = (0.0, 0.0);
        let (mut above, mut below) = (0, self.negatives);
        for group in &self.groups {
            below -= group.negatives;
            // The share of the others that are on the right side, seen from each of the group.
            let positive = (below as f64 + 0.5 * group.negatives as f64) / negatives;
            let negative = (above as f64 + 0.5 * group.positives as f64) / positives;
            of_positives += group.positives as f64 * (positive - auroc).powi(2);
            of_negatives += group.negatives as f64 * (negative - auroc).powi(2);
            above += group.positives;
        }
        let variance = of_positives / (positives - 1.0) / positives
            + of_negatives / (negatives - 1.0) / negatives;
        Some(variance.sqrt())
    }

    /// The best mean of both recalls over all thresholds, "nobody" among them: 0.5 at least. None
    /// if there are none of either.
    pub fn best_balanced_accuracy(&self) -> Option<f64> {
        if self.positives == 0 || self.negatives == 0 {
            return None;
        }
        let (mut found, mut mistaken, mut best) = (0, 0, 0.5f64);
        for group in &self.groups {
            found += group.positives;
            mistaken += group.negatives;
            let recall = found as f64 / self.positives as f64;
            let spared = (self.negatives - mistaken) as f64 / self.negatives as f64;
            best = best.max(0.5 * (recall + spared));
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_half() {
        let ranking =
            Ranking::new(vec![(0.9, true), (0.5, true), (0.5, false), (-0.0, false), (0.0, true)]);
        // Pairs: 0.9 beats both; 0.5 ties one, beats one; 0.0 loses one, ties one.
        assert_eq!(ranking.auroc(), Some((2.0 + 1.5 + 0.5) / 6.0));
        let precision = (1.0 + 2.0 / 3.0 + 3.0 / 5.0) / 3.0;
        assert!((ranking.average_precision().unwrap() - precision).abs() < 1e-15);
        // Best: everything from 0.9 up, recall 1/3 and no mistake; or from 0.5 up, 2/3 and 1/2.
        assert_eq!(ranking.best_balanced_accuracy(), Some(0.5 * (1.0 / 3.0 + 1.0)));
    }

    #[test]
    fn delong_by_hand() {
        let ranking = Ranking::new(vec![(3.0, true), (1.0, true), (2.0, false), (0.0, false)]);
        // Placements of the positives 1 and 1/2, of the negatives 1/2 and 1; the AUROC is 3/4.
        let variance = 0.125 / 2.0 + 0.125 / 2.0;
        assert_eq!(ranking.auroc(), Some(0.75));
        assert!((ranking.standard_error().unwrap() - f64::sqrt(variance)).abs() < 1e-15);
    }

    #[test]
    fn one_kind_alone_has_no_figure() {
        for scored in [vec![], vec![(1.0, true)], vec![(1.0, false)]] {
            let ranking = Ranking::new(scored);
            assert_eq!((ranking.auroc(), ranking.standard_error()), (None, None));
            assert_eq!(ranking.best_balanced_accuracy(), None);
        }
        assert_eq!(Ranking::new(vec![(1.0, false)]).average_precision(), None);
        assert_eq!(Ranking::new(vec![(1.0, false), (0.0, true)]).standard_error(), None);
    }
}
