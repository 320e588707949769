//! Numbers and lists as a reader likes them.

use std::fmt::Display;

/// `1234567` as `1,234,567`.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 record`, `2,000 records`.
pub fn count(value: u64, thing: &str) -> String {
    let ending = if value == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", number(value))
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[impl Display]) -> String {
    match items {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}

/// A share as a percentage that only says 0 or 100 where that is exact.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 || part >= whole {
        return "100%".to_owned();
    }
    let exact = 100.0 * part as f64 / whole as f64;
    let shown = if part == 0 { 0.0 } else { exact.clamp(0.01, 99.99) };
    format!("{shown:.2}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_read_well() {
        assert_eq!((number(7), number(1000), number(1_234_567)), {
            ("7".into(), "1,000".into(), "1,234,567".into())
        });
        assert_eq!((count(1, "rule"), count(0, "rule")), ("1 rule".into(), "0 rules".into()));
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn nearly_all_is_not_all() {
        assert_eq!(percent(999_999, 1_000_000), "99.99%");
        assert_eq!(percent(1, 1_000_000), "0.01%");
        assert_eq!((percent(3, 3), percent(0, 3)), ("100%".into(), "0.00%".into()));
    }
}
