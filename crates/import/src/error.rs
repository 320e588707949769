//! What can be wrong with a source, and where.

use std::sync::Arc;
use std::{fmt, io};

use consequence_feedback::{Advice, Advise};
use consequence_record::VocabularyError;
use consequence_tables::TableError;
use consequence_tally::Damaged;
use thiserror::Error;

/// Why a source could not be imported: what, and where.
///
/// ```
/// use consequence_feedback::Unwatched;
/// use consequence_import::{ImportOptions, Source, open};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("patients.csv"), "subject_id,gender,dob\n")?;
/// let error = open(&Source::Mimic3, folder.path(), &ImportOptions::default(), &Unwatched).unwrap_err();
/// assert!(error.to_string().starts_with("missing table ADMISSIONS: found patients.csv\n  --> "));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ImportError {
    /// What is wrong.
    pub problem: ImportProblem,
    /// The file or folder, as the user named it.
    pub file: Arc<str>,
    /// The line of a text file or the row of a Parquet file, counted from 1.
    pub line: Option<u64>,
}

impl ImportError {
    /// A problem of a whole file or folder.
    pub(crate) fn whole(file: impl Into<Arc<str>>, problem: impl Into<ImportProblem>) -> Self {
        Self { problem: problem.into(), file: file.into(), line: None }
    }
}

impl Advise for ImportError {
    fn advice(&self) -> Option<Advice> {
        self.problem.advice()
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ImportProblem::Cohort(error) = &self.problem {
            return error.fmt(out);
        }
        write!(out, "{}\n  --> {}", self.problem, self.file)?;
        self.line.map_or(Ok(()), |line| write!(out, ":{line}"))
    }
}

impl std::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            ImportProblem::Open(error)
            | ImportProblem::Read(error)
            | ImportProblem::Scratch(error) => Some(error),
            ImportProblem::Cohort(error) => Some(error),
            _ => None,
        }
    }
}

/// What is wrong with a source.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportProblem {
    /// A file or folder cannot be opened.
    #[error("cannot open it: {0}")]
    Open(io::Error),
    /// A file was opened but cannot be read.
    #[error("cannot read the file: {0}")]
    Read(io::Error),
    /// Events cannot be put aside while they wait to be sorted.
    #[error("cannot use the scratch folder: {0}")]
    Scratch(io::Error),
    /// A table that the source must have is not there.
    #[error("missing table {table}: found {}", listed(found))]
    MissingTable {
        /// Its name.
        table: &'static str,
        /// The names of the tables that are there.
        found: Vec<String>,
    },
    /// One table is there twice, as with and without compression.
    #[error("table {table} is there more than once: {}", listed(files))]
    TwoTables {
        /// Its name.
        table: &'static str,
        /// The files.
        files: Vec<String>,
    },
    /// A column that the table must have is not there.
    #[error("missing column `{column}`: found {}", listed(found))]
    MissingColumn {
        /// Its name.
        column: String,
        /// The columns that are there, those whose names are words.
        found: Vec<String>,
        /// The setting that says which column to read, where there is one.
        setting: Option<&'static str>,
    },
    /// A column name that stands twice in the header.
    #[error("column `{column}` is there twice")]
    RepeatedColumn {
        /// Its name.
        column: String,
    },
    /// A table without a line of column names.
    #[error("no line of column names: the first line holds values")]
    NoHeader,
    /// A row of another number of fields than the header.
    #[error("{found} fields in a row of a table with {expected} columns")]
    Ragged {
        /// The columns of the header.
        expected: u64,
        /// The fields of the row.
        found: u64,
    },
    /// Bytes that are not text.
    #[error("invalid UTF-8 in column `{column}`")]
    InvalidUtf8 {
        /// The column.
        column: String,
    },
    /// A compressed file that ends too early.
    #[error("the compressed file is cut short")]
    CutShort,
    /// A compressed or binary file whose bytes make no sense.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// A compressed file that unpacks to more bytes than the limit.
    #[error("the file unpacks to more than {limit} bytes")]
    TooLarge {
        /// The most bytes it may unpack to.
        limit: u64,
    },
    /// A compressed file that grows more than tables do.
    #[error("the file unpacks to more than {limit} times its size")]
    TooDense {
        /// The most bytes a byte may unpack to.
        limit: u64,
    },
    /// A row of more bytes than the limit.
    #[error("the row is longer than {limit} bytes")]
    LongRow {
        /// The most bytes a row may have.
        limit: usize,
    },
    /// A quote that is never closed.
    #[error("a quote in this row is never closed")]
    OpenQuote,
    /// A code name with a line break or the like in it.
    #[error("a code has a line break or another control character in it")]
    BrokenCode,
    /// A code name of more bytes than the limit.
    #[error("code `{start}...` has a name longer than {limit} bytes")]
    LongCode {
        /// How the name begins.
        start: String,
        /// The most bytes a name may have.
        limit: usize,
    },
    /// A subject identifier of more bytes than the limit.
    #[error("an identifier in column `{column}` is longer than {limit} bytes")]
    LongIdentifier {
        /// The column.
        column: String,
        /// The most bytes it may have.
        limit: usize,
    },
    /// A value that is no date.
    #[error("the value in column `{column}` is not a date")]
    BadDate {
        /// The column.
        column: String,
    },
    /// A value that is no number.
    #[error("the value in column `{column}` is not a number")]
    BadNumber {
        /// The column.
        column: String,
    },
    /// A value that must be there is not.
    #[error("column `{column}` is empty")]
    Empty {
        /// The column.
        column: String,
    },
    /// Two subjects with one identifier.
    #[error("the subject of this row was already listed at {first_file}:{first_line}")]
    RepeatedSubject {
        /// The file of the first row.
        first_file: Arc<str>,
        /// Its line.
        first_line: u64,
    },
    /// The derived code, written out.
    #[error("`END` cannot be a code")]
    ReservedCode,
    /// A code that is used both as a static code and in encounters.
    #[error("code `{code}` is static in one place and of an encounter in another")]
    TwoKinds {
        /// Its name.
        code: String,
    },
    /// More codes than can be numbered.
    #[error("more than {limit} different codes")]
    TooManyCodes {
        /// The most codes there may be.
        limit: usize,
    },
    /// More units than can be numbered.
    #[error("more than {limit} different units")]
    TooManyUnits {
        /// The most units there may be.
        limit: usize,
    },
    /// A unit that a table of units says two things of.
    #[error("the table of units says two things of this unit and code")]
    RepeatedUnit,
    /// Rows of joined tables without a column, or with one of another type.
    #[error("the rows have no column `{column}` of type {kind}")]
    JoinedColumn {
        /// The column.
        column: &'static str,
        /// Its type.
        kind: String,
    },
    /// A person whom a table of persons lists twice.
    #[error("a person is listed twice in the table `person`")]
    RepeatedPerson,
    /// Counts that make no sense, or that belong to other rows.
    #[error("counts that are damaged")]
    DamagedCounts,
    /// More subjects than can be numbered.
    #[error("more than {limit} subjects")]
    TooManySubjects {
        /// The most subjects there may be.
        limit: usize,
    },
    /// A subject with more rows than the limit.
    #[error("a subject has more than {limit} rows")]
    TooManyEvents {
        /// The most rows of one subject.
        limit: usize,
    },
    /// A subject with more encounters than the limit.
    #[error("a subject has more than {limit} encounters")]
    TooManyVisits {
        /// The most encounters of one subject.
        limit: usize,
    },
    /// Nothing was left to import.
    #[error("no records: {0}")]
    NoRecords(String),
    /// An option that makes no sense.
    #[error("{0}")]
    Option(String),
    /// Tables that a newer version of this program wrote.
    #[error("tables of format {format}, which a newer version of this program wrote")]
    NewerFormat {
        /// The number of the format.
        format: String,
    },
    /// A cohort that its own reader refuses.
    #[error("{0}")]
    Cohort(Box<TableError>),
}

/// Names in a row, for a message.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 40;
    match names.len() {
        0 => "none".into(),
        count if count > SHOWN => {
            format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN)
        }
        _ => names.join(", "),
    }
}

impl From<TableError> for ImportError {
    fn from(error: TableError) -> Self {
        Self { file: Arc::clone(&error.file), line: error.line, problem: error.into() }
    }
}

impl From<TableError> for ImportProblem {
    fn from(error: TableError) -> Self {
        Self::Cohort(Box::new(error))
    }
}

impl From<VocabularyError> for ImportProblem {
    fn from(error: VocabularyError) -> Self {
        match error {
            VocabularyError::Duplicate(code) => Self::TwoKinds { code },
            VocabularyError::Empty => Self::Empty { column: "code".into() },
            VocabularyError::Reserved => Self::ReservedCode,
            VocabularyError::TooMany(limit) => Self::TooManyCodes { limit },
        }
    }
}

impl From<Damaged> for ImportProblem {
    fn from(_: Damaged) -> Self {
        Self::DamagedCounts
    }
}

impl ImportProblem {
    /// What to do about it.
    fn advice(&self) -> Option<Advice> {
        Some(Advice::new(match self {
            Self::Open(error) if error.kind() == io::ErrorKind::NotFound => {
                "check the name; the path is relative to the current directory"
            }
            Self::Open(_) | Self::Read(_) => "check that it is there and that you may read it",
            Self::Scratch(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                "free some space, or name a scratch folder on a larger disk"
            }
            Self::Scratch(_) => "name a scratch folder you may write to",
            Self::MissingTable { .. } => {
                "give the folder that holds the tables, as .csv, .csv.gz or .parquet; letter case \
                 does not matter"
            }
            Self::TwoTables { .. } => "keep one of them, and move the others away",
            Self::MissingColumn { setting: Some(setting), .. } => match *setting {
                "subject" => "say which column tells who with {subject}",
                "time" => "say which column tells when with {time}",
                "code" => {
                    "say which column has the codes with {code}, or which columns with {code_columns}"
                }
                "code_columns" => {
                    "say which columns have the codes with {code_columns}, as in DGNS_CD_*=ICD9CM"
                }
                "visit" => "say which column tells the encounter with {visit}, or leave it out",
                "value" => "say which column has the values with {value}, or leave it out",
                "unit" => "say which column has the units with {unit}, or leave it out",
                "titles" => {
                    "titles are a table with columns such as code and title, or concept_code and \
                     concept_name, or a list of ICD codes such as icd9dx2015.csv"
                }
                "end" => "say which column tells the end of encounters with {end}, or leave it out",
                _ => "name columns that are there, or leave the setting out",
            },
            Self::MissingColumn { .. } => {
                "check the kind of source, and that the table is complete; letter case does not \
                 matter"
            }
            Self::RepeatedColumn { .. } => "rename one of the two",
            Self::NoHeader => "add a first line with the names of the columns",
            Self::Ragged { .. } => {
                "check the quotes and separators of this row and the one before it"
            }
            Self::InvalidUtf8 { .. } => "save the table as UTF-8",
            Self::CutShort | Self::Damaged(_) => "copy or download the file again",
            Self::TooLarge { .. } | Self::TooDense { .. } => {
                "a file made to fill a disk looks like this; if the table is real, unpack it yourself"
            }
            Self::LongRow { .. } => {
                "a quote may be left open here; if the row is real, leave out its longest columns"
            }
            Self::OpenQuote => "close the quote, or write it twice if it is part of the text",
            Self::BrokenCode => "correct the code; a quote may be left open here",
            Self::LongCode { .. } | Self::LongIdentifier { .. } => {
                "check that the column is the right one, or shorten the names in it"
            }
            Self::BadDate { .. } => {
                "write dates as 2024-01-31, with a time as in 2024-01-31 16:05:00"
            }
            Self::BadNumber { .. } => "correct the value, or leave it empty",
            Self::Empty { .. } => "fill it in, or leave the row out",
            Self::RepeatedSubject { .. } => {
                "a subject is listed once; give each an identifier of its own"
            }
            Self::ReservedCode => "END is derived from being the last encounter; rename the code",
            Self::TwoKinds { .. } => "a code is static or of encounters, never both; rename one",
            Self::TooManyCodes { .. } => {
                "put values such as measurements into bands; check that the code column is the \
                 right one"
            }
            Self::TooManyUnits { .. } => "check that the column of units is the right one",
            Self::RepeatedUnit => "keep one of the two rows",
            Self::JoinedColumn { .. } => "give the rows as the documentation of `JoinedRows` tells",
            Self::RepeatedPerson => "list each person once",
            Self::DamagedCounts => "count the rows again, all with one version of this program",
            Self::TooManySubjects { .. } => "import the subjects in parts",
            Self::TooManyEvents { .. } => {
                "check that the subject column is the right one, or leave the subject out"
            }
            Self::TooManyVisits { .. } => "keep only the first encounters of each subject",
            Self::NoRecords(_) => "check the kind of source and the options",
            Self::Option(_) => "change the option",
            Self::NewerFormat { .. } => "import them with that version",
            Self::Cohort(error) => return error.advice(),
        }))
    }
}
