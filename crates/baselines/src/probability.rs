//! Probabilities of codes as logarithms, so that none is ever lost to rounding.

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
