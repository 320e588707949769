//! Cohorts as JSON lines.

use std::sync::Arc;

use consequence_record::Cohort;
use consequence_tables::Limits;
use consequence_tables::jsonl::{Loaded, ReadOptions, read_from};

use crate::{Target, says_something};

/// A cohort as JSON lines.
pub const COHORT_LINES: Target =
    Target { name: "cohort-lines", read: cohort_lines, seeds, words: &WORDS };

const WORDS: [&str; 34] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r\n",
    "null",
    "true",
    "false",
    "\"id\"",
    "\"static\"",
    "\"visits\"",
    "\"ended\"",
    "\"birth\"",
    "\"times\"",
    "\"ends\"",
    "\"values\"",
    "\"2000-02-29\"",
    "{\"A\": 1.5}",
    "\"p1\"",
    "\"END\"",
    "\"A\"",
    "[[]]",
    "[\"A\", \"A\"]",
    "\"\\u0000\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "1e3",
    "-1",
    "\u{feff}",
    "\"\"",
    "{\"id\": 7, \"static\": [], \"visits\": [[]]}",
];

fn seeds() -> Vec<Vec<u8>> {
    let lines = [
        r#"{"id": "p1", "static": ["SEX//F", "AGE//40-60"], "visits": [["ICD9CM//250"], []]}"#,
        r#"{"id": 2, "static": [], "visits": [["ICD9CM//250", "RX//insulin"]], "ended": false}"#,
        r#"{"id": 4, "static": [], "visits": [["A"], []], "birth": "1950-05-31", "times": ["2001-05-31 14:05:00", "2001-06-02"], "ends": ["2001-06-01", null], "values": [{"A": 9.25}, {}]}"#,
        r#"{"visits": [[], [], ["a\"b\\c", "\u00e9"]], "ended": true, "static": ["SEX//M"], "id": "p 3"}"#,
    ];
    let whole = format!("{}\n\n{}\r\n{}", lines[0], lines[1], lines[3]);
    lines.iter().map(|line| line.as_bytes().to_vec()).chain([whole.into_bytes()]).collect()
}

fn read(text: &[u8], options: &ReadOptions) -> Option<Loaded> {
    let refused = match read_from(text, "fuzz.jsonl", options) {
        Ok(loaded) => return Some(loaded),
        Err(refused) => refused,
    };
    says_something(&refused);
    assert!(refused.line.is_none_or(|line| line >= 1), "{refused}");
    None
}

/// What is taken is taken the same from its own lines, with the codes given and without; and a reader
/// with narrow limits refuses or takes the same.
fn cohort_lines(text: &[u8]) {
    let narrow = Limits { line_bytes: 120, visits: 2, code_bytes: 12, vocabulary_bytes: 100 };
    let narrowly = read(text, &ReadOptions { limits: narrow, ..ReadOptions::default() });
    let Some(loaded) = read(text, &ReadOptions::default()) else {
        return assert!(narrowly.is_none(), "narrow limits take what wide ones refuse");
    };
    if let Some(narrowly) = narrowly {
        assert_eq!(narrowly.cohort, loaded.cohort);
    }
    assert_eq!(loaded.summary.records, loaded.cohort.len() as u64);
    let lines = lines(&loaded);
    let given =
        ReadOptions { vocabulary: Some(Arc::clone(&loaded.vocabulary)), ..ReadOptions::default() };
    for options in [given, ReadOptions::default()] {
        let again = read(lines.as_bytes(), &options).unwrap_or_else(|| panic!("{lines}"));
        assert_eq!(names(&again), names(&loaded), "{lines}");
        assert_eq!(again.cohort, loaded.cohort, "{lines}");
    }
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.vocabulary.codes().map(|code| loaded.vocabulary.name(code)).collect()
}

/// The lines of a cohort, as another program would write them.
fn lines(loaded: &Loaded) -> String {
    let Loaded { cohort, vocabulary, .. } = loaded;
    let line = |index: usize, cohort: &Cohort| {
        let record = cohort.record(index);
        let mut visits: Vec<Vec<&str>> = record
            .visits()
            .map(|visit| visit.iter().map(|&code| vocabulary.name(code)).collect())
            .collect();
        let statics = visits.remove(0);
        let (id, ended) = (cohort.id(index), record.ended());
        serde_json::json!({"ended": ended, "visits": visits, "static": statics, "id": id})
            .to_string()
    };
    let lines: Vec<String> = (0..cohort.len()).map(|index| line(index, cohort)).collect();
    lines.join("\n")
}
