//! The list of codes beside a file of JSON lines: written with it, read with it, never in its way.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use consequence_feedback::Advise;
use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};
use consequence_tables::jsonl::{self, ReadOptions, Writer, codes_path};
use consequence_tables::{CohortWriter, Dataset};

const LINE: &str = r#"{"id": "p1", "static": ["SEX//F"], "visits": [["B"], []]}"#;

fn names(vocabulary: &Vocabulary) -> Vec<(&str, Kind)> {
    let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
    codes.map(|code| (vocabulary.name(code), vocabulary.kind(code))).collect()
}

fn read(path: &Path) -> Result<Arc<Vocabulary>, String> {
    let loaded = jsonl::read(path, &ReadOptions::default());
    loaded.map(|loaded| loaded.vocabulary).map_err(|error| error.to_string())
}

#[test]
fn what_no_record_has_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let listed = [
        ("SEX//F", Kind::Static),
        ("SEX//M", Kind::Static),
        ("B", Kind::Encounter),
        ("A", Kind::Encounter),
    ];
    let vocabulary = Vocabulary::new(listed).unwrap();
    let mut cohort = Cohort::default();
    cohort.push("p1", &Record::new(vec![vec![Code(0)], vec![Code(2)]]));
    jsonl::write(&path, &cohort, &vocabulary).unwrap();
    assert_eq!(
        fs::read_to_string(folder.path().join("x.codes.json")).unwrap(),
        "{\"static\": [\"SEX//F\",\"SEX//M\"],\n\"encounter\": [\"B\",\"A\"]}\n"
    );
    let found = read(&path).unwrap();
    assert_eq!(
        names(&found),
        [
            ("SEX//F", Kind::Static),
            ("SEX//M", Kind::Static),
            ("A", Kind::Encounter),
            ("B", Kind::Encounter)
        ]
    );
    let dataset = Dataset::open(&path).unwrap();
    assert_eq!(names(&dataset.vocabulary), names(&found));
    assert_eq!(dataset.cohort.record(0).visit(1), [dataset.vocabulary.code("B").unwrap()]);

    // Moved alone, a file has the codes of its records.
    let alone = folder.path().join("alone.jsonl");
    fs::rename(&path, &alone).unwrap();
    assert_eq!(names(&read(&alone).unwrap()), [("SEX//F", Kind::Static), ("B", Kind::Encounter)]);
    // A stream has nothing beside it, and a vocabulary that is given wins.
    let stream = jsonl::read_from(LINE.as_bytes(), "x.jsonl", &ReadOptions::default()).unwrap();
    assert_eq!(stream.vocabulary.len(), 3);
    fs::rename(&alone, &path).unwrap();
    fs::write(folder.path().join("x.codes.json"), "damaged").unwrap();
    let options = ReadOptions { vocabulary: Some(Arc::new(vocabulary)), ..Default::default() };
    assert_eq!(jsonl::read(&path, &options).unwrap().vocabulary.len(), 5);
}

#[test]
fn lines_that_were_edited_are_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    fs::write(codes_path(&path), r#"{"static": ["B"], "encounter": ["A", "SEX//F"]}"#).unwrap();
    fs::write(&path, LINE).unwrap();
    assert_eq!(
        names(&read(&path).unwrap()),
        [("SEX//F", Kind::Static), ("A", Kind::Encounter), ("B", Kind::Encounter)]
    );
}

#[test]
fn a_damaged_list_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    fs::write(&path, LINE).unwrap();
    let list = codes_path(&path);
    for (text, what) in [
        ("{\"static\": [\"SEX//F\"", "ends in the middle"),
        ("", "ends in the middle"),
        ("[]", "expected an object"),
        ("{\"static\": [], \"encounter\": [\"A\", \"A\"]}", "listed twice"),
        ("{\"static\": []}", "missing field `encounter`"),
    ] {
        fs::write(&list, text).unwrap();
        let error = jsonl::read(&path, &ReadOptions::default()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(what), "{text}: {said}");
        assert!(said.contains("x.codes.json"), "{said}");
        let advice = error.advice().expect("advice").worded(|setting| setting.name.into());
        assert!(advice.contains("without the file, the codes are those that the rec"), "{advice}");
    }
    fs::remove_file(&list).unwrap();
    fs::create_dir(&list).unwrap();
    assert!(read(&path).unwrap_err().contains("x.codes.json"));
    let refused = CohortWriter::try_path(&path, true).unwrap_err().to_string();
    assert!(refused.contains("x.codes.json"), "{refused}");
}

#[test]
fn a_file_is_replaced_with_its_list_and_neither_before_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let write = |name: &str, finish: bool| {
        let vocabulary = Vocabulary::new([(name, Kind::Encounter)]).unwrap();
        let mut writer = Writer::create(&path, &vocabulary).unwrap();
        writer.push("p1", true, [&[][..], &[Code(0)]]).unwrap();
        if finish {
            writer.finish().unwrap();
        }
    };
    let listed = || fs::read_to_string(codes_path(&path)).unwrap();
    write("OLD", true);
    assert!(listed().contains("OLD"));
    write("NEW", false);
    assert!(listed().contains("OLD"), "a run that was given up changes nothing");
    write("NEW", true);
    assert_eq!(names(&read(&path).unwrap()), [("NEW", Kind::Encounter)]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
}
