//! What a dataset says of itself, of its codes and of its subjects: read and written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use consequence_record::{AgeBand, Code, DetailsView, Kind, Split, Vocabulary};
use consequence_store::{StoreError, write_atomically};
use serde_json::{Value, json};

use super::MedsProblem;
use super::encode::{self, write_table, write_tables};
use super::layout::{
    AGE_KIND, BIRTH_KIND, CODE, CODES, CUT_KIND, DEATH_KIND, DESCRIPTION, END_KIND, FORMAT,
    FORMAT_NAME, KIND, MEDS_DEATH, Markers, PARENTS, PLAIN_FORMAT, SPLIT, SPLITS, SUBJECT, TITLE,
    VISIT, VISIT_KIND, age_name, renamed_death,
};
use crate::document::position;
use crate::{Limits, Problem, TableError};

/// Whether `dataset.json` says that times tell the order alone. One of a newer format is refused.
pub(super) fn ordinal(path: &Path, limits: &Limits) -> Result<bool, TableError> {
    let fail = |problem| TableError::of_file(path, problem);
    let limit = limits.line_bytes;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| fail(Problem::Open(error)))?;
    file.take((limit as u64).saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| fail(Problem::Read(error)))?;
    if bytes.len() > limit {
        return Err(fail(Problem::LongFile { limit }));
    }
    let description: Value = serde_json::from_slice(&bytes).map_err(|error| {
        let text = error.to_string();
        let message = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
        let (line, column) = position(&error);
        let column = Some(column);
        TableError { column, ..TableError::of_row(path, line, Problem::Malformed(message.into())) }
    })?;
    match description.get(FORMAT_NAME).map(Value::as_u64) {
        None | Some(Some(1..=FORMAT)) => {}
        Some(Some(format)) if format > FORMAT => {
            return Err(fail(MedsProblem::NewerFormat { format, known: FORMAT }.into()));
        }
        Some(_) => {
            let (expected, found) = ("the number of a format", None);
            return Err(fail(Problem::WrongType { expected, found }));
        }
    }
    Ok(description.get("time").and_then(Value::as_str) == Some("ordinal"))
}

/// The split of a name: as MEDS writes them, or as others call them.
pub(crate) fn split_named(name: &str) -> Option<Split> {
    match name.to_ascii_lowercase().as_str() {
        "train" | "training" => Some(Split::Train),
        "tuning" | "validation" | "valid" | "val" | "dev" => Some(Split::Tuning),
        "held_out" | "held-out" | "test" => Some(Split::HeldOut),
        _ => None,
    }
}

/// Subjects that are written at a time.
const SUBJECTS_AT_ONCE: usize = 1 << 16;

/// The names of all codes, and of the markers in the order of [`MARKS`]. Events of ages come after.
pub(crate) fn names(vocabulary: &Vocabulary) -> StringArray {
    let Markers { visit, cut, birth, end, .. } = Markers::beside(vocabulary);
    let marks = [visit, cut, birth, end].map(Option::unwrap_or_default);
    let death = renamed_death(vocabulary);
    let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
    let named = codes.map(|code| match Some(code) == death {
        true => MEDS_DEATH,
        false => vocabulary.name(code),
    });
    encode::names(named.chain(marks.iter().map(|mark| &**mark)))
}

/// What is said of the markers, and their kinds.
const MARKS: [(&str, &str); 4] = [
    ("one for each encounter", VISIT_KIND),
    ("the record was cut here", CUT_KIND),
    ("the patient was born", BIRTH_KIND),
    ("the end of an encounter", END_KIND),
];
/// The markers that a dataset of the plain format has.
const PLAIN_MARKS: usize = 2;

/// What a dataset holds beside codes and the times of encounters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Whether there is anything.
    pub detailed: bool,
    /// The ages that are told at encounters.
    pub ages: BTreeSet<AgeBand>,
}

impl Extent {
    /// Takes in what is known of a record.
    pub fn take(&mut self, details: DetailsView<'_>) {
        let DetailsView { birth, ends, ages, events, .. } = details;
        self.ages.extend(ages.iter().flatten());
        let ended = ends.iter().any(Option::is_some);
        let aged = ages.iter().any(Option::is_some);
        self.detailed |= birth.is_some() || ended || aged || !events.is_empty();
    }

    /// The number of the format that can hold it.
    fn format(&self, vocabulary: &Vocabulary) -> u64 {
        let plain = !self.detailed && renamed_death(vocabulary).is_none();
        if plain { PLAIN_FORMAT } else { FORMAT }
    }
}

/// A table: its columns, and what is in them.
pub(crate) type NewTable = (Vec<Field>, Vec<ArrayRef>);

/// Writes the list of codes; `names` are those of [`names`].
pub(super) fn write_codes(
    folder: &Path,
    vocabulary: &Vocabulary,
    names: &StringArray,
    titles: &BTreeMap<Code, String>,
    extent: &Extent,
) -> Result<(), StoreError> {
    let (fields, columns) = list_codes(vocabulary, names, titles, extent);
    write_table(&folder.join(CODES), fields, Ok(columns))
}

/// The list of codes as a table.
pub(crate) fn list_codes(
    vocabulary: &Vocabulary,
    names: &StringArray,
    titles: &BTreeMap<Code, String>,
    extent: &Extent,
) -> NewTable {
    let marks = match extent.format(vocabulary) {
        PLAIN_FORMAT => &MARKS[..PLAIN_MARKS],
        _ => &MARKS[..],
    };
    let codes = || vocabulary.codes().filter(|&code| code != vocabulary.end());
    let ages: Vec<String> = extent.ages.iter().map(|&band| age_name(vocabulary, band)).collect();
    let listed = names.iter().flatten().take(vocabulary.len() - 1 + marks.len());
    let names = encode::names(listed.chain(ages.iter().map(String::as_str)));
    let titles = codes().map(|code| titles.get(&code).map(String::as_str));
    let said = marks.iter().map(|&(said, _)| Some(said));
    let said = said.chain(ages.iter().map(|_| Some("the age at an encounter")));
    let death = renamed_death(vocabulary);
    let kinds = codes().map(|code| match vocabulary.kind(code) {
        _ if Some(code) == death => DEATH_KIND,
        Kind::Static => "static",
        Kind::Encounter => "encounter",
    });
    let kinds =
        kinds.chain(marks.iter().map(|&(_, kind)| kind)).chain(ages.iter().map(|_| AGE_KIND));
    let (lists, no_parents) = encode::no_lists(names.len());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(names),
        Arc::new(titles.chain(said).collect::<StringArray>()),
        no_parents,
        Arc::new(encode::names(kinds)),
    ];
    let fields = vec![
        Field::new(CODE, DataType::Utf8, false),
        Field::new(TITLE, DataType::Utf8, true),
        Field::new(PARENTS, lists, true),
        Field::new(KIND, DataType::Utf8, false),
    ];
    (fields, columns)
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
pub(super) fn write_description(
    folder: &Path,
    vocabulary: &Vocabulary,
    extent: &Extent,
    dated: bool,
) -> Result<(), StoreError> {
    let description = json!({
        "etl_name": "consequence",
        FORMAT_NAME: extent.format(vocabulary),
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
