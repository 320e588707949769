//! Sex and age as codes tell them.

/// The OMOP concept of a sex, if the code is one.
pub(super) fn sex_concept(code: &str) -> Option<u32> {
    let value = after(code, &["SEX", "GENDER"])?;
    match value.to_ascii_uppercase().as_str() {
        "F" | "FEMALE" | "8532" => Some(8532),
        "M" | "MALE" | "8507" => Some(8507),
        _ => None,
    }
}

/// The years in the middle of an age band, if the code is one: `AGE//40-60`, `AGE//[40-50)`, or
/// `AGE//85+`, of which it is the start.
pub(super) fn age_years(code: &str) -> Option<i64> {
    let band = after(code, &["AGE"])?.trim_matches(['[', ')', '(', ']']);
    let number = |text: &str| text.trim().parse::<u8>().ok().map(i64::from);
    if let Some(from) = band.strip_suffix('+') {
        return number(from);
    }
    match band.split_once('-') {
        Some((from, to)) => Some((number(from)? + number(to)?) / 2),
        None => number(band),
    }
}

/// What follows the first part of a code, if that is one of the given words.
fn after<'c>(code: &'c str, words: &[&str]) -> Option<&'c str> {
    let (word, value) = code.split_once("//")?;
    words.iter().any(|known| known.eq_ignore_ascii_case(word)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_sex_and_age() {
        assert_eq!(sex_concept("SEX//F"), Some(8532));
        assert_eq!(sex_concept("gender//Male"), Some(8507));
        assert_eq!(sex_concept("SEX//unknown"), None);
        assert_eq!(sex_concept("ICD9CM//F"), None);
        assert_eq!(age_years("AGE//40-60"), Some(50));
        assert_eq!(age_years("AGE//[70-80)"), Some(75));
        assert_eq!(age_years("AGE//85+"), Some(85));
        assert_eq!(age_years("AGE//old"), None);
        assert_eq!(age_years("AGE//9999"), None);
    }
}
