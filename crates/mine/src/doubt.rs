//! Whether candidates without exceptions are rules, or only have rare exceptions.
//!
//! Codes that often go together look like rules while they are rare: at 10 occasions, a pair that
//! goes together 9 times in 10 shows no exception one time in three. How many such pairs there are
//! can be seen from the candidates that do show a few exceptions. So the rates of exceptions of
//! all candidates of a template are taken as drawn from one unknown distribution with a share of
//! them exactly zero; that distribution is estimated by maximum likelihood (expectation
//! maximisation on a grid), and each candidate is judged by it.

use std::collections::BTreeMap;

/// Candidates with more exceptions than this say little about rates near zero.
const MOST_MISSES: u64 = 10;
/// Rates on the grid beside zero.
const RATES: usize = 40;
const LOWEST_RATE: f64 = 1e-4;
const HIGHEST_RATE: f64 = 0.95;
const ROUNDS: usize = 400;
/// Kinds of trials told apart: 40 for each factor of e.
const STEPS: f64 = 40.0;

/// How exceptions come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    /// Each trial is an exception or is not.
    Binomial,
    /// Trials are a number of exceptions to be expected.
    Poisson,
}

/// What was seen of candidates with few exceptions.
#[derive(Clone, Debug)]
pub(crate) struct Sightings {
    law: Law,
    /// How many candidates there were, by the number of trials, in steps, and of exceptions.
    counts: BTreeMap<(i32, u64), u64>,
}

/// The estimated distribution of rates.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    law: Law,
    /// The weight of rate zero and of each rate on the grid.
    weights: Vec<f64>,
}

fn rate(step: usize) -> f64 {
    let along = step as f64 / (RATES - 1) as f64;
    LOWEST_RATE * (HIGHEST_RATE / LOWEST_RATE).powf(along)
}

/// The share of each rate on the grid where all rates are equally likely.
fn evenly() -> impl Iterator<Item = f64> {
    let all: f64 = (0..RATES).map(rate).sum();
    (0..RATES).map(move |step| rate(step) / all)
}

fn most_misses(trials: f64) -> u64 {
    MOST_MISSES.min((trials / 2.0) as u64)
}

impl Law {
    fn probability(self, trials: f64, misses: u64, rate: f64) -> f64 {
        let count = misses as f64;
        match self {
            Self::Binomial => {
                let ways: f64 =
                    (0..misses).map(|taken| ((trials - taken as f64).max(1e-9)).ln()).sum();
                let ways = ways - ln_gamma(count + 1.0);
                (ways + count * rate.ln() + (trials - count).max(0.0) * (-rate).ln_1p()).exp()
            }
            Self::Poisson => {
                let expected = trials * rate;
                (count * expected.ln() - expected - ln_gamma(count + 1.0)).exp()
            }
        }
    }

    /// The probability of a number of exceptions, among the numbers that are looked at.
    fn likelihood(self, trials: f64, misses: u64, rate: f64) -> f64 {
        let seen: f64 = (0..=most_misses(trials)).map(|m| self.probability(trials, m, rate)).sum();
        // Where so few exceptions are out of the question, the first terms say nothing more.
        if seen < 1e-280 { 0.0 } else { self.probability(trials, misses, rate) / seen }
    }
}

impl Sightings {
    pub fn new(law: Law) -> Self {
        Self { law, counts: BTreeMap::new() }
    }

    /// Whether a candidate with this many exceptions would be looked at.
    pub fn wants(trials: f64, misses: u64) -> bool {
        trials >= 1.0 && misses <= most_misses(trials)
    }

    /// Adds a candidate.
    pub fn add(&mut self, trials: f64, misses: u64) {
        if Self::wants(trials, misses) {
            let step = (trials.ln() * STEPS).round() as i32;
            *self.counts.entry((step, misses)).or_insert(0) += 1;
        }
    }

    /// Takes in those of others.
    pub fn join(&mut self, other: &Self) {
        for (&kind, &count) in &other.counts {
            *self.counts.entry(kind).or_insert(0) += count;
        }
    }

    /// Estimates the distribution of rates.
    pub fn rates(&self) -> Rates {
        let rows: Vec<(f64, Vec<f64>)> = self
            .counts
            .iter()
            .map(|(&(step, misses), &count)| {
                let trials = (f64::from(step) / STEPS).exp();
                let zero = if misses == 0 { 1.0 } else { 0.0 };
                let others = (0..RATES).map(|step| self.law.likelihood(trials, misses, rate(step)));
                (count as f64, std::iter::once(zero).chain(others).collect())
            })
            .collect();
        // Half at zero, and half spread evenly over all rates, of which few are near zero: rates
        // that trials cannot tell from zero gain weight only where others speak for them.
        let spread = evenly().map(|share| 0.5 * share);
        let mut weights: Vec<f64> = std::iter::once(0.5).chain(spread).collect();
        for _ in 0..ROUNDS {
            let mut shares = vec![0.0; RATES + 1];
            for (count, row) in &rows {
                let all: f64 = weights.iter().zip(row).map(|(weight, value)| weight * value).sum();
                if all > 0.0 {
                    let each = weights.iter().zip(row).map(|(weight, value)| weight * value / all);
                    shares.iter_mut().zip(each).for_each(|(share, part)| *share += count * part);
                }
            }
            let total: f64 = shares.iter().sum();
            if total <= 0.0 {
                break;
            }
            weights = shares.into_iter().map(|share| share / total).collect();
        }
        // One more candidate, of which nothing was seen: its rate may be any. It keeps a handful of
        // candidates from vouching for each other, and is nothing beside many.
        let candidates: u64 = self.counts.values().sum();
        let unseen = 1.0 / (candidates as f64 + 1.0);
        for (weight, share) in weights.iter_mut().skip(1).zip(evenly()) {
            *weight += unseen * share;
        }
        Rates { law: self.law, weights }
    }
}

impl Rates {
    /// The probability that a candidate without exceptions has a rate above zero.
    pub fn doubt(&self, trials: f64) -> f64 {
        let rare: f64 = (0..RATES)
            .map(|step| self.weights[step + 1] * self.law.likelihood(trials, 0, rate(step)))
            .sum();
        let all = self.weights[0] + rare;
        if all > 0.0 { rare / all } else { 1.0 }
    }

    /// The probability that a candidate without exceptions has one in further trials, `ahead` of
    /// them for each that was seen.
    pub fn broken(&self, trials: f64, ahead: f64) -> f64 {
        let (mut all, mut broken) = (self.weights[0], 0.0);
        for step in 0..RATES {
            let rate = rate(step);
            let part = self.weights[step + 1] * self.law.likelihood(trials, 0, rate);
            all += part;
            broken += part * (1.0 - self.law.probability(trials * ahead, 0, rate)).max(0.0);
        }
        if all > 0.0 { broken / all } else { 1.0 }
    }
}

/// The most that the rate of exceptions may be, with 95% confidence, when `exceptions` of `trials`
/// were exceptions (Clopper and Pearson, one-sided). Without exceptions it is nearly 3 / trials.
pub(crate) fn upper_bound(exceptions: u64, trials: u64) -> f64 {
    const MISSED: f64 = 0.05;
    if exceptions >= trials {
        return 1.0;
    }
    if exceptions == 0 {
        return -(MISSED.ln() / trials as f64).exp_m1();
    }
    let (seen, unseen) = (exceptions as f64 + 1.0, (trials - exceptions) as f64);
    let (mut low, mut high) = (exceptions as f64 / trials as f64, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if beta_share(seen, unseen, middle) < 1.0 - MISSED { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function: the share of a beta distribution below `x`.
fn beta_share(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The fraction converges fast on one side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, evaluated from the front (Lentz).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut numerator = 1.0;
    let mut denominator = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominator;
    for step in 1..=500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            denominator = 1.0 / away_from_zero(1.0 + term * denominator);
            numerator = away_from_zero(1.0 + term / numerator);
            change = numerator * denominator;
            fraction *= change;
        }
        if (change - 1.0_f64).abs() < 1e-13 {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function, for positive numbers: Stirling's series from 10 on.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series =
        inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binomial(trials: u64, misses: u64, rate: f64) -> f64 {
        Law::Binomial.probability(trials as f64, misses, rate)
    }

    #[test]
    fn rules_among_loose_pairs_are_told_apart_by_their_trials() {
        let mut sightings = Sightings::new(Law::Binomial);
        // A thousand pairs at each of three numbers of trials that go together 9 times in 10, and
        // twenty rules at each.
        for trials in [10, 60, 400] {
            for misses in 0..=10 {
                let seen = (1000.0 * binomial(trials, misses, 0.1)).round() as u64;
                for _ in 0..seen + if misses == 0 { 20 } else { 0 } {
                    sightings.add(trials as f64, misses);
                }
            }
        }
        let rates = sightings.rates();
        assert!(rates.doubt(10.0) > 0.8, "{}", rates.doubt(10.0));
        assert!(rates.doubt(400.0) < 0.02, "{}", rates.doubt(400.0));
    }

    #[test]
    fn a_rule_alone_needs_more_trials() {
        for law in [Law::Binomial, Law::Poisson] {
            let mut sightings = Sightings::new(law);
            sightings.add(60.0, 0);
            sightings.add(20.0, 10);
            let rates = sightings.rates();
            assert!(rates.doubt(60.0) < 0.05, "{law:?} {}", rates.doubt(60.0));
            assert!(rates.doubt(5.0) > 0.05, "five trials of a single rule are few");
        }
    }

    #[test]
    fn what_is_doubted_is_broken_by_a_part_of_further_trials() {
        let mut sightings = Sightings::new(Law::Binomial);
        for _ in 0..50 {
            sightings.add(100.0, 0);
            sightings.add(100.0, 3);
        }
        let rates = sightings.rates();
        for trials in [5.0, 20.0, 100.0, 400.0] {
            let (doubt, broken) = (rates.doubt(trials), rates.broken(trials, 0.125));
            assert!(broken < doubt, "{trials}: {broken} of {doubt}");
            assert!(broken < rates.broken(trials, 10.0), "more trials break more");
        }
        assert!(rates.broken(5.0, 0.125) > rates.broken(400.0, 0.125));
    }

    #[test]
    fn nothing_seen_is_no_reason_for_trust_or_panic() {
        let rates = Sightings::new(Law::Poisson).rates();
        assert!((0.0..=1.0).contains(&rates.doubt(1.0)));
        assert!((0.0..=1.0).contains(&rates.doubt(1e12)));
    }

    /// The probability of at most `most` exceptions, by adding up.
    fn at_most(most: u64, trials: u64, rate: f64) -> f64 {
        let mut term = (1.0 - rate).powi(trials as i32);
        let mut sum = term;
        for count in 0..most {
            term *= (trials - count) as f64 / (count + 1) as f64 * rate / (1.0 - rate);
            sum += term;
        }
        sum
    }

    #[test]
    fn the_bound_is_where_so_few_exceptions_have_five_percent() {
        for trials in [1, 2, 5, 10, 37, 100, 500] {
            for exceptions in (0..trials).take(30) {
                let bound = upper_bound(exceptions, trials);
                let left = at_most(exceptions, trials, bound);
                assert!((left - 0.05).abs() < 1e-6, "{exceptions} of {trials}: {bound} {left}");
            }
        }
    }

    #[test]
    fn the_bounds_of_a_few_counts() {
        assert!((upper_bound(0, 300) - 0.00994).abs() < 1e-5);
        assert!((upper_bound(3, 50) - 0.14784).abs() < 1e-5);
        assert_eq!(upper_bound(0, 0), 1.0);
    }

    #[test]
    fn large_counts_stay_finite_and_above_the_rate() {
        for trials in [1_000_000_u64, 40_000_000_000] {
            let bound = upper_bound(trials / 100, trials);
            assert!(bound > 0.01 && bound < 0.0102, "{bound}");
        }
    }
}
