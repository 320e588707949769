//! Records that are not of the vocabulary are refused before anything is measured.

use consequence_record::{Kind, Selection, Vocabulary};
use thiserror::Error;

/// A record that cannot be measured.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadRecord {
    /// There are not so many records.
    #[error("record {record} was asked for, but the cohort has {records} records")]
    Missing {
        /// The index asked for.
        record: usize,
        /// The records there are.
        records: usize,
    },
    /// A code is beyond the vocabulary.
    #[error(
        "record {record} holds code number {code}, but the vocabulary has {codes} codes; read the cohort with the vocabulary it is measured by"
    )]
    Unknown {
        /// The record, by its index.
        record: usize,
        /// The code.
        code: u32,
        /// The codes of the vocabulary.
        codes: usize,
    },
    /// A code is in a visit of the other kind.
    #[error("record {record} holds {kind} code `{code}` in visit {visit}")]
    Misplaced {
        /// The record, by its index.
        record: usize,
        /// The visit; 0 is the static visit.
        visit: usize,
        /// The code.
        code: String,
        /// Its kind.
        kind: Kind,
    },
}

/// Checks that records exist and that their codes are where the vocabulary has them.
pub(crate) fn check(records: Selection<'_>, vocabulary: &Vocabulary) -> Result<(), BadRecord> {
    let (cohort, codes) = (records.cohort(), vocabulary.len());
    for record in records.indices() {
        if record >= cohort.len() {
            return Err(BadRecord::Missing { record, records: cohort.len() });
        }
        for (visit, held) in cohort.record(record).visits().enumerate() {
            for &code in held {
                if code.index() >= codes {
                    return Err(BadRecord::Unknown { record, code: code.0, codes });
                }
                let kind = vocabulary.kind(code);
                if kind != Kind::of_visit(visit) || code == vocabulary.end() {
                    let code = vocabulary.name(code).to_owned();
                    return Err(BadRecord::Misplaced { record, visit, code, kind });
                }
            }
        }
    }
    Ok(())
}
