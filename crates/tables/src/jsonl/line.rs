//! One line: a record whose codes are numbered as they are read.

use std::fmt;
use std::fmt::Write as _;

use consequence_record::{Code, Kind};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::codes::Codes;
use crate::document::{CodeList, FieldName, Receiver, Trouble, check_name, position};
use crate::{Limits, Problem};

/// The fields of a line; only the last may be left out.
const FIELDS: &[&str] = &["id", "static", "visits", "ended"];

/// Reads lines one after another into the same space.
pub(super) struct LineParser<'p> {
    codes: &'p mut Codes,
    limits: &'p Limits,
    number: u64,
    kind: Kind,
    trouble: Trouble,
    /// The codes of the visit being read.
    visit: Vec<Code>,
    parsed: ParsedLine,
}

/// The record of a line. The static visit is kept apart, since it may come after the encounters.
#[derive(Default)]
pub struct ParsedLine {
    /// Its identifier.
    pub id: String,
    /// Whether the last encounter is the real last one.
    pub ended: bool,
    static_codes: Vec<Code>,
    codes: Vec<Code>,
    ends: Vec<usize>,
}

impl ParsedLine {
    /// The static visit, then the encounters; each sorted and without duplicates.
    pub fn visits(&self) -> impl Iterator<Item = &[Code]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let encounters = starts.zip(&self.ends).map(|(start, &end)| &self.codes[start..end]);
        std::iter::once(self.static_codes.as_slice()).chain(encounters)
    }

    fn clear(&mut self) {
        self.id.clear();
        self.ended = true;
        self.static_codes.clear();
        self.codes.clear();
        self.ends.clear();
    }
}

impl<'p> LineParser<'p> {
    pub fn new(codes: &'p mut Codes, limits: &'p Limits) -> Self {
        Self {
            codes,
            limits,
            number: 0,
            kind: Kind::Static,
            trouble: Trouble::new(""),
            visit: Vec::new(),
            parsed: ParsedLine::default(),
        }
    }

    /// The record of a line and the codes met so far, or what is wrong with it and the column where
    /// that shows.
    pub fn parse(
        &mut self,
        text: &str,
        number: u64,
    ) -> Result<(&ParsedLine, &Codes), (Problem, u64)> {
        self.number = number;
        self.visit.clear();
        self.parsed.clear();
        self.trouble = Trouble::new("an object, as each line is one record");
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let outcome = Record(self).deserialize(&mut deserializer);
        match outcome.and_then(|()| deserializer.end()) {
            Ok(()) => Ok((&self.parsed, self.codes)),
            Err(error) => Err((self.trouble.explain(&error), position(&error).1)),
        }
    }

    /// Makes the visit being read a set.
    fn finish_visit(&mut self) {
        self.visit.sort_unstable();
        self.visit.dedup();
    }
}

impl Receiver for LineParser<'_> {
    fn take_code(&mut self, name: &str) -> Result<(), Problem> {
        check_name(name, self.limits)?;
        self.visit.push(self.codes.number(name, self.kind, self.number)?);
        Ok(())
    }

    fn trouble(&mut self) -> &mut Trouble {
        &mut self.trouble
    }
}

struct Record<'s, 'p>(&'s mut LineParser<'p>);

impl<'de> DeserializeSeed<'de> for Record<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let parser = self.0;
        let mut seen = 0;
        loop {
            let trouble = &mut parser.trouble;
            let name = FieldName { known: FIELDS, seen: &mut seen, trouble };
            match map.next_key_seed(name)? {
                None => break,
                Some("id") => map.next_value_seed(Id(&mut *parser))?,
                Some("static") => {
                    parser.kind = Kind::Static;
                    parser.visit.clear();
                    let expected = "a list of codes for `static`";
                    map.next_value_seed(CodeList { receiver: &mut *parser, expected })?;
                    parser.finish_visit();
                    std::mem::swap(&mut parser.visit, &mut parser.parsed.static_codes);
                }
                Some("visits") => map.next_value_seed(Encounters(&mut *parser))?,
                Some(_) => {
                    parser.trouble.expected = "true or false for `ended`";
                    parser.parsed.ended = map.next_value()?;
                }
            }
        }
        for (index, field) in FIELDS[..3].iter().enumerate() {
            if seen & 1 << index == 0 {
                return Err(parser.trouble.stop(Problem::MissingField(field)));
            }
        }
        Ok(())
    }
}

struct Encounters<'s, 'p>(&'s mut LineParser<'p>);

impl<'de> DeserializeSeed<'de> for Encounters<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.trouble.expected = "a list of visits for `visits`";
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Encounters<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of visits")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let parser = self.0;
        parser.kind = Kind::Encounter;
        loop {
            parser.visit.clear();
            let expected = "a visit, as a list of codes";
            let visit = CodeList { receiver: &mut *parser, expected };
            if list.next_element_seed(visit)?.is_none() {
                break;
            }
            if parser.parsed.ends.len() >= parser.limits.visits {
                let limit = parser.limits.visits;
                return Err(parser.trouble.stop(Problem::TooManyVisits { limit }));
            }
            parser.finish_visit();
            parser.parsed.codes.extend_from_slice(&parser.visit);
            parser.parsed.ends.push(parser.parsed.codes.len());
        }
        if parser.parsed.ends.is_empty() {
            return Err(parser.trouble.stop(Problem::NoEncounters));
        }
        Ok(())
    }
}

struct Id<'s, 'p>(&'s mut LineParser<'p>);

impl Id<'_, '_> {
    fn keep<E: de::Error>(self, id: impl fmt::Display) -> Result<(), E> {
        write!(self.0.parsed.id, "{id}").map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Id<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.trouble.expected = "a string or an integer for `id`";
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Id<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an id")
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<(), E> {
        self.keep(id)
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<(), E> {
        self.keep(id)
    }

    fn visit_i64<E: de::Error>(self, id: i64) -> Result<(), E> {
        self.keep(id)
    }
}
