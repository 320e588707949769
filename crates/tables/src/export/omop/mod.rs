//! Tables of the OMOP common data model, version 5.4.
//!
//! A code becomes a row of the table of its concept's domain. Its own name stands in the column of the
//! source's value, so that nothing of it is lost, and the table `metadata` says what OMOP has no column
//! for: that the tables are of this program, the cut points of tests, and codes that no record has. Splits
//! are cohorts.

mod about;
mod events;
mod file;
mod tables;
mod terms;

use std::ffi::OsStr;
use std::path::Path;

use consequence_record::calendar::{DAY, Date, civil};
use consequence_record::{Code, DetailsView, Domain, RecordView};
use consequence_store::{AtomicFolder, StoreError};
use serde::Serialize;

use self::events::{EVENTS, table_of};
use self::file::{TableFile, Value, ending};
use self::tables::{
    CDM_SOURCE, COHORT, COHORT_DEFINITION, CONCEPT, DEATH, METADATA, OBSERVATION_PERIOD, PERSON,
    TABLES, Table, VISIT_OCCURRENCE,
};
use self::terms::{Terms, Trait, age_years, is_death, trait_of, unit_concept};
use super::ExportOptions;
use crate::export::Timeline;
use crate::jsonl::check;
use crate::{Dataset, WriteError};

pub use self::about::{
    OMOP_FORMAT, OMOP_SCALE, OMOP_TIME, OMOP_UNUSED, OmopUnused, omop_scale, omop_unused,
};

/// The concept of records of this kind: from an electronic health record.
const RECORD_TYPE: i64 = 32_817;
/// The concept of a visit that ended in death.
const DIED: i64 = 4_216_643;
/// What stands among the codes of a visit that is the last of a record that was cut.
pub const OMOP_CUT: &str = "CUT";
/// What stands between the codes of a visit.
pub const OMOP_BETWEEN: char = '|';

/// What was written of a cohort as tables of OMOP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OmopSummary {
    /// The rows of each table.
    pub tables: Vec<(&'static str, u64)>,
    /// Codes that have no concept in a vocabulary of OMOP, and so one of their own.
    pub unmapped_codes: u64,
    /// Persons whose year of birth is not known, which OMOP asks for.
    pub without_birth: u64,
    /// Codes and identifiers that are longer than the columns that databases have for them.
    pub too_long: u64,
}

/// The names of a table's columns in the order of the standard, for the tables that are written.
///
/// ```
/// let columns = consequence_tables::export::omop_columns("death").unwrap();
/// assert_eq!(columns[..2], ["person_id", "death_date"]);
/// ```
pub fn omop_columns(table: &str) -> Option<Vec<&'static str>> {
    let table = TABLES.iter().find(|one| one.name.eq_ignore_ascii_case(table))?;
    Some(table.columns.iter().map(|&(name, ..)| name).collect())
}

/// Writes a cohort as tables of OMOP, version 5.4, into a new folder: `person`, `visit_occurrence`,
/// `observation_period`, `death`, `condition_occurrence`, `drug_exposure`, `procedure_occurrence`,
/// `device_exposure`, `measurement`, `observation`, `cdm_source`, `metadata`, the splits in `cohort` and
/// `cohort_definition`, and in `concept` the concepts that they speak of.
///
/// A code goes to the table of its concept's domain, and where no concept is known to that of its first
/// part. Such codes have concept 0 and a source concept of their own, above two thousand million. Codes
/// stand in the `source_value` columns. A code that tells in which part of a test's values a result is
/// becomes a row of the test, with its value and unit where they are known. The first `DEATH` of
/// a record is its row in `death`. Where no birth is known, the year of birth is that of the first visit less
/// the middle of the age band, and empty where there is none. Codes of gaps and stays are no events: they
/// stand with their visit, in `visit_source_value`. Ages that a source gave at visits are left out.
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
/// let summary = export::omop(&path, &dataset, &export::ExportOptions::default())?;
/// assert_eq!(summary.tables[0], ("person", 1));
/// let conditions = std::fs::read_to_string(path.join("condition_occurrence.csv"))?;
/// let row = "1,1,0,2000-01-01,2000-01-01 00:00:00,,,32817,,,,1,,ICD9CM//250,2000000002,";
/// assert_eq!(conditions.lines().nth(1), Some(row));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn omop(
    path: impl AsRef<Path>,
    dataset: &Dataset,
    options: &ExportOptions,
) -> Result<OmopSummary, WriteError> {
    check(&dataset.cohort, &dataset.vocabulary)?;
    let path = path.as_ref();
    let folder = if options.replace {
        AtomicFolder::replacing(path, is_table)?
    } else {
        AtomicFolder::create(path)?
    };
    let told = |error: StoreError| error.told_of(path);
    let mut tables = Tables::create(folder.path(), dataset, options.parquet).map_err(told)?;
    let timeline = Timeline::new(dataset);
    let numbers = numbers(dataset);
    let mut times = Vec::new();
    for (index, record) in dataset.cohort.records().enumerate() {
        timeline.times(index, record, &mut times);
        let person = numbers.as_ref().map_or(index as i64 + 1, |numbers| numbers[index]);
        tables.write_record(person, index, record, &times, &timeline).map_err(told)?;
    }
    let summary = tables.finish().map_err(told)?;
    folder.commit()?;
    Ok(summary)
}

/// Whether a file of this name is one of the tables.
fn is_table(name: &OsStr) -> bool {
    let files = TABLES.iter().flat_map(|table| {
        [false, true].map(|parquet| format!("{}.{}", table.name, ending(parquet)))
    });
    files.into_iter().any(|file| name == file.as_str())
}

/// The numbers that identifiers are, if all of them are numbers that databases have room for.
fn numbers(dataset: &Dataset) -> Option<Vec<i64>> {
    let number = |index: usize| {
        let id = dataset.cohort.id(index);
        let number = id.parse::<i32>().ok().filter(|&number| number > 0)?;
        (number.to_string() == id).then_some(number.into())
    };
    (0..dataset.cohort.len()).map(number).collect()
}

/// An event to be written.
#[derive(Clone, Copy)]
struct Event {
    person: i64,
    visit: Option<i64>,
    time: i64,
    code: Code,
    value: Option<f32>,
}

struct Tables<'d> {
    dataset: &'d Dataset,
    terms: Terms,
    /// What each code tells of a person or a visit, if it does.
    traits: Vec<Option<(Trait, i64)>>,
    person: TableFile,
    period: TableFile,
    visit: TableFile,
    death: TableFile,
    events: Vec<TableFile>,
    definition: TableFile,
    cohort: TableFile,
    source: TableFile,
    metadata: TableFile,
    concept: TableFile,
    /// Which codes a record has, or is the mark of an end.
    used: Vec<bool>,
    /// The last day that anything tells of.
    last: i64,
    summary: OmopSummary,
}

impl<'d> Tables<'d> {
    fn create(folder: &Path, dataset: &'d Dataset, parquet: bool) -> Result<Self, StoreError> {
        let begin = |table: &'static Table| TableFile::create(folder, table, parquet);
        let vocabulary = &dataset.vocabulary;
        let told = |code| trait_of(vocabulary, &dataset.concepts, code);
        Ok(Self {
            dataset,
            terms: Terms::new(dataset),
            traits: vocabulary.codes().map(told).collect(),
            person: begin(&PERSON)?,
            period: begin(&OBSERVATION_PERIOD)?,
            visit: begin(&VISIT_OCCURRENCE)?,
            death: begin(&DEATH)?,
            events: EVENTS.iter().map(|events| begin(events.table)).collect::<Result<_, _>>()?,
            definition: begin(&COHORT_DEFINITION)?,
            cohort: begin(&COHORT)?,
            source: begin(&CDM_SOURCE)?,
            metadata: begin(&METADATA)?,
            concept: begin(&CONCEPT)?,
            used: vocabulary.codes().map(|code| code == vocabulary.end()).collect(),
            last: 0,
            summary: OmopSummary::default(),
        })
    }

    fn write_record(
        &mut self,
        person: i64,
        index: usize,
        record: RecordView<'_>,
        times: &[i64],
        timeline: &Timeline<'_>,
    ) -> Result<(), StoreError> {
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Ok(()) };
        let details = self.dataset.details_of(index);
        let end = |visit: usize| timeline.end(index, record, visit, times[visit - 1]);
        let events = || details.events.iter().filter_map(|event| event.time);
        let from = events().fold(first, i64::min);
        let to = events().chain((1..record.len()).filter_map(end)).fold(last, i64::max);
        self.last = self.last.max(to);
        for code in record.visits().flatten() {
            self.used[code.index()] = true;
        }
        self.write_person(person, index, record, first)?;
        self.period.row(&[
            ("observation_period_id", Value::Integer(self.period.rows() as i64 + 1)),
            ("person_id", Value::Integer(person)),
            ("observation_period_start_date", Value::Date(from)),
            ("observation_period_end_date", Value::Date(to)),
            ("period_type_concept_id", Value::Integer(RECORD_TYPE)),
        ])?;
        if let Some(&split) = self.dataset.splits.get(index) {
            self.write_member(person, split, (from, to))?;
        }
        let mut died = false;
        for (index, &begin) in times.iter().enumerate() {
            let visit = index + 1;
            let codes = record.visit(visit);
            let number = self.visit.rows() as i64 + 1;
            let is_death = |code: &&Code| is_death(self.dataset.vocabulary.name(**code));
            let death = codes.iter().find(is_death).copied().filter(|_| !died);
            died |= death.is_some();
            let cut = !record.ended() && visit == times.len();
            let stay = Stay { person, number, begin, end: end(visit), first: index == 0 };
            let said = self.write_visit(stay, codes, details, visit, death, cut)?;
            for &code in codes.iter().filter(|&&code| !said.contains(&code)) {
                let own = details.event(visit, code);
                let time = own.and_then(|event| event.time).unwrap_or(begin);
                let value = own.and_then(|event| event.value);
                let event = Event { person, visit: Some(number), time, code, value };
                if death == Some(code) {
                    self.write_death(event)?;
                }
                if death != Some(code) || value.is_some() {
                    self.write_event(event)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a person, and what is static and has no column there.
    fn write_person(
        &mut self,
        person: i64,
        index: usize,
        record: RecordView<'_>,
        first: i64,
    ) -> Result<(), StoreError> {
        let vocabulary = &self.dataset.vocabulary;
        let details = self.dataset.details_of(index);
        let value = |code: Code| details.event(0, code).and_then(|event| event.value);
        let told = |wanted: Trait| {
            let mut codes = record.visit(0).iter().filter(|&&code| value(code).is_none());
            codes.find_map(|&code| match self.traits.get(code.index()).copied().flatten() {
                Some((one, concept)) if one == wanted => Some((code, concept)),
                _ => None,
            })
        };
        let [sex, race, ethnicity] = [Trait::Sex, Trait::Race, Trait::Ethnicity].map(told);
        let name = |told: Option<(Code, i64)>| Value::from(told.map(|(c, _)| vocabulary.name(c)));
        let concept = |told: Option<(Code, i64)>| Value::Integer(told.map_or(0, |(_, id)| id));
        let birth = details.birth.map(|birth| civil(birth.div_euclid(DAY)));
        let names = || record.visit(0).iter().map(|&code| vocabulary.name(code));
        let year = match birth {
            Some((year, ..)) => Some(year),
            None => names().find_map(age_years).map(|years| Date(first).year() - years),
        };
        self.summary.without_birth += u64::from(year.is_none());
        let id = self.dataset.cohort.id(index);
        self.summary.too_long += u64::from(id.chars().count() > SOURCE_CHARACTERS);
        self.person.row(&[
            ("person_id", Value::Integer(person)),
            ("gender_concept_id", concept(sex)),
            ("year_of_birth", year.into()),
            ("month_of_birth", birth.map(|(_, month, _)| month).into()),
            ("day_of_birth", birth.map(|(.., day)| day).into()),
            ("birth_datetime", details.birth.map_or(Value::Nothing, Value::Moment)),
            ("race_concept_id", concept(race)),
            ("ethnicity_concept_id", concept(ethnicity)),
            ("person_source_value", Value::Text(id)),
            ("gender_source_value", name(sex)),
            ("gender_source_concept_id", Value::Integer(0)),
            ("race_source_value", name(race)),
            ("race_source_concept_id", Value::Integer(0)),
            ("ethnicity_source_value", name(ethnicity)),
            ("ethnicity_source_concept_id", Value::Integer(0)),
        ])?;
        let said = [sex, race, ethnicity].map(|told| told.map(|(code, _)| code));
        for &code in record.visit(0).iter().filter(|&&code| !said.contains(&Some(code))) {
            let event = Event { person, visit: None, time: first, code, value: value(code) };
            self.write_row(table_of(Domain::Observation), event)?;
        }
        Ok(())
    }

    /// Writes a visit; also the codes that it tells, which are no events.
    fn write_visit(
        &mut self,
        stay: Stay,
        codes: &[Code],
        details: DetailsView<'_>,
        visit: usize,
        death: Option<Code>,
        cut: bool,
    ) -> Result<Vec<Code>, StoreError> {
        let vocabulary = &self.dataset.vocabulary;
        let (mut said, mut kind) = (Vec::new(), 0);
        for &code in codes.iter().filter(|&&code| details.event(visit, code).is_none()) {
            let told = self.traits.get(code.index()).copied().flatten();
            let is_type = |&(told, _): &(Trait, i64)| {
                told == Trait::VisitType && !vocabulary.name(code).contains(OMOP_BETWEEN)
            };
            if let Some((_, id)) = told.filter(is_type).filter(|_| kind == 0) {
                kind = id;
                said.push(code);
            } else if vocabulary.part(code) == consequence_record::Part::Time {
                said.push(code);
            }
        }
        let mut source: Vec<&str> = said.iter().map(|&code| vocabulary.name(code)).collect();
        source.extend(cut.then_some(OMOP_CUT));
        let source = source.join(&OMOP_BETWEEN.to_string());
        self.visit.row(&[
            ("visit_occurrence_id", Value::Integer(stay.number)),
            ("person_id", Value::Integer(stay.person)),
            ("visit_concept_id", Value::Integer(kind)),
            ("visit_start_date", Value::Date(stay.begin)),
            ("visit_start_datetime", Value::Moment(stay.begin)),
            ("visit_end_date", Value::Date(stay.end.unwrap_or(stay.begin))),
            ("visit_end_datetime", stay.end.map_or(Value::Nothing, Value::Moment)),
            ("visit_type_concept_id", Value::Integer(RECORD_TYPE)),
            ("visit_source_value", Value::from(Some(&*source).filter(|text| !text.is_empty()))),
            ("visit_source_concept_id", Value::Integer(0)),
            ("discharged_to_concept_id", death.map(|_| DIED).into()),
            ("discharged_to_source_value", death.map(|code| vocabulary.name(code)).into()),
            ("preceding_visit_occurrence_id", Some(stay.number - 1).filter(|_| !stay.first).into()),
        ])?;
        Ok(said)
    }

    fn write_death(&mut self, event: Event) -> Result<(), StoreError> {
        self.death.row(&[
            ("person_id", Value::Integer(event.person)),
            ("death_date", Value::Date(event.time)),
            ("death_datetime", Value::Moment(event.time)),
            ("death_type_concept_id", Value::Integer(RECORD_TYPE)),
        ])
    }

    fn write_event(&mut self, event: Event) -> Result<(), StoreError> {
        let domain = self.terms.of(event.code).domain;
        self.write_row(table_of(domain), event)?;
        // A value that the table has no column for is measured all the same.
        let has_values = matches!(domain, Domain::Measurement | Domain::Observation);
        if event.value.is_some() && !has_values {
            self.write_row(table_of(Domain::Measurement), event)?;
        }
        Ok(())
    }

    fn write_row(&mut self, table: usize, event: Event) -> Result<(), StoreError> {
        let (columns, file) = (&EVENTS[table], &mut self.events[table]);
        let term = self.terms.of(event.code);
        let scale = self.dataset.scales.get(&event.code);
        let unit = scale.and_then(|scale| scale.unit.as_deref()).filter(|_| event.value.is_some());
        let number = file.rows() as i64 + 1;
        let mut fields = vec![
            (columns.id, Value::Integer(number)),
            ("person_id", Value::Integer(event.person)),
            (columns.concept, Value::Integer(term.concept)),
            (columns.date, Value::Date(event.time)),
            (columns.datetime, Value::Moment(event.time)),
        ];
        if let Some((date, datetime)) = columns.end {
            fields.extend([(date, Value::Date(event.time)), (datetime, Value::Moment(event.time))]);
        }
        fields.push((columns.record_type, Value::Integer(RECORD_TYPE)));
        let result = term.result.as_deref();
        let measured = matches!(columns.domain, Domain::Measurement | Domain::Observation);
        if measured {
            fields.push(("value_as_number", event.value.into()));
            if columns.domain == Domain::Observation {
                let words = result.filter(|_| event.value.is_none());
                fields.push(("value_as_string", words.into()));
            }
            fields.push(("value_as_concept_id", term.result_concept.into()));
            fields.push(("unit_concept_id", unit.and_then(unit_concept).into()));
        }
        fields.push(("visit_occurrence_id", event.visit.into()));
        fields.push((columns.source, Value::Text(&term.source)));
        fields.push((columns.source_concept, Value::Integer(term.source_concept)));
        if measured {
            fields.push(("unit_source_value", unit.into()));
            fields.push(("value_source_value", result.into()));
        }
        file.row(&fields)
    }

    /// Writes what tells of the tables as a whole, and puts all in place.
    fn finish(mut self) -> Result<OmopSummary, StoreError> {
        self.write_splits()?;
        self.write_source()?;
        self.write_metadata()?;
        self.write_concepts()?;
        let mut tables = vec![self.person, self.period, self.visit];
        tables.extend(self.events);
        tables.extend([self.death, self.definition, self.cohort]);
        tables.extend([self.source, self.metadata, self.concept]);
        self.summary.tables = tables.iter().map(|table| (table.name(), table.rows())).collect();
        tables.into_iter().try_for_each(TableFile::commit)?;
        Ok(OmopSummary { unmapped_codes: self.terms.unmapped, ..self.summary })
    }
}

/// The characters that databases have room for in the columns of the source's values.
const SOURCE_CHARACTERS: usize = 50;

/// When an encounter was, and whose.
#[derive(Clone, Copy)]
struct Stay {
    person: i64,
    number: i64,
    begin: i64,
    end: Option<i64>,
    first: bool,
}
