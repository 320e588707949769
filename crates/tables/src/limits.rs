//! How much a reader takes in before it refuses.

/// How much a reader takes in before it refuses.
///
/// ```
/// use consequence_tables::Limits;
/// use consequence_tables::jsonl::{ReadOptions, read_from};
///
/// let line = r#"{"id": 1, "static": [], "visits": [["A"], ["B"]]}"#;
/// let limits = Limits { visits: 1, ..Limits::default() };
/// let options = ReadOptions { limits, ..ReadOptions::default() };
/// let refused = read_from(line.as_bytes(), "cohort.jsonl", &options).unwrap_err();
/// assert!(refused.to_string().starts_with("the record has more than 1 encounters"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes in a line; 64 MiB. One line is in memory at a time.
    pub line_bytes: usize,
    /// The most encounters in a record; 10 000.
    pub visits: usize,
    /// The most bytes in the name of a code; 1024.
    pub code_bytes: usize,
    /// The most bytes in a vocabulary file; 1 GiB. All of it is in memory while it is read.
    pub vocabulary_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line_bytes: 64 << 20, visits: 10_000, code_bytes: 1024, vocabulary_bytes: 1 << 30 }
    }
}
