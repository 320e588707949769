//! Records that can be measured, those of three roles together, and why a figure over them may not
//! exist.

use std::fmt::{self, Display, Formatter};

use consequence_record::{Kind, Selection, Vocabulary};
use serde::{Serialize, Serializer};
use thiserror::Error;

/// What records are there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Real records that the generator trained on.
    Train,
    /// Records that it wrote.
    Synthetic,
    /// Real records that it never saw.
    HeldOut,
}

impl Role {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Train, Self::Synthetic, Self::HeldOut];
}

impl Display for Role {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Train => "train",
            Self::Synthetic => "synthetic",
            Self::HeldOut => "held-out",
        })
    }
}

/// The records that utility and privacy are measured on, over one vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// Real records that the generator trained on.
    pub train: Selection<'a>,
    /// Records that it wrote.
    pub synthetic: Selection<'a>,
    /// Real records that it never saw.
    pub held_out: Selection<'a>,
    /// The codes of them all.
    pub vocabulary: &'a Vocabulary,
}

impl<'a> Samples<'a> {
    /// The records of a role.
    pub fn of(&self, role: Role) -> Selection<'a> {
        match role {
            Role::Train => self.train,
            Role::Synthetic => self.synthetic,
            Role::HeldOut => self.held_out,
        }
    }

    pub(crate) fn check(&self) -> Result<(), MeasureError> {
        for role in Role::ALL {
            check(self.of(role), self.vocabulary).map_err(|bad| MeasureError { role, bad })?;
        }
        Ok(())
    }

    /// The first role without records, as a reason to measure nothing.
    pub(crate) fn nobody(&self) -> Option<Unmeasured> {
        let role = Role::ALL.into_iter().find(|&role| self.of(role).is_empty())?;
        Some(Unmeasured::NoRecords(role))
    }
}

/// Records that cannot be measured, and whose they are.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{role} records: {bad}")]
pub struct MeasureError {
    /// Whose record it is.
    pub role: Role,
    /// What is wrong with it.
    pub bad: BadRecord,
}

/// Why a figure cannot be measured on records that are sound.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unmeasured {
    /// There is nobody to measure.
    #[error("there are no {0} records")]
    NoRecords(Role),
    /// Nothing can be predicted.
    #[error("no {0} record has two encounters")]
    NoTransitions(Role),
    /// A code is never in a next encounter, so there is nothing to train on or to rank.
    #[error("it is in no next encounter of the {0} records")]
    NeverNext(Role),
    /// A code is in every next encounter.
    #[error("it is in every next encounter of the {0} records")]
    AlwaysNext(Role),
    /// A regression did not reach its optimum.
    #[error("the regression on the {0} records did not converge")]
    NotConverged(Role),
    /// All codes were left out.
    #[error("no code could be predicted: each was left out for a reason of its own")]
    NoCode,
    /// No encounter code is in at most half of the train records.
    #[error("no encounter code is in at most half of the train records")]
    NothingSensitive,
}

impl Serialize for Unmeasured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Figures, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured<T> {
    /// The figures.
    Measured(T),
    /// The reason.
    Unmeasured(Unmeasured),
}

impl<T> Measured<T> {
    /// The figures, if there are any.
    pub fn figures(&self) -> Option<&T> {
        match self {
            Self::Measured(figures) => Some(figures),
            Self::Unmeasured(_) => None,
        }
    }
}

impl<T> From<Result<T, Unmeasured>> for Measured<T> {
    fn from(result: Result<T, Unmeasured>) -> Self {
        match result {
            Ok(figures) => Self::Measured(figures),
            Err(why) => Self::Unmeasured(why),
        }
    }
}

impl<T: Display> Display for Measured<T> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured(figures) => figures.fmt(out),
            Self::Unmeasured(why) => writeln!(out, "cannot be measured: {why}"),
        }
    }
}

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
