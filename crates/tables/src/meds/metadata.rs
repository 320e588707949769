//! What a dataset says of itself and of its subjects.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use arrow_array::Array;
use consequence_record::Split;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use super::MedsProblem;
use super::columns::{Table, integers, strings};
use super::layout::{FORMAT, FORMAT_NAME, ORIGINAL, SPLIT, SUBJECT};
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

/// The split of each subject that `subject_splits.parquet` puts into one of the three we know.
pub(super) fn splits(path: &Path) -> Result<FxHashMap<i64, Split>, TableError> {
    let mut splits = FxHashMap::default();
    each_subject(path, SPLIT, |subject, name| match splits.insert(subject, split_named(name)) {
        None => Ok(()),
        Some(_) => Err(MedsProblem::RepeatedSubject),
    })?;
    Ok(splits.into_iter().filter_map(|(subject, split)| Some((subject, split?))).collect())
}

/// The split of a name: as MEDS writes them, or as others call them.
fn split_named(name: &str) -> Option<Split> {
    match name.to_ascii_lowercase().as_str() {
        "train" | "training" => Some(Split::Train),
        "tuning" | "validation" | "valid" | "val" | "dev" => Some(Split::Tuning),
        "held_out" | "held-out" | "test" => Some(Split::HeldOut),
        _ => None,
    }
}

/// The ids that subjects had before they were numbered, from `subjects.parquet`.
pub(super) fn ids(path: &Path) -> Result<FxHashMap<i64, Box<str>>, TableError> {
    let mut ids: FxHashMap<i64, Box<str>> = FxHashMap::default();
    let mut known: FxHashSet<Box<str>> = FxHashSet::default();
    each_subject(path, ORIGINAL, |subject, id| {
        if !known.insert(id.into()) || ids.insert(subject, id.into()).is_some() {
            return Err(MedsProblem::RepeatedSubject);
        }
        Ok(())
    })?;
    Ok(ids)
}

/// Gives each subject of a table with what a column of strings says of it.
fn each_subject(
    path: &Path,
    column: &'static str,
    mut take: impl FnMut(i64, &str) -> Result<(), MedsProblem>,
) -> Result<(), TableError> {
    let table = Table::open(path)?;
    table.require(SUBJECT)?;
    table.require(column)?;
    table.each_batch(&[SUBJECT, column], |arrays, before| {
        let fail = |problem| TableError::of_file(path, problem);
        let subjects = integers(SUBJECT, &arrays[0]).map_err(fail)?;
        let texts = strings(column, &arrays[1]).map_err(fail)?;
        for row in 0..arrays[0].len() {
            let subject = subjects.get(row).ok_or(MedsProblem::Null(SUBJECT));
            subject
                .and_then(|subject| take(subject, texts.get(row).ok_or(MedsProblem::Null(column))?))
                .map_err(|problem| TableError::of_row(path, before + row as u64 + 1, problem))?;
        }
        Ok(())
    })
}
