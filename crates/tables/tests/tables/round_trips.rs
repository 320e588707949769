//! What is written reads back the same, and nothing that is read makes the reader panic.

use std::fs;
use std::sync::Arc;

use consequence_feedback::Advise;
use consequence_record::{
    Code, Cohort, CohortDetails, Details, EventDetail, Kind, Record, Vocabulary,
};
use consequence_tables::jsonl::{self, ReadOptions, WriteError};
use consequence_tables::{Dataset, Limits, vocabulary};
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

/// A birth, when each encounter began and how long it took, and values.
type Draws = (Option<i64>, Vec<i64>, Vec<Option<i64>>, Vec<Option<f32>>);

fn any_draws() -> impl Strategy<Value = Draws> {
    // The years 1 to 9999.
    const TIMES: std::ops::Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;
    const DAY: i64 = 86_400_000_000;
    let finite = any::<f32>().prop_filter("finite", |value| value.is_finite());
    let time = || prop_oneof![TIMES, (-700_000..2_900_000_i64).prop_map(|day| day * DAY)];
    (
        prop::option::of(time()),
        prop::collection::vec(time(), 6),
        prop::collection::vec(prop::option::of(0..40 * DAY), 6),
        prop::collection::vec(prop::option::of(finite), 40),
    )
}

/// What JSON lines have a place for.
fn details<'v>(
    visits: impl ExactSizeIterator<Item = &'v [Code]>,
    (birth, mut times, stays, values): Draws,
    dated: bool,
) -> Details {
    const LAST: i64 = 253_402_300_799_999_999;
    times.truncate(if dated { visits.len() - 1 } else { 0 });
    times.sort_unstable();
    let ends = times.iter().zip(stays).map(|(time, stay)| Some((time + stay?).min(LAST)));
    let ends: Vec<Option<i64>> = ends.collect();
    let ends = if ends.iter().any(Option::is_some) { ends } else { Vec::new() };
    let mut values = values.into_iter();
    let mut events = Vec::new();
    for (visit, codes) in visits.enumerate().skip(1) {
        for &code in codes {
            if let Some(value) = values.next().flatten() {
                let (visit, value) = (visit as u32, Some(value));
                events.push(EventDetail { visit, code, time: None, value });
            }
        }
    }
    Details { birth, times, ends, events, ..Details::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

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
    fn dates_and_values_read_back(
        records in prop::collection::vec((any_record(), any_draws()), 1..12), dated in any::<bool>()
    ) {
        let mut cohort = Cohort::default();
        let mut known = CohortDetails::default();
        for (number, (record, draws)) in records.into_iter().enumerate() {
            cohort.push(&number.to_string(), &record);
            known.push(details(cohort.record(number).visits(), draws, dated).view());
        }
        let any = (0..known.len()).any(|record| known.of(record) != Default::default());
        let details = any.then_some(known);
        let dataset = Dataset { details, ..Dataset::new(cohort, awkward()) };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cohort.jsonl");
        jsonl::write_dataset(&path, &dataset, false).unwrap();
        let loaded = jsonl::read(&path, &options(&dataset.vocabulary)).unwrap();
        prop_assert_eq!(&loaded.cohort, &dataset.cohort);
        prop_assert_eq!(&loaded.details, &dataset.details);
        let skipped = ReadOptions { details: false, ..options(&dataset.vocabulary) };
        let skipped = jsonl::read(&path, &skipped).unwrap();
        prop_assert_eq!((&skipped.cohort, skipped.details), (&dataset.cohort, None));

        // Over the codes of the file itself the numbers are others, the values the same.
        let built = jsonl::read(&path, &ReadOptions::default()).unwrap();
        let (given, own) = (&dataset.vocabulary, &built.vocabulary);
        for record in 0..dataset.cohort.len() {
            let left = dataset.details_of(record);
            let right = built.details.as_ref().map(|known| known.of(record)).unwrap_or_default();
            prop_assert_eq!((left.birth, left.times, left.ends), (right.birth, right.times, right.ends));
            prop_assert_eq!(left.events.len(), right.events.len());
            for event in left.events {
                let code = own.code(given.name(event.code)).unwrap();
                let other = right.event(event.visit as usize, code).unwrap();
                prop_assert_eq!(event.value.map(f32::to_bits), other.value.map(f32::to_bits));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = jsonl::read_from(&bytes[..], "c.jsonl", &ReadOptions::default());
        let _ = vocabulary::read_from(&bytes[..], "v.json", &Limits::default());
    }

    #[test]
    fn any_change_to_a_file_is_read_or_refused(
        at in 0_usize..240, byte in any::<u8>(), limit in 0_usize..100
    ) {
        let mut bytes = br#"{"id": "p1", "static": ["S"], "visits": [["A", "B"], []], "times": ["2000-01-01", "2000-01-01 12:00"]}
{"id": -2, "static": [], "visits": [["B"]], "ended": false, "times": ["2000-01-01"], "birth": "1950-02-28", "values": [{"B": 1.5}]}
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
fn what_is_known_beside_codes_is_written_after_them() {
    let vocabulary = Vocabulary::new([("A", Kind::Encounter), ("B", Kind::Encounter)]).unwrap();
    let mut cohort = Cohort::default();
    cohort.push("p1", &Record::new(vec![vec![], vec![Code(0), Code(1)], vec![Code(0)]]).cut());
    let event = |visit, code, value| EventDetail { visit, code: Code(code), time: None, value };
    let mut known = CohortDetails::default();
    known.push(
        Details {
            birth: Some(-1_000_000),
            times: vec![0, 86_400_000_000],
            ends: vec![Some(250_000), None],
            events: vec![event(1, 0, Some(7.2)), event(1, 1, Some(-3.0)), event(2, 0, None)],
            ..Details::default()
        }
        .view(),
    );
    let dataset = Dataset { details: Some(known), ..Dataset::new(cohort, Arc::new(vocabulary)) };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort.jsonl");
    jsonl::write_dataset(&path, &dataset, false).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\"id\":\"p1\",\"static\":[],\"visits\":[[\"A\",\"B\"],[\"A\"]],\"ended\":false,\
         \"birth\":\"1969-12-31 23:59:59\",\"times\":[\"1970-01-01\",\"1970-01-02\"],\
         \"ends\":[\"1970-01-01 00:00:00.250000\",null],\"values\":[{\"A\":7.2,\"B\":-3.0},{}]}\n"
    );
    assert!(jsonl::write_dataset(&path, &dataset, false).is_err(), "it is there");
    jsonl::write_dataset(&path, &dataset, true).unwrap();

    let mut far = CohortDetails::default();
    far.push(Details { times: vec![0, i64::MAX], ..Details::default() }.view());
    let refused = jsonl::write_dataset(&path, &Dataset { details: Some(far), ..dataset }, true);
    assert!(refused.unwrap_err().to_string().contains("after 9999"));
}

#[test]
fn offsets_are_left_out_and_counted() {
    let line = |id: u8, time: &str| {
        format!("{{\"id\": {id}, \"static\": [], \"visits\": [[]], \"times\": [\"{time}\"]}}\n")
    };
    let text = line(1, "2000-03-01T14:05:00+02:00") + &line(2, "2000-03-01 14:05");
    let loaded = jsonl::read_from(text.as_bytes(), "c.jsonl", &ReadOptions::default()).unwrap();
    let known = loaded.details.unwrap();
    assert_eq!(known.of(0).times, known.of(1).times);
    assert_eq!(loaded.summary.offsets, 1);
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
