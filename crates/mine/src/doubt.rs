//! Whether candidates without exceptions are rules, or only have rare exceptions.
//!
//! Codes that often go together look like rules while they are rare: at 10 occasions, a pair that
//! goes together 9 times in 10 shows no exception one time in three. How many such pairs there are
//! can be seen from the candidates that do show a few exceptions. So the rates of exceptions of
//! all candidates of a template are taken as drawn from one unknown distribution with a share of
//! them exactly zero; that distribution is estimated by maximum likelihood (expectation
//! maximisation on a grid), and each candidate is judged by it.

use std::collections::BTreeMap;

use crate::bounds::ln_gamma;

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
    /// How many candidates had so many trials, in steps, and so many exceptions.
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

    /// The probability of so many exceptions among the numbers of them that are looked at.
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

    /// Whether a candidate with so many exceptions would be looked at.
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
    fn nothing_seen_is_no_reason_for_trust_or_panic() {
        let rates = Sightings::new(Law::Poisson).rates();
        assert!((0.0..=1.0).contains(&rates.doubt(1.0)));
        assert!((0.0..=1.0).contains(&rates.doubt(1e12)));
    }
}
