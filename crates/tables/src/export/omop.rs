//! Tables of the OMOP common data model.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use consequence_record::calendar::{DAY, Date, Moment, civil};
use consequence_record::{Code, DetailsView, Part, RecordView};
use consequence_store::{AtomicFile, AtomicFolder, StoreError};

use super::ExportOptions;
use super::long::{Nothing, Rows};
use super::omop_tables::{
    Cell, DEATH, DEATH_FILE, EVENT_TABLES, MEASUREMENTS, OBSERVATIONS, PERIOD, PERIOD_FILE, PERSON,
    PERSON_FILE, VISIT, VISIT_FILE, table_of,
};
use crate::export::Timeline;
use crate::jsonl::check;
use crate::{Dataset, WriteError};

/// Writes a cohort as tables of OMOP, version 5.4, into a new folder: `person`, `visit_occurrence`,
/// `observation_period`, `death`, and each code by its first part in `condition_occurrence`,
/// `drug_exposure`, `procedure_occurrence`, `measurement` or `observation`.
///
/// Codes stand in the `source_value` columns, and concepts are 0, as no vocabulary of OMOP is at
/// hand; sex alone is mapped. A code that tells in which part of a test's values a result is becomes a
/// measurement: of the test, with its value and unit where they are known. The first `DEATH` of a record is
/// its row in `death`. Where no birth is known, the year of birth is that of the first visit less the middle
/// of the age band, and empty where there is none. Codes of gaps and stays are no events, and ages that a
/// source gave at visits are left out. Persons and visits are numbered from 1.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_tables::{Dataset, export};
///
/// let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//250", Kind::Encounter)])?;
/// let [female, diabetes] = ["SEX//F", "ICD9CM//250"].map(|name| vocabulary.code(name).unwrap());
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![female], vec![diabetes], vec![]]));
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("omop");
/// let dataset = Dataset::new(cohort, Arc::new(vocabulary));
/// export::omop(&path, &dataset, &export::ExportOptions::default())?;
/// let conditions = std::fs::read_to_string(path.join("condition_occurrence.csv"))?;
/// assert_eq!(conditions.lines().nth(1), Some("1,1,0,2000-01-01,2000-01-01 00:00:00,,,0,,,,1,,ICD9CM//250,0,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn omop(
    path: impl AsRef<Path>,
    dataset: &Dataset,
    options: &ExportOptions,
) -> Result<(), WriteError> {
    check(&dataset.cohort, &dataset.vocabulary)?;
    let path = path.as_ref();
    let folder = if options.replace {
        AtomicFolder::replacing(path, is_table)?
    } else {
        AtomicFolder::create(path)?
    };
    let told = |error: StoreError| error.told_of(path);
    let mut tables = Tables::create(folder.path(), dataset).map_err(told)?;
    let timeline = Timeline::new(dataset);
    let mut times = Vec::new();
    for (index, record) in dataset.cohort.records().enumerate() {
        timeline.times(index, record, &mut times);
        tables
            .write_record(index, record, &times, &timeline)
            .map_err(|error| StoreError::new(path, error))?;
    }
    tables.commit().map_err(told)?;
    Ok(folder.commit()?)
}

/// Whether a table of this name is written here.
fn is_table(name: &OsStr) -> bool {
    let files = EVENT_TABLES.iter().map(|table| table.file);
    files.chain([PERSON_FILE, VISIT_FILE, DEATH_FILE, PERIOD_FILE]).any(|file| name == file)
}

struct Tables<'d> {
    dataset: &'d Dataset,
    /// The table each code goes to.
    tables_of: Vec<usize>,
    person: Rows<AtomicFile>,
    visit: Rows<AtomicFile>,
    death: Rows<AtomicFile>,
    period: Rows<AtomicFile>,
    events: Vec<Rows<AtomicFile>>,
    event_counts: [u64; EVENT_TABLES.len()],
    visit_count: u64,
}

/// An event to be written.
#[derive(Clone, Copy)]
struct Event {
    person: u64,
    visit: Option<u64>,
    time: i64,
    code: Code,
    value: Option<f32>,
}

impl<'d> Tables<'d> {
    fn create(folder: &Path, dataset: &'d Dataset) -> Result<Self, StoreError> {
        let vocabulary = &dataset.vocabulary;
        let table = |code| {
            let measured =
                dataset.scales.contains_key(&code) || vocabulary.part(code) == Part::Values;
            if measured { MEASUREMENTS } else { table_of(vocabulary.name(code)) }
        };
        let events: Result<Vec<_>, StoreError> = EVENT_TABLES
            .iter()
            .map(|table| begin(folder, table.file, table.columns.iter().map(|column| column.0)))
            .collect();
        Ok(Self {
            dataset,
            tables_of: vocabulary.codes().map(table).collect(),
            person: begin(folder, PERSON_FILE, PERSON)?,
            visit: begin(folder, VISIT_FILE, VISIT)?,
            death: begin(folder, DEATH_FILE, DEATH)?,
            period: begin(folder, PERIOD_FILE, PERIOD)?,
            events: events?,
            event_counts: [0; EVENT_TABLES.len()],
            visit_count: 0,
        })
    }

    fn write_record(
        &mut self,
        index: usize,
        record: RecordView<'_>,
        times: &[i64],
        timeline: &Timeline<'_>,
    ) -> io::Result<()> {
        let person = index as u64 + 1;
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Ok(()) };
        let vocabulary = &self.dataset.vocabulary;
        let details = self.dataset.details_of(index);
        let end = |visit: usize| timeline.end(index, record, visit, times[visit - 1]);
        self.write_person(person, self.dataset.cohort.id(index), record, first, details)?;
        let events = || details.events.iter().filter_map(|event| event.time);
        let from = events().fold(first, i64::min);
        let to = events().chain((1..record.len()).filter_map(end)).fold(last, i64::max);
        self.period.field(person).field(person).field(Date(from)).field(Date(to)).field(0);
        self.period.end()?;
        let valued = |visit, code| details.event(visit, code).and_then(|event| event.value);
        for &code in record.visit(0) {
            if sex_concept(vocabulary.name(code)).is_none() {
                let value = valued(0, code);
                let event = Event { person, visit: None, time: first, code, value };
                self.write_event(OBSERVATIONS, event)?;
            }
        }
        let mut dead = false;
        for (index, &begin) in times.iter().enumerate() {
            self.visit_count += 1;
            let visit = Some(self.visit_count);
            self.write_visit(person, index, begin, end(index + 1).unwrap_or(begin))?;
            for &code in record.visit(index + 1).iter().filter(|&&code| !timeline.is_time(code)) {
                let own = details.event(index + 1, code).and_then(|event| event.time);
                let value = valued(index + 1, code);
                let event = Event { person, visit, time: own.unwrap_or(begin), code, value };
                if is_death(vocabulary.name(code)) && !std::mem::replace(&mut dead, true) {
                    self.write_death(event)?;
                    continue;
                }
                let table = self.tables_of.get(code.index()).copied().unwrap_or(OBSERVATIONS);
                self.write_event(table, event)?;
                let has = |cell| EVENT_TABLES[table].columns.iter().any(|column| column.1 == cell);
                // A value that the table has no column for is measured all the same.
                if value.is_some() && !has(Cell::Value) {
                    self.write_event(MEASUREMENTS, event)?;
                }
            }
        }
        Ok(())
    }

    fn write_death(&mut self, event: Event) -> io::Result<()> {
        let row = &mut self.death;
        row.field(event.person).field(Date(event.time)).field(Moment(event.time)).field(0);
        row.field(Nothing).field(Nothing).field(Nothing);
        row.end()
    }

    fn write_person(
        &mut self,
        person: u64,
        id: &str,
        record: RecordView<'_>,
        first: i64,
        details: DetailsView<'_>,
    ) -> io::Result<()> {
        let names = || record.visit(0).iter().map(|&code| self.dataset.vocabulary.name(code));
        let sex = names().find_map(|name| Some((name, sex_concept(name)?)));
        let birth = details.birth.map(|birth| (civil(birth.div_euclid(DAY)), Moment(birth)));
        let year = match birth {
            Some(((year, ..), _)) => Some(year),
            None => names().find_map(age_years).map(|years| Date(first).year() - years),
        };
        let row = &mut self.person;
        row.field(person).field(sex.map_or(0, |(_, concept)| concept)).optional(year);
        row.optional(birth.map(|((_, month, _), _)| month));
        row.optional(birth.map(|((_, _, day), _)| day));
        row.optional(birth.map(|(_, moment)| moment)).field(0).field(0);
        row.field(Nothing).field(Nothing).field(Nothing).field(id);
        row.optional(sex.map(|(name, _)| name)).field(0);
        row.field(Nothing).field(0).field(Nothing).field(0);
        row.end()
    }

    fn write_visit(&mut self, person: u64, index: usize, begin: i64, end: i64) -> io::Result<()> {
        let number = self.visit_count;
        let row = &mut self.visit;
        row.field(number).field(person).field(0);
        row.field(Date(begin)).field(Moment(begin)).field(Date(end)).field(Moment(end));
        row.field(0).field(Nothing).field(Nothing).field(index + 1).field(0);
        row.field(Nothing).field(Nothing).field(Nothing).field(Nothing);
        row.optional((index > 0).then(|| number - 1));
        row.end()
    }

    fn write_event(&mut self, table: usize, event: Event) -> io::Result<()> {
        self.event_counts[table] += 1;
        let number = self.event_counts[table];
        let row = &mut self.events[table];
        let name = self.dataset.vocabulary.name(event.code);
        let scale = self.dataset.scales.get(&event.code);
        for (_, cell) in EVENT_TABLES[table].columns {
            match cell {
                Cell::Number => row.field(number),
                Cell::Person => row.field(event.person),
                Cell::Zero => row.field(0),
                Cell::Date => row.field(Date(event.time)),
                Cell::Moment => row.field(Moment(event.time)),
                Cell::Visit => row.optional(event.visit),
                Cell::Source => row.field(name),
                Cell::Test => row.field(scale.map_or(name, |scale| scale.test.as_str())),
                Cell::Value => row.optional(event.value),
                Cell::Unit => {
                    let unit = scale.and_then(|scale| scale.unit.as_deref());
                    row.optional(unit.filter(|_| event.value.is_some()))
                }
                Cell::Measured => match event.value {
                    Some(value) => row.field(value),
                    None => row.field(name),
                },
                Cell::Empty => row.field(Nothing),
            };
        }
        row.end()
    }

    fn commit(self) -> Result<(), StoreError> {
        let tables = [self.person, self.visit, self.death, self.period];
        let tables = tables.into_iter().chain(self.events);
        tables.map(Rows::into_inner).try_for_each(AtomicFile::commit)
    }
}

/// Begins a table with the names of its columns.
fn begin(
    folder: &Path,
    file: &str,
    columns: impl IntoIterator<Item = &'static str>,
) -> Result<Rows<AtomicFile>, StoreError> {
    let path = folder.join(file);
    let mut rows = Rows::new(AtomicFile::create(&path)?);
    for column in columns {
        rows.field(column);
    }
    rows.end().map_err(|error| StoreError::new(&path, error))?;
    Ok(rows)
}

/// Whether a code tells that the patient died.
fn is_death(code: &str) -> bool {
    ["DEATH", "MEDS_DEATH"].contains(&code)
}

/// The OMOP concept of a sex, if the code is one.
pub(super) fn sex_concept(code: &str) -> Option<u32> {
    let value = after(code, &["SEX", "GENDER"])?;
    match value.to_ascii_uppercase().as_str() {
        "F" | "FEMALE" | "8532" => Some(8532),
        "M" | "MALE" | "8507" => Some(8507),
        _ => None,
    }
}

/// The years in the middle of an age band, if the code is one: `AGE//40-60`, `AGE//[40-50)`, or
/// `AGE//85+`, of which it is the start.
pub(super) fn age_years(code: &str) -> Option<i64> {
    let band = after(code, &["AGE"])?.trim_matches(['[', ')', '(', ']']);
    let number = |text: &str| text.trim().parse::<u8>().ok().map(i64::from);
    if let Some(from) = band.strip_suffix('+') {
        return number(from);
    }
    match band.split_once('-') {
        Some((from, to)) => Some((number(from)? + number(to)?) / 2),
        None => number(band),
    }
}

/// What follows the first part of a code, if that is one of the given words.
fn after<'c>(code: &'c str, words: &[&str]) -> Option<&'c str> {
    let (word, value) = code.split_once("//")?;
    words.iter().any(|known| known.eq_ignore_ascii_case(word)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_sex_and_age() {
        assert_eq!(sex_concept("SEX//F"), Some(8532));
        assert_eq!(sex_concept("gender//Male"), Some(8507));
        assert_eq!(sex_concept("SEX//unknown"), None);
        assert_eq!(sex_concept("ICD9CM//F"), None);
        assert_eq!(age_years("AGE//40-60"), Some(50));
        assert_eq!(age_years("AGE//[70-80)"), Some(75));
        assert_eq!(age_years("AGE//85+"), Some(85));
        assert_eq!(age_years("AGE//old"), None);
        assert_eq!(age_years("AGE//9999"), None);
    }
}
