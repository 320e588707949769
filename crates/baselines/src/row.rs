//! One visit as a method sees it: what a network says, and what is true; probabilities as
//! logarithms, so that none is ever lost to rounding.

use std::ops::Range;

/// The logits of the codes that a visit may hold, and the codes it holds.
///
/// Codes are counted from the first that the visit may hold, as in
/// `consequence_engine::BinaryRow`.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The logit of every code that the visit may hold.
    pub logits: &'a [f32],
    /// The codes it holds, ascending.
    pub present: &'a [u32],
}

impl Row<'_> {
    pub(crate) fn truth(&self) -> Vec<bool> {
        let mut truth = vec![false; self.logits.len()];
        for &code in self.present {
            truth[code as usize] = true;
        }
        truth
    }

    pub(crate) fn coin(&self, code: u32) -> Coin {
        Coin::from_logit(f64::from(self.logits[code as usize]))
    }

    /// A row of the wrong width would be read as other codes, so that nothing would be right.
    pub(crate) fn check(&self, range: &Range<u32>) {
        assert_eq!(self.logits.len(), range.len(), "one logit for every code of the visit");
    }
}

/// What a visit costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The cost in nats, without what is counted as broken.
    pub nats: f64,
    /// How many parts of the constraint this visit, or what came before it, breaks. Their cost is
    /// infinite. It is left out, and they teach nothing.
    pub broken: usize,
}

impl Cost {
    /// The cost in nats, infinite if anything is broken.
    pub fn whole(self) -> f64 {
        if self.broken == 0 { self.nats } else { f64::INFINITY }
    }
}

/// Where a gradient is added: multiplied by a factor, or not at all.
pub(crate) struct Gradient<'a> {
    pub scale: f64,
    pub into: &'a mut [f32],
}

impl Gradient<'_> {
    pub fn add(&mut self, code: u32, value: f64) {
        self.into[code as usize] += (self.scale * value) as f32;
    }
}

/// One code that is in a visit or not: the logarithms of both probabilities.
///
/// ```
/// use consequence_baselines::Coin;
///
/// let coin = Coin::from_logit(-800.0);
/// assert_eq!(coin.nats(true), 800.0, "no probability is too small");
/// assert_eq!(Coin::from_probability(0.25).probability(), 0.25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coin {
    /// The logarithm of the probability that the code is there.
    pub present: f64,
    /// The logarithm of the probability that it is not.
    pub absent: f64,
}

impl Coin {
    /// A code with this logit.
    pub fn from_logit(logit: f64) -> Self {
        Self { present: -softplus(-logit), absent: -softplus(logit) }
    }

    /// A code with this probability. Probabilities closer to 0 or 1 than 1e-12 are moved there.
    pub fn from_probability(probability: f64) -> Self {
        let probability = probability.clamp(1e-12, 1.0 - 1e-12);
        Self { present: probability.ln(), absent: (-probability).ln_1p() }
    }

    /// The probability that the code is there.
    pub fn probability(self) -> f64 {
        self.present.exp()
    }

    /// What it costs that the code is there or not, in nats.
    pub fn nats(self, present: bool) -> f64 {
        -self.log(present)
    }

    pub(crate) fn log(self, present: bool) -> f64 {
        if present { self.present } else { self.absent }
    }
}

/// `ln(1 + exp(x))`.
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// `1 / (1 + exp(-x))`.
pub(crate) fn sigmoid(x: f64) -> f64 {
    Coin::from_logit(x).probability()
}

/// `ln(exp(a) + exp(b))`, exact where one of them is the logarithm of zero.
pub(crate) fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// `ln` of the sum of the exponentials.
pub(crate) fn log_sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().fold(f64::NEG_INFINITY, log_add)
}

/// `ln(1 - exp(x))` for `x` not above zero.
pub(crate) fn log_complement(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}
