//! The OMOP concepts of codes: read and written.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use consequence_record::{Code, Concept, Domain, Vocabulary};
use consequence_store::StoreError;

use super::MedsProblem;
use super::columns::{integers, strings};
use super::encode::{self, write_table};
use super::layout::{ANCESTOR, CODE, CONCEPT, CONCEPTS, DOMAIN, RESULT, STANDARD};
use super::metadata::NewTable;
use super::table::Table;
use crate::{Limits, TableError};

/// What the column of standard concepts says of one, as in OMOP.
const IS_STANDARD: &str = "S";

/// Reads the concepts of a vocabulary's codes. A file of this name that is something else says
/// nothing. Files from before domains were kept lack the last three columns.
pub(crate) fn read(
    table: Table,
    vocabulary: &Vocabulary,
    limits: &Limits,
) -> Result<BTreeMap<Code, Concept>, TableError> {
    const COLUMNS: [&str; 6] = [CODE, CONCEPT, ANCESTOR, DOMAIN, STANDARD, RESULT];
    let mut concepts: BTreeMap<Code, Concept> = BTreeMap::new();
    let origin = table.origin.clone();
    let lacks = |column: &&str| table.kind(column).is_none();
    if COLUMNS[..3].iter().any(lacks) {
        return Ok(concepts);
    }
    let told = if COLUMNS[3..].iter().any(lacks) { 3 } else { 6 };
    table.bound_strings(CODE, limits.code_bytes)?;
    table.each_batch(&COLUMNS[..told], |arrays, before| {
        let fail = |problem| origin.fail(problem);
        let names = strings(CODE, &arrays[0]).map_err(fail)?;
        let own = integers(CONCEPT, &arrays[1]).map_err(fail)?;
        let above = integers(ANCESTOR, &arrays[2]).map_err(fail)?;
        let number = |value: i64| u64::try_from(value).unwrap_or_default();
        let kinds = match arrays {
            [_, _, _, domain, standard, result] => Some((
                strings(DOMAIN, domain).map_err(fail)?,
                strings(STANDARD, standard).map_err(fail)?,
                integers(RESULT, result).map_err(fail)?,
            )),
            _ => None,
        };
        for row in 0..arrays[0].len() {
            let null = |column| origin.at_row(before + row as u64 + 1, MedsProblem::null(column));
            let name = names.get(row).ok_or_else(|| null(CODE))?;
            let id = number(own.get(row).ok_or_else(|| null(CONCEPT))?);
            let Some(code) = vocabulary.code(name).filter(|&code| code != vocabulary.end()) else {
                continue;
            };
            let concept = concepts.entry(code).or_insert_with(|| match &kinds {
                Some((domain, standard, result)) => Concept {
                    id,
                    ancestors: Vec::new(),
                    domain: domain.get(row).and_then(Domain::of),
                    source: standard.get(row) != Some(IS_STANDARD),
                    result: result.get(row).map(number),
                },
                None => Concept { id, ..Concept::default() },
            });
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
    let (fields, columns) = table(vocabulary, concepts);
    write_table(&folder.join(CONCEPTS), fields, Ok(columns))
}

/// The concepts of codes as a table: a row for each code, and one for each concept above its own.
pub(crate) fn table(vocabulary: &Vocabulary, concepts: &BTreeMap<Code, Concept>) -> NewTable {
    let number = |id: u64| i64::try_from(id).unwrap_or_default();
    let rows = || {
        concepts.iter().flat_map(|(&code, concept)| {
            let above = concept.ancestors.iter().map(|&id| Some(number(id)));
            std::iter::once(None).chain(above).map(move |above| (code, concept, above))
        })
    };
    let standard = |concept: &Concept| (!concept.source).then_some(IS_STANDARD);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(encode::names(rows().map(|(code, ..)| vocabulary.name(code)))),
        Arc::new(Int64Array::from_iter_values(rows().map(|(_, concept, _)| number(concept.id)))),
        Arc::new(rows().map(|(.., above)| above).collect::<Int64Array>()),
        Arc::new(rows().map(|(_, of, _)| of.domain.map(Domain::name)).collect::<StringArray>()),
        Arc::new(rows().map(|(_, of, _)| standard(of)).collect::<StringArray>()),
        Arc::new(rows().map(|(_, of, _)| of.result.map(number)).collect::<Int64Array>()),
    ];
    let fields = vec![
        Field::new(CODE, DataType::Utf8, false),
        Field::new(CONCEPT, DataType::Int64, false),
        Field::new(ANCESTOR, DataType::Int64, true),
        Field::new(DOMAIN, DataType::Utf8, true),
        Field::new(STANDARD, DataType::Utf8, true),
        Field::new(RESULT, DataType::Int64, true),
    ];
    (fields, columns)
}
