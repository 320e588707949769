//! Vocabulary files: the codes a cohort is read with, in the order they are numbered.
//!
//! ```text
//! {"static": ["SEX//F", "SEX//M"], "encounter": ["ICD9CM//250", "RX//insulin"]}
//! ```
//!
//! Static codes come first, then encounter codes, each in the order of the file. `END` is added.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use consequence_record::{Code, Kind, Vocabulary};
use rustc_hash::FxHashSet;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use crate::document::{CodeList, FieldName, Receiver, Trouble, check_name, position, shown};
use crate::error::Document;
use crate::{Limits, Problem, TableError};

const FIELDS: &[&str] = &["static", "encounter"];

/// Reads the vocabulary file at `path`.
pub fn read(path: impl AsRef<Path>, limits: &Limits) -> Result<Vocabulary, TableError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => read_from(file, &name, limits),
        Err(error) => Err(failure(Problem::Open(error), &name, None)),
    }
}

/// Reads a vocabulary from a stream; `name` is what messages call it.
///
/// ```
/// use consequence_record::Code;
/// use consequence_tables::{Limits, vocabulary};
///
/// let text = r#"{"static": ["SEX//M", "SEX//F"], "encounter": ["ICD9CM//250"]}"#;
/// let vocabulary = vocabulary::read_from(text.as_bytes(), "codes.json", &Limits::default())?;
/// assert_eq!(vocabulary.code("SEX//F"), Some(Code(1)));
/// assert_eq!(vocabulary.end(), Code(3));
/// # Ok::<(), consequence_tables::TableError>(())
/// ```
pub fn read_from(reader: impl Read, name: &str, limits: &Limits) -> Result<Vocabulary, TableError> {
    let limit = limits.vocabulary_bytes;
    let mut bytes = Vec::new();
    reader
        .take((limit as u64).saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| failure(Problem::Read(error), name, None))?;
    if bytes.len() > limit {
        return Err(failure(Problem::LongFile { limit }, name, None));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        failure(Problem::InvalidUtf8, name, Some((line as u64, column as u64)))
    })?;

    let trouble = Trouble::new("an object with the fields `static` and `encounter`");
    let mut parser = Parser {
        limits,
        trouble,
        kind: Kind::Static,
        seen: FxHashSet::default(),
        lists: [Vec::new(), Vec::new()],
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let outcome = Lists(&mut parser).deserialize(&mut deserializer);
    if let Err(error) = outcome.and_then(|()| deserializer.end()) {
        let problem = parser.trouble.explain(&error);
        return Err(failure(problem, name, Some(position(&error))));
    }
    let [of_static, of_encounters] = parser.lists;
    let codes = of_static
        .into_iter()
        .map(|code| (code, Kind::Static))
        .chain(of_encounters.into_iter().map(|code| (code, Kind::Encounter)));
    Vocabulary::new(codes).map_err(|error| failure(error.into(), name, None))
}

/// Writes a vocabulary as a file of it is read: static codes, then those of encounters, each in
/// their order.
///
/// ```
/// use consequence_record::{Kind, Vocabulary};
/// use consequence_tables::{Limits, vocabulary};
///
/// let codes = Vocabulary::new([("SEX//F", Kind::Static), ("A \"b\"", Kind::Encounter)])?;
/// let mut text = Vec::new();
/// vocabulary::write_to(&mut text, &codes)?;
/// assert_eq!(text, b"{\"static\": [\"SEX//F\"],\n\"encounter\": [\"A \\\"b\\\"\"]}\n");
/// let read = vocabulary::read_from(&text[..], "codes.json", &Limits::default())?;
/// assert_eq!(read.code("SEX//F").map(|code| read.kind(code)), Some(Kind::Static));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_to(out: &mut dyn Write, vocabulary: &Vocabulary) -> io::Result<()> {
    let listed = |kind: Kind| -> io::Result<String> {
        let of_kind = |code: &Code| vocabulary.kind(*code) == kind && *code != vocabulary.end();
        let names: Vec<&str> =
            vocabulary.codes().filter(of_kind).map(|code| vocabulary.name(code)).collect();
        Ok(serde_json::to_string(&names)?)
    };
    let (of_static, of_encounters) = (listed(Kind::Static)?, listed(Kind::Encounter)?);
    writeln!(out, "{{\"static\": {of_static},\n\"encounter\": {of_encounters}}}")
}

fn failure(problem: Problem, name: &str, position: Option<(u64, u64)>) -> TableError {
    TableError {
        problem,
        file: name.into(),
        line: position.map(|(line, _)| line),
        column: position.map(|(_, column)| column),
        document: Document::Vocabulary,
    }
}

struct Parser<'p> {
    limits: &'p Limits,
    trouble: Trouble,
    kind: Kind,
    seen: FxHashSet<String>,
    /// Static codes, encounter codes.
    lists: [Vec<String>; 2],
}

impl Receiver for Parser<'_> {
    fn take_code(&mut self, name: &str) -> Result<(), Problem> {
        check_name(name, self.limits)?;
        if !self.seen.insert(name.to_owned()) {
            return Err(Problem::RepeatedCode { code: shown(name) });
        }
        self.lists[usize::from(self.kind == Kind::Encounter)].push(name.to_owned());
        Ok(())
    }

    fn trouble(&mut self) -> &mut Trouble {
        &mut self.trouble
    }
}

struct Lists<'s, 'p>(&'s mut Parser<'p>);

impl<'de> DeserializeSeed<'de> for Lists<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Lists<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a vocabulary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let parser = self.0;
        let mut seen = 0;
        loop {
            let trouble = &mut parser.trouble;
            let field = map.next_key_seed(FieldName { known: FIELDS, seen: &mut seen, trouble })?;
            let (kind, expected) = match field {
                None => break,
                Some("static") => (Kind::Static, "a list of codes for `static`"),
                Some(_) => (Kind::Encounter, "a list of codes for `encounter`"),
            };
            parser.kind = kind;
            map.next_value_seed(CodeList { receiver: &mut *parser, expected })?;
        }
        for (index, field) in FIELDS.iter().enumerate() {
            if seen & 1 << index == 0 {
                return Err(parser.trouble.stop(Problem::MissingField(field)));
            }
        }
        Ok(())
    }
}
