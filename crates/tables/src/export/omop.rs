//! Tables of the OMOP common data model.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use consequence_record::{Code, RecordView};
use consequence_store::{AtomicFile, AtomicFolder, StoreError};

use super::ExportOptions;
use super::long::{Nothing, Rows};
use super::omop_tables::{
    Cell, EVENT_TABLES, OBSERVATIONS, PERIOD, PERIOD_FILE, PERSON, PERSON_FILE, VISIT, VISIT_FILE,
    table_of,
};
use crate::export::Timeline;
use crate::jsonl::check;
use crate::{Dataset, WriteError};
use consequence_record::calendar::{Date, Moment};

/// Writes a cohort as tables of OMOP, version 5.4, into a new folder: `person`, `visit_occurrence`,
/// `observation_period`, and each code by its first part in `condition_occurrence`,
/// `drug_exposure`, `procedure_occurrence` or `observation`.
///
/// Codes stand in the `source_value` columns, and concepts are 0, as no vocabulary of OMOP is at
/// hand; sex alone is mapped. The year of birth is that of the first visit less the middle of the
/// age band, and empty where there is none. Persons and visits are numbered from 1.
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
    files.chain([PERSON_FILE, VISIT_FILE, PERIOD_FILE]).any(|file| name == file)
}

struct Tables<'d> {
    dataset: &'d Dataset,
    /// The table each code goes to.
    tables_of: Vec<usize>,
    person: Rows<AtomicFile>,
    visit: Rows<AtomicFile>,
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
}

impl<'d> Tables<'d> {
    fn create(folder: &Path, dataset: &'d Dataset) -> Result<Self, StoreError> {
        let vocabulary = &dataset.vocabulary;
        let events: Result<Vec<_>, StoreError> = EVENT_TABLES
            .iter()
            .map(|table| begin(folder, table.file, table.columns.iter().map(|column| column.0)))
            .collect();
        Ok(Self {
            dataset,
            tables_of: vocabulary.codes().map(|code| table_of(vocabulary.name(code))).collect(),
            person: begin(folder, PERSON_FILE, PERSON)?,
            visit: begin(folder, VISIT_FILE, VISIT)?,
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
        self.write_person(person, self.dataset.cohort.id(index), record, first)?;
        self.period.field(person).field(person).field(Date(first)).field(Date(last)).field(0);
        self.period.end()?;
        for &code in record.visit(0) {
            if sex_concept(self.dataset.vocabulary.name(code)).is_none() {
                self.write_event(OBSERVATIONS, Event { person, visit: None, time: first, code })?;
            }
        }
        for (index, &time) in times.iter().enumerate() {
            self.visit_count += 1;
            let visit = Some(self.visit_count);
            self.write_visit(person, index, time)?;
            for &code in record.visit(index + 1) {
                if !timeline.is_gap(code) {
                    let table = self.tables_of.get(code.index()).copied().unwrap_or(OBSERVATIONS);
                    self.write_event(table, Event { person, visit, time, code })?;
                }
            }
        }
        Ok(())
    }

    fn write_person(
        &mut self,
        person: u64,
        id: &str,
        record: RecordView<'_>,
        first: i64,
    ) -> io::Result<()> {
        let names = || record.visit(0).iter().map(|&code| self.dataset.vocabulary.name(code));
        let sex = names().find_map(|name| Some((name, sex_concept(name)?)));
        let birth = names().find_map(age_years).map(|years| Date(first).year() - years);
        let row = &mut self.person;
        row.field(person).field(sex.map_or(0, |(_, concept)| concept)).optional(birth);
        row.field(Nothing).field(Nothing).field(Nothing).field(0).field(0);
        row.field(Nothing).field(Nothing).field(Nothing).field(id);
        row.optional(sex.map(|(name, _)| name)).field(0);
        row.field(Nothing).field(0).field(Nothing).field(0);
        row.end()
    }

    fn write_visit(&mut self, person: u64, index: usize, time: i64) -> io::Result<()> {
        let number = self.visit_count;
        let row = &mut self.visit;
        row.field(number).field(person).field(0);
        row.field(Date(time)).field(Moment(time)).field(Date(time)).field(Moment(time));
        row.field(0).field(Nothing).field(Nothing).field(index + 1).field(0);
        row.field(Nothing).field(Nothing).field(Nothing).field(Nothing);
        row.optional((index > 0).then(|| number - 1));
        row.end()
    }

    fn write_event(&mut self, table: usize, event: Event) -> io::Result<()> {
        self.event_counts[table] += 1;
        let number = self.event_counts[table];
        let row = &mut self.events[table];
        for (_, cell) in EVENT_TABLES[table].columns {
            match cell {
                Cell::Number => row.field(number),
                Cell::Person => row.field(event.person),
                Cell::Zero => row.field(0),
                Cell::Date => row.field(Date(event.time)),
                Cell::Moment => row.field(Moment(event.time)),
                Cell::Visit => row.optional(event.visit),
                Cell::Source => row.field(self.dataset.vocabulary.name(event.code)),
                Cell::Empty => row.field(Nothing),
            };
        }
        row.end()
    }

    fn commit(self) -> Result<(), StoreError> {
        let tables = [self.person, self.visit, self.period].into_iter().chain(self.events);
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
