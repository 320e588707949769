//! A cohort as one long table in memory.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};
use arrow_schema::ArrowError;

use super::write::unmade;
use crate::export::LongTable;
use crate::jsonl::check;
use crate::{Dataset, WriteError};

/// The rows of [`export::csv`](crate::export::csv()) as a batch, for some of the records: `subject_id`, `visit`, `time`,
/// `end`, `code`, `value`, `unit`, `static` and `ended`.
///
/// Ids are strings here, and codes and units dictionaries. `time`, `end`, `value` and `unit` are left out where no
/// record of the cohort has anything to put there, so that all parts of a cohort have the same columns.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_tables::{Dataset, arrow};
///
/// let vocabulary = Vocabulary::new([("SEX//F", Kind::Static), ("ICD9CM//250", Kind::Encounter)])?;
/// let [female, diabetes] = ["SEX//F", "ICD9CM//250"].map(|name| vocabulary.code(name).unwrap());
/// let mut cohort = Cohort::default();
/// cohort.push("p1", &Record::new(vec![vec![female], vec![diabetes], vec![]]));
/// let table = arrow::long_table(&Dataset::new(cohort, Arc::new(vocabulary)), 0..1)?;
/// assert_eq!((table.num_rows(), table.num_columns()), (3, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn long_table(dataset: &Dataset, records: Range<usize>) -> Result<RecordBatch, WriteError> {
    check(&dataset.cohort, &dataset.vocabulary)?;
    let end = records.end.min(dataset.cohort.len());
    let records = records.start.min(end)..end;
    let table = LongTable::new(dataset);
    let mut ids = StringBuilder::new();
    let mut bytes = 0;
    let [mut times, mut ends] = [Vec::new(), Vec::new()];
    let (mut visits, mut values) = (Vec::new(), Vec::new());
    let mut ended = BooleanBuilder::new();
    let [mut codes, mut units] = [(); 2].map(|()| StringDictionaryBuilder::<Int32Type>::new());
    let made = table.each_row(records, |row| -> Result<(), ArrowError> {
        // The strings of a column have offsets of 32 bits.
        bytes += row.id.len();
        if i32::try_from(bytes).is_err() {
            return Err(ArrowError::OffsetOverflowError(bytes));
        }
        ids.append_value(row.id);
        visits.push(row.visit as i64);
        times.push(row.time);
        ends.push(row.end);
        codes.append_option(row.code);
        values.push(row.value);
        units.append_option(row.unit);
        ended.append_value(row.ended);
        Ok(())
    });
    made.map_err(unmade)?;
    let of_static = BooleanArray::from_iter(visits.iter().map(|&visit| Some(visit == 0)));
    let columns: [(&str, bool, ArrayRef); 9] = [
        ("subject_id", true, Arc::new(ids.finish())),
        ("visit", true, Arc::new(Int64Array::from(visits))),
        ("time", table.timed, Arc::new(TimestampMicrosecondArray::from(times))),
        ("end", table.stays, Arc::new(TimestampMicrosecondArray::from(ends))),
        ("code", true, Arc::new(codes.finish())),
        ("value", table.valued, Arc::new(Float32Array::from(values))),
        ("unit", table.units, Arc::new(units.finish())),
        ("static", true, Arc::new(of_static)),
        ("ended", true, Arc::new(ended.finish())),
    ];
    let kept = columns.into_iter().filter(|(_, there, _)| *there);
    RecordBatch::try_from_iter_with_nullable(kept.map(|(name, _, column)| (name, column, true)))
        .map_err(unmade)
}
