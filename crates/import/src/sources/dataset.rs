//! Cohorts that have readers of their own: JSON lines and MEDS.

use std::io::BufReader;
use std::path::Path;

use consequence_record::{Code, Split};
use consequence_tables::jsonl::{self, Codes};
use consequence_tables::meds::{MedsOptions, Stream};
use consequence_tables::{Limits, Problem, TableError};

use crate::build::Profile;
use crate::codes::Role;
use crate::collector::Collector;
use crate::event::{Event, Fact, VisitKey};
use crate::files::{self, explained, known};
use crate::{ImportError, ImportProblem};

/// What the records are called among the tables of a source.
const RECORDS: &str = "records";

const BUFFER_BYTES: usize = 1 << 18;

/// Takes in records as JSON lines.
pub(super) fn gather_lines(
    path: &Path,
    collector: &mut Collector<'_>,
) -> Result<Profile, ImportError> {
    let name = path.display().to_string();
    let whole = |problem| ImportError::whole(name.as_str(), problem);
    let total = path.metadata().map_or(0, |file| file.len());
    collector.watch.begin(RECORDS, known(total));
    let bytes = files::open(path, collector.limits(), collector.watch).map_err(whole)?;
    let reader = BufReader::with_capacity(BUFFER_BYTES, bytes);
    let (mut codes, mut facts) = (Codes::default(), Facts::default());
    let limits = limits(collector);
    let summary = jsonl::each_record(reader, &name, &mut codes, &limits, |record, codes| {
        let given = Given { id: &record.id, split: None, ended: record.ended, times: &[] };
        put(collector, given, record.visits(), &mut facts, |code| codes.name(code))
            .map_err(whole)?
    })
    .map_err(unpacked)?;
    finish(collector, summary.records);
    Ok(Profile { dated: false, listed: true, sex: false, age: false })
}

/// Takes in a MEDS dataset, with the splits that it has.
pub(super) fn gather_meds(
    path: &Path,
    collector: &mut Collector<'_>,
) -> Result<Profile, ImportError> {
    let name = path.display().to_string();
    let whole = |problem| ImportError::whole(name.as_str(), problem);
    let options = MedsOptions { limits: limits(collector), ..MedsOptions::default() };
    let stream = Stream::open(path, &options)?;
    collector.watch.begin(RECORDS, known(stream.bytes()));
    let (mut facts, mut count) = (Facts::default(), 0);
    let watch = collector.watch;
    stream.each_record(
        |streamed| {
            count += 1;
            let ended = streamed.record.ended();
            let given = Given {
                id: streamed.id,
                split: streamed.split,
                ended,
                times: streamed.details.times,
            };
            let name = |code| stream.vocabulary().name(code);
            put(collector, given, streamed.record.visits(), &mut facts, name).map_err(whole)?
        },
        |bytes| watch.advance(bytes),
    )?;
    for (&code, title) in stream.titles() {
        collector.codes.title_of(&[stream.vocabulary().name(code)], title);
    }
    for (&code, concept) in stream.concepts() {
        if let Some(fact) = collector.codes.find(stream.vocabulary().name(code)) {
            collector.codes.concept(fact, concept.clone());
        }
    }
    finish(collector, count);
    Ok(Profile { dated: stream.dated(), listed: true, sex: false, age: false })
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
    times: &'r [i64],
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
    let mut events = Vec::new();
    for (visit, codes) in visits.enumerate() {
        let (key, role, time) = match visit.checked_sub(1) {
            None => (VisitKey::STATIC, Role::Static, None),
            Some(index) => {
                let time = given.times.get(index).copied();
                (VisitKey::named(&visit.to_string()), Role::Encounter, time)
            }
        };
        if visit > 0 {
            events.push(Event::new(subject, Fact::VISIT, key, time));
        }
        for &code in codes {
            let fact = facts.of(code, || collector.codes.fact(&[name(code)], role))?;
            events.push(Event::new(subject, fact, key, time));
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
