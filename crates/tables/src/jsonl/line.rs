//! One line: a record whose codes are numbered as they are read.

use std::fmt;
use std::fmt::Write as _;

use consequence_record::{Code, Details, DetailsView, EventDetail, Kind, calendar};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::codes::Codes;
use crate::document::{CodeList, FieldName, Receiver, Trouble, check_name, position, shown};
use crate::{Limits, Problem};

/// The fields of a line; the first three must be there.
const FIELDS: &[&str] = &["id", "static", "visits", "ended", BIRTH, TIMES, ENDS, VALUES];
pub(super) const BIRTH: &str = "birth";
pub(super) const TIMES: &str = "times";
pub(super) const ENDS: &str = "ends";
pub(super) const VALUES: &str = "values";

/// Reads lines one after another into the same space.
pub(super) struct LineParser<'p> {
    codes: &'p mut Codes,
    limits: &'p Limits,
    /// Whether dates and values are read, rather than skipped.
    detailed: bool,
    /// Whether records have times; known from the first on.
    dated: Option<bool>,
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
    details: Details,
    /// The entries of `values`, if it is there.
    valued_visits: Option<usize>,
    /// Offsets from UTC that were left out.
    pub(super) offsets: u64,
}

impl ParsedLine {
    /// What is known of the record beside its codes.
    pub fn details(&self) -> DetailsView<'_> {
        self.details.view()
    }

    /// The codes of an encounter, counted from 1.
    fn encounter(&self, number: usize) -> &[Code] {
        let start = if number == 1 { 0 } else { self.ends[number - 2] };
        &self.codes[start..self.ends[number - 1]]
    }

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
        self.details = Details::default();
        self.valued_visits = None;
        self.offsets = 0;
    }
}

impl<'p> LineParser<'p> {
    pub fn new(codes: &'p mut Codes, limits: &'p Limits, detailed: bool) -> Self {
        Self {
            codes,
            limits,
            detailed,
            dated: None,
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

    /// The time of a text in a field.
    fn time(&mut self, text: &str, field: &'static str) -> Result<i64, Problem> {
        let (time, offset) = calendar::parse_with_offset(text).ok_or(Problem::BadTime { field })?;
        self.parsed.offsets += u64::from(offset);
        Ok(time)
    }

    /// Refuses dates and values that do not fit the record, once all of it is there.
    fn settle_details(&mut self) -> Result<(), Problem> {
        let ParsedLine { details, ends, valued_visits, .. } = &mut self.parsed;
        let encounters = ends.len();
        let Details { times, ends, events, .. } = details;
        let dated = !times.is_empty();
        let lengths = [
            (TIMES, dated.then_some(times.len())),
            (ENDS, Some(ends.len())),
            (VALUES, *valued_visits),
        ];
        for (field, found) in lengths {
            let found = found.filter(|&found| found != encounters && (field != ENDS || found != 0));
            if let Some(found) = found {
                return Err(Problem::WrongLength { field, found, encounters });
            }
        }
        if !ends.is_empty() && !dated {
            return Err(Problem::EndsAlone);
        }
        if let Some(index) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(Problem::BackInTime { encounter: index + 2 });
        }
        let early = |(begin, end): (&i64, &Option<i64>)| end.is_some_and(|end| end < *begin);
        if let Some(index) = times.iter().zip(&*ends).position(early) {
            return Err(Problem::EndsEarly { encounter: index + 1 });
        }
        if ends.iter().all(Option::is_none) {
            ends.clear();
        }
        if *self.dated.get_or_insert(dated) != dated {
            return Err(Problem::SomeTimes { here: dated });
        }
        events.sort_unstable_by_key(|event| (event.visit, event.code));
        let same =
            |pair: &&[EventDetail]| (pair[0].visit, pair[0].code) == (pair[1].visit, pair[1].code);
        if let Some(pair) = events.windows(2).find(same) {
            let (code, encounter) = (shown(self.codes.name(pair[0].code)), pair[0].visit as usize);
            return Err(Problem::RepeatedValue { code, encounter });
        }
        let parsed = &self.parsed;
        let stray = |event: &&EventDetail| {
            parsed.encounter(event.visit as usize).binary_search(&event.code).is_err()
        };
        match parsed.details.events.iter().find(stray) {
            Some(event) => {
                let (code, encounter) = (shown(self.codes.name(event.code)), event.visit as usize);
                Err(Problem::StrayValue { code, encounter })
            }
            None => Ok(()),
        }
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
                Some("ended") => {
                    parser.trouble.expected = "true or false for `ended`";
                    parser.parsed.ended = map.next_value()?;
                }
                Some(_) if !parser.detailed => drop(map.next_value::<IgnoredAny>()?),
                Some(BIRTH) => {
                    let birth = Time { parser: &mut *parser, field: BIRTH };
                    parser.parsed.details.birth = Some(map.next_value_seed(birth)?);
                }
                Some(TIMES) => {
                    let times = Times { parser: &mut *parser, field: TIMES };
                    let times = map.next_value_seed(times)?;
                    // Null is refused above, so that all are there.
                    parser.parsed.details.times = times.into_iter().flatten().collect();
                }
                Some(ENDS) => {
                    let ends = Times { parser: &mut *parser, field: ENDS };
                    parser.parsed.details.ends = map.next_value_seed(ends)?;
                }
                Some(_) => map.next_value_seed(Values(&mut *parser))?,
            }
        }
        for (index, field) in FIELDS[..3].iter().enumerate() {
            if seen & 1 << index == 0 {
                return Err(parser.trouble.stop(Problem::MissingField(field)));
            }
        }
        if parser.detailed {
            // An empty list of times is one of the wrong length, as there is an encounter.
            let given = |field: &str| {
                FIELDS
                    .iter()
                    .position(|known| *known == field)
                    .is_some_and(|at| seen & 1 << at != 0)
            };
            let (times, ends) = (&parser.parsed.details.times, &parser.parsed.details.ends);
            let empty = [(TIMES, times.is_empty()), (ENDS, ends.is_empty())];
            if let Some((field, _)) =
                empty.into_iter().find(|(field, empty)| *empty && given(field))
            {
                let encounters = parser.parsed.ends.len();
                let problem = Problem::WrongLength { field, found: 0, encounters };
                return Err(parser.trouble.stop(problem));
            }
            parser.settle_details().map_err(|problem| parser.trouble.stop(problem))?;
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

/// A time of a field.
struct Time<'s, 'p> {
    parser: &'s mut LineParser<'p>,
    field: &'static str,
}

impl<'de> DeserializeSeed<'de> for Time<'_, '_> {
    type Value = i64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<i64, D::Error> {
        self.parser.trouble.expected = match self.field {
            BIRTH => "a date, as a string, for `birth`",
            ENDS => "a date, as a string, or null in `ends`",
            _ => "a date, as a string, in `times`",
        };
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Time<'_, '_> {
    type Value = i64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a date")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<i64, E> {
        let time = self.parser.time(text, self.field);
        time.map_err(|problem| self.parser.trouble.stop(problem))
    }
}

/// A time that may be null in the ends of encounters.
struct MaybeTime<'s, 'p>(Time<'s, 'p>);

impl<'de> DeserializeSeed<'de> for MaybeTime<'_, '_> {
    type Value = Option<i64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0.field {
            ENDS => deserializer.deserialize_option(self),
            _ => self.0.deserialize(deserializer).map(Some),
        }
    }
}

impl<'de> Visitor<'de> for MaybeTime<'_, '_> {
    type Value = Option<i64>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a date or null")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// The list of `times` or `ends`.
struct Times<'s, 'p> {
    parser: &'s mut LineParser<'p>,
    field: &'static str,
}

impl<'de> DeserializeSeed<'de> for Times<'_, '_> {
    type Value = Vec<Option<i64>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.parser.trouble.expected = match self.field {
            ENDS => "a list of dates for `ends`",
            _ => "a list of dates for `times`",
        };
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Times<'_, '_> {
    type Value = Vec<Option<i64>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of dates")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let Self { parser, field } = self;
        let mut times = Vec::new();
        loop {
            let time = MaybeTime(Time { parser: &mut *parser, field });
            let Some(time) = list.next_element_seed(time)? else { return Ok(times) };
            if times.len() >= parser.limits.visits {
                let limit = parser.limits.visits;
                return Err(parser.trouble.stop(Problem::TooManyVisits { limit }));
            }
            times.push(time);
        }
    }
}

/// The list of `values`: an object for each encounter.
struct Values<'s, 'p>(&'s mut LineParser<'p>);

impl<'de> DeserializeSeed<'de> for Values<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.trouble.expected = "a list of objects for `values`";
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Values<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let parser = self.0;
        let mut visits = 0;
        while list
            .next_element_seed(VisitValues { parser: &mut *parser, visit: visits + 1 })?
            .is_some()
        {
            visits += 1;
            if visits > parser.limits.visits {
                let limit = parser.limits.visits;
                return Err(parser.trouble.stop(Problem::TooManyVisits { limit }));
            }
        }
        parser.parsed.valued_visits = Some(visits);
        Ok(())
    }
}

/// The values of an encounter by code.
struct VisitValues<'s, 'p> {
    parser: &'s mut LineParser<'p>,
    visit: usize,
}

impl<'de> DeserializeSeed<'de> for VisitValues<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.parser.trouble.expected =
            "the values of an encounter, as an object of numbers by code";
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for VisitValues<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("values by code")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { parser, visit } = self;
        while let Some(code) = map.next_key_seed(ValueCode(&mut *parser))? {
            parser.trouble.expected = "a number in `values`";
            let value: f32 = map.next_value()?;
            let (visit, value) = (visit as u32, Some(value));
            parser.parsed.details.events.push(EventDetail { visit, code, time: None, value });
        }
        Ok(())
    }
}

/// The code of a value.
struct ValueCode<'s, 'p>(&'s mut LineParser<'p>);

impl<'de> DeserializeSeed<'de> for ValueCode<'_, '_> {
    type Value = Code;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Code, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for ValueCode<'_, '_> {
    type Value = Code;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a code")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Code, E> {
        let parser = self.0;
        check_name(name, parser.limits)
            .and_then(|()| parser.codes.number(name, Kind::Encounter, parser.number))
            .map_err(|problem| parser.trouble.stop(problem))
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
