//! The splits of subjects, where a column of events tells them.

use arrow_array::RecordBatch;
use consequence_record::Split;
use rustc_hash::FxHashMap;

use super::columns::Found;
use super::read::EVENTS;
use crate::TableError;
use crate::meds::MedsProblem;
use crate::meds::columns::strings;
use crate::meds::metadata::split_named;
use crate::meds::rows::{Carried, Rows};

/// What a column tells of the splits of subjects. A row without a split that is known says nothing, and all others of a
/// subject say the same: which row comes first may be by chance, where they come out of many places.
#[derive(Default)]
pub(super) struct Splits(FxHashMap<i64, Split>);

impl Splits {
    /// Takes what the rows of a batch say that so many stand before.
    pub fn take(
        &mut self,
        (found, batch): (&Found, &RecordBatch),
        (rows, before): (&Rows<'_>, u64),
        carried: &mut Carried,
    ) -> Result<(), TableError> {
        let Some((name, column)) = found.splits(batch) else { return Ok(()) };
        let named = strings(name, column).map_err(|problem| EVENTS.fail(problem))?;
        let mut last = ("", None);
        for row in 0..rows.len() {
            let Some(text) = named.get(row) else { continue };
            if last.0 != text {
                last = (text, split_named(text));
            }
            let Some(split) = last.1 else { continue };
            let fail = |problem| EVENTS.at_row(before + row as u64 + 1, problem);
            let subject = rows.subject(row, carried).map_err(fail)?;
            if *self.0.entry(subject).or_insert(split) != split {
                return Err(fail(MedsProblem::TwoSplits { column: name.into() }));
            }
        }
        Ok(())
    }

    /// The split of a subject, if a row told it.
    pub fn of(&self, subject: i64) -> Option<Split> {
        self.0.get(&subject).copied()
    }

    /// Forgets a subject of whom no row comes any more.
    pub fn forget(&mut self, subject: i64) {
        self.0.remove(&subject);
    }
}
