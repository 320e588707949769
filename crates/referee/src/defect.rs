//! What makes visits no record at all, whatever the rules say.

use std::fmt;

use consequence_record::{Code, Vocabulary};

use crate::Visits;
use crate::truth::lives_in;

/// A way in which visits fail to be a record, whatever the rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A static code in an encounter or the reverse, `END` stored, or a number that is no code of
    /// the vocabulary.
    Misplaced {
        /// The visit that holds it.
        visit: usize,
        /// The code.
        code: Code,
    },
    /// The codes of a visit are not in ascending order, or one is repeated.
    Unordered {
        /// The visit.
        visit: usize,
    },
    /// There is no encounter: a record has at least one.
    NoEncounter,
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misplaced { visit, code } => {
                write!(out, "code number {} cannot be stored in visit {visit}", code.0)
            }
            Self::Unordered { visit } => {
                write!(out, "the codes of visit {visit} are not an ascending set")
            }
            Self::NoEncounter => out.write_str("there is no encounter"),
        }
    }
}

/// Everything that makes these visits no record.
pub(crate) fn defects<V: Visits + ?Sized>(vocabulary: &Vocabulary, record: &V) -> Vec<Defect> {
    let mut found = Vec::new();
    if record.visit_count() < 2 {
        found.push(Defect::NoEncounter);
    }
    for visit in 0..record.visit_count() {
        let codes = record.codes(visit);
        for &code in codes {
            if code == vocabulary.end() || !lives_in(vocabulary, code, visit) {
                found.push(Defect::Misplaced { visit, code });
            }
        }
        if codes.windows(2).any(|pair| pair[0] >= pair[1]) {
            found.push(Defect::Unordered { visit });
        }
    }
    found
}
