//! What can be wrong with a Parquet file or a MEDS dataset.

use std::path::PathBuf;

use thiserror::Error;

/// What can be wrong with a Parquet file or a MEDS dataset, beside what can be wrong with any file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MedsProblem {
    /// A folder without the files of a dataset.
    #[error("not a MEDS dataset: no Parquet file in its folder `data`{}", listed("found", found))]
    NotADataset {
        /// What the folder holds, as far as it is worth telling.
        found: Vec<String>,
    },
    /// A dataset of a newer version of this program.
    #[error(
        "made by a newer version of this program, format {format}; this one reads up to {known}"
    )]
    NewerFormat {
        /// The number of its format.
        format: u64,
        /// The last number that is known here.
        known: u64,
    },
    /// The file is not Parquet, or is damaged.
    #[error("the Parquet file is damaged or cut short: {0}")]
    Damaged(String),
    /// A compression that this program was built without.
    #[error("the Parquet file is compressed in a way that cannot be read here: {0}")]
    Compression(String),
    /// A column that must be there is not.
    #[error("missing column `{column}`{}", listed("the columns are", found))]
    MissingColumn {
        /// Its name.
        column: Box<str>,
        /// The columns that are there.
        found: Vec<String>,
    },
    /// A column of another type than is needed.
    #[error("column `{column}` holds {found}, and {expected} is needed")]
    ColumnType {
        /// Its name.
        column: Box<str>,
        /// What is needed.
        expected: &'static str,
        /// The type it has.
        found: String,
    },
    /// Two columns of the name of one that is needed.
    #[error("two columns are named `{column}`")]
    RepeatedColumn {
        /// Their name.
        column: Box<str>,
    },
    /// A column whose type is another than in the batches before.
    #[error("column `{column}` has another type than in the batches before, or is in only some")]
    ChangedColumn {
        /// Its name.
        column: Box<str>,
    },
    /// A column of times whose zone is not known.
    #[error("column `{column}` has a time zone that is not known: `{zone}`")]
    UnknownZone {
        /// Its name.
        column: Box<str>,
        /// The name of the zone.
        zone: String,
    },
    /// A missing value in a column that has none.
    #[error("column `{0}` has no value here")]
    Null(Box<str>),
    /// Events of one subject in two files.
    #[error("a subject of this file has events in another file too: {}", other.display())]
    SubjectInTwoFiles {
        /// The file where the subject was first met.
        other: PathBuf,
    },
    /// Events of one subject with another subject's between them.
    #[error("the events of a subject are not together: others stand between them")]
    ScatteredSubject,
    /// Events of one subject that go back in time.
    #[error("the events of a subject are not in the order of their times")]
    Unsorted,
    /// A time that is out of range in microseconds.
    #[error("a time is too far from 1970")]
    FarTime,
    /// A value without bounds, or beyond what 32 bits hold.
    #[error("a value is infinite, or too large for a number of 32 bits")]
    InfiniteValue,
    /// A code with two uses, whose static use cannot be renamed as the new name is taken.
    #[error("code `{code}` is used with and without a time, and the name `{renamed}` is taken")]
    TwoKinds {
        /// Its name.
        code: String,
        /// The name that its static use would get.
        renamed: String,
    },
    /// A list of codes of which the kinds are needed and not told.
    #[error("the list does not say of each code what kind it is")]
    NoKinds,
    /// Rows of one subject that tell different splits.
    #[error("column `{column}` tells two splits of one subject")]
    TwoSplits {
        /// Its name.
        column: Box<str>,
    },
    /// A list of subjects that names one twice.
    #[error("a subject is listed twice")]
    RepeatedSubject,
}

impl MedsProblem {
    /// That a column has no value.
    pub(crate) fn null(column: &str) -> Self {
        Self::Null(column.into())
    }

    /// What the user can do about it.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::NotADataset { .. } => {
                "name the folder that holds `data` and `metadata`, or one Parquet file of events"
            }
            Self::NewerFormat { .. } => {
                "read it with that version, or make the cohort again with this one"
            }
            Self::Damaged(_) => {
                "it may have been cut off while it was written or copied: fetch or write it again"
            }
            Self::Compression(_) => "write it again with zstd or snappy",
            Self::MissingColumn { .. } => {
                "rename the column that holds it; events need `subject_id`, `time` and `code`"
            }
            Self::ColumnType { .. } => "convert the column; MEDS 0.4 says what each holds",
            Self::RepeatedColumn { .. } => "rename one of the two, or leave it out",
            Self::ChangedColumn { .. } => "give all batches the columns and types of the first",
            Self::UnknownZone { .. } => {
                "convert the column to times without a zone, as clocks on the wall showed them"
            }
            Self::Null(_) => "fill it, or leave the row out",
            Self::SubjectInTwoFiles { .. } => {
                "a subject is whole in one file; join the two, or give one subject another id"
            }
            Self::ScatteredSubject => "sort the events by subject and time",
            Self::Unsorted => "sort the events of each subject by time",
            Self::FarTime => "correct the time",
            Self::InfiniteValue => "correct the value, or leave it empty",
            Self::TwoKinds { .. } => {
                "a code is static or of encounters, never both; rename one of the two"
            }
            Self::NoKinds => "give a {vocabulary}, or a list of codes with their kinds",
            Self::TwoSplits { .. } => "give all rows of a subject the same split",
            Self::RepeatedSubject => "list each subject once",
        }
    }
}

/// A short list for a message, or nothing.
fn listed(intro: &str, names: &[String]) -> String {
    const MOST: usize = 12;
    match names {
        [] => String::new(),
        names if names.len() > MOST => {
            format!("; {intro} {}, and {} more", names[..MOST].join(", "), names.len() - MOST)
        }
        names => format!("; {intro} {}", names.join(", ")),
    }
}
