//! What can be wrong with a file, where, and what to do about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use consequence_feedback::{Advice, Advise};
use consequence_record::{END_NAME, Kind, VocabularyError};
use thiserror::Error;

use crate::meds::MedsProblem;

/// Why a file could not be read: what, and where.
///
/// ```
/// use consequence_feedback::{Advice, Advise};
/// use consequence_tables::jsonl::{self, ReadOptions};
///
/// let text = "{\"id\": \"p1\", \"static\": []}\n";
/// let error = jsonl::read_from(text.as_bytes(), "cohort.jsonl", &ReadOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "missing field `visits`\n  --> cohort.jsonl:1:26");
/// assert_eq!(
///     error.advice(),
///     Some(Advice::new("each line is {\"id\": ..., \"static\": [...], \"visits\": [[...], ...]}"))
/// );
/// ```
#[derive(Debug)]
pub struct TableError {
    /// What is wrong.
    pub problem: Problem,
    /// The file, as the user named it; or what a table in memory is called.
    pub file: Arc<str>,
    /// The line, counted from 1, or the row of a table; none where the problem is the whole
    /// file's.
    pub line: Option<u64>,
    /// The byte in the line, counted from 1: where the value starts or ends, or the text stops
    /// making sense.
    pub column: Option<u64>,
    pub(crate) document: Document,
}

impl TableError {
    /// Whether it is the order of rows that is wrong, and not what they say.
    pub fn is_of_order(&self) -> bool {
        let Problem::Meds(problem) = &self.problem else { return false };
        matches!(problem, MedsProblem::ScatteredSubject | MedsProblem::Unsorted)
    }

    /// A problem of a whole Parquet file or folder.
    pub(crate) fn of_file(path: &Path, problem: impl Into<Problem>) -> Self {
        Self {
            problem: problem.into(),
            file: path.display().to_string().into(),
            line: None,
            column: None,
            document: Document::Parquet,
        }
    }

    /// A problem of a row of a Parquet file, counted from 1.
    pub(crate) fn of_row(path: &Path, row: u64, problem: impl Into<Problem>) -> Self {
        Self { line: Some(row), ..Self::of_file(path, problem) }
    }
}

/// Where a table was met that something is wrong with.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    File(PathBuf),
    /// In memory, under this name.
    Memory(&'static str),
}

impl Origin {
    /// A problem of the whole table.
    pub fn fail(&self, problem: impl Into<Problem>) -> TableError {
        match self {
            Self::File(path) => TableError::of_file(path, problem),
            Self::Memory(name) => TableError {
                problem: problem.into(),
                file: (*name).into(),
                line: None,
                column: None,
                document: Document::Memory,
            },
        }
    }

    /// A problem of one of its rows, counted from 1.
    pub fn at_row(&self, row: u64, problem: impl Into<Problem>) -> TableError {
        TableError { line: Some(row), ..self.fail(problem) }
    }

    /// The path of a file.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Memory(name) => Path::new(name),
        }
    }
}

impl Advise for TableError {
    fn advice(&self) -> Option<Advice> {
        Some(Advice::new(self.problem.help(self.document)))
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Document::Memory, Some(row)) = (self.document, self.line) {
            return write!(out, "{}\n  --> row {row} of {}", self.problem, self.file);
        }
        write!(out, "{}\n  --> {}", self.problem, self.file)?;
        match (self.document, self.line, self.column) {
            (_, None, _) => Ok(()),
            (Document::Parquet, Some(row), None) => write!(out, ", row {row}"),
            (_, Some(line), None) => write!(out, ":{line}"),
            (_, Some(line), Some(column)) => write!(out, ":{line}:{column}"),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Open(error) | Problem::Read(error) => Some(error),
            _ => None,
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be opened.
    #[error("cannot open the file: {0}")]
    Open(io::Error),
    /// The file was opened but cannot be read.
    #[error("cannot read the file: {0}")]
    Read(io::Error),
    /// There is no record in the file.
    #[error("no records in the file")]
    NoRecords,
    /// There is no record in a table in memory.
    #[error("no records in the table: no row is of an encounter")]
    NoEvents,
    /// Bytes that are not text.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A line of more bytes than the limit.
    #[error("the line is longer than {limit} bytes")]
    LongLine {
        /// The most bytes a line may have.
        limit: usize,
    },
    /// A vocabulary file of more bytes than the limit.
    #[error("the file is longer than {limit} bytes")]
    LongFile {
        /// The most bytes the file may have.
        limit: usize,
    },
    /// The text ends inside a value.
    #[error("the text ends in the middle of a value")]
    CutShort,
    /// The text is not JSON; says what was expected.
    #[error("invalid JSON: {0}")]
    Malformed(String),
    /// A value of another type than is expected there.
    #[error("expected {expected}{}", found.map(|found| format!(", found {found}")).unwrap_or_default())]
    WrongType {
        /// What belongs there.
        expected: &'static str,
        /// What is there, in general terms.
        found: Option<&'static str>,
    },
    /// A field that must be there is not.
    #[error("missing field `{0}`")]
    MissingField(&'static str),
    /// A field that nothing is known of; its name where that can be no patient's value.
    #[error("unknown field{}", name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default())]
    UnknownField {
        /// Its name, if that is a short word.
        name: Option<String>,
    },
    /// A field given twice.
    #[error("field `{0}` is given twice")]
    RepeatedField(&'static str),
    /// A record without encounters.
    #[error("no encounters: a record has at least one encounter")]
    NoEncounters,
    /// A record of more encounters than the limit.
    #[error("the record has more than {limit} encounters")]
    TooManyVisits {
        /// The most encounters a record may have.
        limit: usize,
    },
    /// The same id on two lines.
    #[error("the id of this record was already used on line {first_line}")]
    RepeatedId {
        /// The line of the first record with this id.
        first_line: u64,
    },
    /// A code without a name.
    #[error("a code has an empty name")]
    EmptyCode,
    /// The derived code, written out.
    #[error("`END` cannot be written as a code")]
    ReservedCode,
    /// A code name of more bytes than the limit.
    #[error("code `{start}...` has a name longer than {limit} bytes")]
    LongCode {
        /// How the name begins.
        start: String,
        /// The most bytes a name may have.
        limit: usize,
    },
    /// A code that the given vocabulary does not have.
    #[error("unknown code `{code}`")]
    UnknownCode {
        /// Its name.
        code: String,
    },
    /// A code of the given vocabulary in the wrong kind of visit.
    #[error("{kind} code `{code}` in {}", other_list(*kind))]
    Misplaced {
        /// Its name.
        code: String,
        /// What the vocabulary says it is.
        kind: Kind,
    },
    /// A code used both as a static code and in an encounter.
    #[error("code `{code}` is in {} here and in {} on line {first_line}", list(*kind), other_list(*kind))]
    TwoKinds {
        /// Its name.
        code: String,
        /// How it is used here.
        kind: Kind,
        /// The line where it was first used, the other way.
        first_line: u64,
    },
    /// A code listed twice in a vocabulary file.
    #[error("code `{code}` is listed twice")]
    RepeatedCode {
        /// Its name.
        code: String,
    },
    /// More codes than can be numbered.
    #[error("more than {limit} different codes")]
    TooManyCodes {
        /// The most codes a vocabulary may have.
        limit: usize,
    },
    /// A text that is no date, or none of the calendar.
    #[error("`{field}` has a text that is no date")]
    BadTime {
        /// The field.
        field: &'static str,
    },
    /// Not one entry for each encounter.
    #[error("`{field}` has {found} entries, and the record {encounters} encounters")]
    WrongLength {
        /// The field.
        field: &'static str,
        /// The entries that it has.
        found: usize,
        /// The encounters that there are.
        encounters: usize,
    },
    /// Encounters that go back in time.
    #[error("encounter {encounter} begins before the one that it follows")]
    BackInTime {
        /// The encounter, counted from 1.
        encounter: usize,
    },
    /// An encounter that ends before it begins.
    #[error("encounter {encounter} ends before it begins")]
    EndsEarly {
        /// The encounter, counted from 1.
        encounter: usize,
    },
    /// Ends of encounters of which it is not known when they began.
    #[error("`ends` without `times`")]
    EndsAlone,
    /// A record with times after one without, or the reverse.
    #[error("the record has {}`times`, and those before it {}", if *here { "" } else { "no " }, if *here { "have none" } else { "have" })]
    SomeTimes {
        /// Whether it is this record that has them.
        here: bool,
    },
    /// A value of a code that its encounter does not have.
    #[error("`values` has a value for code `{code}`, which encounter {encounter} does not have")]
    StrayValue {
        /// The code.
        code: String,
        /// The encounter, counted from 1.
        encounter: usize,
    },
    /// Two values of a code in one encounter.
    #[error("`values` has two values for code `{code}` in encounter {encounter}")]
    RepeatedValue {
        /// The code.
        code: String,
        /// The encounter, counted from 1.
        encounter: usize,
    },
    /// A number that is too large to be held: a value has 32 bits.
    #[error("a number is too large")]
    LargeNumber,
    /// Something that only Parquet files and MEDS datasets can have.
    #[error(transparent)]
    Meds(#[from] MedsProblem),
}

/// Where codes of a kind stand in a file.
fn list(kind: Kind) -> &'static str {
    match kind {
        Kind::Static => "`static`",
        Kind::Encounter => "a visit",
    }
}

/// Where codes of the other kind stand.
fn other_list(kind: Kind) -> &'static str {
    match kind {
        Kind::Static => list(Kind::Encounter),
        Kind::Encounter => list(Kind::Static),
    }
}

impl From<VocabularyError> for Problem {
    fn from(error: VocabularyError) -> Self {
        match error {
            VocabularyError::Duplicate(code) => Self::RepeatedCode { code },
            VocabularyError::Empty => Self::EmptyCode,
            VocabularyError::Reserved => Self::ReservedCode,
            VocabularyError::TooMany(limit) => Self::TooManyCodes { limit },
        }
    }
}

/// The kind of file a problem was met in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Records,
    Vocabulary,
    /// The list of codes beside a file of records.
    Codes,
    Parquet,
    /// A table that is in memory.
    Memory,
}

impl Document {
    fn shape(self) -> &'static str {
        match self {
            Self::Records => {
                "each line is {\"id\": ..., \"static\": [...], \"visits\": [[...], ...]}"
            }
            Self::Vocabulary | Self::Codes => {
                "the file is {\"static\": [...], \"encounter\": [...]}"
            }
            Self::Memory => {
                "each row is an event: name its columns with {subject}, {time} and {code}"
            }
            Self::Parquet => {
                "a MEDS dataset is a folder with `data/*.parquet` and `metadata`; each row is an \
                 event with `subject_id`, `time` and `code`"
            }
        }
    }
}

impl Problem {
    /// What the user can do about it.
    pub(crate) fn help(&self, document: Document) -> String {
        if document == Document::Codes {
            let help = self.help(Document::Vocabulary);
            return format!(
                "{help}; without the file, the codes are those that the records beside it have"
            );
        }
        match self {
            Self::Open(error) if error.kind() == io::ErrorKind::NotFound => {
                "check the name; the path is relative to the current directory".into()
            }
            Self::Open(_) | Self::Read(_) => "check that this is a file you may read".into(),
            Self::InvalidUtf8 => {
                "save the file as UTF-8; a compressed file must be unpacked".into()
            }
            Self::LongLine { .. } => {
                "each record is on a line of its own; look for a line end that is missing".into()
            }
            Self::LongFile { .. } => {
                "a vocabulary lists each code once; check that this is one".into()
            }
            Self::CutShort => match document {
                Document::Records => "each record is one line; the file may have been cut off \
                                      while it was written or copied"
                    .into(),
                _ => "the file may have been cut off while it was written or copied".into(),
            },
            Self::NoRecords
            | Self::NoEvents
            | Self::Malformed(_)
            | Self::WrongType { .. }
            | Self::MissingField(_)
            | Self::UnknownField { .. } => document.shape().into(),
            Self::RepeatedField(_) => "keep one of the two".into(),
            Self::NoEncounters => "leave the record out, or write an empty encounter: [[]]".into(),
            Self::TooManyVisits { .. } => {
                "leave out its earliest encounters, or make one of several".into()
            }
            Self::ReservedCode if matches!(document, Document::Parquet | Document::Memory) => {
                format!("{END_NAME} is derived from being the last encounter; rename the code")
            }
            Self::RepeatedId { .. } => "a record is one line; give each an id of its own".into(),
            Self::EmptyCode => "name the code, or leave it out".into(),
            Self::ReservedCode => format!(
                "{END_NAME} is derived from being the last encounter; leave it out, and mark a \
                 record that was cut with \"ended\": false"
            ),
            Self::LongCode { .. } => "shorten the name; a code is no free text".into(),
            Self::UnknownCode { .. } => {
                "add the code to the vocabulary, or check its spelling".into()
            }
            Self::Misplaced { kind: Kind::Static, .. } => {
                "static codes stand in `static`, visit 0, alone".into()
            }
            Self::Misplaced { kind: Kind::Encounter, .. } => {
                "encounter codes stand in `visits` alone".into()
            }
            Self::TwoKinds { .. } => {
                "a code is static or of encounters, never both; rename one of the two".into()
            }
            Self::RepeatedCode { .. } => "list each code once, as static or encounter".into(),
            Self::BadTime { .. } => {
                "write the day as 2001-05-31, with a time of day as 2001-05-31 14:05:00".into()
            }
            Self::WrongLength { .. } => {
                "give one entry for each encounter; where an end is not known it is null".into()
            }
            Self::BackInTime { .. } => "put the encounters in the order in which they began".into(),
            Self::EndsEarly { .. } => "correct the end, or write null where it is not known".into(),
            Self::EndsAlone => "give `times` too, or leave `ends` out".into(),
            Self::SomeTimes { .. } => "give every record `times`, or none".into(),
            Self::StrayValue { .. } => {
                "add the code to the encounter in `visits`, or leave the value out".into()
            }
            Self::RepeatedValue { .. } => "keep the last of them".into(),
            Self::LargeNumber => "correct the number, or leave it out".into(),
            Self::Meds(MedsProblem::MissingColumn { .. }) if document == Document::Memory => {
                "name the columns with {subject}, {time} and {code}".into()
            }
            Self::Meds(problem) => problem.help().into(),
            Self::TooManyCodes { .. } => "put values such as measurements into bands".into(),
        }
    }
}
