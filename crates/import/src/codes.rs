//! The codes of a source as it names them, before options change them.

use std::borrow::Cow;

use consequence_record::Concept;
use rustc_hash::FxHashMap;

use crate::event::Fact;
use crate::{ImportLimits, ImportProblem};
use consequence_tables::shown;

/// How a source uses a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// In encounters.
    Encounter,
    /// As a static code beside others of its kind.
    Static,
    /// As a static code of which a subject has one of a kind, such as sex: the first holds.
    Exclusive,
}

/// A code as the source names it.
#[derive(Debug)]
pub(crate) struct RawCode {
    pub name: Box<str>,
    pub title: Option<Box<str>>,
    pub concept: Option<Concept>,
    /// What it is a result of, for the text of one.
    pub result: Option<TextResult>,
    roles: u8,
}

/// A result that is told in words.
#[derive(Debug)]
pub(crate) struct TextResult {
    /// The test, by the number of its code.
    pub test: u32,
    /// The words.
    pub text: Box<str>,
    /// How many rows have them.
    pub rows: u64,
    /// The OMOP concept of the words.
    pub concept: Option<u64>,
}

impl RawCode {
    /// Whether the source uses it so.
    pub fn is(&self, role: Role) -> bool {
        self.roles & 1 << role as u8 != 0
    }
}

/// The codes met so far, numbered as they were met.
pub(crate) struct Codes {
    entries: Vec<RawCode>,
    numbers: FxHashMap<Box<str>, u32>,
    /// The codes of results in words, by test.
    texts: FxHashMap<u32, FxHashMap<Box<str>, u32>>,
    name: String,
    code_bytes: usize,
}

/// What the results of a test in other words than its commonest are called.
pub(crate) const OTHER_TEXT: &str = "other text";

/// The most different words kept apart for a test while rows are read; later ones are other text.
pub(crate) const MOST_TEXTS: usize = 1000;

/// The most bytes of a result in words; longer ones are remarks.
const TEXT_BYTES: usize = 100;

/// The most concepts kept above one; no real one has nearly as many.
const MOST_ANCESTORS: usize = 10_000;

/// The most bytes kept of a title.
const TITLE_BYTES: usize = 512;

impl Codes {
    pub fn new(limits: &ImportLimits) -> Self {
        Self {
            entries: Vec::new(),
            numbers: FxHashMap::default(),
            texts: FxHashMap::default(),
            name: String::new(),
            code_bytes: limits.code_bytes,
        }
    }

    /// The fact that a subject has the code whose name has these parts.
    pub fn fact(&mut self, parts: &[&str], role: Role) -> Result<Fact, ImportProblem> {
        let bytes = parts.iter().map(|part| part.len() + 2).sum::<usize>().saturating_sub(2);
        if bytes > self.code_bytes {
            let start = parts.join("//");
            let start = start.chars().take_while(|letter| !letter.is_control()).take(24);
            let start = shown(&start.collect::<String>());
            return Err(ImportProblem::LongCode { start, limit: self.code_bytes });
        }
        self.name.clear();
        for (index, part) in parts.iter().enumerate() {
            self.name.push_str(if index > 0 { "//" } else { "" });
            self.name.push_str(part);
        }
        if let Some(&number) = self.numbers.get(self.name.as_str()) {
            self.entries[number as usize].roles |= 1 << role as u8;
            return Ok(Fact(number));
        }
        if self.name == consequence_record::END_NAME {
            return Err(ImportProblem::ReservedCode);
        }
        if self.name.contains(char::is_control) {
            return Err(ImportProblem::BrokenCode);
        }
        if self.entries.len() >= Fact::MOST_CODES {
            return Err(ImportProblem::TooManyCodes { limit: Fact::MOST_CODES });
        }
        let (name, number): (Box<str>, u32) =
            (self.name.as_str().into(), self.entries.len() as u32);
        self.entries.push(RawCode {
            name: name.clone(),
            title: None,
            concept: None,
            result: None,
            roles: 1 << role as u8,
        });
        self.numbers.insert(name, number);
        Ok(Fact(number))
    }

    /// The fact that a test had a result that is told in words, in some more rows.
    pub fn text_result(
        &mut self,
        test: Fact,
        text: &str,
        rows: u64,
    ) -> Result<Fact, ImportProblem> {
        let Some(entry) = test.code().and_then(|number| self.entries.get(number)) else {
            return Ok(test);
        };
        let usable = is_word(text) && entry.name.len() + 2 + text.len() <= self.code_bytes;
        let texts = self.texts.entry(test.0).or_default();
        let mut text = if usable { text } else { OTHER_TEXT };
        if texts.len() >= MOST_TEXTS && !texts.contains_key(text) {
            text = OTHER_TEXT;
        }
        if let Some(&number) = texts.get(text) {
            if let Some(result) = &mut self.entries[number as usize].result {
                result.rows += rows;
            }
            return Ok(Fact(number));
        }
        if self.entries.len() >= Fact::MOST_CODES {
            return Err(ImportProblem::TooManyCodes { limit: Fact::MOST_CODES });
        }
        let number = self.entries.len() as u32;
        texts.insert(text.into(), number);
        let (name, title, roles) =
            (format!("{}//{text}", entry.name).into(), entry.title.clone(), entry.roles);
        let result = Some(TextResult { test: test.0, text: text.into(), rows, concept: None });
        self.entries.push(RawCode { name, title, concept: None, result, roles });
        Ok(Fact(number))
    }

    /// The most bytes in the name of a code.
    pub fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    /// Tells a result in other words.
    pub fn reword(&mut self, fact: Fact, text: &str) {
        let entry = fact.code().and_then(|number| self.entries.get_mut(number));
        let text = start(text, TEXT_BYTES);
        let usable = !text.is_empty() && !text.contains(char::is_control) && !is_part(text);
        if let Some(result) = entry.filter(|_| usable).and_then(|entry| entry.result.as_mut()) {
            result.text = text.into();
        }
    }

    /// Keeps the OMOP concept of the words of a result.
    pub fn result_concept(&mut self, fact: Fact, concept: u64) {
        let entry = fact.code().and_then(|number| self.entries.get_mut(number));
        if let Some(result) = entry.and_then(|entry| entry.result.as_mut()) {
            result.concept = Some(concept);
        }
    }

    /// The fact that a subject has an ICD code, which is written without its dot.
    pub fn icd(&mut self, system: &str, code: &str) -> Result<Fact, ImportProblem> {
        self.fact(&[system, &without_dot(code)], Role::Encounter)
    }

    /// Keeps the title of a code, unless it has one.
    pub fn title(&mut self, fact: Fact, title: &str) {
        let entry = fact.code().and_then(|number| self.entries.get_mut(number));
        if let Some(entry) = entry.filter(|entry| entry.title.is_none() && !title.is_empty()) {
            entry.title = Some(start(title, TITLE_BYTES).into());
        }
    }

    /// Keeps the title of a code that may never have been met.
    pub fn title_of(&mut self, parts: &[&str], title: &str) {
        if let Some(&number) = self.numbers.get(parts.join("//").as_str()) {
            self.title(Fact(number), title);
        }
    }

    /// Keeps the OMOP concept that a code stands for.
    pub fn concept(&mut self, fact: Fact, concept: Concept) {
        if let Some(entry) = fact.code().and_then(|number| self.entries.get_mut(number)) {
            entry.concept = Some(concept);
        }
    }

    /// Keeps what is told of the concept of a code.
    pub fn describe(&mut self, fact: Fact, tell: impl FnOnce(&mut Concept)) {
        let entry = fact.code().and_then(|number| self.entries.get_mut(number));
        if let Some(concept) = entry.and_then(|entry| entry.concept.as_mut()) {
            tell(concept);
        }
    }

    /// Keeps a concept that is above that of a code.
    pub fn ancestor(&mut self, fact: Fact, ancestor: u64) {
        let entry = fact.code().and_then(|number| self.entries.get_mut(number));
        let concept = entry.and_then(|entry| entry.concept.as_mut());
        if let Some(concept) = concept.filter(|kept| kept.ancestors.len() < MOST_ANCESTORS) {
            concept.ancestors.push(ancestor);
        }
    }

    /// The number of a code that may never have been met.
    pub fn find(&self, name: &str) -> Option<Fact> {
        self.numbers.get(name).map(|&number| Fact(number))
    }

    /// Gives a code another name; it keeps its number.
    pub fn rename(&mut self, fact: Fact, name: &str) {
        if let Some(entry) = fact.code().and_then(|number| self.entries.get_mut(number)) {
            entry.name = name.into();
        }
    }

    /// All codes, in the order of their numbers.
    pub fn entries(&self) -> &[RawCode] {
        &self.entries
    }
}

/// Whether a result in words is one that others may have too, and no remark.
pub(crate) fn is_word(text: &str) -> bool {
    text.len() <= TEXT_BYTES && !text.contains(char::is_control) && !is_part(text)
}

/// Whether the last part of a name says in which part of a test's values a result is, as in `q4`.
pub(crate) fn is_part(text: &str) -> bool {
    text.strip_prefix('q').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The test that a code such as `LAB//50912//q4` is a part of the values of.
pub(crate) fn test_of_part(name: &str) -> Option<&str> {
    name.rsplit_once("//").filter(|(_, part)| is_part(part)).map(|(test, _)| test)
}

/// The sex that a code tells, whatever it is called: `GENDER//F`, `SEX//female`, `Gender/M`.
pub(crate) fn sex_of(name: &str) -> Option<&'static str> {
    let (system, word) = name.split_once(['/', ':', '_', '|'])?;
    let about_sex = ["sex", "gender"].iter().any(|word| system.eq_ignore_ascii_case(word));
    about_sex.then(|| sex_word(word.trim_start_matches(['/', ':', '_', '|'])))?
}

/// The sex that a word says, or the number of an OMOP concept.
pub(crate) fn sex_word(word: &str) -> Option<&'static str> {
    let word = word.trim();
    // Numbers that went through a data frame have a point.
    match word.strip_suffix(".0").unwrap_or(word).to_ascii_lowercase().as_str() {
        "f" | "female" | "8532" => Some("F"),
        "m" | "male" | "8507" => Some("M"),
        _ => None,
    }
}

/// The first bytes of a text, as far as they are whole characters.
pub(crate) fn start(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// An ICD code without its dot and in upper case.
pub(crate) fn without_dot(code: &str) -> Cow<'_, str> {
    if code.bytes().any(|byte| byte == b'.' || byte.is_ascii_lowercase()) {
        Cow::Owned(code.replace('.', "").to_ascii_uppercase())
    } else {
        Cow::Borrowed(code)
    }
}

/// Whether a code is of the International Classification of Diseases, in any edition.
pub(crate) fn is_icd(name: &str) -> bool {
    name.split_once("//").is_some_and(|(system, _)| {
        system.get(..4).is_some_and(|start| {
            start.eq_ignore_ascii_case("ICD9") || start.eq_ignore_ascii_case("ICD1")
        })
    })
}

/// The first characters of an ICD code; the external causes of ICD-9 keep one more, since their
/// categories have one more.
pub(crate) fn truncated(name: &str, characters: usize) -> String {
    let Some((system, code)) = name.split_once("//").filter(|_| is_icd(name)) else {
        return name.to_owned();
    };
    let code = without_dot(code);
    let external = code.starts_with('E') && system.eq_ignore_ascii_case("ICD9CM");
    let kept: String = code.chars().take(characters + usize::from(external)).collect();
    format!("{system}//{kept}")
}

/// The name of a drug as a code: in lower case, with hyphens for blanks.
pub(crate) fn drug(name: &str) -> String {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories() {
        assert_eq!(truncated("ICD9CM//250.01", 3), "ICD9CM//250");
        assert_eq!(truncated("ICD9CM//E8809", 3), "ICD9CM//E880");
        assert_eq!(truncated("ICD10CM//E119", 3), "ICD10CM//E11");
        assert_eq!(truncated("ICD9CM//4", 3), "ICD9CM//4");
        assert_eq!(truncated("RX//insulin", 3), "RX//insulin");
        assert_eq!(drug("  NS  (Mini Bag) "), "ns-(mini-bag)");
    }

    #[test]
    fn sex_by_any_name() {
        for name in ["GENDER//F", "SEX//female", "Gender/F", "sex:F", "GENDER//FEMALE", "SEX//F"] {
            assert_eq!(sex_of(name), Some("F"), "{name}");
        }
        for name in ["SEX//unknown", "SEXUAL//M", "F", "SEX", "GENDER//", "LAB//F"] {
            assert_eq!(sex_of(name), None, "{name}");
        }
        assert_eq!((sex_of("GENDER//M"), sex_of("SEX//Male")), (Some("M"), Some("M")));
    }

    #[test]
    fn results_in_words_are_bounded() {
        let mut codes = Codes::new(&ImportLimits::default());
        let test = codes.fact(&["LAB", "x"], Role::Encounter).unwrap();
        let other = codes.text_result(test, &"long ".repeat(100), 1).unwrap();
        for remark in ["a\nb", "q3"] {
            assert_eq!(codes.text_result(test, remark, 1).unwrap(), other, "{remark}");
        }
        for number in 0..5000 {
            codes.text_result(test, &number.to_string(), 1).unwrap();
        }
        assert_eq!(codes.entries().len(), 1 + MOST_TEXTS);
        let rows = |fact: Fact| codes.entries()[fact.0 as usize].result.as_ref().unwrap().rows;
        assert_eq!(rows(other), 3 + 5000 - (MOST_TEXTS as u64 - 1));
    }

    #[test]
    fn names_are_bounded() {
        let mut codes = Codes::new(&ImportLimits::default());
        let long = "x".repeat(10 << 20);
        let error = codes.fact(&["RX", &long], Role::Encounter).unwrap_err();
        assert!(error.to_string().len() < 100, "{error}");
        assert!(codes.fact(&["END"], Role::Encounter).is_err());
        assert_eq!(codes.fact(&["A", "b"], Role::Encounter).unwrap(), Fact(0));
        assert_eq!(codes.fact(&["A//b"], Role::Static).unwrap(), Fact(0));
        assert!(codes.entries()[0].is(Role::Encounter) && !codes.entries()[0].is(Role::Exclusive));
    }
}
