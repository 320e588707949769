//! Rows of OMOP tables that were brought together by person, as they come in Arrow batches.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, LargeStringArray, PrimitiveArray, RecordBatch, StringArray};

use super::JoinedConcept;
use crate::ImportProblem;
use crate::event::VisitKey;

/// The rows of a person.
#[derive(Debug, Default)]
pub(super) struct Person {
    pub id: i64,
    /// What the table of persons says: the concept of the sex, and the birth. None of nobody that it lists.
    pub listed: Option<(Option<u64>, Option<i64>)>,
    /// The encounters that are listed: number, begin, end.
    pub visits: Vec<(i64, Option<i64>, Option<i64>)>,
    pub events: Vec<Told>,
    /// When the person died; without a date where that is not known.
    pub deaths: Vec<Option<i64>>,
}

/// An event as a row tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// The table, by its place among those of events.
    pub table: u32,
    pub standard: Option<u64>,
    pub source: Option<u64>,
    pub visit: Option<i64>,
    pub time: Option<i64>,
    /// The number that was measured.
    pub value: Option<f32>,
    /// The concept of a result.
    pub result: Option<u64>,
    /// A result in words.
    pub words: Option<Box<str>>,
    pub unit: Option<Box<str>>,
    pub unit_concept: Option<u64>,
}

impl Told {
    /// The concept that stands for it: concept 0 says that the vocabulary has no standard one, and the source's own may
    /// serve.
    pub fn concept(&self) -> Option<u64> {
        self.standard.or(self.source)
    }

    /// The encounter it names, or else its day.
    pub fn visit(&self) -> Option<VisitKey> {
        self.visit.map(VisitKey::numbered).or(self.time.map(VisitKey::day))
    }
}

/// Puts the rows of a person together. Those of a person follow each other.
#[derive(Debug, Default)]
pub(super) struct Persons {
    open: Option<Person>,
}

impl Persons {
    /// Takes rows, and hands on persons who have no more of them.
    pub fn push(
        &mut self,
        rows: &RecordBatch,
        mut take: impl FnMut(&Person) -> Result<(), ImportProblem>,
    ) -> Result<(), ImportProblem> {
        let columns = Columns::of(rows)?;
        for row in 0..rows.num_rows() {
            let kind = number(columns.kind, row).unwrap_or_default();
            let Some(id) = number(columns.person, row) else {
                if kind == PERSON {
                    return Err(ImportProblem::Empty { column: "person_id".into() });
                }
                continue;
            };
            if self.open.as_ref().is_none_or(|open| open.id != id) {
                let whole = self.open.replace(Person { id, ..Person::default() });
                whole.iter().try_for_each(&mut take)?;
            }
            if let Some(person) = &mut self.open {
                columns.put(kind, row, person)?;
            }
        }
        Ok(())
    }

    /// The last person.
    pub fn last(self) -> Option<Person> {
        self.open
    }
}

/// What rows are: a person, an encounter, an event or a death.
const PERSON: i32 = 0;
const VISIT: i32 = 1;
const EVENT: i32 = 2;

/// The columns of rows.
struct Columns<'a> {
    person: &'a PrimitiveArray<Int64Type>,
    kind: &'a PrimitiveArray<Int32Type>,
    visit: &'a PrimitiveArray<Int64Type>,
    begin: &'a PrimitiveArray<TimestampMicrosecondType>,
    end: &'a PrimitiveArray<TimestampMicrosecondType>,
    table: &'a PrimitiveArray<Int32Type>,
    concept: &'a PrimitiveArray<Int64Type>,
    source: &'a PrimitiveArray<Int64Type>,
    value: &'a PrimitiveArray<Float32Type>,
    result: &'a PrimitiveArray<Int64Type>,
    words: Texts<'a>,
    unit: Texts<'a>,
    unit_concept: &'a PrimitiveArray<Int64Type>,
}

impl<'a> Columns<'a> {
    fn of(rows: &'a RecordBatch) -> Result<Self, ImportProblem> {
        Ok(Self {
            person: column(rows, "person")?,
            kind: column(rows, "kind")?,
            visit: column(rows, "visit")?,
            begin: column(rows, "begin")?,
            end: column(rows, "end")?,
            table: column(rows, "table")?,
            concept: column(rows, "concept")?,
            source: column(rows, "source")?,
            value: column(rows, "value")?,
            result: column(rows, "result")?,
            words: Texts::of(rows, "words")?,
            unit: Texts::of(rows, "unit")?,
            unit_concept: column(rows, "unit_concept")?,
        })
    }

    fn put(&self, kind: i32, row: usize, person: &mut Person) -> Result<(), ImportProblem> {
        let begin = number(self.begin, row);
        match kind {
            PERSON => {
                let listed = (concept(self.concept, row), begin);
                if person.listed.replace(listed).is_some() {
                    return Err(ImportProblem::RepeatedPerson);
                }
            }
            VISIT => {
                let Some(visit) = number(self.visit, row) else {
                    return Err(ImportProblem::Empty { column: "visit_occurrence_id".into() });
                };
                person.visits.push((visit, begin, number(self.end, row)));
            }
            EVENT => person.events.push(Told {
                table: number(self.table, row)
                    .and_then(|at| at.try_into().ok())
                    .unwrap_or_default(),
                standard: concept(self.concept, row),
                source: concept(self.source, row),
                visit: number(self.visit, row).filter(|&visit| visit != 0),
                time: begin,
                value: number(self.value, row),
                result: concept(self.result, row),
                words: self.words.get(row),
                unit: self.unit.get(row),
                unit_concept: concept(self.unit_concept, row),
            }),
            _ => person.deaths.push(begin),
        }
        Ok(())
    }
}

fn column<'a, T: ArrowPrimitiveType>(
    rows: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a PrimitiveArray<T>, ImportProblem> {
    let found = rows.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>());
    found
        .ok_or_else(|| ImportProblem::JoinedColumn { column: name, kind: T::DATA_TYPE.to_string() })
}

fn number<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// The number of a concept; none where there is none, or 0, which says that no concept is known.
fn concept(column: &PrimitiveArray<Int64Type>, row: usize) -> Option<u64> {
    number(column, row).and_then(|id| u64::try_from(id).ok()).filter(|&id| id > 0)
}

/// A column of texts; an empty one is none.
enum Texts<'a> {
    Short(&'a StringArray),
    Long(&'a LargeStringArray),
}

impl<'a> Texts<'a> {
    fn of(rows: &'a RecordBatch, name: &'static str) -> Result<Self, ImportProblem> {
        let found = rows.column_by_name(name);
        let short = found.and_then(|texts| texts.as_string_opt::<i32>().map(Self::Short));
        let long = || found.and_then(|texts| texts.as_string_opt::<i64>().map(Self::Long));
        let missing = || ImportProblem::JoinedColumn { column: name, kind: "Utf8".into() };
        short.or_else(long).ok_or_else(missing)
    }

    fn get(&self, row: usize) -> Option<Box<str>> {
        let text = match self {
            Self::Short(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::Long(texts) => texts.is_valid(row).then(|| texts.value(row)),
        };
        text.filter(|text| !text.is_empty()).map(Into::into)
    }
}

/// The concepts that a table describes.
pub(super) fn concepts(table: &RecordBatch) -> Result<Vec<JoinedConcept>, ImportProblem> {
    let id: &PrimitiveArray<Int64Type> = column(table, "concept_id")?;
    let names = ["concept_name", "vocabulary_id", "concept_code", "domain_id", "standard_concept"];
    let mut texts = Vec::with_capacity(names.len());
    for name in names {
        texts.push(Texts::of(table, name)?);
    }
    let one = |row| {
        let mut told = texts.iter().map(|column| column.get(row).unwrap_or_default().into_string());
        let mut next = || told.next().unwrap_or_default();
        Some(JoinedConcept {
            id: concept(id, row)?,
            title: next(),
            system: next(),
            code: next(),
            domain: next(),
            standard: next(),
        })
    };
    Ok((0..table.num_rows()).filter_map(one).collect())
}

/// The concepts above others that a table tells: that above, and that below.
pub(super) fn ancestors(table: &RecordBatch) -> Result<Vec<(u64, u64)>, ImportProblem> {
    let above: &PrimitiveArray<Int64Type> = column(table, "ancestor_concept_id")?;
    let below: &PrimitiveArray<Int64Type> = column(table, "descendant_concept_id")?;
    let one = |row| concept(above, row).zip(concept(below, row));
    Ok((0..table.num_rows()).filter_map(one).collect())
}
