//! Numbers as reports write them.

/// A number with a comma between thousands.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things.
pub(crate) fn count(value: u64, thing: &str) -> String {
    format!("{} {thing}{}", number(value), if value == 1 { "" } else { "s" })
}

/// Nats, to a tenth.
pub(crate) fn nats(value: f64) -> String {
    let tenths = (value * 10.0).round();
    if tenths.abs() >= 1e15 || !tenths.is_finite() {
        return format!("{value:.1}");
    }
    let sign = if tenths < 0.0 { "-" } else { "" };
    let tenths = tenths.abs() as u64;
    format!("{sign}{}.{}", number(tenths / 10), tenths % 10)
}
