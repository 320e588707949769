//! Counts as people type them.

use thiserror::Error;

/// A word that is not a count.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a count; write digits such as 500, 1_000_000 or 10k")]
pub struct CountError(String);

/// Reads `500`, `1_000_000`, `10k` or `2m`.
///
/// ```
/// use consequence_pipeline::parse_count;
///
/// assert_eq!(parse_count("1_000_000"), Ok(1_000_000));
/// assert_eq!(parse_count("10k"), Ok(10_000));
/// assert_eq!(parse_count("2M"), Ok(2_000_000));
/// assert!(parse_count("ten").is_err());
/// ```
pub fn parse_count(text: &str) -> Result<u64, CountError> {
    let fail = || CountError(text.chars().take(40).collect());
    let (digits, scale) = match text.char_indices().next_back() {
        Some((end, 'k' | 'K')) => (&text[..end], 1_000),
        Some((end, 'm' | 'M')) => (&text[..end], 1_000_000),
        _ => (text, 1),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) || digits.ends_with('_') {
        return Err(fail());
    }
    let mut value = 0u64;
    for digit in digits.chars().filter(|&digit| digit != '_') {
        let digit = digit.to_digit(10).ok_or_else(fail)?;
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(digit.into()))
            .ok_or_else(fail)?;
    }
    value.checked_mul(scale).ok_or_else(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_count_is_refused() {
        for text in ["", "k", "_1", "1_", "-1", "1.5k", "1kk", "99999999999999999999", "10é"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }
}
