//! Probabilities as they are written.

/// Reads `0.01`, `1%` or `1e-3`.
pub(super) fn read_probability(word: &str) -> Option<f64> {
    let (digits, percent) = match word.strip_suffix('%') {
        Some(digits) => (digits, true),
        None => (word, false),
    };
    let plain =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    if !digits.bytes().all(plain) {
        return None;
    }
    if !percent {
        return digits.parse().ok();
    }
    // Scaling the decimal text rounds once, where a division would round twice.
    let scaled = format!("{digits}e-2").parse().ok();
    scaled.or_else(|| digits.parse::<f64>().ok().map(|value| value / 100.0))
}

#[cfg(test)]
mod tests {
    use super::read_probability;

    #[test]
    fn probabilities_in_three_ways() {
        assert_eq!(read_probability("0.01"), Some(0.01));
        assert_eq!(read_probability("1%"), Some(0.01));
        assert_eq!(read_probability("0.1%"), Some(0.001));
        assert_eq!(read_probability("1e-3"), Some(0.001));
        assert_eq!(read_probability("1e1%"), Some(0.1));
        for word in ["nan", "inf", "infinity", "", "%", "a", "1_0"] {
            assert_eq!(read_probability(word), None, "{word}");
        }
    }
}
