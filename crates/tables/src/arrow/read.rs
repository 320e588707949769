//! Tables in memory into cohorts.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use consequence_record::{Code, Concept, Scale, Split, Vocabulary};
use rustc_hash::FxHashMap;

use super::columns::{Columns, Found};
use super::splits::Splits;
use super::stream::decode;
use super::{TIME_KEY, Tables, order};
use crate::error::Origin;
use crate::meds::MedsProblem;
use crate::meds::assemble::{Assembler, Keeping, Part};
use crate::meds::codebook::{Codebook, ListedCodes, Uses};
use crate::meds::columns::{strings, whole};
use crate::meds::layout::{ORIGINAL, SPLIT, SUBJECT};
use crate::meds::metadata::split_named;
use crate::meds::read::tells;
use crate::meds::rows::{Carried, Putter, Reading, Rows};
use crate::meds::table::Table;
use crate::meds::{concepts, scales};
use crate::{Dataset, Limits, Problem, TableError};

/// What messages call the tables.
pub(super) const EVENTS: Origin = Origin::Memory("the table");
pub(super) const CODES: &str = "the table of codes";
const SUBJECTS: &str = "the table of subjects";
const CONCEPTS: &str = "the table of concepts";
const SCALES: &str = "the table of values";

/// How to read events from tables in memory.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Which column is what.
    pub columns: Columns,
    /// The codes that the table may hold; without it they are those of the table.
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// Whether dates, stays, births and values are read too, rather than codes alone.
    pub details: bool,
    /// Whether rows may come in any order.
    pub order: RowOrder,
    /// Whether times tell the order of encounters alone, and not when they were. Where it is not said, they do
    /// if they are whole numbers, or if the table comes from us and says so in its schema.
    pub ordinal: Option<bool>,
    /// How much to take in before refusing.
    pub limits: Limits,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            columns: Columns::default(),
            vocabulary: None,
            details: true,
            order: RowOrder::default(),
            ordinal: None,
            limits: Limits::default(),
        }
    }
}

/// The order in which rows come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// Any. They are put in order where they are not: subjects as they are first met, the rows of each by
    /// time, and those of one time as they come.
    #[default]
    Any,
    /// The rows of a subject together and by time; any other is refused.
    Sorted,
}

/// Reads a cohort from tables that are in memory, by the rules that a MEDS dataset is read by (see
/// [`meds::read`](crate::meds::read())). Nothing of the tables is copied but what is converted.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Date32Array, LargeStringArray, RecordBatch, StringViewArray};
/// use consequence_tables::arrow::{self, ReadOptions};
///
/// let events = RecordBatch::try_from_iter([
///     ("subject_id", Arc::new(LargeStringArray::from(vec!["ann", "bob", "ann"])) as ArrayRef),
///     ("time", Arc::new(Date32Array::from(vec![Some(9), Some(0), None]))),
///     ("code", Arc::new(StringViewArray::from(vec!["ICD9CM//250", "ICD9CM//250", "SEX//F"]))),
/// ])?;
/// let dataset = arrow::read(&vec![events].into(), &ReadOptions::default())?;
/// assert_eq!((dataset.cohort.id(0), dataset.cohort.id(1)), ("ann", "bob"));
/// assert_eq!(dataset.cohort.record(0).visit(0), [dataset.vocabulary.code("SEX//F").unwrap()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(tables: &Tables, options: &ReadOptions) -> Result<Dataset, TableError> {
    let (limits, batches) = (&options.limits, tables.events.as_slice());
    let Some(first) = batches.first() else { return Err(EVENTS.fail(Problem::NoEvents)) };
    let schema = first.schema_ref();
    let fail = |problem| EVENTS.fail(problem);
    let found = Found::of(&options.columns, schema, options.details).map_err(fail)?;
    let mut starts = Vec::with_capacity(batches.len());
    let mut rows = Vec::with_capacity(batches.len());
    let mut before = 0;
    for batch in batches {
        found.check(schema, batch.schema_ref()).map_err(fail)?;
        rows.push(decode(&found, batch, before)?);
        starts.push(before);
        before += batch.num_rows() as u64;
    }
    let listed = listed_codes(tables, limits)?;
    let own = listed.codebook(&Origin::Memory(CODES), limits)?;
    let codebook = match (&options.vocabulary, own) {
        (Some(given), own) => Codebook::over(Arc::clone(given), own),
        (None, Some(own)) => own,
        (None, None) => from_rows(&rows, &starts, &found, limits)?,
    };
    let subjects = table(SUBJECTS, &tables.subjects).map(Subjects::read);
    let subjects = subjects.transpose()?.unwrap_or_default();
    let dated = !is_ordinal(options, &found, schema);
    let keeping =
        Keeping { details: options.details, values: true, dated, death: codebook.loose_death() };
    let reading = Reading { codebook: &codebook, limits, ids: &subjects.ids };
    let part = assemble(&rows, &starts, reading, keeping, options.order)?;
    let Part { cohort, details, subjects: firsts } = part;
    if cohort.is_empty() {
        return Err(EVENTS.fail(Problem::NoEvents));
    }
    let vocabulary = Arc::clone(&codebook.vocabulary);
    let (mut told, mut carried) = (Splits::default(), Carried::default());
    for (batch, (rows, start)) in batches.iter().zip(rows.iter().zip(&starts)) {
        told.take((&found, batch), (rows, *start), &mut carried)?;
    }
    let mut split = |index: usize| {
        let id = cohort.id(index);
        // The row of the first event, counted from 1 over all batches.
        let row = firsts[index].1 - 1;
        let batch = starts.partition_point(|&start| start <= row) - 1;
        let subject = rows[batch].subject((row - starts[batch]) as usize, &mut carried).ok();
        let listed = || subjects.splits.get(id).copied();
        let own = subject.and_then(|subject| told.of(subject));
        own.or_else(listed).unwrap_or_else(|| Split::of(id))
    };
    let ToldCodes { titles, concepts, scales, .. } =
        of_listed(tables, &listed, Arc::clone(&vocabulary), limits)?;
    Ok(Dataset {
        splits: (0..cohort.len()).map(&mut split).collect(),
        titles,
        concepts,
        scales,
        details: options.details.then_some(details).filter(|it| dated || tells(it)),
        vocabulary,
        cohort,
    })
}

/// What tables tell of codes, without any event.
#[derive(Clone, Debug)]
pub struct ToldCodes {
    /// The codes.
    pub vocabulary: Arc<Vocabulary>,
    /// What they mean, for those of which it is told.
    pub titles: BTreeMap<Code, String>,
    /// The OMOP concepts of codes.
    pub concepts: BTreeMap<Code, Concept>,
    /// What the values of codes are.
    pub scales: BTreeMap<Code, Scale>,
    /// Codes and markers with what each is; none where the tables are another tool's, which have no markers.
    pub listed_codes: Option<Vec<(String, String)>>,
}

/// Reads what tables tell of codes; their events are left alone. Codes that are given go before those of the tables; none
/// is told where there are neither.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, RecordBatch, StringArray};
/// use consequence_tables::Limits;
/// use consequence_tables::arrow::{Tables, told_codes};
///
/// let codes = RecordBatch::try_from_iter([
///     ("code", Arc::new(StringArray::from(vec!["SEX//F", "ICD9CM//250", "VISIT"])) as ArrayRef),
///     ("kind", Arc::new(StringArray::from(vec!["static", "encounter", "visit"]))),
/// ])?;
/// let tables = Tables { codes: Some(codes), ..Tables::default() };
/// let told = told_codes(&tables, None, &Limits::default())?.unwrap();
/// assert_eq!(told.vocabulary.len(), 3, "and END");
/// assert!(told_codes(&Tables::default(), None, &Limits::default())?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn told_codes(
    tables: &Tables,
    vocabulary: Option<Arc<Vocabulary>>,
    limits: &Limits,
) -> Result<Option<ToldCodes>, TableError> {
    let listed = listed_codes(tables, limits)?;
    let own = listed.codebook(&Origin::Memory(CODES), limits)?;
    let vocabulary = vocabulary.or_else(|| own.as_ref().map(|own| Arc::clone(&own.vocabulary)));
    let Some(vocabulary) = vocabulary else { return Ok(None) };
    let told = of_listed(tables, &listed, vocabulary, limits)?;
    Ok(Some(ToldCodes { listed_codes: own.map(|own| own.listed()), ..told }))
}

fn table(name: &'static str, batch: &Option<RecordBatch>) -> Option<Table> {
    batch.as_ref().map(|batch| Table::in_memory(name, batch.clone()))
}

fn listed_codes(tables: &Tables, limits: &Limits) -> Result<ListedCodes, TableError> {
    let listed = table(CODES, &tables.codes).map(|table| ListedCodes::read(table, limits));
    Ok(listed.transpose()?.unwrap_or_default())
}

fn of_listed(
    tables: &Tables,
    listed: &ListedCodes,
    vocabulary: Arc<Vocabulary>,
    limits: &Limits,
) -> Result<ToldCodes, TableError> {
    let concepts = table(CONCEPTS, &tables.concepts);
    let concepts = concepts.map(|table| concepts::read(table, &vocabulary, limits)).transpose()?;
    let scales = table(SCALES, &tables.scales);
    let scales = scales.map(|table| scales::read(table, &vocabulary, limits)).transpose()?;
    Ok(ToldCodes {
        titles: listed.titles(&vocabulary),
        concepts: concepts.unwrap_or_default(),
        scales: scales.unwrap_or_default(),
        listed_codes: None,
        vocabulary,
    })
}

/// Whether times tell an order alone.
pub(super) fn is_ordinal(options: &ReadOptions, found: &Found, schema: &Schema) -> bool {
    let said = schema.metadata().get(TIME_KEY).is_some_and(|said| said == "ordinal");
    found.time_kind(schema).is_integer() || options.ordinal.unwrap_or(said)
}

/// The codebook of rows that do not say which codes are static.
fn from_rows(
    rows: &[Rows<'_>],
    starts: &[u64],
    found: &Found,
    limits: &Limits,
) -> Result<Codebook, TableError> {
    let mut uses = Uses::default();
    for (rows, start) in rows.iter().zip(starts) {
        uses.take(found.named().code, &rows.codes, &rows.times, rows.len(), limits)
            .map_err(|(row, problem)| EVENTS.at_row(start + row as u64 + 1, problem))?;
    }
    uses.codebook().map_err(|problem| EVENTS.fail(problem))
}

/// How codes are used in batches of events: by name, whether without a time, and whether with one.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
/// use consequence_tables::arrow::{ReadOptions, code_uses, codes_used};
///
/// let events = RecordBatch::try_from_iter([
///     ("subject_id", Arc::new(Int64Array::from(vec![7, 7])) as ArrayRef),
///     ("time", Arc::new(Date32Array::from(vec![None, Some(0)]))),
///     ("code", Arc::new(StringArray::from(vec!["SEX//F", "A"]))),
/// ])?;
/// let mut uses = Default::default();
/// code_uses(&events, 0, &ReadOptions::default(), &mut uses)?;
/// assert_eq!(uses["SEX//F"], [true, false]);
/// assert_eq!(codes_used(uses)?.len(), 3, "and END");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn code_uses(
    batch: &RecordBatch,
    rows_before: u64,
    options: &ReadOptions,
    uses: &mut BTreeMap<Box<str>, [bool; 2]>,
) -> Result<(), TableError> {
    let fail = |problem| EVENTS.fail(problem);
    let found = Found::of(&options.columns, batch.schema_ref(), false).map_err(fail)?;
    let rows = decode(&found, batch, rows_before)?;
    let mut own = Uses::default();
    own.take(found.named().code, &rows.codes, &rows.times, rows.len(), &options.limits)
        .map_err(|(row, problem)| EVENTS.at_row(rows_before + row as u64 + 1, problem))?;
    for (name, used) in own.into_map() {
        let known = uses.entry(name).or_default();
        known.iter_mut().zip(used).for_each(|(known, used)| *known |= used);
    }
    Ok(())
}

/// The codes of events of another tool that are used so.
pub fn codes_used(uses: BTreeMap<Box<str>, [bool; 2]>) -> Result<Arc<Vocabulary>, TableError> {
    let mut all = Uses::default();
    uses.iter().for_each(|(name, &used)| all.add(name, used));
    let codebook = all.codebook().map_err(|problem| EVENTS.fail(problem))?;
    Ok(codebook.vocabulary)
}

/// The records of all rows: as they come if they are in order, and else once they were put so.
fn assemble(
    rows: &[Rows<'_>],
    starts: &[u64],
    reading: Reading<'_>,
    keeping: Keeping,
    order: RowOrder,
) -> Result<Part, TableError> {
    let attempt = |carried: &mut Carried, order: Option<&[order::Place]>| {
        let mut assembler = Assembler::new(*reading.limits, keeping);
        let mut putters: Vec<Putter<'_, '_>> =
            rows.iter().map(|rows| Putter::new(rows, reading)).collect();
        let mut put = |batch: usize, row: usize| {
            let at = starts[batch] + row as u64 + 1;
            let put = putters[batch].put(row, at, carried, &mut assembler);
            put.map_err(|problem| EVENTS.at_row(at, problem))
        };
        match order {
            Some(order) => order.iter().try_for_each(|&(batch, row)| put(batch, row))?,
            None => {
                for (batch, rows) in rows.iter().enumerate() {
                    (0..rows.len()).try_for_each(|row| put(batch, row))?;
                }
            }
        }
        Ok(assembler.finish())
    };
    match attempt(&mut Carried::default(), None) {
        Err(TableError {
            problem: Problem::Meds(MedsProblem::ScatteredSubject | MedsProblem::Unsorted),
            ..
        }) if order == RowOrder::Any => {
            let mut carried = Carried::default();
            let order = order::by_subject_and_time(rows, &mut carried).map_err(
                |(batch, row, problem)| EVENTS.at_row(starts[batch] + row as u64 + 1, problem),
            )?;
            attempt(&mut carried, Some(&order))
        }
        outcome => outcome,
    }
}

/// What a table of subjects says.
#[derive(Default)]
struct Subjects {
    /// The ids of subjects that are not their number.
    ids: FxHashMap<i64, Box<str>>,
    /// Those that are in one that we know, by their ids.
    splits: FxHashMap<Box<str>, Split>,
}

impl Subjects {
    fn read(table: Table) -> Result<Self, TableError> {
        let origin = table.origin.clone();
        table.require(SUBJECT)?;
        let mut columns = vec![SUBJECT];
        columns.extend([ORIGINAL, SPLIT].into_iter().filter(|name| table.kind(name).is_some()));
        let mut found = Self::default();
        table.each_batch(&columns, |arrays, _| {
            let fail = |problem| origin.fail(problem);
            let of = |name: &str| {
                let place = columns.iter().position(|column| *column == name);
                place.map(|place| strings(name, &arrays[place])).transpose().map_err(fail)
            };
            let (originals, splits) = (of(ORIGINAL)?, of(SPLIT)?);
            let numbers = whole(&arrays[0]);
            let texts = match numbers {
                Some(_) => None,
                None => Some(strings(SUBJECT, &arrays[0]).map_err(fail)?),
            };
            let unsigned = arrays[0].data_type() == &DataType::UInt64;
            for row in 0..arrays[0].len() {
                let at_row = |problem| origin.at_row(row as u64 + 1, problem);
                let null = |column| at_row(MedsProblem::null(column));
                let number = numbers.as_ref().map(|numbers| numbers[row]);
                let text = texts.as_ref().and_then(|texts| texts.get(row));
                if arrays[0].is_null(row) || (number.is_none() && text.is_none()) {
                    return Err(null(SUBJECT));
                }
                let original =
                    originals.as_ref().map(|ids| ids.get(row).ok_or_else(|| null(ORIGINAL)));
                let id: Box<str> = match (original.transpose()?.or(text), number) {
                    (Some(id), _) => id.into(),
                    (None, Some(number)) if unsigned => (number as u64).to_string().into(),
                    (None, number) => number.unwrap_or_default().to_string().into(),
                };
                let twice = number.is_some_and(|number| {
                    originals.is_some() && found.ids.insert(number, id.clone()).is_some()
                });
                let split = splits.as_ref().and_then(|splits| splits.get(row));
                let known = split.and_then(split_named);
                if twice || known.is_some_and(|split| found.splits.insert(id, split).is_some()) {
                    return Err(at_row(MedsProblem::RepeatedSubject));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}
