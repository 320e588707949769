//! Cohorts as JSON lines: one record a line.
//!
//! ```text
//! {"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250"], []]}
//! {"id": 2, "static": [], "visits": [["ICD9CM//250", "RX//insulin"]], "ended": false}
//! ```
//!
//! `id` is a string, or an integer that is kept as text. `visits` holds the encounters in time
//! order, at least one; a visit may be empty. `ended` is true unless it says otherwise: false marks
//! a record that was cut before its real end. A code that a visit has twice counts once. Blank
//! lines are skipped.
//!
//! Four fields may tell more, and are left out where nothing is known:
//!
//! ```text
//! {"id": "p3", "static": [], "visits": [["LAB//A1C//q4"], []], "birth": "1950-05-31",
//!  "times": ["2001-05-31 14:05:00", "2001-06-02"], "ends": ["2001-06-01", null],
//!  "values": [{"LAB//A1C//q4": 9.25}, {}]}
//! ```
//!
//! `times` tells when each encounter began and `ends` when it ended, both as clocks on the wall showed it,
//! and `values` what was measured. Units and cut points are not told, nor times of single codes.
//!
//! Beside `x.jsonl`, [`write()`] leaves a vocabulary file `x.codes.json`, which lists the codes
//! that no record happens to have too; [`read()`] takes it into account if it is there.
//!
//! ```
//! use consequence_tables::jsonl::{self, ReadOptions};
//!
//! let text = r#"{"id": "p1", "static": ["SEX//F"], "visits": [["ICD9CM//250", "ICD9CM//250"], []]}"#;
//! let loaded = jsonl::read_from(text.as_bytes(), "cohort.jsonl", &ReadOptions::default())?;
//! let diabetes = loaded.vocabulary.code("ICD9CM//250").unwrap();
//! assert_eq!(loaded.cohort.record(0).visit(1), [diabetes]);
//! assert_eq!(loaded.cohort.record(0).visits().len(), 3);
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("cohort.jsonl");
//! jsonl::write(&path, &loaded.cohort, &loaded.vocabulary)?;
//! assert_eq!(jsonl::read(&path, &ReadOptions::default())?.cohort, loaded.cohort);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod codes;
mod line;
mod read;
mod write;

pub(crate) use write::check;

pub use codes::{Codes, codes_path};
pub use line::ParsedLine;
pub use read::{Loaded, ReadOptions, Summary, each_record, read, read_from};
pub use write::{WriteError, Writer, write, write_dataset, write_new};
