//! Cohorts that have readers of their own: JSON lines and MEDS.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;

use consequence_record::{Code, Concept, DEATH, DetailsView, Scale, Split, Vocabulary};
use consequence_tables::jsonl::{self, Codes};
use consequence_tables::meds::{MedsOptions, RawEvent, Stream};
use consequence_tables::{Limits, Problem, TableError};

use super::put_birth;
use crate::codes::{self, Role, sex_of};
use crate::collector::Collector;
use crate::encounters::Profile;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{self, explained, known};
use crate::summary::Reason;
use crate::{ImportError, ImportProblem};

/// What the records are called among the tables of a source.
const RECORDS: &str = "records";

const BUFFER_BYTES: usize = 1 << 18;

/// Takes in records as JSON lines.
pub(super) fn gather_lines(
    path: &Path,
    collector: &mut Collector<'_>,
) -> Result<Profile, ImportError> {
    let name = files::called(path);
    let whole = |problem| ImportError::whole(name.as_str(), problem);
    let total = path.metadata().map_or(0, |file| file.len());
    collector.watch.begin(RECORDS, known(total));
    let bytes = files::open(path, collector.limits(), collector.watch).map_err(whole)?;
    let reader = BufReader::with_capacity(BUFFER_BYTES, bytes);
    let (mut codes, mut facts, mut dated) = (Codes::default(), Facts::default(), false);
    let limits = limits(collector);
    let summary = jsonl::each_record(reader, &name, &mut codes, &limits, |record, codes| {
        let details = record.details();
        dated |= !details.times.is_empty();
        let given = Given { id: &record.id, split: None, ended: record.ended, details };
        put(collector, given, record.visits(), &mut facts, |code| codes.name(code))
            .map_err(whole)?
    })
    .map_err(unpacked)?;
    collector.summary.drop_many(Reason::Offset, summary.offsets);
    finish(collector, summary.records);
    Ok(Profile { dated, listed: true, own: true, ..Profile::default() })
}

/// Takes in a MEDS dataset, with the splits that it has.
pub(super) fn gather_meds(
    path: &Path,
    collector: &mut Collector<'_>,
    scales: &mut Vec<(usize, Scale)>,
) -> Result<Profile, ImportError> {
    let options = MedsOptions { limits: limits(collector), ..MedsOptions::default() };
    let stream = Stream::open(path, &options)?;
    collector.watch.begin(RECORDS, known(stream.bytes()));
    let profile = match stream.own() {
        true => gather_own(path, collector, &stream)?,
        false => gather_events(path, collector, &stream)?,
    };
    describe(collector, stream.vocabulary(), stream.titles(), stream.concepts());
    // What another tool calls a value has its parts cut here.
    scales.extend(stream.scales().iter().filter(|_| stream.own()).filter_map(|(&code, scale)| {
        let fact = collector.codes.find(stream.vocabulary().name(code))?;
        Some((fact.code()?, scale.clone()))
    }));
    Ok(profile)
}

/// Takes in a dataset of ours, which comes back as it is.
fn gather_own(
    path: &Path,
    collector: &mut Collector<'_>,
    stream: &Stream,
) -> Result<Profile, ImportError> {
    let name = path.display().to_string();
    let whole = |problem| ImportError::whole(name.as_str(), problem);
    let (mut facts, mut count) = (Facts::default(), 0);
    let watch = collector.watch;
    stream.each_record(
        |streamed| {
            count += 1;
            let given = Given {
                id: streamed.id,
                split: streamed.split,
                ended: streamed.record.ended(),
                details: streamed.details,
            };
            let name = |code| stream.vocabulary().name(code);
            put(collector, given, streamed.record.visits(), &mut facts, name).map_err(whole)?
        },
        |bytes| watch.advance(bytes),
    )?;
    finish(collector, count);
    Ok(Profile { dated: stream.dated(), listed: true, own: true, ..Profile::default() })
}

/// Takes in the events of another tool's dataset.
fn gather_events(
    path: &Path,
    collector: &mut Collector<'_>,
    stream: &Stream,
) -> Result<Profile, ImportError> {
    let name = path.display().to_string();
    let whole = |problem| ImportError::whole(name.as_str(), problem);
    let meanings: Vec<Said> =
        stream.vocabulary().codes().map(|code| Said::by(stream.vocabulary().name(code))).collect();
    let (mut facts, mut count, mut births) = (Facts::default(), 0_u64, false);
    let mut current: Option<(i64, u32)> = None;
    let watch = collector.watch;
    stream.each_event(
        |event| {
            count += 1;
            let subject = match current {
                Some((number, subject)) if number == event.subject => subject,
                _ => {
                    let subject =
                        collector.subjects.number(&stream.id(event.subject)).map_err(whole)?;
                    if let Some(split) = stream.split(event.subject) {
                        collector.subjects.put_into(subject, split);
                    }
                    collector.put(Event::new(subject, Fact::LISTED, VisitKey::STATIC, None))?;
                    current = Some((event.subject, subject));
                    subject
                }
            };
            let Some(code) = event.code else {
                births |= event.time.is_some();
                return put_birth(collector, subject, event.time);
            };
            let said = &meanings[code.index()];
            let fact = |codes: &mut codes::Codes, role| {
                facts.of(code, || codes.fact(&[stream.vocabulary().name(code)], role))
            };
            put_event(collector, subject, &event, said, fact).map_err(whole)?
        },
        |bytes| watch.advance(bytes),
    )?;
    finish(collector, count);
    Ok(Profile { dated: stream.dated(), births, last_ends: true, ..Profile::default() })
}

/// What a code of another tool says.
enum Said {
    /// A code like any other.
    Code,
    /// That a subject is of a sex.
    Sex(&'static str),
    /// When a subject died.
    Death,
    /// When an admission ended, and how.
    Discharge,
}

impl Said {
    fn by(name: &str) -> Self {
        // The static use of a code that has a timed one too.
        let plain = name.strip_prefix("STATIC//").unwrap_or(name);
        match sex_of(plain) {
            Some(sex) => Self::Sex(sex),
            None if name == DEATH => Self::Death,
            None if name.starts_with("HOSPITAL_DISCHARGE") => Self::Discharge,
            None => Self::Code,
        }
    }
}

/// Takes in an event of another tool's dataset.
fn put_event(
    collector: &mut Collector<'_>,
    subject: u32,
    event: &RawEvent<'_>,
    said: &Said,
    fact: impl FnOnce(&mut codes::Codes, Role) -> Result<Fact, ImportProblem>,
) -> Result<Result<(), ImportError>, ImportProblem> {
    let visit = match (event.time, event.visit) {
        (None, _) => VisitKey::STATIC,
        (Some(_), Some(number)) => VisitKey::numbered(number),
        (Some(time), None) => VisitKey::day(time),
    };
    match said {
        Said::Sex(sex) => {
            let fact = collector.codes.fact(&["SEX", sex], Role::Exclusive)?;
            return Ok(collector.put(Event::new(subject, fact, VisitKey::STATIC, None)));
        }
        Said::Death if event.visit.is_none() && event.time.is_some() => {
            return collector.put_death(subject, event.time);
        }
        Said::Discharge if event.visit.is_some() => {
            if let Err(error) = collector.put_end(subject, visit, event.time) {
                return Ok(Err(error));
            }
        }
        Said::Death | Said::Discharge | Said::Code => {}
    }
    let role = if visit == VisitKey::STATIC { Role::Static } else { Role::Encounter };
    let fact = fact(&mut collector.codes, role)?;
    let put = Event::new(subject, fact, visit, event.time);
    if !collector.measures() {
        return Ok(collector.put(put));
    }
    match (event.number, event.text.map(str::trim).filter(|text| !text.is_empty())) {
        (Some(number), _) if number.is_finite() => collector.put_value(put, number, ""),
        (_, Some(text)) => {
            let fact = collector.codes.text_result(fact, text, 1)?;
            Ok(collector.put(put.saying(fact)))
        }
        (number, None) => {
            // The code stands all the same.
            collector.summary.drop_many(Reason::NoValue, number.is_some().into());
            Ok(collector.put(put))
        }
    }
}

/// Keeps what is known of codes.
fn describe(
    collector: &mut Collector<'_>,
    vocabulary: &Vocabulary,
    titles: &BTreeMap<Code, String>,
    concepts: &BTreeMap<Code, Concept>,
) {
    for (&code, title) in titles {
        collector.codes.title_of(&[vocabulary.name(code)], title);
    }
    for (&code, concept) in concepts {
        if let Some(fact) = collector.codes.find(vocabulary.name(code)) {
            collector.codes.concept(fact, concept.clone());
        }
    }
}

fn finish(collector: &mut Collector<'_>, records: u64) {
    collector.watch.finish();
    collector.summary.tables.push((RECORDS.to_owned(), records));
}

fn limits(collector: &Collector<'_>) -> Limits {
    Limits {
        line_bytes: collector.limits().row_bytes,
        visits: collector.limits().visits,
        code_bytes: collector.limits().code_bytes,
        ..Limits::default()
    }
}

/// An error of a stream that may have been unpacked on the way.
fn unpacked(error: ImportError) -> ImportError {
    let ImportError { problem, file, line } = error;
    let problem = match problem {
        ImportProblem::Cohort(inner) => match *inner {
            TableError { problem: Problem::Read(error), .. } => explained(error),
            other => other.into(),
        },
        other => other,
    };
    ImportError { problem, file, line }
}

/// The facts that codes of the source are, by their numbers there.
#[derive(Default)]
struct Facts(Vec<Option<Fact>>);

/// What is given of a record beside its visits.
struct Given<'r> {
    id: &'r str,
    split: Option<Split>,
    ended: bool,
    details: DetailsView<'r>,
}

/// Takes in a record. What is wrong with its codes is a problem of the whole source, and what goes
/// wrong with the events put aside is not.
fn put<'a, 'n>(
    collector: &mut Collector<'_>,
    given: Given<'_>,
    visits: impl Iterator<Item = &'a [Code]>,
    facts: &mut Facts,
    name: impl Fn(Code) -> &'n str,
) -> Result<Result<(), ImportError>, ImportProblem> {
    let subject = collector.subjects.number(given.id)?;
    if let Some(split) = given.split {
        collector.subjects.put_into(subject, split);
    }
    let details = given.details;
    let mut events = Vec::new();
    if details.birth.is_some() {
        events.push(Event::new(subject, Fact::BIRTH, VisitKey::STATIC, details.birth));
    }
    for (visit, codes) in visits.enumerate() {
        let (key, role) = match visit {
            0 => (VisitKey::STATIC, Role::Static),
            _ => (VisitKey::numbered(visit as i64), Role::Encounter),
        };
        if let Some(index) = visit.checked_sub(1) {
            events.push(Event::new(subject, Fact::VISIT, key, details.time(visit)));
            if let Some(end) = details.end(visit) {
                events.push(Event::new(subject, Fact::ENDED, key, Some(end)));
            }
            if let Some(band) = details.ages.get(index).copied().flatten() {
                events.push(Event::aged(subject, key, band));
            }
        }
        for &code in codes {
            let fact = facts.of(code, || collector.codes.fact(&[name(code)], role))?;
            let detail = details.event(visit, code);
            let event = Event::new(subject, fact, key, detail.and_then(|detail| detail.time));
            let value = detail.and_then(|detail| detail.value);
            events.push(event.valued(value.unwrap_or(f32::NAN), 0));
        }
    }
    if !given.ended {
        events.push(Event::new(subject, Fact::CUT, VisitKey::STATIC, None));
    }
    Ok(events.into_iter().try_for_each(|event| collector.put(event)))
}

impl Facts {
    fn of(
        &mut self,
        code: Code,
        found: impl FnOnce() -> Result<Fact, ImportProblem>,
    ) -> Result<Fact, ImportProblem> {
        if self.0.len() <= code.index() {
            self.0.resize(code.index() + 1, None);
        }
        match self.0[code.index()] {
            Some(fact) => Ok(fact),
            None => Ok(*self.0[code.index()].insert(found()?)),
        }
    }
}
