//! Writing what a dataset says of itself, of its codes and of its subjects.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use consequence_record::{Code, Kind, Split, Vocabulary};
use consequence_store::{StoreError, write_atomically};
use serde_json::json;

use super::encode::{self, write_table, write_tables};
use super::layout::{
    CODE, CODES, CUT_KIND, DESCRIPTION, FORMAT, FORMAT_NAME, KIND, Markers, PARENTS, SPLIT, SPLITS,
    SUBJECT, TITLE, VISIT, VISIT_KIND,
};

/// Subjects that are written at a time.
const SUBJECTS_AT_ONCE: usize = 1 << 16;

/// The names of all codes, the markers last.
pub(super) fn names(vocabulary: &Vocabulary) -> StringArray {
    let markers = Markers::beside(vocabulary);
    let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
    let marks = [&markers.visit, &markers.cut].map(|mark| mark.as_deref().unwrap_or_default());
    encode::names(codes.map(|code| vocabulary.name(code)).chain(marks))
}

/// Writes the list of codes; `names` are those of [`names`].
pub(super) fn write_codes(
    folder: &Path,
    vocabulary: &Vocabulary,
    names: &Arc<StringArray>,
    titles: &BTreeMap<Code, String>,
) -> Result<(), StoreError> {
    let codes = || vocabulary.codes().filter(|&code| code != vocabulary.end());
    let titles = codes().map(|code| titles.get(&code).map(String::as_str));
    let markers = [Some("one for each encounter"), Some("the record was cut here")];
    let kinds = codes().map(|code| match vocabulary.kind(code) {
        Kind::Static => "static",
        Kind::Encounter => "encounter",
    });
    let (lists, no_parents) = encode::no_lists(names.len());
    let columns: Vec<ArrayRef> = vec![
        Arc::clone(names) as ArrayRef,
        Arc::new(titles.chain(markers).collect::<StringArray>()),
        no_parents,
        Arc::new(encode::names(kinds.chain([VISIT_KIND, CUT_KIND]))),
    ];
    let fields = vec![
        Field::new(CODE, DataType::Utf8, false),
        Field::new(TITLE, DataType::Utf8, true),
        Field::new(PARENTS, lists, true),
        Field::new(KIND, DataType::Utf8, false),
    ];
    write_table(&folder.join(CODES), fields, Ok(columns))
}

/// Writes the split of each subject, in as much memory as a few of them take.
pub(super) fn write_splits(
    folder: &Path,
    subjects: impl Iterator<Item = (i64, Split)>,
) -> Result<(), StoreError> {
    let mut subjects = subjects.peekable();
    let mut begun = false;
    let batches = std::iter::from_fn(|| {
        // A file without subjects has its columns all the same.
        if subjects.peek().is_none() && begun {
            return None;
        }
        begun = true;
        let some: Vec<(i64, Split)> = subjects.by_ref().take(SUBJECTS_AT_ONCE).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(some.iter().map(|&(subject, _)| subject))),
            Arc::new(encode::names(some.iter().map(|(_, split)| split.name()))),
        ];
        Some(Ok(columns))
    });
    let fields =
        vec![Field::new(SUBJECT, DataType::Int64, false), Field::new(SPLIT, DataType::Utf8, false)];
    write_tables(&folder.join(SPLITS), fields, batches)
}

/// Writes what the dataset says of itself.
pub(super) fn write_description(folder: &Path, dated: bool) -> Result<(), StoreError> {
    let description = json!({
        "etl_name": "consequence",
        FORMAT_NAME: FORMAT,
        "etl_version": env!("CARGO_PKG_VERSION"),
        "meds_version": "0.4.1",
        "other_extension_columns": [VISIT],
        "time": if dated { "recorded" } else { "ordinal" },
    });
    write_atomically(folder.join(DESCRIPTION), |out| {
        serde_json::to_writer_pretty(&mut *out, &description)?;
        out.write_all(b"\n")
    })
}
