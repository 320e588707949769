//! Cohorts that have readers of their own: JSON lines and MEDS.

use std::path::Path;

use consequence_record::Code;

use super::super::build::Profile;
use super::super::codes::Role;
use super::super::collector::Collector;
use super::super::event::{Event, Fact, VisitKey};
use super::super::{ImportError, Source};
use crate::jsonl::{self, ReadOptions};
use crate::meds::{self, MedsOptions};
use crate::{Dataset, Limits, TableError};

pub(super) fn gather(
    path: &Path,
    source: &Source,
    collector: &mut Collector<'_>,
) -> Result<Profile, ImportError> {
    let limits = Limits {
        line_bytes: collector.limits().row_bytes,
        visits: collector.limits().visits,
        code_bytes: collector.limits().code_bytes,
        ..Limits::default()
    };
    let name = path.display().to_string();
    let dataset = read(path, source, limits).map_err(|error| {
        let line = error.line;
        ImportError { problem: error.into(), file: name.as_str().into(), line }
    })?;
    put(&dataset, collector, &name)?;
    Ok(Profile { dated: dataset.times.is_some(), listed: true, sex: false, age: false })
}

fn read(path: &Path, source: &Source, limits: Limits) -> Result<Dataset, TableError> {
    match source {
        Source::Meds => meds::read(path, &MedsOptions { limits, ..MedsOptions::default() }),
        _ => {
            let loaded = jsonl::read(path, &ReadOptions { limits, ..ReadOptions::default() })?;
            Ok(Dataset::new(loaded.cohort, loaded.vocabulary))
        }
    }
}

fn put(dataset: &Dataset, collector: &mut Collector<'_>, name: &str) -> Result<(), ImportError> {
    let whole = |problem| ImportError::whole(name, problem);
    let cohort = &dataset.cohort;
    for (index, record) in cohort.records().enumerate() {
        let subject = collector.subjects.number(cohort.id(index)).map_err(whole)?;
        let times = dataset.times.as_ref().map(|times| times.of(index));
        for (visit, codes) in record.visits().enumerate() {
            let (key, role, time) = match visit.checked_sub(1) {
                None => (VisitKey::STATIC, Role::Static, None),
                Some(place) => {
                    let time = times.and_then(|times| times.get(place).copied());
                    (VisitKey::named(&visit.to_string()), Role::Encounter, time)
                }
            };
            if visit > 0 {
                collector.put(Event::new(subject, Fact::VISIT, key, time))?;
            }
            for &code in codes {
                let code_name = dataset.vocabulary.name(code);
                let fact = collector.codes.fact(&[code_name], role).map_err(whole)?;
                collector.put(Event::new(subject, fact, key, time))?;
            }
        }
        if !record.ended() {
            collector.put(Event::new(subject, Fact::CUT, VisitKey::STATIC, None))?;
        }
    }
    for (&code, title) in &dataset.titles {
        title_of(dataset, code, title, collector);
    }
    collector.summary.tables.push(("records".to_owned(), cohort.len() as u64));
    Ok(())
}

fn title_of(dataset: &Dataset, code: Code, title: &str, collector: &mut Collector<'_>) {
    collector.codes.title_of(&[dataset.vocabulary.name(code)], title);
}
