//! What the values of codes are: read and written.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float32Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use consequence_record::{Code, Scale, Vocabulary};
use consequence_store::StoreError;

use super::MedsProblem;
use super::columns::{integers, numbers, strings};
use super::encode::{self, write_table};
use super::layout::{ABOVE, CODE, COUNT, TEST, UNIT, UP_TO, VALUES};
use super::metadata::NewTable;
use super::table::Table;
use crate::{Limits, TableError};

/// Reads what the values of a vocabulary's codes are. A file of this name that is something else says
/// nothing.
pub(crate) fn read(
    table: Table,
    vocabulary: &Vocabulary,
    limits: &Limits,
) -> Result<BTreeMap<Code, Scale>, TableError> {
    const COLUMNS: [&str; 6] = [CODE, TEST, UNIT, ABOVE, UP_TO, COUNT];
    let mut scales = BTreeMap::new();
    let origin = table.origin.clone();
    if COLUMNS.iter().any(|column| table.kind(column).is_none()) {
        return Ok(scales);
    }
    for column in [CODE, TEST, UNIT] {
        table.bound_strings(column, limits.code_bytes)?;
    }
    table.each_batch(&COLUMNS, |arrays, before| {
        let fail = |problem| origin.fail(problem);
        let texts = |column: usize| strings(COLUMNS[column], &arrays[column]).map_err(fail);
        let (names, tests, units) = (texts(0)?, texts(1)?, texts(2)?);
        let above = numbers(ABOVE, &arrays[3]).map_err(fail)?;
        let up_to = numbers(UP_TO, &arrays[4]).map_err(fail)?;
        let counts = integers(COUNT, &arrays[5]).map_err(fail)?;
        for row in 0..arrays[0].len() {
            let at_row = |problem| origin.at_row(before + row as u64 + 1, problem);
            let null = |column| at_row(MedsProblem::null(column));
            let name = names.get(row).ok_or_else(|| null(CODE))?;
            let count = counts.get(row).ok_or_else(|| null(COUNT))?;
            let scale = Scale {
                test: tests.get(row).ok_or_else(|| null(TEST))?.to_owned(),
                unit: units.get(row).map(str::to_owned),
                above: above.get(row).map_err(at_row)?,
                up_to: up_to.get(row).map_err(at_row)?,
                count: u64::try_from(count).unwrap_or_default(),
            };
            if let Some(code) = vocabulary.code(name).filter(|&code| code != vocabulary.end()) {
                scales.insert(code, scale);
            }
        }
        Ok(())
    })?;
    Ok(scales)
}

/// Writes what the values of codes are, if there are any.
pub(super) fn write(
    folder: &Path,
    vocabulary: &Vocabulary,
    scales: &BTreeMap<Code, Scale>,
) -> Result<(), StoreError> {
    if scales.is_empty() {
        return Ok(());
    }
    let (fields, columns) = table(vocabulary, scales);
    write_table(&folder.join(VALUES), fields, Ok(columns))
}

/// What the values of codes are, as a table.
pub(crate) fn table(vocabulary: &Vocabulary, scales: &BTreeMap<Code, Scale>) -> NewTable {
    let values = || scales.values();
    let count = |scale: &Scale| i64::try_from(scale.count).unwrap_or(i64::MAX);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(encode::names(scales.keys().map(|&code| vocabulary.name(code)))),
        Arc::new(encode::names(values().map(|scale| scale.test.as_str()))),
        Arc::new(values().map(|scale| scale.unit.as_deref()).collect::<StringArray>()),
        Arc::new(values().map(|scale| scale.above).collect::<Float32Array>()),
        Arc::new(values().map(|scale| scale.up_to).collect::<Float32Array>()),
        Arc::new(Int64Array::from_iter_values(values().map(count))),
    ];
    let fields = vec![
        Field::new(CODE, DataType::Utf8, false),
        Field::new(TEST, DataType::Utf8, false),
        Field::new(UNIT, DataType::Utf8, true),
        Field::new(ABOVE, DataType::Float32, true),
        Field::new(UP_TO, DataType::Float32, true),
        Field::new(COUNT, DataType::Int64, false),
    ];
    (fields, columns)
}
