//! A record as a person reads it: dates, titles and values.

use std::fmt::{self, Display, Formatter};

use consequence_pipeline::words::{count, number};
use consequence_record::calendar::{DAY, Date, Moment, years_between};
use serde::Serialize;

use super::{Lexicon, Seen, figure};

/// A record, to be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadRecord {
    /// Its number in the cohort, from 1.
    pub record: usize,
    /// The patient, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its split.
    pub split: &'static str,
    /// The day of birth, where it is known.
    pub birth: Option<String>,
    /// Whether the record goes on to its end, rather than having been cut.
    pub ended: bool,
    /// The static codes.
    #[serde(rename = "static")]
    pub statics: Vec<ReadCode>,
    /// The encounters, in order.
    pub visits: Vec<ReadVisit>,
}

/// An encounter, to be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadVisit {
    /// Its number, from 1.
    pub visit: usize,
    /// When it began.
    pub begin: Option<String>,
    /// When it ended.
    pub end: Option<String>,
    /// The age in full years then.
    pub age: Option<i64>,
    /// Its codes.
    pub codes: Vec<ReadCode>,
}

/// A code of a visit, to be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadCode {
    /// The code.
    pub code: String,
    /// What it means, where that is known.
    pub title: Option<String>,
    /// When it was, if not when the visit began.
    pub time: Option<String>,
    /// What was measured.
    pub value: Option<f64>,
    /// The unit of the value.
    pub unit: Option<String>,
}

/// How much of a record is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Encounters of a record.
    pub visits: usize,
    /// Codes of a visit.
    pub codes: usize,
}

/// A time as a person writes it: without seconds that say nothing.
pub(crate) fn moment(time: i64) -> String {
    let text = Moment(time).to_string();
    match time.rem_euclid(DAY) {
        0 => Date(time).to_string(),
        _ => text.strip_suffix(":00").map_or(text.clone(), str::to_owned),
    }
}

impl ReadRecord {
    /// A record of a cohort.
    pub(crate) fn of(seen: &Seen<'_>, known: Lexicon<'_>, show_id: bool) -> Self {
        let (vocabulary, details) = (known.vocabulary, seen.details);
        let codes = |visit: usize| -> Vec<ReadCode> {
            let read = |&code: &_| {
                let event = details.event(visit, code);
                let value = event.and_then(|event| event.value);
                let scale = known.scales.get(&code).filter(|_| value.is_some());
                ReadCode {
                    code: vocabulary.name(code).to_owned(),
                    title: known.titles.of(code).map(str::to_owned),
                    time: event.and_then(|event| event.time).map(moment),
                    value: value.map(written),
                    unit: scale.and_then(|scale| scale.unit.clone()),
                }
            };
            seen.record.visit(visit).iter().map(read).collect()
        };
        let visit = |visit: usize| ReadVisit {
            visit,
            begin: details.time(visit).map(moment),
            end: details.end(visit).map(moment),
            age: details.birth.zip(details.time(visit)).map(|(born, now)| years_between(born, now)),
            codes: codes(visit),
        };
        Self {
            record: seen.index + 1,
            id: show_id.then(|| seen.id.to_owned()),
            split: seen.split.name(),
            birth: details.birth.map(|birth| Date(birth).to_string()),
            ended: seen.record.ended(),
            statics: codes(0),
            visits: (1..seen.record.len()).map(visit).collect(),
        }
    }

    /// Writes it, as far as there is room.
    pub(crate) fn write(&self, out: &mut Formatter<'_>, room: Room) -> fmt::Result {
        self.write_with(out, room, &|_, _| Ok(()))
    }

    /// The same, with something more after each visit, the static visit being 0.
    pub(crate) fn write_with(
        &self,
        out: &mut Formatter<'_>,
        room: Room,
        after: &dyn Fn(usize, &mut Formatter<'_>) -> fmt::Result,
    ) -> fmt::Result {
        write!(out, "record {}", number(self.record as u64))?;
        if let Some(id) = &self.id {
            write!(out, " ({})", id.escape_debug())?;
        }
        write!(out, ", {} split", self.split.replace('_', " "))?;
        if let Some(birth) = &self.birth {
            write!(out, ", born {birth}")?;
        }
        writeln!(out, ", {}", count(self.visits.len() as u64, "encounter"))?;
        let statics: Vec<String> = self.statics.iter().map(ToString::to_string).collect();
        if !statics.is_empty() {
            writeln!(out, "  {}", statics.join("; "))?;
        }
        after(0, out)?;
        for visit in self.visits.iter().take(room.visits) {
            writeln!(out, "  {visit}")?;
            visit.write_codes(out, room.codes)?;
            after(visit.visit, out)?;
        }
        match self.visits.len().saturating_sub(room.visits) {
            0 => {}
            more => writeln!(out, "  and {}", count(more as u64, "more encounter"))?,
        }
        if !self.ended {
            writeln!(out, "  the record was cut here, before its end")?;
        }
        Ok(())
    }
}

impl ReadVisit {
    fn write_codes(&self, out: &mut Formatter<'_>, room: usize) -> fmt::Result {
        if self.codes.is_empty() {
            return writeln!(out, "    no codes");
        }
        let shown = &self.codes[..room.min(self.codes.len())];
        let width = shown.iter().map(|code| code.code.chars().count()).max().unwrap_or(0);
        for code in shown {
            let mut line = format!("    {:width$}", code.code);
            let time = code.time.as_ref().map(|time| format!("at {time}"));
            for part in [code.title.clone(), code.measured(), time].into_iter().flatten() {
                line.push_str(&format!("  {part}"));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        match self.codes.len() - shown.len() {
            0 => Ok(()),
            more => writeln!(out, "    and {}", count(more as u64, "more code")),
        }
    }
}

/// Its number, when it was, and the age then.
impl Display for ReadVisit {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "visit {}", self.visit)?;
        if let Some(begin) = &self.begin {
            write!(out, ", {begin}")?;
        }
        if let Some(end) = &self.end {
            write!(out, " to {end}")?;
        }
        if let Some(age) = self.age {
            write!(out, ", {age} years old")?;
        }
        Ok(())
    }
}

impl ReadCode {
    /// The value with its unit.
    pub(crate) fn measured(&self) -> Option<String> {
        let unit = self.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"));
        self.value.map(|value| format!("= {}{unit}", figure(value)))
    }
}

/// The code and what it means.
impl Display for ReadCode {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.code)?;
        if let Some(title) = &self.title {
            write!(out, " ({title})")?;
        }
        match self.measured() {
            Some(value) => write!(out, " {value}"),
            None => Ok(()),
        }
    }
}

/// A value with the digits that it is written with: 9.1, and not 9.100000381.
fn written(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}
