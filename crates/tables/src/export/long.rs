//! One long table, and rows of comma-separated values.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use consequence_record::Code;
use consequence_record::calendar::Moment;
use consequence_store::{write_atomically, write_new};

use super::ExportOptions;
use crate::export::Timeline;
use crate::jsonl::check;
use crate::{Dataset, WriteError};

/// Writes a cohort as one long table: `subject_id,visit,time,end,code,value,unit,static,ended`.
///
/// Visit 0 is the static visit, and `static` is 1 in it and 0 elsewhere. A visit without codes is
/// one row with an empty code. `time` is that of the code if it has one of its own, and else that of the
/// visit's beginning; `end` is the end of the visit; `value` is what was measured, and `unit` its unit. Each
/// of these four columns is left out where no record has anything to put there. `ended` is 0 in every row of a record that was cut before its real end, and 1 elsewhere.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_tables::export::{self, ExportOptions};
/// use consequence_tables::Dataset;
///
/// let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//250", Kind::Encounter)])?;
/// let [female, diabetes] = ["SEX//F", "ICD9CM//250"].map(|name| vocabulary.code(name).unwrap());
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![female], vec![diabetes], vec![]]));
/// cohort.push("p2", &Record::new(vec![vec![], vec![diabetes]]).cut());
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("cohort.csv");
/// let dataset = Dataset::new(cohort, Arc::new(vocabulary));
/// export::csv(&path, &dataset, &ExportOptions::default())?;
/// assert_eq!(
///     std::fs::read_to_string(&path)?,
///     "subject_id,visit,code,static,ended\n\
///      p1,0,SEX//F,1,1\np1,1,ICD9CM//250,0,1\np1,2,,0,1\np2,1,ICD9CM//250,0,0\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn csv(
    path: impl AsRef<Path>,
    dataset: &Dataset,
    options: &ExportOptions,
) -> Result<(), WriteError> {
    check(&dataset.cohort, &dataset.vocabulary)?;
    let table = LongTable::new(dataset);
    let fill = |out: &mut dyn Write| {
        let mut rows = Rows::new(out);
        let columns = [
            ("subject_id", true),
            ("visit", true),
            ("time", table.timed),
            ("end", table.stays),
            ("code", true),
            ("value", table.valued),
            ("unit", table.units),
            ("static", true),
            ("ended", true),
        ];
        for (name, _) in columns.iter().filter(|(_, there)| *there) {
            rows.field(name);
        }
        rows.end()?;
        table.each_row(0..dataset.cohort.len(), |row| {
            rows.field(row.id).field(row.visit);
            if table.timed {
                rows.optional(row.time.map(Moment));
            }
            if table.stays {
                rows.optional(row.end.map(Moment));
            }
            rows.optional(row.code);
            if table.valued {
                rows.optional(row.value);
            }
            if table.units {
                rows.optional(row.unit);
            }
            rows.field(u8::from(row.visit == 0)).field(u8::from(row.ended)).end()
        })
    };
    if options.replace {
        write_atomically(path, fill)?
    } else {
        write_new(path, fill)?
    }
    Ok(())
}

/// A cohort as one long table, and which of its columns have anything in them.
pub(crate) struct LongTable<'d> {
    dataset: &'d Dataset,
    timeline: Timeline<'d>,
    /// Whether anything is known of times.
    pub timed: bool,
    /// Whether anything is known of the ends of visits.
    pub stays: bool,
    /// Whether there are values.
    pub valued: bool,
    /// Whether the units of some values are known.
    pub units: bool,
}

/// A row of it: a code, or a visit without codes.
pub(crate) struct LongRow<'d> {
    pub id: &'d str,
    pub visit: usize,
    pub time: Option<i64>,
    pub end: Option<i64>,
    pub code: Option<&'d str>,
    pub value: Option<f32>,
    pub unit: Option<&'d str>,
    pub ended: bool,
}

impl<'d> LongTable<'d> {
    pub fn new(dataset: &'d Dataset) -> Self {
        let timeline = Timeline::new(dataset);
        let (timed, stays) = (timeline.known(), timeline.ends_known());
        let valued = dataset.details.as_ref().is_some_and(|details| {
            let events = (0..details.len()).flat_map(|record| details.of(record).events);
            events.into_iter().any(|event| event.value.is_some())
        });
        let units = valued && dataset.scales.values().any(|scale| scale.unit.is_some());
        Self { dataset, timeline, timed, stays, valued, units }
    }

    /// Gives the rows of some records, in order.
    pub fn each_row<E>(
        &self,
        records: Range<usize>,
        mut take: impl FnMut(LongRow<'d>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { dataset, timeline, .. } = self;
        let dataset: &'d Dataset = dataset;
        let mut times = Vec::new();
        for index in records {
            let record = dataset.cohort.record(index);
            timeline.times(index, record, &mut times);
            let details = dataset.details_of(index);
            for (visit, codes) in record.visits().enumerate() {
                let begin = visit.checked_sub(1).and_then(|index| times.get(index)).copied();
                let end = begin.and_then(|begin| timeline.end(index, record, visit, begin));
                let mut row = |code: Option<Code>| {
                    let event = code.and_then(|code| details.event(visit, code));
                    let value = event.and_then(|event| event.value);
                    let scale = code.filter(|_| value.is_some());
                    let scale = scale.and_then(|code| dataset.scales.get(&code));
                    take(LongRow {
                        id: dataset.cohort.id(index),
                        visit,
                        time: event.and_then(|event| event.time).or(begin),
                        end,
                        code: code.map(|code| dataset.vocabulary.name(code)),
                        value,
                        unit: scale.and_then(|scale| scale.unit.as_deref()),
                        ended: record.ended(),
                    })
                };
                for &code in codes {
                    row(Some(code))?;
                }
                if codes.is_empty() && visit > 0 {
                    row(None)?;
                }
            }
        }
        Ok(())
    }
}

/// Writes rows of CSV field by field, quoting where it is needed.
///
/// ```
/// use consequence_tables::export::Rows;
///
/// let mut text = Vec::new();
/// Rows::new(&mut text).field("A, or B").field(2).end()?;
/// assert_eq!(text, b"\"A, or B\",2\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Rows<W> {
    out: W,
    row: String,
    begun: bool,
}

impl<W: Write> Rows<W> {
    /// Rows that are written there.
    pub fn new(out: W) -> Self {
        Self { out, row: String::new(), begun: false }
    }

    /// Appends a field to the row.
    pub fn field(&mut self, value: impl Display) -> &mut Self {
        if self.begun {
            self.row.push(',');
        }
        self.begun = true;
        let start = self.row.len();
        // Writing to a string fails only if the value refuses to be shown, and then it is empty.
        if write!(self.row, "{value}").is_err() {
            self.row.truncate(start);
        }
        if self.row[start..].contains([',', '"', '\n', '\r']) {
            let quoted = self.row[start..].replace('"', "\"\"");
            self.row.truncate(start);
            self.row.push('"');
            self.row.push_str(&quoted);
            self.row.push('"');
        }
        self
    }

    /// Appends a field that may be empty.
    pub fn optional(&mut self, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.field(value),
            None => self.field(Nothing),
        }
    }

    /// Ends the row.
    pub fn end(&mut self) -> io::Result<()> {
        self.row.push('\n');
        self.out.write_all(self.row.as_bytes())?;
        self.row.clear();
        self.begun = false;
        Ok(())
    }

    /// What the rows were written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// An empty field.
pub(super) struct Nothing;

impl Display for Nothing {
    fn fmt(&self, _out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
