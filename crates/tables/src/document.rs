//! What the JSON readers share: lists of codes, fields, and errors without a patient's values;
//! and how much a reader takes in before it refuses.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::error::Category;

use crate::Problem;

/// What went wrong inside a parse, kept beside serde's own error, which carries text only.
#[derive(Debug)]
pub(crate) struct Trouble {
    problem: Option<Problem>,
    /// What the value being read should be.
    pub expected: &'static str,
}

impl Trouble {
    pub fn new(expected: &'static str) -> Self {
        Self { problem: None, expected }
    }

    /// Notes the problem and stops the parse.
    pub fn stop<E: de::Error>(&mut self, problem: Problem) -> E {
        self.problem = Some(problem);
        E::custom("stopped")
    }

    /// The problem behind serde's error. Its text can quote the value it met, so none of it is
    /// passed on except what it says of syntax.
    pub fn explain(&mut self, error: &serde_json::Error) -> Problem {
        if let Some(problem) = self.problem.take() {
            return problem;
        }
        let text = error.to_string();
        match error.classify() {
            Category::Eof => Problem::CutShort,
            Category::Data => Problem::WrongType { expected: self.expected, found: found(&text) },
            Category::Syntax | Category::Io => {
                match text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]) {
                    "number out of range" => Problem::LargeNumber,
                    message => Problem::Malformed(message.to_owned()),
                }
            }
        }
    }
}

/// Where serde stopped, both counted from 1; it counts the column from 0 before the first byte.
pub(crate) fn position(error: &serde_json::Error) -> (u64, u64) {
    (error.line().max(1) as u64, error.column().max(1) as u64)
}

/// The type serde met, without its value.
fn found(text: &str) -> Option<&'static str> {
    let met = text.strip_prefix("invalid type: ")?;
    [
        ("null", "null"),
        ("boolean", "true or false"),
        ("integer", "an integer"),
        ("floating point", "a number"),
        ("number", "a number"),
        ("string", "a string"),
        ("sequence", "a list"),
        ("map", "an object"),
    ]
    .into_iter()
    .find_map(|(prefix, name)| met.starts_with(prefix).then_some(name))
}

/// A parser that reads text: the receiver of codes and of trouble.
pub(crate) trait Receiver {
    /// Takes in one code name.
    fn take_code(&mut self, name: &str) -> Result<(), Problem>;

    /// Where to note what went wrong.
    fn trouble(&mut self) -> &mut Trouble;
}

/// Refuses names that are no code's, whatever the vocabulary.
pub(crate) fn check_name(name: &str, limits: &Limits) -> Result<(), Problem> {
    if name.is_empty() {
        Err(Problem::EmptyCode)
    } else if name == consequence_record::END_NAME {
        Err(Problem::ReservedCode)
    } else if name.len() > limits.code_bytes {
        let start: String = name.chars().take(24).collect();
        Err(Problem::LongCode { start: shown(&start), limit: limits.code_bytes })
    } else {
        Ok(())
    }
}

/// A name as a message shows it: on one line, and of a readable length.
pub fn shown(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", name[..end].escape_debug()),
        None => name.escape_debug().to_string(),
    }
}

/// A field's name if it is a short word. In a file of another shape a field can be named by a
/// patient's number, which no message may show.
fn as_word(name: &str) -> Option<String> {
    let word = !name.is_empty() && name.len() <= 32;
    (word && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_'))
        .then(|| name.to_owned())
}

/// Feeds a list of strings to a receiver, without keeping them.
pub(crate) struct CodeList<'r, R> {
    pub receiver: &'r mut R,
    pub expected: &'static str,
}

impl<'de, R: Receiver> DeserializeSeed<'de> for CodeList<'_, R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.receiver.trouble().expected = self.expected;
        deserializer.deserialize_seq(self)
    }
}

impl<'de, R: Receiver> Visitor<'de> for CodeList<'_, R> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.expected)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.receiver.trouble().expected = "a code, as a string";
        while list.next_element_seed(CodeName { receiver: &mut *self.receiver })?.is_some() {}
        Ok(())
    }
}

struct CodeName<'r, R> {
    receiver: &'r mut R,
}

impl<'de, R: Receiver> DeserializeSeed<'de> for CodeName<'_, R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<R: Receiver> Visitor<'_> for CodeName<'_, R> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a code")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<(), E> {
        self.receiver.take_code(name).map_err(|problem| self.receiver.trouble().stop(problem))
    }
}

/// A field name: which of the known ones, or a refusal.
pub(crate) struct FieldName<'t> {
    pub known: &'static [&'static str],
    pub seen: &'t mut u32,
    pub trouble: &'t mut Trouble,
}

impl<'de> DeserializeSeed<'de> for FieldName<'_> {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = &'static str;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a field name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<&'static str, E> {
        let Some(index) = self.known.iter().position(|known| *known == name) else {
            return Err(self.trouble.stop(Problem::UnknownField { name: as_word(name) }));
        };
        if *self.seen & 1 << index != 0 {
            return Err(self.trouble.stop(Problem::RepeatedField(self.known[index])));
        }
        *self.seen |= 1 << index;
        Ok(self.known[index])
    }
}

/// How much a reader takes in before it refuses.
///
/// ```
/// use consequence_tables::Limits;
/// use consequence_tables::jsonl::{ReadOptions, read_from};
///
/// let line = r#"{"id": 1, "static": [], "visits": [["A"], ["B"]]}"#;
/// let limits = Limits { visits: 1, ..Limits::default() };
/// let options = ReadOptions { limits, ..ReadOptions::default() };
/// let refused = read_from(line.as_bytes(), "cohort.jsonl", &options).unwrap_err();
/// assert!(refused.to_string().starts_with("the record has more than 1 encounters"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes in a line; 64 MiB. One line is in memory at a time.
    pub line_bytes: usize,
    /// The most encounters in a record; 10 000.
    pub visits: usize,
    /// The most bytes in the name of a code; 1024.
    pub code_bytes: usize,
    /// The most bytes in a vocabulary file; 1 GiB. All of it is in memory while it is read.
    pub vocabulary_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line_bytes: 64 << 20, visits: 10_000, code_bytes: 1024, vocabulary_bytes: 1 << 30 }
    }
}
