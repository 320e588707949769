//! How rare exceptions must be, given how few were seen.

/// The most that the rate of exceptions may be, with 95% confidence, when `exceptions` of `trials`
/// were exceptions (Clopper and Pearson, one-sided). Without exceptions it is nearly 3 / trials.
///
/// ```
/// use consequence_mine::upper_bound;
///
/// assert!((upper_bound(0, 300) - 0.00994).abs() < 1e-5);
/// assert!((upper_bound(3, 50) - 0.14784).abs() < 1e-5);
/// assert_eq!(upper_bound(0, 0), 1.0);
/// ```
pub fn upper_bound(exceptions: u64, trials: u64) -> f64 {
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
    fn large_counts_stay_finite_and_above_the_rate() {
        for trials in [1_000_000_u64, 40_000_000_000] {
            let bound = upper_bound(trials / 100, trials);
            assert!(bound > 0.01 && bound < 0.0102, "{bound}");
        }
    }
}
