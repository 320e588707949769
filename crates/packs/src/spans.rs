//! Codes as notes write them: `E08.-`, `O00-O9A`, `E08-E13 with .42`.

/// The codes from one to another, both with all below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    low: String,
    high: String,
    /// What follows the category of each code; empty: anything.
    tail: String,
}

impl Span {
    /// Whether a code lies inside with all that is below it. A category of which only a part lies
    /// inside does not.
    pub fn covers(&self, code: &str) -> bool {
        let above = match code.get(..self.low.len()) {
            Some(start) => start >= self.low.as_str(),
            None => self.low.get(..code.len()).is_some_and(|low| code > low),
        };
        let below = match code.get(..self.high.len()) {
            Some(start) => start <= self.high.as_str(),
            None => self.high.get(..code.len()).is_some_and(|high| code < high),
        };
        let tail = self.tail.is_empty()
            || code.get(CATEGORY..).is_some_and(|rest| rest.starts_with(&self.tail));
        above && below && tail
    }
}

/// Whether a code lies inside one of them.
pub(crate) fn covered(spans: &[Span], code: &str) -> bool {
    spans.iter().any(|span| span.covers(code))
}

/// The characters of a category.
const CATEGORY: usize = 3;

/// The most characters of a code, without its dot.
const LONGEST: usize = 7;

/// The codes of a list such as `A15-A19, B90.-`; none if anything in it is something else.
pub(crate) fn list(text: &str) -> Option<Vec<Span>> {
    let text = text.trim().trim_end_matches(',');
    let (text, tail) = match text.split_once(" with .") {
        Some((text, tail)) => (text, plain_tail(tail)?),
        None => (text, ""),
    };
    let mut spans = Vec::new();
    for item in text.split([',', ';']).flat_map(|part| part.split(" and ")) {
        let mut span = item_span(item.trim())?;
        if !tail.is_empty() {
            if span.low.len() != CATEGORY || span.high.len() != CATEGORY {
                return None;
            }
            tail.clone_into(&mut span.tail);
        }
        spans.push(span);
    }
    Some(spans)
}

/// The codes that a note ends in, in parentheses, and those in parentheses before. None if it ends
/// otherwise: what follows may say when the note does not hold.
pub(crate) fn of_note(text: &str) -> Option<Vec<Span>> {
    let text = text.trim().trim_end_matches(['.', ',']);
    let last = text.strip_suffix(')')?;
    let mut spans = list(&last[last.rfind('(')? + 1..])?;
    let mut rest = &last[..last.rfind('(')?];
    while let Some(end) = rest.rfind(')') {
        let start = rest[..end].rfind('(')?;
        // Words in parentheses are no codes.
        spans.extend(list(&rest[start + 1..end]).unwrap_or_default());
        rest = &rest[..start];
    }
    Some(spans)
}

fn plain_tail(tail: &str) -> Option<&str> {
    let tail = tail.trim().trim_end_matches('-');
    let digits = !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_alphanumeric());
    digits.then_some(tail)
}

/// `E11`, `E11.-`, `E11.2-`, `E10-E13`, `E11.0-E11.8`.
fn item_span(item: &str) -> Option<Span> {
    let (low, rest) = code(item)?;
    let rest = rest.strip_prefix('.').unwrap_or(rest).trim_start();
    let tail = String::new();
    let Some(rest) = rest.strip_prefix('-') else {
        return rest.is_empty().then(|| Span { high: low.clone(), low, tail });
    };
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(Span { high: low.clone(), low, tail });
    }
    let (high, rest) = code(rest)?;
    let ends = rest.strip_prefix('.').unwrap_or(rest).trim_start_matches('-').is_empty();
    let span = Span { low, high, tail };
    (ends && span.low <= span.high).then_some(span)
}

/// A code at the beginning of a text, without its dot, and what follows it.
fn code(text: &str) -> Option<(String, &str)> {
    let bytes = text.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    // `E11`, `C7A`, `QA0`: a letter, then a digit or two.
    let category = bytes.first().is_some_and(u8::is_ascii_uppercase)
        && bytes
            .get(1..CATEGORY)
            .is_some_and(|rest| rest.iter().all(plain) && rest.iter().any(u8::is_ascii_digit));
    if !category {
        return None;
    }
    let mut code = text.get(..CATEGORY)?.to_owned();
    let mut rest = &text[CATEGORY..];
    if let Some(after) = rest.strip_prefix('.') {
        let length = after.bytes().take_while(|byte| plain(byte)).count();
        if length > 0 {
            code.push_str(&after[..length]);
            rest = &after[length..];
        }
    }
    (code.len() <= LONGEST).then_some((code, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str, codes: &[&str]) -> Vec<bool> {
        let spans = list(text).unwrap();
        codes.iter().map(|code| covered(&spans, code)).collect()
    }

    #[test]
    fn lists_of_codes() {
        assert_eq!(inside("E08.-", &["E08", "E0842", "E09", "E"]), [true, true, false, false]);
        assert_eq!(inside("O00-O9A", &["O00", "O9A111", "O9", "P00"]), [true, true, false, false]);
        assert_eq!(inside("E11.0-E11.8", &["E110", "E1165", "E119", "E11"]), {
            [true, true, false, false]
        });
        // Of T88 only a part lies inside.
        assert_eq!(inside("A00-R94 and T80-T88.6, T88.8", &["T81", "T88", "T888", "T887"]), {
            [true, false, true, false]
        });
        assert_eq!(inside("E08-E13 with .42", &["E1142", "E1143", "E11", "E1442"]), {
            [true, false, false, false]
        });
        assert_eq!(inside("F98.2.-F98.3,", &["F9829", "F983", "F984"]), [true, true, false]);
        for odd in ["", "RSV", "G6PD", "S02.- with 7th character B", "I69. with final -23", "B-A"] {
            assert_eq!(list(odd), None, "{odd}");
        }
        assert_eq!(list("Z99-A00"), None);
        assert_eq!(inside("Q00-QA0", &["Q999", "QA00101", "R00"]), [true, true, false]);
    }

    #[test]
    fn notes_end_in_their_codes() {
        let codes = |text| of_note(text).map(|spans| spans.len());
        assert_eq!(codes("respiratory syncytial virus (RSV) pneumonia (J12.1)"), Some(1));
        assert_eq!(codes("anthrax (A22.7), plague (A20.-)."), Some(2));
        assert_eq!(codes("rheumatic (I05-I09) unless rheumatic fever is present"), None);
        assert_eq!(codes("acquired absence (Z89.52-"), None);
        assert_eq!(codes("traumatic - see injury"), None);
        assert_eq!(codes(")("), None);
    }
}
