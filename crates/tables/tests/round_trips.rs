//! What is written reads back the same, and nothing that is read makes the reader panic.

use std::fs;
use std::sync::Arc;

use consequence_feedback::Advise;
use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};
use consequence_tables::jsonl::{self, ReadOptions, WriteError};
use consequence_tables::{Limits, vocabulary};
use proptest::prelude::*;

/// Two static and four encounter codes, with names that need care.
fn awkward() -> Arc<Vocabulary> {
    let names = [
        ("SEX//F", Kind::Static),
        ("SEX//\"M\"\n", Kind::Static),
        ("Z//\u{1F9EC}", Kind::Encounter),
        ("A//\\ ,]", Kind::Encounter),
        (" ", Kind::Encounter),
        ("end", Kind::Encounter),
    ];
    Arc::new(Vocabulary::new(names).unwrap())
}

fn options(vocabulary: &Arc<Vocabulary>) -> ReadOptions {
    ReadOptions { vocabulary: Some(Arc::clone(vocabulary)), ..ReadOptions::default() }
}

fn any_record() -> impl Strategy<Value = Record> {
    let statics = prop::collection::vec((0_u32..2).prop_map(Code), 0..3);
    let visit = prop::collection::vec((2_u32..6).prop_map(Code), 0..6);
    let visits = prop::collection::vec(visit, 1..6);
    (statics, visits, any::<bool>()).prop_map(|(first, rest, ended)| {
        let record = Record::new(std::iter::once(first).chain(rest).collect());
        if ended { record } else { record.cut() }
    })
}

proptest! {
    #[test]
    fn written_cohorts_read_back(
        records in prop::collection::btree_map(".*", any_record(), 1..20)
    ) {
        let mut cohort = Cohort::default();
        for (id, record) in &records {
            cohort.push(id, record);
        }
        let vocabulary = awkward();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cohort.jsonl");
        jsonl::write(&path, &cohort, &vocabulary).unwrap();
        let loaded = jsonl::read(&path, &options(&vocabulary)).unwrap();
        prop_assert_eq!(&loaded.cohort, &cohort);

        // Without a vocabulary the numbers are others, the names the same.
        let built = jsonl::read(&path, &ReadOptions::default()).unwrap();
        for (left, right) in built.cohort.records().zip(cohort.records()) {
            prop_assert_eq!(left.ended(), right.ended());
            for (left, right) in left.visits().zip(right.visits()) {
                let mut found: Vec<&str> =
                    left.iter().map(|&code| built.vocabulary.name(code)).collect();
                let mut expected: Vec<&str> =
                    right.iter().map(|&code| vocabulary.name(code)).collect();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
            }
        }
        let again = folder.path().join("again.jsonl");
        jsonl::write(&again, &built.cohort, &built.vocabulary).unwrap();
        prop_assert_eq!(
            jsonl::read(&again, &ReadOptions::default()).unwrap().cohort,
            built.cohort
        );
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = jsonl::read_from(&bytes[..], "c.jsonl", &ReadOptions::default());
        let _ = vocabulary::read_from(&bytes[..], "v.json", &Limits::default());
    }

    #[test]
    fn any_change_to_a_file_is_read_or_refused(
        at in 0_usize..140, byte in any::<u8>(), limit in 0_usize..100
    ) {
        let mut bytes = br#"{"id": "p1", "static": ["S"], "visits": [["A", "B"], []]}
{"id": -2, "static": [], "visits": [["B"]], "ended": false}
"#.to_vec();
        if let Some(changed) = bytes.get_mut(at) {
            *changed = byte;
        }
        let limits = Limits { line_bytes: limit, visits: limit, code_bytes: limit, ..Limits::default() };
        let small = ReadOptions { limits, ..ReadOptions::default() };
        for options in [ReadOptions::default(), options(&awkward()), small] {
            if let Err(error) = jsonl::read_from(&bytes[..], "c.jsonl", &options) {
                prop_assert!(error.advice().is_some());
            }
        }
    }
}

#[test]
fn a_file_is_read_as_it_means() {
    let text = "\u{feff}{\"visits\": [[\"B\", \"A\", \"B\"], []], \"static\": [\"T\", \"S\", \"S\"], \"id\": -12}\r\n\
                \n\
                {\"id\": \"p\\u00e9\", \"static\": [], \"visits\": [[\"\\u0041\"]], \"ended\": false}";
    let loaded = jsonl::read_from(text.as_bytes(), "c.jsonl", &ReadOptions::default()).unwrap();
    let names: Vec<&str> =
        loaded.vocabulary.codes().map(|code| loaded.vocabulary.name(code)).collect();
    assert_eq!(names, ["S", "T", "A", "B", "END"], "static sorted, then encounter sorted");
    let mut expected = Cohort::default();
    let [s, t, a, b] = [0, 1, 2, 3].map(Code);
    expected.push("-12", &Record::new(vec![vec![s, t], vec![a, b], vec![]]));
    expected.push("p\u{e9}", &Record::new(vec![vec![], vec![a]]).cut());
    assert_eq!(loaded.cohort, expected);
    assert_eq!((loaded.summary.records, loaded.summary.blank_lines), (2, 1));
}

#[test]
fn lines_are_written_plainly() {
    let vocabulary = Vocabulary::new([("S", Kind::Static), ("A", Kind::Encounter)]).unwrap();
    let mut cohort = Cohort::default();
    cohort.push("p1", &Record::new(vec![vec![Code(0)], vec![Code(1)], vec![]]));
    cohort.push("p2", &Record::new(vec![vec![], vec![]]).cut());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort.jsonl");
    jsonl::write(&path, &cohort, &vocabulary).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\"id\":\"p1\",\"static\":[\"S\"],\"visits\":[[\"A\"],[]]}\n\
         {\"id\":\"p2\",\"static\":[],\"visits\":[[]],\"ended\":false}\n"
    );
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let vocabulary = awkward();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort.jsonl");
    let refused = |visits: Vec<Vec<Code>>| {
        let mut cohort = Cohort::default();
        cohort.push("p1", &Record::new(visits));
        let error = jsonl::write(&path, &cohort, &vocabulary).unwrap_err();
        assert!(matches!(error, WriteError::Record { number: 1, .. }), "{error}");
        assert!(!path.exists());
    };
    refused(vec![]);
    refused(vec![vec![]]);
    refused(vec![vec![], vec![Code(0)]]);
    refused(vec![vec![Code(3)], vec![]]);
    refused(vec![vec![], vec![vocabulary.end()]]);
    refused(vec![vec![], vec![Code(99)]]);

    let mut twice = Cohort::default();
    twice.push("p1", &Record::new(vec![vec![], vec![]]));
    twice.push("p1", &Record::new(vec![vec![], vec![]]));
    let error = jsonl::write(&path, &twice, &vocabulary).unwrap_err();
    assert!(matches!(error, WriteError::Record { number: 2, .. }), "{error}");

    let mut good = Cohort::default();
    good.push("p1", &Record::new(vec![vec![], vec![]]));
    let nowhere = folder.path().join("missing").join("cohort.jsonl");
    let error = jsonl::write(&nowhere, &good, &vocabulary).unwrap_err();
    assert!(error.to_string().contains("there is no directory"), "{error}");
}
