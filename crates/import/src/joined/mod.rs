//! OMOP tables whose rows were brought together by person elsewhere, such as by Spark.
//!
//! Each part of the rows is gone through three times, wherever it is. What is counted in the first two rounds adds up, and
//! what codes become is decided of the sums by the code that `import omop` runs on one machine. In the last round rows
//! become records.
//!
//! 1. Which concepts, results and values there are: [`JoinedRows::count`].
//! 2. Which codes records have, and how many days are between encounters: [`JoinedCohort::tally`].
//! 3. What records are: [`JoinedRecords`].

mod rows;
mod seen;
mod told;
mod whole;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use consequence_record::{Code, Cohort, CohortDetails, Concept, Scale, Split};
use consequence_tables::Dataset;
use consequence_tally::{Coded, Counts, Reader, Writer, counts};

use self::rows::{Person, Persons};
use self::seen::{Counted, Outcome, Unit, is_read};
use self::whole::{Facts, Whole};
use crate::codes::{OTHER_TEXT, sex_word};
use crate::event::{Event, Fact, VisitKey};
use crate::known::Known;
use crate::opened::checked;
use crate::summary::{ImportSummary, Reasons};
use crate::tally::{self, Tally};
use crate::{ImportError, ImportProblem, Source};

pub use self::told::{JoinedConcept, JoinedOptions};

/// What messages call the rows.
const ROWS: &str = "the joined tables";

/// Rows of OMOP tables, those of a person together: the row of the person, then encounters, events table by table, and deaths.
///
/// | column | type | |
/// |---|---|---|
/// | `person` | Int64 | whose row it is; those of nobody are passed over |
/// | `kind` | Int32 | 0 a person, 1 an encounter, 2 an event, 3 a death |
/// | `visit` | Int64 | the encounter, of rows of kind 1 and 2 |
/// | `begin`, `end` | Timestamp in microseconds | the birth; when an encounter began and ended; when an event or the death was |
/// | `table` | Int32 | of an event: 0 conditions, 1 procedures, 2 drugs, 3 devices, 4 observations, 5 measurements |
/// | `concept`, `source` | Int64 | the standard concept and the source's own; the concept of the sex, of a person |
/// | `value` | Float32 | the number that was measured |
/// | `result`, `words` | Int64, Utf8 | a result by its concept, or in words |
/// | `unit`, `unit_concept` | Utf8, Int64 | the unit of the value |
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
/// use consequence_import::{JoinedCohort, JoinedOptions, JoinedRecords, JoinedRows};
///
/// let days = |days: [Option<i64>; 3]| {
///     Arc::new(TimestampMicrosecondArray::from_iter(days.map(|day| Some(day? * 86_400_000_000)))) as ArrayRef
/// };
/// let nothing = Arc::new(Int64Array::from(vec![None; 3])) as ArrayRef;
/// let silent = Arc::new(StringArray::from(vec![None::<&str>; 3])) as ArrayRef;
/// let rows = RecordBatch::try_from_iter([
///     ("person", Arc::new(Int64Array::from(vec![7; 3])) as ArrayRef),
///     ("kind", Arc::new(Int32Array::from(vec![0, 1, 2]))),
///     ("visit", Arc::new(Int64Array::from(vec![None, Some(30), None]))),
///     ("begin", days([Some(-7_000), Some(1), Some(1)])),
///     ("end", days([None, Some(4), None])),
///     ("table", Arc::new(Int32Array::from(vec![None, None, Some(0)]))),
///     ("concept", Arc::new(Int64Array::from(vec![Some(8532), None, Some(201826)]))),
///     ("source", nothing.clone()),
///     ("value", Arc::new(Float32Array::from(vec![None; 3]))),
///     ("result", nothing.clone()),
///     ("words", silent.clone()),
///     ("unit", silent),
///     ("unit_concept", nothing),
/// ])?;
/// let options = JoinedOptions::default();
/// let counted = JoinedRows::count(&options, [Ok(rows.clone())])?;
/// let cohort = JoinedCohort::new(options, &[counted], Vec::new(), Vec::new())?;
/// let tallied = cohort.tally([Ok(rows.clone())])?;
/// let cohort = cohort.tallied(&[tallied])?;
///
/// // What names no encounter belongs to the one that began on its day.
/// let mut records = JoinedRecords::new(Arc::new(cohort));
/// assert!(records.push(&rows)?.is_none(), "more rows of this person may come");
/// let part = records.finish()?.unwrap();
/// let visit = part.cohort.record(0).visit(1);
/// let names: Vec<&str> = visit.iter().map(|code| part.vocabulary.name(*code)).collect();
/// assert_eq!(names, ["OMOP//201826", "STAY//3d"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct JoinedRows;

impl JoinedRows {
    /// Adds up what was counted of parts, so that fewer are added up elsewhere.
    pub fn add_up(counted: &[Vec<u8>]) -> Result<Vec<u8>, ImportError> {
        Ok(written(&sum::<Counted>(counted)?))
    }

    /// Counts a part of the rows: which concepts, results and values there are.
    pub fn count(
        options: &JoinedOptions,
        batches: impl IntoIterator<Item = Result<RecordBatch, ImportError>>,
    ) -> Result<Vec<u8>, ImportError> {
        let mut counted = Counted::default();
        each_person(batches, |person| {
            counted.see(person, split(person), options.quantiles > 0);
            Ok(())
        })?;
        Ok(written(&counted))
    }
}

/// What is known of joined rows: after the first round what their codes are, and after the second which of them records have.
pub struct JoinedCohort {
    told: Whole,
    known: Known,
    facts: Facts,
    summary: ImportSummary,
}

/// What was counted of records.
#[derive(Clone, Debug, Default)]
struct Tallied {
    counted: tally::Counted,
    left_out: Reasons,
}

counts!(Tallied { counted, left_out });

impl fmt::Debug for JoinedCohort {
    /// Tells of the cohort as a whole, and nothing of a person.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.told.options;
        out.debug_struct("JoinedCohort").field("options", options).finish_non_exhaustive()
    }
}

impl JoinedCohort {
    /// What the rows become of which this was counted in the first round. `ancestors` are concepts above others: that above,
    /// and that below.
    pub fn new(
        options: JoinedOptions,
        counted: &[Vec<u8>],
        mut concepts: Vec<JoinedConcept>,
        ancestors: Vec<(u64, u64)>,
    ) -> Result<Self, ImportError> {
        // Of two concepts that one name stands for, the lower number has it.
        concepts.sort_by_key(|concept| concept.id);
        let counted = sum(counted)?;
        Self::of(Whole { options, counted, concepts, ancestors, tallied: None })
    }

    /// Concepts above others, by a table with the columns `ancestor_concept_id` and `descendant_concept_id`.
    pub fn ancestors(table: &RecordBatch) -> Result<Vec<(u64, u64)>, ImportError> {
        rows::ancestors(table).map_err(failed)
    }

    /// The same once records were counted in the second round.
    pub fn tallied(&self, tallied: &[Vec<u8>]) -> Result<Self, ImportError> {
        Self::of(Whole { tallied: Some(sum(tallied)?), ..self.told.clone() })
    }

    /// Adds up what was counted of parts in the second round, so that fewer are added up elsewhere.
    pub fn add_up(tallied: &[Vec<u8>]) -> Result<Vec<u8>, ImportError> {
        Ok(written(&sum::<Tallied>(tallied)?))
    }

    fn of(told: Whole) -> Result<Self, ImportError> {
        let options = checked(told.options.clone().into(), &Source::Omop).map_err(failed)?;
        let (mut known, facts) = told.known(&options).map_err(failed)?;
        let mut summary = ImportSummary::default();
        told.counted.left_out.put_into(&mut summary);
        if let Some(Tallied { counted, left_out }) = told.tallied.clone() {
            left_out.put_into(&mut summary);
            if counted.records == 0 || counted.patients.len() != known.finals.names.len() {
                let what = if counted.records == 0 {
                    ImportProblem::NoRecords(why_none(&summary))
                } else {
                    ImportProblem::DamagedCounts
                };
                return Err(failed(what));
            }
            let mut counted = counted;
            summary.patients = counted.records;
            known.renew_gaps(&mut counted).map_err(failed)?;
            let rare = known.rare(&counted);
            known.number(counted, &rare, &mut summary).map_err(failed)?;
        }
        Ok(Self { told, known, facts, summary })
    }

    /// The concepts that rows speak of, each once, rising. Their descriptions are asked for.
    pub fn concepts_met(counted: &[Vec<u8>]) -> Result<Vec<u64>, ImportError> {
        let counted: Counted = sum(counted)?;
        let results = counted.results.values().flat_map(|results| results.concepts.keys());
        let units = counted.values.keys().filter_map(|(_, unit)| match unit {
            Unit::Concept(concept) => Some(concept),
            Unit::Told(_) => None,
        });
        let mut met: Vec<u64> =
            counted.concepts.keys().chain(results).chain(units).copied().collect();
        met.sort_unstable();
        met.dedup();
        Ok(met)
    }

    /// Counts a part of the rows in the second round.
    pub fn tally(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch, ImportError>>,
    ) -> Result<Vec<u8>, ImportError> {
        let mut tally = Tally::new(&self.known.finals);
        let mut summary = ImportSummary::default();
        let builder = self.known.builder();
        let mut events = Vec::new();
        each_person(batches, |person| {
            if self.events(person, &mut events)?
                && let Some(draft) = builder.build(&events, &mut summary)?
            {
                tally.see(&draft, &self.known.finals);
            }
            Ok(())
        })?;
        let mut left_out = Reasons::default();
        summary.dropped.iter().for_each(|(&reason, &count)| left_out.put(reason, count));
        Ok(written(&Tallied { counted: tally.counted, left_out }))
    }

    /// A cohort without records of which the same is known.
    pub fn outline(&self) -> Dataset {
        self.dataset(Part::default())
    }

    fn dataset(&self, part: Part) -> Dataset {
        let Known { vocabulary, titles, concepts, scales, .. } = &self.known;
        let told: (BTreeMap<Code, String>, BTreeMap<Code, Concept>, BTreeMap<Code, Scale>) =
            (titles.clone(), concepts.clone(), scales.clone());
        Dataset {
            splits: part.splits,
            titles: told.0,
            concepts: told.1,
            scales: told.2,
            details: Some(part.details),
            ..Dataset::new(part.cohort, vocabulary.clone())
        }
    }

    /// Rules that every record obeys by the way it was made; see [`Import::own_rules`](crate::Import::own_rules).
    pub fn own_rules(&self) -> Option<String> {
        self.known.own_rules()
    }

    /// What was left out and why, as far as it was counted.
    pub fn summary(&self) -> &ImportSummary {
        &self.summary
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        written(&self.told)
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ImportError> {
        Self::of(read(bytes)?)
    }

    /// Puts the record of a person, if there is one, into a part.
    fn record(
        &self,
        person: &Person,
        events: &mut Vec<Event>,
        part: &mut Part,
    ) -> Result<(), ImportProblem> {
        let mut summary = ImportSummary::default();
        if self.events(person, events)?
            && let Some(draft) = self.known.builder().build(events, &mut summary)?
        {
            let (record, details) = self.known.record(&draft, &mut summary);
            part.cohort.push(&person.id.to_string(), &record);
            part.details.push(details.view());
            part.splits.push(split(person));
        }
        Ok(())
    }

    fn filled(&self, part: Part) -> Option<Dataset> {
        (!part.splits.is_empty()).then(|| self.dataset(part))
    }

    /// The events of a person; false of somebody who is not listed.
    fn events(&self, person: &Person, events: &mut Vec<Event>) -> Result<bool, ImportProblem> {
        events.clear();
        let Some((sex, birth)) = person.listed else { return Ok(false) };
        let facts = &self.facts;
        let mut put = |fact, visit, time| events.push(Event::new(0, fact, visit, time));
        let sex = sex.and_then(|sex| facts.sexes[sex_at(sex)?]);
        sex.into_iter().for_each(|fact| put(fact, VisitKey::STATIC, None));
        if birth.is_some() {
            put(Fact::BIRTH, VisitKey::STATIC, birth);
        }
        for &(visit, begin, end) in &person.visits {
            let visit = VisitKey::numbered(visit);
            put(Fact::VISIT, visit, begin);
            if end.is_some() {
                put(Fact::ENDED, visit, end);
            }
        }
        let measures = self.known.options.quantiles > 0;
        for told in person.events.iter().filter(|told| is_read(told, measures)) {
            let Some((fact, visit)) =
                told.concept().and_then(|id| facts.codes.get(&id)).zip(told.visit())
            else {
                continue;
            };
            let event = Event::new(0, *fact, visit, told.time);
            events.extend(match Outcome::of(told, measures) {
                Outcome::Nothing => Some(event),
                Outcome::Missing => None,
                Outcome::Value(value) => {
                    facts.units.get(&Unit::of(told)).map(|&unit| event.valued(value, unit))
                }
                Outcome::Concept(result) => {
                    facts.results.get(&(fact.0, result)).map(|&fact| event.saying(fact))
                }
                Outcome::Words(words) => facts.words.get(&fact.0).and_then(|known| {
                    known.get(words).or(known.get(OTHER_TEXT)).map(|&fact| event.saying(fact))
                }),
            });
        }
        let died = |&time: &i64| Event::new(0, Fact::DIED, VisitKey::STATIC, Some(time));
        events.extend(person.deaths.iter().flatten().map(died));
        let limit = self.known.options.limits.subject_events;
        if events.len() > limit {
            return Err(ImportProblem::TooManyEvents { limit });
        }
        Ok(true)
    }
}

/// Makes records of a part of the rows, as those come.
#[derive(Debug)]
pub struct JoinedRecords {
    cohort: Arc<JoinedCohort>,
    persons: Persons,
    events: Vec<Event>,
}

impl JoinedRecords {
    /// Records of a cohort whose records were counted.
    pub fn new(cohort: Arc<JoinedCohort>) -> Self {
        Self { cohort, persons: Persons::default(), events: Vec::new() }
    }

    /// Takes rows, and gives the records of persons who have no more of them, if there are any.
    pub fn push(&mut self, rows: &RecordBatch) -> Result<Option<Dataset>, ImportError> {
        let Self { cohort, persons, events } = self;
        let mut part = Part::default();
        persons.push(rows, |person| cohort.record(person, events, &mut part)).map_err(failed)?;
        Ok(cohort.filled(part))
    }

    /// The last record, if there is one.
    pub fn finish(self) -> Result<Option<Dataset>, ImportError> {
        let Self { cohort, persons, mut events } = self;
        let mut part = Part::default();
        let mut last = persons.last().into_iter();
        last.try_for_each(|person| cohort.record(&person, &mut events, &mut part))
            .map_err(failed)?;
        Ok(cohort.filled(part))
    }
}

/// Records that wait to be handed on.
#[derive(Default)]
struct Part {
    cohort: Cohort,
    details: CohortDetails,
    splits: Vec<Split>,
}

/// Where the code of a sex is, by its concept.
fn sex_at(concept: u64) -> Option<usize> {
    sex_word(&concept.to_string()).map(|sex| usize::from(sex == "M"))
}

/// The split of a person, as the hash of the identifier gives it.
fn split(person: &Person) -> Split {
    Split::of(&person.id.to_string())
}

fn each_person(
    batches: impl IntoIterator<Item = Result<RecordBatch, ImportError>>,
    mut take: impl FnMut(&Person) -> Result<(), ImportProblem>,
) -> Result<(), ImportError> {
    let mut persons = Persons::default();
    for batch in batches {
        persons.push(&batch?, &mut take).map_err(failed)?;
    }
    persons.last().iter().try_for_each(take).map_err(failed)
}

fn why_none(summary: &ImportSummary) -> String {
    let dropped: Vec<String> =
        summary.dropped.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if dropped.is_empty() { "it is empty".into() } else { dropped.join(", ") }
}

fn written(value: &impl Coded) -> Vec<u8> {
    let mut out = Writer::default();
    value.write(&mut out);
    out.finish()
}

fn read<T: Coded>(bytes: &[u8]) -> Result<T, ImportError> {
    let mut from = Reader::new(bytes);
    let value = T::read(&mut from).and_then(|value| from.end().map(|()| value));
    value.map_err(|damaged| failed(damaged.into()))
}

fn sum<T: Counts + Default>(parts: &[Vec<u8>]) -> Result<T, ImportError> {
    let mut sum = T::default();
    for part in parts {
        sum.add(read(part)?);
    }
    Ok(sum)
}

fn failed(problem: ImportProblem) -> ImportError {
    ImportError::whole(ROWS, problem)
}
