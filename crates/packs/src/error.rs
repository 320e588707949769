//! What can be wrong with an expert table.

use thiserror::Error;

/// Why no rules come of a table. Files go by the name they were given.
#[derive(Debug, Error)]
pub enum PackError {
    /// The file could not be read to its end.
    #[error("{file}: {cause}")]
    Read {
        /// The file.
        file: String,
        /// What went wrong.
        cause: std::io::Error,
    },
    /// A gzip file that stops short or is damaged.
    #[error("{file}: the gzip data end too early or are damaged ({cause}); fetch the file again")]
    Gzip {
        /// The file.
        file: String,
        /// What went wrong.
        cause: std::io::Error,
    },
    /// More text than is read.
    #[error("{file}: more than {most} bytes of text; is this the right file?")]
    TooLarge {
        /// The file.
        file: String,
        /// The limit.
        most: usize,
    },
    /// Not text.
    #[error("{file}:{line}: the file is not UTF-8 text; is this the right file?")]
    Encoding {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// No line has the columns that were looked for.
    #[error("{file}: no column {missing}; found {found}; {help}")]
    MissingColumn {
        /// The file.
        file: String,
        /// What was looked for.
        missing: String,
        /// What the first line has.
        found: String,
        /// Which file was expected.
        help: &'static str,
    },
    /// A line with more or fewer cells than the header.
    #[error("{file}:{line}: {found} cells where the header has {expected}; is the file cut short?")]
    Ragged {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// Cells of the header.
        expected: usize,
        /// Cells of the line.
        found: usize,
    },
    /// A cell that makes no sense.
    #[error("{file}:{line}: `{value}` in column {column}; expected {expected}")]
    Value {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The column.
        column: String,
        /// What is there, shortened.
        value: String,
        /// What could be there.
        expected: &'static str,
    },
    /// XML that is damaged, or another document.
    #[error("{file}:{line}: {what}")]
    Xml {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A definition that is damaged, or of another kind.
    #[error("{file}:{line}: {what}")]
    Definition {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A part of a definition that makes no sense.
    #[error("{file}: {what} at `{place}`")]
    Part {
        /// The file.
        file: String,
        /// The part, by the keys that lead to it.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// A definition that the language has no room for.
    #[error("{file}: what it defines cannot be written as rules: {cause}")]
    Unwritable {
        /// The file.
        file: String,
        /// What the language says to it.
        cause: String,
    },
    /// More codes, or more pairs of them, than are taken in.
    #[error("{file}: more than {most} {what}; is this the right file?")]
    TooMany {
        /// The file.
        file: String,
        /// Of what there are too many.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// Notes hold for whole chapters: the rules need to know which codes are meant.
    #[error("{file}: its notes hold for ranges of codes, so that the codes must be known")]
    NoVocabulary {
        /// The table.
        file: String,
    },
    /// A header and nothing below it.
    #[error("{file}: the table has no rows; is the file cut short?")]
    Empty {
        /// The file.
        file: String,
    },
    /// Categories need to know all codes.
    #[error(
        "rules for categories need the list of all codes, and {file} lists only some: give the list of codes too, or make rules for single codes"
    )]
    NoCodeList {
        /// The table.
        file: String,
    },
    /// Codes that are not cut to categories.
    #[error("{file} has {system} codes, which have no categories: make rules for single codes")]
    NoCategories {
        /// The table.
        file: String,
        /// The table's system.
        system: &'static str,
    },
    /// The table and the list of codes are of different systems.
    #[error(
        "{file} has {system} codes, and the list of codes has others: give the list for {system}"
    )]
    OtherSystem {
        /// The table.
        file: String,
        /// The table's system.
        system: &'static str,
    },
    /// Nobody is known to be male or female.
    #[error(
        "no static code of the vocabulary is among those for {sex} ({names}): say which codes mean {sex}"
    )]
    NoSex {
        /// The sex.
        sex: &'static str,
        /// The names that were looked for.
        names: String,
    },
    /// A probability that a soft rule cannot have.
    #[error("{0} is no probability for a soft rule: give one between 0 and 1")]
    Probability(f64),
}

/// A text shortened for a message.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let mut shown: String = text.chars().take(LONGEST).map(clean).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}
