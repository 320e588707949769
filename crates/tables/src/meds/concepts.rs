//! The OMOP concepts of codes: read and written.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType, Field};
use consequence_record::{Code, Concept, Vocabulary};
use consequence_store::StoreError;

use super::MedsProblem;
use super::columns::{Table, integers, strings};
use super::encode::{self, write_table};
use super::layout::{ANCESTOR, CODE, CONCEPT, CONCEPTS};
use crate::{Limits, TableError};

/// Reads the concepts of a vocabulary's codes. A file of this name that is something else says
/// nothing.
pub(super) fn read(
    path: &Path,
    vocabulary: &Vocabulary,
    limits: &Limits,
) -> Result<BTreeMap<Code, Concept>, TableError> {
    const COLUMNS: [&str; 3] = [CODE, CONCEPT, ANCESTOR];
    let mut concepts: BTreeMap<Code, Concept> = BTreeMap::new();
    let table = Table::open(path)?;
    if COLUMNS.iter().any(|column| table.kind(column).is_none()) {
        return Ok(concepts);
    }
    table.bound_strings(CODE, limits.code_bytes)?;
    table.each_batch(&COLUMNS, |arrays, before| {
        let fail = |problem| TableError::of_file(path, problem);
        let names = strings(CODE, &arrays[0]).map_err(fail)?;
        let own = integers(CONCEPT, &arrays[1]).map_err(fail)?;
        let above = integers(ANCESTOR, &arrays[2]).map_err(fail)?;
        let number = |value: i64| u64::try_from(value).unwrap_or_default();
        for row in 0..arrays[0].len() {
            let null = |column| {
                TableError::of_row(path, before + row as u64 + 1, MedsProblem::Null(column))
            };
            let name = names.get(row).ok_or_else(|| null(CODE))?;
            let id = number(own.get(row).ok_or_else(|| null(CONCEPT))?);
            let Some(code) = vocabulary.code(name).filter(|&code| code != vocabulary.end()) else {
                continue;
            };
            let concept = concepts.entry(code).or_insert(Concept { id, ancestors: Vec::new() });
            concept.ancestors.extend(above.get(row).map(number));
        }
        Ok(())
    })?;
    Ok(concepts)
}

/// Writes the concepts of codes, if there are any: a row for each code, and one for each concept
/// above its own.
pub(super) fn write(
    folder: &Path,
    vocabulary: &Vocabulary,
    concepts: &BTreeMap<Code, Concept>,
) -> Result<(), StoreError> {
    if concepts.is_empty() {
        return Ok(());
    }
    let number = |id: u64| i64::try_from(id).unwrap_or_default();
    let rows = || {
        concepts.iter().flat_map(|(&code, concept)| {
            let above = concept.ancestors.iter().map(|&id| Some(number(id)));
            std::iter::once(None).chain(above).map(move |above| (code, number(concept.id), above))
        })
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(encode::names(rows().map(|(code, ..)| vocabulary.name(code)))),
        Arc::new(Int64Array::from_iter_values(rows().map(|(_, id, _)| id))),
        Arc::new(rows().map(|(.., above)| above).collect::<Int64Array>()),
    ];
    let fields = vec![
        Field::new(CODE, DataType::Utf8, false),
        Field::new(CONCEPT, DataType::Int64, false),
        Field::new(ANCESTOR, DataType::Int64, true),
    ];
    write_table(&folder.join(CONCEPTS), fields, Ok(columns))
}
