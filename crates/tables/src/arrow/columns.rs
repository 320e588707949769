//! Which column of a table is what.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};

use crate::meds::MedsProblem;
use crate::meds::layout::{ADMISSION, CODE, NUMBER, OTHER_NUMBER, SPLIT, SUBJECT, TIME, VISIT};
use crate::meds::rows::{self, Named};
use crate::meds::table::missing_column;

/// Which column of a table of events is what; by default those that MEDS names so.
///
/// ```
/// use consequence_tables::arrow::{Column, Columns};
///
/// let claims = Columns {
///     subject: "person".into(),
///     time: "service_date".into(),
///     visit: Column::Named("claim".into()),
///     ..Columns::default()
/// };
/// assert_eq!((claims.code.as_str(), claims.value), ("code", Column::Usual));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Who it happened to: whole numbers or strings.
    pub subject: String,
    /// When: times, days, or the numbers of visits where only their order is known. A row without one is
    /// a static code.
    pub time: String,
    /// What: strings.
    pub code: String,
    /// What was measured: numbers; usually `numeric_value`, or else `value` if that has numbers.
    pub value: Column,
    /// The encounter that it belongs to: whole numbers or strings; usually `visit_id`, or else `hadm_id`.
    /// Rows without one belong to the encounter of their day.
    pub visit: Column,
    /// The split of the subject, the same in each of its rows that tell one: `train`, `tuning` or `held_out`. Usually there
    /// is none, and the hash of the id tells.
    pub split: Column,
}

/// A column that a table may have or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// The one of a usual name, if there is one.
    #[default]
    Usual,
    /// The one of this name, which must be there.
    Named(String),
    /// None, whatever there is.
    Unused,
}

impl Default for Columns {
    fn default() -> Self {
        let [subject, time, code] = [SUBJECT, TIME, CODE].map(str::to_owned);
        let split = Column::Unused;
        Self { subject, time, code, value: Column::Usual, visit: Column::Usual, split }
    }
}

/// The columns of a table that are read, each by its name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    subject: (String, usize),
    time: (String, usize),
    code: (String, usize),
    visit: Option<(String, usize)>,
    value: Option<(String, usize)>,
    split: Option<(String, usize)>,
}

impl Found {
    /// Finds columns in a table. That of values is left alone where details are not asked for.
    pub fn of(columns: &Columns, schema: &Schema, details: bool) -> Result<Self, MedsProblem> {
        let find = |name: &str| -> Result<Option<(String, usize)>, MedsProblem> {
            let fields = schema.fields().iter().enumerate();
            let mut same = fields.filter(|(_, field)| field.name() == name);
            let first = same.next();
            match same.next() {
                Some(_) => Err(MedsProblem::RepeatedColumn { column: name.into() }),
                None => Ok(first.map(|(place, _)| (name.to_owned(), place))),
            }
        };
        let require = |name: &str| find(name)?.ok_or_else(|| missing_column(name, schema));
        let usual = |names: [&str; 2]| -> Result<Option<(String, usize)>, MedsProblem> {
            for name in names {
                match find(name)? {
                    // Only what MEDS calls the value must be one.
                    Some((_, place))
                        if name == OTHER_NUMBER
                            && !schema.field(place).data_type().is_numeric() => {}
                    Some(found) => return Ok(Some(found)),
                    None => {}
                }
            }
            Ok(None)
        };
        let choose = |column: &Column, names| match column {
            Column::Usual => usual(names),
            Column::Named(name) => require(name).map(Some),
            Column::Unused => Ok(None),
        };
        let value = choose(&columns.value, [NUMBER, OTHER_NUMBER])?;
        Ok(Self {
            subject: require(&columns.subject)?,
            time: require(&columns.time)?,
            code: require(&columns.code)?,
            visit: choose(&columns.visit, [VISIT, ADMISSION])?,
            value: value.filter(|_| details),
            split: choose(&columns.split, [SPLIT, SPLIT])?,
        })
    }

    /// Refuses a batch whose columns are others than those that were found in the first.
    pub fn check(&self, first: &Schema, schema: &Schema) -> Result<(), MedsProblem> {
        let all = [Some(&self.subject), Some(&self.time), Some(&self.code)];
        for (name, place) in all
            .into_iter()
            .chain([&self.visit, &self.value, &self.split].map(Option::as_ref))
            .flatten()
        {
            let here = schema.fields().get(*place).map(|field| (field.name(), field.data_type()));
            let there = first.field(*place);
            if here != Some((there.name(), there.data_type())) {
                return Err(MedsProblem::ChangedColumn { column: name.as_str().into() });
            }
        }
        Ok(())
    }

    /// The type of the column of times.
    pub fn time_kind<'s>(&self, schema: &'s Schema) -> &'s DataType {
        schema.field(self.time.1).data_type()
    }

    pub fn named(&self) -> Named<'_> {
        Named {
            subject: &self.subject.0,
            time: &self.time.0,
            code: &self.code.0,
            visit: self.visit.as_ref().map(|(name, _)| name.as_str()),
            value: self.value.as_ref().map(|(name, _)| name.as_str()),
        }
    }

    /// The name and the column of splits, if they are read.
    pub fn splits<'a>(&self, batch: &'a RecordBatch) -> Option<(&str, &'a dyn Array)> {
        let (name, place) = self.split.as_ref()?;
        Some((name, batch.column(*place)))
    }

    pub fn arrays<'a>(&self, batch: &'a RecordBatch) -> rows::Arrays<'a> {
        let column = |(_, place): &(String, usize)| -> &'a dyn Array { batch.column(*place) };
        rows::Arrays {
            subject: column(&self.subject),
            time: column(&self.time),
            code: column(&self.code),
            visit: self.visit.as_ref().map(column),
            value: self.value.as_ref().map(column),
        }
    }
}
