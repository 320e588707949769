//! The readers of each kind of source.

mod dataset;
mod long;
mod mimic;
mod omop;
pub(crate) mod omop_events;
pub(crate) mod omop_met;
mod omop_order;
mod omop_own;
mod synthea;
mod traits;
mod uci;

use std::path::Path;

use consequence_record::Scale;

use super::codes::{Role, sex_word};
use super::collector::Collector;
use super::encounters::Profile;
use super::event::{Event, Fact, VisitKey};
use super::summary::Reason;
use super::table::Table;
use super::{ImportError, Source};

/// What is known of a source once it is read.
pub(crate) struct Gathered {
    pub profile: Profile,
    /// The characters of ICD codes to keep.
    pub truncate: Option<usize>,
    pub told: Told,
}

/// What a source tells of codes by themselves, each by its number.
#[derive(Default)]
pub(crate) struct Told {
    /// What the values of codes are.
    pub scales: Vec<(usize, Scale)>,
    /// Codes that may be in no record.
    pub unused: Vec<usize>,
}

/// Reads a source into a collector.
pub(super) fn gather(
    source: &Source,
    path: &Path,
    collector: &mut Collector<'_>,
) -> Result<Gathered, ImportError> {
    let mut told = Told::default();
    let profile = match source {
        Source::Mimic3 => mimic::gather_mimic3(path, collector),
        Source::Mimic4 => mimic::gather_mimic4(path, collector),
        Source::Omop => omop::gather(path, collector, &mut told),
        Source::Synthea => synthea::gather(path, collector),
        Source::UciDiabetes => uci::gather(path, collector),
        Source::Csv(columns) => long::gather(path, columns, collector),
        Source::Jsonl => dataset::gather_lines(path, collector),
        Source::Meds => dataset::gather_meds(path, collector, &mut told.scales),
    }?;
    let truncate = match source {
        Source::UciDiabetes => collector.options.truncate.or(Some(uci::CATEGORY)),
        _ => collector.options.truncate,
    };
    Ok(Gathered { profile, truncate, told })
}

/// The profile of sources with tables of subjects and of encounters.
pub(crate) const LISTED: Profile = Profile {
    dated: true,
    listed: true,
    sex: true,
    age: true,
    births: false,
    last_ends: false,
    own: false,
    gaps: false,
    stays: false,
};

/// What tools of MEDS call a birth and a death.
const MEDS_BIRTH: &str = "MEDS_BIRTH";
const MEDS_DEATH: &str = "MEDS_DEATH";

/// What a row says of the result of a measurement.
struct Outcome<'t> {
    /// The result as a number.
    number: &'t str,
    /// The result in words, where it is no number.
    text: &'t str,
    unit: &'t str,
}

/// Takes in the result of a measurement: a number, or words, or else it is counted as none.
fn put_result(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    event: Event,
    outcome: &Outcome<'_>,
) -> Result<(), ImportError> {
    let fail = |problem| table.fail(problem);
    match outcome.number.parse::<f32>() {
        Ok(value) if value.is_finite() => {
            collector.put_value(event, value, outcome.unit).map_err(fail)?
        }
        // Three lines stand for what was taken out to hide a person.
        Err(_) if outcome.number.is_empty() && !matches!(outcome.text, "" | "___") => {
            let fact = collector.codes.text_result(event.fact, outcome.text, 1).map_err(fail)?;
            collector.put(event.saying(fact))
        }
        _ => {
            collector.summary.drop_one(Reason::NoValue);
            Ok(())
        }
    }
}

/// Takes in the sex of a subject, from whatever word the source has for it.
fn put_sex(
    collector: &mut Collector<'_>,
    table: &Table<'_>,
    column: usize,
    subject: u32,
    visit: VisitKey,
) -> Result<(), ImportError> {
    let Some(sex) = sex_word(table.text(column)?) else { return Ok(()) };
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
