//! The readers of each kind of source.

mod dataset;
mod long;
mod mimic;
mod omop;
mod synthea;
mod uci;

use std::path::Path;

use super::build::Profile;
use super::codes::Role;
use super::collector::Collector;
use super::event::{Event, Fact, VisitKey};
use super::table::Table;
use super::{ImportError, Source};

/// What is known of a source once it is read.
pub(super) struct Gathered {
    pub profile: Profile,
    /// The characters of ICD codes to keep.
    pub truncate: Option<usize>,
}

/// Reads a source into a collector.
pub(super) fn gather(
    source: &Source,
    path: &Path,
    collector: &mut Collector<'_>,
) -> Result<Gathered, ImportError> {
    let profile = match source {
        Source::Mimic3 => mimic::gather_mimic3(path, collector),
        Source::Mimic4 => mimic::gather_mimic4(path, collector),
        Source::Omop => omop::gather(path, collector),
        Source::Synthea => synthea::gather(path, collector),
        Source::UciDiabetes => uci::gather(path, collector),
        Source::Csv(columns) => long::gather(path, columns, collector),
        Source::Jsonl => dataset::gather_lines(path, collector),
        Source::Meds => dataset::gather_meds(path, collector),
    }?;
    let truncate = match source {
        Source::UciDiabetes => collector.options.truncate.or(Some(uci::CATEGORY)),
        _ => collector.options.truncate,
    };
    Ok(Gathered { profile, truncate })
}

/// The profile of sources with tables of subjects and of encounters.
const LISTED: Profile = Profile { dated: true, listed: true, sex: true, age: true };

/// Takes in the sex of a subject, from whatever word the source has for it.
fn put_sex(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    column: usize,
    subject: u32,
    visit: VisitKey,
) -> Result<(), ImportError> {
    let sex = match table.text(column)?.to_ascii_lowercase().as_str() {
        "f" | "female" | "8532" => "F",
        "m" | "male" | "8507" => "M",
        _ => return Ok(()),
    };
    if !collector.options.sex {
        return Ok(());
    }
    let fact = collector.codes.fact(&["SEX", sex], Role::Exclusive);
    let fact = fact.map_err(|problem| table.fail(problem))?;
    collector.put(Event::new(subject, fact, visit, None))
}

/// Takes in the time of birth of a subject.
fn put_birth(
    collector: &mut Collector<'_>,
    subject: u32,
    birth: Option<i64>,
) -> Result<(), ImportError> {
    match birth {
        Some(_) => collector.put(Event::new(subject, Fact::BIRTH, VisitKey::STATIC, birth)),
        None => Ok(()),
    }
}
