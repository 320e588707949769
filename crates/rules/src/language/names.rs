//! Names: how they are written (bare, quoted, or kept for the language itself), which of them a
//! pattern matches, and which known one is closest to a wrong one.

use consequence_record::{Code, Vocabulary};
use rustc_hash::FxHashMap;

/// Words that mean something wherever a name could stand; a code of that name needs quotes.
pub(super) const KEYWORDS: [&str; 15] = [
    "rule", "let", "static", "and", "or", "not", "in", "any", "all", "none", "at", "exactly",
    "with", "true", "false",
];

/// Whether a bare word belongs to the language.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether a character can stand in a bare name.
pub(super) fn is_bare(character: char) -> bool {
    !character.is_whitespace()
        && !matches!(character, '(' | ')' | ',' | '{' | '}' | '#' | '"' | '=' | '<' | '>')
}

/// Whether a word with these characters is a glob when written bare.
pub(super) fn is_glob(word: &str) -> bool {
    word.contains(['*', '?'])
}

/// Whether a name reads back as itself when written bare.
pub(super) fn can_be_bare(name: &str) -> bool {
    !name.is_empty() && !name.ends_with(':') && !is_keyword(name) && name.chars().all(is_bare)
}

/// Writes a name in quotes.
pub(super) fn quote(out: &mut String, name: &str) {
    out.push('"');
    for character in name.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character => out.push(character),
        }
    }
    out.push('"');
}

/// Writes a name bare if it can be, else in quotes.
pub(super) fn write_name(out: &mut String, name: &str) {
    if can_be_bare(name) { out.push_str(name) } else { quote(out, name) }
}

/// Writes the name of a code: bare if it can be and then is no pattern, else in quotes.
pub(super) fn write_code(out: &mut String, name: &str) {
    if is_glob(name) { quote(out, name) } else { write_name(out, name) }
}

/// Reads what stands between quotes; `None` for an escape the language does not have.
pub(super) fn unquote(inner: &str) -> Option<String> {
    let mut name = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        name.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                escaped @ ('"' | '\\') => escaped,
                _ => return None,
            },
            character => character,
        });
    }
    Some(name)
}

/// A name as messages show it: in backticks, on one line, not too long.
pub(super) fn show(name: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown = String::from("`");
    for character in name.chars().take(SHOWN) {
        shown.push(if character.is_control() { '\u{fffd}' } else { character });
    }
    if name.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown.push('`');
    shown
}

/// Whether a name matches a pattern: `*` stands for any run of characters, `?` for one.
///
/// ```
/// use consequence_rules::language::matches;
///
/// assert!(matches("ICD9CM//25*", "ICD9CM//250") && !matches("ICD9CM//25?", "ICD9CM//25001"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern_rest, mut name_rest) = (pattern, name);
    // Where to go on from when the text after the last star does not fit.
    let mut retry: Option<(&str, &str)> = None;
    loop {
        let mut after_pattern = pattern_rest.chars();
        match after_pattern.next() {
            Some('*') => {
                pattern_rest = after_pattern.as_str();
                retry = Some((pattern_rest, name_rest));
                continue;
            }
            None if name_rest.is_empty() => return true,
            wanted => {
                let mut after_name = name_rest.chars();
                let found = after_name.next();
                if wanted.is_some() && found.is_some() && (wanted == Some('?') || wanted == found) {
                    (pattern_rest, name_rest) = (after_pattern.as_str(), after_name.as_str());
                    continue;
                }
            }
        }
        let Some((star_pattern, star_name)) = retry else { return false };
        let mut shorter = star_name.chars();
        if shorter.next().is_none() {
            return false;
        }
        (pattern_rest, name_rest) = (star_pattern, shorter.as_str());
        retry = Some((star_pattern, name_rest));
    }
}

/// What is wrong with the ends of a range.
pub(super) enum BadRange {
    Reversed,
    TwoFamilies,
}

impl BadRange {
    /// What is wrong, and what to do.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Reversed => (
                "a range whose end comes before its beginning",
                "codes go by their characters, as in a dictionary; write the one that comes first, first",
            ),
            Self::TwoFamilies => (
                "a range over codes of two kinds",
                "both ends have the same text up to the last `//`; the second may leave it out",
            ),
        }
    }
}

/// What stands before a code's own characters: its name up to the last `//`.
fn family(name: &str) -> &str {
    &name[..name.rfind("//").map_or(0, |at| at + 2)]
}

/// The whole name of the code that a range ends with: it may leave out what stands before its own characters.
pub(super) fn range_ends<'n>(from: &'n str, to: &str) -> Result<(&'n str, String), BadRange> {
    let last = match family(to) {
        "" => format!("{}{to}", family(from)),
        _ => to.to_owned(),
    };
    if family(&last) != family(from) {
        return Err(BadRange::TwoFamilies);
    }
    if *last < *from && !from.starts_with(&last) {
        return Err(BadRange::Reversed);
    }
    Ok((from, last))
}

/// Whether a name is in a range: from its first code on, up to what begins with its last.
pub(super) fn is_between(name: &str, from: &str, to: &str) -> bool {
    range_ends(from, to)
        .is_ok_and(|(from, to)| from <= name && (name <= &*to || name.starts_with(&to)))
}

/// The names of a vocabulary in alphabetical order, for patterns with a fixed beginning.
pub(super) struct Names<'a> {
    vocabulary: &'a Vocabulary,
    sorted: Vec<Code>,
    known: FxHashMap<String, Vec<Code>>,
    comparisons_left: usize,
}

impl<'a> Names<'a> {
    pub(super) fn new(vocabulary: &'a Vocabulary, most_comparisons: usize) -> Self {
        let end = vocabulary.end();
        let mut sorted: Vec<Code> = vocabulary.codes().filter(|&code| code != end).collect();
        sorted.sort_unstable_by_key(|&code| vocabulary.name(code));
        Self { vocabulary, sorted, known: FxHashMap::default(), comparisons_left: most_comparisons }
    }

    /// The codes that match, in the vocabulary's order; `None` once too many names were tried.
    /// `END` matches no pattern.
    pub(super) fn matching(&mut self, pattern: &str) -> Option<&[Code]> {
        if !self.known.contains_key(pattern) {
            let prefix = &pattern[..pattern.find(['*', '?']).unwrap_or(pattern.len())];
            let name = |code: &Code| self.vocabulary.name(*code);
            let from = self.sorted.partition_point(|code| name(code) < prefix);
            let length = self.sorted[from..].partition_point(|code| name(code).starts_with(prefix));
            let candidates = &self.sorted[from..from + length];
            self.comparisons_left = self.comparisons_left.checked_sub(candidates.len())?;
            let mut codes: Vec<Code> =
                candidates.iter().copied().filter(|code| matches(pattern, name(code))).collect();
            codes.sort_unstable();
            self.known.insert(pattern.to_owned(), codes);
        }
        self.known.get(pattern).map(Vec::as_slice)
    }

    /// The codes of a range, in the vocabulary's order. `END` is in none.
    pub(super) fn between(&self, from: &str, to: &str) -> Vec<Code> {
        let Ok((from, to)) = range_ends(from, to) else { return Vec::new() };
        let name = |code: &Code| self.vocabulary.name(*code);
        let first = self.sorted.partition_point(|code| name(code) < from);
        let rest = &self.sorted[first..];
        let until = |code: &Code| name(code) <= &*to || name(code).starts_with(&to);
        let mut codes = rest[..rest.partition_point(until)].to_vec();
        codes.sort_unstable();
        codes
    }
}

/// The most single-character changes a suggestion may be away.
const FARTHEST: usize = 3;

/// Whether a code may be meant by a name: both are of one family (`ICD9CM//`), or the family is none
/// that is known and the rest is the same. A code of another family is never what was meant.
pub(super) fn may_mean(name: &str, candidate: &str, known_family: bool) -> bool {
    match (name.split_once("//"), candidate.split_once("//")) {
        (None, None) => true,
        // `SEX/F` for `SEX//F`.
        (None, Some((family, _))) => name.starts_with(family),
        (Some((family, rest)), Some((other, other_rest))) => {
            family == other || (rest == other_rest && !known_family)
        }
        (Some(_), None) => false,
    }
}

/// The candidate with the fewest single-character changes from `name`, the first of those that tie;
/// `None` if all are far off for its length.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().collect();
    let mut budget = FARTHEST.min(wanted.len() / 3 + 1);
    let mut rows = Rows::default();
    let mut best = None;
    for candidate in candidates {
        // Characters are one to four bytes, so this skips without counting them.
        if candidate.len() > 4 * (wanted.len() + budget) || 4 * candidate.len() < wanted.len() {
            continue;
        }
        if let Some(distance) = rows.distance(&wanted, candidate, budget) {
            best = Some(candidate);
            if distance <= 1 {
                // Nothing known is closer than one change.
                return best;
            }
            budget = distance - 1;
        }
    }
    best
}

/// Buffers kept between candidates.
#[derive(Default)]
struct Rows {
    candidate: Vec<char>,
    before: Vec<usize>,
    last: Vec<usize>,
    current: Vec<usize>,
}

impl Rows {
    /// The number of insertions, deletions, replacements and swaps of neighbours between the two,
    /// if at most `budget`; only cells that near the diagonal are filled.
    fn distance(&mut self, wanted: &[char], candidate: &str, budget: usize) -> Option<usize> {
        self.candidate.clear();
        self.candidate.extend(candidate.chars());
        let found = self.candidate.as_slice();
        if found.len().abs_diff(wanted.len()) > budget {
            return None;
        }
        let width = found.len() + 1;
        let far = budget + 1;
        for row in [&mut self.before, &mut self.last, &mut self.current] {
            row.clear();
            row.resize(width, far);
        }
        for (column, cell) in self.last.iter_mut().enumerate().take(budget + 1) {
            *cell = column;
        }
        for (row, &expected) in wanted.iter().enumerate() {
            let from = (row + 1).saturating_sub(budget);
            let to = (row + 1 + budget).min(found.len());
            self.current.fill(far);
            if from == 0 {
                self.current[0] = row + 1;
            }
            let mut least = if from == 0 { row + 1 } else { far };
            for column in from.max(1)..=to {
                let actual = found[column - 1];
                let replaced = self.last[column - 1] + usize::from(actual != expected);
                let mut cost =
                    replaced.min(self.last[column] + 1).min(self.current[column - 1] + 1);
                if row > 0
                    && column > 1
                    && actual == wanted[row - 1]
                    && expected == found[column - 2]
                {
                    cost = cost.min(self.before[column - 2] + 1);
                }
                self.current[column] = cost.min(far);
                least = least.min(cost);
            }
            if least > budget {
                return None;
            }
            std::mem::swap(&mut self.before, &mut self.last);
            std::mem::swap(&mut self.last, &mut self.current);
        }
        let distance = self.last[found.len()];
        (distance <= budget).then_some(distance)
    }
}

#[cfg(test)]
mod tests {
    use consequence_record::Kind;

    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("AGE//*", "AGE//0-20", true),
            ("AGE//*", "AGE//", true),
            ("AGE//*", "SEX//F", false),
            ("*F", "SEX//F", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("?", "糖", true),
            ("??", "a", false),
            ("a*?c", "abc", true),
            ("a*?c", "ac", false),
            ("**", "", true),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_slow_pattern_ends() {
        let pattern = "*a".repeat(400) + "b";
        assert!(!matches(&pattern, &"a".repeat(1024)));
    }

    #[test]
    fn end_matches_no_pattern_and_order_is_the_vocabularys() {
        let vocabulary =
            Vocabulary::new(["EB", "EA", "F"].map(|name| (name, Kind::Encounter))).unwrap();
        let mut names = Names::new(&vocabulary, 4);
        assert_eq!(names.matching("E*"), Some(&[Code(0), Code(1)][..]));
        assert_eq!(names.matching("E?"), Some(&[Code(0), Code(1)][..]));
        assert_eq!(names.matching("*"), None, "two more comparisons than allowed");
    }

    #[test]
    fn ranges_go_by_characters_with_both_ends_in() {
        let names =
            ["D//629.9", "D//630", "D//63", "D//650.1", "D//679.14", "D//68", "D//V22", "P//640"];
        let vocabulary = Vocabulary::new(names.map(|name| (name, Kind::Encounter))).unwrap();
        let all = Names::new(&vocabulary, 100);
        for (from, to, expected) in [
            ("D//630", "679", &["D//630", "D//650.1", "D//679.14"][..]),
            ("D//63", "D//63", &["D//630", "D//63"]),
            ("D//68", "D//V", &["D//68", "D//V22"]),
            ("D//7", "9", &[]),
        ] {
            let found: Vec<&str> =
                all.between(from, to).into_iter().map(|code| vocabulary.name(code)).collect();
            assert_eq!(found, expected, "{from} to {to}");
            for name in names {
                assert_eq!(is_between(name, from, to), expected.contains(&name), "{name}");
            }
        }
        assert!(matches!(range_ends("D//679", "630"), Err(BadRange::Reversed)));
        assert!(matches!(range_ends("D//630", "P//679"), Err(BadRange::TwoFamilies)));
    }

    #[test]
    fn a_code_of_another_family_is_never_meant() {
        for (name, candidate, known, expected) in [
            ("ICD9CM//251", "ICD9CM//250", true, true),
            ("ICD9CM//251", "ICD9PROC//251", true, false),
            ("ICD9M//250", "ICD9CM//250", false, true),
            ("ICD9M//251", "ICD9CM//250", false, false),
            ("SEX/F", "SEX//F", false, true),
            ("SMOKRE", "SMOKER", false, true),
            ("SMOKRE", "SEX//F", false, false),
            ("SEX//X", "SEX", true, false),
        ] {
            assert_eq!(may_mean(name, candidate, known), expected, "{name} {candidate}");
        }
    }

    #[test]
    fn finds_the_closest() {
        let codes = ["ICD9CM//250", "ICD9CM//357", "SEX//F", "SEX//M", "SMOKER"];
        assert_eq!(closest("ICD9CM//25O", codes), Some("ICD9CM//250"));
        assert_eq!(closest("SMOKRE", codes), Some("SMOKER"));
        assert_eq!(closest("SEX//", codes), Some("SEX//F"));
        assert_eq!(closest("something else", codes), None);
        assert_eq!(closest("", codes), None);
        assert_eq!(closest("é", ["e"]), Some("e"));
    }

    #[test]
    fn fifty_thousand_codes_take_no_time() {
        let codes: Vec<String> =
            (0..50_000).map(|number| format!("ICD10CM//{number:05}")).collect();
        let start = std::time::Instant::now();
        for _ in 0..20 {
            assert!(closest("ICD10CM//X99Y", codes.iter().map(String::as_str)).is_some());
        }
        assert!(start.elapsed().as_secs() < 5);
    }
}
