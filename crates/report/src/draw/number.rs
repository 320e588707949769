//! Numbers as people read them.

/// The sign of negative figures: as wide as a digit, and not a hyphen.
const MINUS: char = '\u{2212}';

/// A count with commas between thousands.
pub(crate) fn count(value: u64) -> String {
    separated(&value.to_string())
}

/// A figure with so many digits after the point and commas between thousands. What is not zero and
/// would be shown as zero is said to be below the smallest figure shown.
pub(crate) fn fixed(value: f64, digits: u8) -> String {
    let digits = usize::from(digits.min(12));
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    let shown = format!("{:.digits$}", value.abs());
    if value != 0.0 && shown.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
        let least = format!("{:.digits$}", 10_f64.powi(-i32::try_from(digits).unwrap_or(0)));
        return if value > 0.0 { format!("<{least}") } else { format!(">{MINUS}{least}") };
    }
    let (whole, rest) = shown.split_at(shown.find('.').unwrap_or(shown.len()));
    let sign = if value < 0.0 { MINUS.to_string() } else { String::new() };
    format!("{sign}{}{rest}", separated(whole))
}

/// A figure with three significant digits, for axes and hints.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&exponent) {
        return format!("{value:.1e}").replace('-', &MINUS.to_string());
    }
    let digits = (2.0 - exponent).clamp(0.0, 12.0) as u8;
    let text = fixed(value, digits);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A probability as a percentage with three significant digits.
pub(crate) fn percent(value: f64) -> String {
    format!("{}%", significant(value * 100.0))
}

fn separated(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let counts = [0, 12, 999, 1000, 46_520, 1_006_321].map(count);
        assert_eq!(counts, ["0", "12", "999", "1,000", "46,520", "1,006,321"]);
        assert_eq!(fixed(1265.4, 1), "1,265.4");
        assert_eq!(fixed(-1265.45, 0), "−1,265");
        assert_eq!(fixed(999.96, 1), "1,000.0");
    }

    #[test]
    fn small_figures_are_not_shown_as_zero() {
        assert_eq!(fixed(0.0, 3), "0.000");
        assert_eq!(fixed(0.0004, 3), "<0.001");
        assert_eq!(fixed(-0.0004, 3), ">−0.001");
        assert_eq!(fixed(0.3, 0), "<1");
        assert_eq!(fixed(-0.0, 1), "0.0");
    }

    #[test]
    fn three_digits_matter() {
        assert_eq!(significant(1234.6), "1,235");
        assert_eq!(significant(0.001_234), "0.00123");
        assert_eq!(significant(20.0), "20");
        assert_eq!(significant(100.0), "100");
        assert_eq!(significant(1.3e-9), "1.3e−9");
        assert_eq!(significant(0.0), "0");
        assert_eq!(percent(0.125), "12.5%");
    }

    #[test]
    fn what_is_no_number_says_so() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(fixed(value, 2), "n/a");
            assert_eq!(significant(value), "n/a");
        }
        assert!(!fixed(f64::MAX, 200).is_empty() && !fixed(f64::MIN_POSITIVE, 200).is_empty());
    }
}
