//! Patterns over the names of codes.

use rustc_hash::FxHashMap;

use consequence_record::{Code, Vocabulary};

/// Whether a name matches a pattern: `*` stands for any run of characters, `?` for one.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use consequence_record::Kind;

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
}
