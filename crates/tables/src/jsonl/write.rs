//! Writing a cohort.

use std::io::{self, Write};
use std::path::Path;

use consequence_record::{Code, Cohort, Kind, RecordView, Vocabulary};
use consequence_store::{StoreError, write_atomically};
use rustc_hash::FxHashSet;
use thiserror::Error;

/// Why a cohort could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record that could not be read back: it has no encounter, or a code that its vocabulary
    /// does not have or has in the other kind of visit.
    #[error("record number {number} of the cohort {reason}")]
    Record {
        /// The record's place in the cohort, counted from 1.
        number: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Writes a cohort as JSON lines: whole and under its name, or not at all.
///
/// Reading the file with the same vocabulary gives the same cohort. So a cohort that could not be
/// read back is refused before anything is written.
pub fn write(
    path: impl AsRef<Path>,
    cohort: &Cohort,
    vocabulary: &Vocabulary,
) -> Result<(), WriteError> {
    check(cohort, vocabulary)?;
    write_atomically(path, |writer| {
        let names = quoted_names(vocabulary)?;
        let mut line = Vec::new();
        for (index, record) in cohort.records().enumerate() {
            line.clear();
            write_record(&mut line, cohort.id(index), record, &names)?;
            writer.write_all(&line)?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_record(
    line: &mut Vec<u8>,
    id: &str,
    record: RecordView<'_>,
    names: &[String],
) -> io::Result<()> {
    line.write_all(b"{\"id\":")?;
    serde_json::to_writer(&mut *line, id)?;
    for (visit, codes) in record.visits().enumerate() {
        line.write_all(match visit {
            0 => b",\"static\":",
            1 => b",\"visits\":[",
            _ => b",",
        })?;
        write_codes(line, codes, names)?;
    }
    line.write_all(if record.ended() { b"]}\n" } else { b"],\"ended\":false}\n" })
}

fn write_codes(line: &mut Vec<u8>, codes: &[Code], names: &[String]) -> io::Result<()> {
    line.push(b'[');
    for (place, code) in codes.iter().enumerate() {
        if place > 0 {
            line.push(b',');
        }
        line.write_all(names[code.index()].as_bytes())?;
    }
    line.push(b']');
    Ok(())
}

/// Every name as JSON writes it, so that each is quoted once and not once per use.
fn quoted_names(vocabulary: &Vocabulary) -> io::Result<Vec<String>> {
    vocabulary.codes().map(|code| Ok(serde_json::to_string(vocabulary.name(code))?)).collect()
}

/// Refuses a cohort that could not be read back.
pub(crate) fn check(cohort: &Cohort, vocabulary: &Vocabulary) -> Result<(), WriteError> {
    let mut ids = FxHashSet::default();
    for (index, record) in cohort.records().enumerate() {
        let fail = |reason| Err(WriteError::Record { number: index + 1, reason });
        if !ids.insert(cohort.id(index)) {
            return fail("has the id of an earlier one");
        }
        if record.len() < 2 {
            return fail("has no encounter");
        }
        for (visit, codes) in record.visits().enumerate() {
            for &code in codes {
                if code.index() >= vocabulary.len() {
                    return fail("has a code that is not of the vocabulary");
                }
                if code == vocabulary.end() {
                    return fail("stores `END`, which is derived");
                }
                if vocabulary.kind(code) != Kind::of_visit(visit) {
                    return fail("has a static code in an encounter, or the reverse");
                }
            }
        }
    }
    Ok(())
}
