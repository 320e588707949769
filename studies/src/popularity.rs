//! Codes drawn as often as they are popular.

use consequence_record::Code;
use consequence_testing::worlds::Choices;

/// Codes with weights, to draw from.
#[derive(Clone, Debug)]
pub struct Popularity {
    codes: Vec<Code>,
    cumulated: Vec<f64>,
}

impl Popularity {
    /// The first code is the most popular; the one at rank `r` has weight `1 / (r + 3)`.
    pub fn zipf(codes: Vec<Code>) -> Self {
        Self::weighted(codes, |rank| 1.0 / (rank as f64 + 3.0))
    }

    /// The first code is the least popular; weights grow with the rank.
    pub fn rising(codes: Vec<Code>) -> Self {
        Self::weighted(codes, |rank| rank as f64 + 1.0)
    }

    /// All codes alike.
    pub fn even(codes: Vec<Code>) -> Self {
        Self::weighted(codes, |_| 1.0)
    }

    fn weighted(codes: Vec<Code>, weight: impl Fn(usize) -> f64) -> Self {
        let mut sum = 0.0;
        let cumulated = (0..codes.len())
            .map(|rank| {
                sum += weight(rank);
                sum
            })
            .collect();
        Self { codes, cumulated }
    }

    /// The codes, first rank first.
    pub fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// One code.
    pub fn pick(&self, choices: &mut Choices) -> Code {
        let total = self.cumulated.last().copied().unwrap_or(0.0);
        let place = choices.below(1 << 32) as f64 / (1u64 << 32) as f64 * total;
        let rank = self.cumulated.partition_point(|&sum| sum <= place);
        self.codes[rank.min(self.codes.len() - 1)]
    }

    /// Distinct codes, sorted.
    pub fn pick_set(&self, count: usize, choices: &mut Choices) -> Vec<Code> {
        let mut set = Vec::new();
        while set.len() < count.min(self.codes.len()) {
            let code = self.pick(choices);
            if !set.contains(&code) {
                set.push(code);
            }
        }
        set.sort_unstable();
        set
    }

    /// Each code with a probability in proportion to its weight, so that visits drawn code by code
    /// hold `expected` codes on average, or a little fewer where a probability reaches its cap.
    pub fn probabilities(&self, expected: f64) -> impl Iterator<Item = (Code, f64)> + '_ {
        let total = self.cumulated.last().copied().unwrap_or(1.0);
        let before = std::iter::once(0.0).chain(self.cumulated.iter().copied());
        let weights = before.zip(&self.cumulated).map(|(before, sum)| sum - before);
        self.codes
            .iter()
            .zip(weights)
            .map(move |(&code, weight)| (code, (weight / total * expected).min(0.9)))
    }
}
