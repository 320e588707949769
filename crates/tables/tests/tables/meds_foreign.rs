//! Datasets of other tools, good and bad.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use consequence_feedback::Advise;
use consequence_record::{DetailsView, EventDetail, Kind, Split};
use consequence_tables::meds::{self, MedsOptions};
use consequence_tables::{Dataset, Limits, TableError};

use crate::events::{DAY, Events, folder_of};

fn read(path: &Path) -> Result<Dataset, TableError> {
    meds::read(path, &MedsOptions::default())
}

/// The first line of the message and where it points; the patients of these tests are secret.
fn refused(path: &Path) -> String {
    let error = read(path).expect_err("this should be refused");
    let message = error.to_string();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 2, "{message}");
    let advice = error.advice().expect("advice").worded(|setting| setting.name.into());
    assert!(!advice.is_empty() && !advice.ends_with('.'), "{advice}");
    assert!(!lines[0].starts_with(char::is_uppercase), "{message}");
    assert!(!message.contains("7777"), "{message}");
    let at = lines[1].rsplit('/').next().unwrap();
    format!("{} @ {at}", lines[0])
}

fn refused_file(events: &Events) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    events.write(&path);
    refused(&path)
}

/// The names of the codes of each visit of a record.
fn named(dataset: &Dataset, record: usize) -> Vec<Vec<&str>> {
    let name = |code: &_| dataset.vocabulary.name(*code);
    dataset.cohort.record(record).visits().map(|visit| visit.iter().map(name).collect()).collect()
}

#[test]
fn visits_are_days_where_nothing_else_tells_them_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    let events = [
        (7777, None, "SEX//F"),
        (7777, Some(-1), "A"),
        (7777, Some(0), "B"),
        (7777, Some(DAY - 1), "A"),
        (7777, Some(DAY - 1), "B"),
        (7777, Some(DAY), "A"),
        (5, Some(3 * DAY), "B"),
        (5, None, "SEX//M"),
        (6, None, "SEX//M"),
    ];
    Events::new(&events).write(&path);
    let dataset = &read(&path).unwrap();
    assert_eq!(dataset.cohort.len(), 2);
    assert_eq!((dataset.cohort.id(0), dataset.cohort.id(1)), ("7777", "5"));
    assert_eq!(named(dataset, 0), [vec!["SEX//F"], vec!["A"], vec!["A", "B"], vec!["A"]]);
    assert_eq!(named(dataset, 1), [vec!["SEX//M"], vec!["B"]]);
    assert_eq!(dataset.details.as_ref().unwrap().of(0).times, [-1, 0, DAY]);
    assert_eq!(dataset.splits, [Split::of("7777"), Split::of("5")]);
    let statics =
        dataset.vocabulary.codes().filter(|&c| dataset.vocabulary.kind(c) == Kind::Static);
    assert_eq!(statics.count(), 2);
}

#[test]
fn an_admission_goes_before_the_day_and_a_visit_before_both() {
    let events = [
        (1, Some(0), "A"),
        (1, Some(5), "B"),
        (1, Some(DAY), "C"),
        (1, Some(DAY + 1), "D"),
        (1, Some(2 * DAY), "E"),
    ];
    let numbers = [None, Some(10), Some(10), None, Some(10)];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    Events::new(&events).with_numbers("hadm_id", &numbers).write(&path);
    let by_admission = [vec![], vec!["A"], vec!["B", "C", "E"], vec!["D"]];
    assert_eq!(named(&read(&path).unwrap(), 0), by_admission);
    Events::new(&events).with_floats("hadm_id", &numbers).write(&path);
    assert_eq!(named(&read(&path).unwrap(), 0), by_admission);
    let visits = [Some(3), Some(3), Some(4), Some(4), None];
    let both = Events::new(&events).with_numbers("hadm_id", &numbers);
    both.with_numbers("visit_id", &visits).write(&path);
    assert_eq!(
        named(&read(&path).unwrap(), 0),
        [vec![], vec!["A", "B"], vec!["C", "D"], vec!["E"]]
    );
}

#[test]
fn a_code_with_and_without_a_time_becomes_two() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    let mut events = vec![(1, None, "RACE"), (1, Some(0), "RACE")];
    Events::new(&events).write(&path);
    assert_eq!(named(&read(&path).unwrap(), 0), [["STATIC//RACE"], ["RACE"]]);
    events.push((1, Some(0), "STATIC//RACE"));
    let said = refused_file(&Events::new(&events));
    let expected =
        "code `RACE` is used with and without a time, and the name `STATIC//RACE` is taken";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn folders_inside_data_splits_and_titles() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (Events::new(&[(1, Some(0), "A")]), Events::new(&[(2, Some(0), "B")]));
    let path = folder_of(directory.path(), &[("train/0", &one), ("held_out/0", &two)]);
    crate::events::write_codes(&path, &[("A", Some("Angina")), ("B", None), ("Z", Some("unused"))]);
    crate::events::write_splits(&path, &[(1, "tuning"), (2, "prospective")]);
    let dataset = &read(&path).unwrap();
    assert_eq!(
        (dataset.cohort.id(0), dataset.cohort.id(1)),
        ("2", "1"),
        "in the order of the files"
    );
    assert_eq!(dataset.splits[1], Split::Tuning);
    assert_eq!(dataset.splits[0], Split::of("2"));
    assert_eq!(dataset.titles.values().collect::<Vec<_>>(), ["Angina"]);
    crate::events::write_splits(&path, &[(1, "tuning"), (1, "train")]);
    assert_eq!(refused(&path), "a subject is listed twice @ subject_splits.parquet, row 2");
}

#[test]
fn columns_that_are_missing_or_of_another_type() {
    let good = Events::new(&[(1, Some(0), "A")]);
    let found = "the columns are `subject_id`, `when`, `code`";
    let said = refused_file(&good.clone().renamed("time", "when"));
    assert_eq!(said, format!("missing column `time`; {found} @ events.parquet"));
    let said = refused_file(&good.clone().renamed("code", "concept"));
    assert!(said.starts_with("missing column `code`; the columns are `subject_id`, `time`, "));
    let said = refused_file(&good.clone().with_texts("subject_id", &["7777"]));
    assert_eq!(
        said,
        "column `subject_id` holds strings, and whole numbers of 64 bits is needed @ events.parquet"
    );
    let said = refused_file(&good.clone().with_texts("time", &["7777"]));
    assert!(said.starts_with("column `time` holds strings, and times, as timestamp[us]"), "{said}");
    let said = refused_file(&good.clone().with_numbers("code", &[Some(7777)]));
    assert!(said.starts_with("column `code` holds Int64, and strings"), "{said}");
    let said = refused_file(&good.with_numbers("subject_id", &[None]));
    assert_eq!(said, "column `subject_id` has no value here @ events.parquet, row 1");
}

#[test]
fn subjects_that_are_not_whole_or_not_in_order() {
    let scattered = [(7777, Some(0), "A"), (2, Some(0), "A"), (7777, Some(0), "A")];
    let said = refused_file(&Events::new(&scattered));
    assert!(said.starts_with("the events of a subject are not together"), "{said}");
    assert!(said.ends_with("events.parquet, row 3"), "{said}");
    let unsorted = [(7777, Some(1), "A"), (7777, Some(0), "A")];
    let said = refused_file(&Events::new(&unsorted));
    assert!(
        said.starts_with("the events of a subject are not in the order of their times"),
        "{said}"
    );
    assert!(said.ends_with(", row 2"), "{said}");

    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (Events::new(&[(7777, Some(0), "A")]), Events::new(&scattered[1..]));
    let path = folder_of(directory.path(), &[("0", &one), ("1", &two)]);
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.starts_with("a subject of this file has events in another file too: "),
        "{error}"
    );
    assert!(error.contains("0.parquet\n") && error.ends_with("1.parquet, row 2"), "{error}");
}

#[test]
fn codes_that_cannot_be() {
    let with = |code: &str| refused_file(&Events::new(&[(1, Some(0), "A"), (1, Some(0), code)]));
    assert_eq!(with(""), "a code has an empty name @ events.parquet, row 2");
    assert_eq!(with("END"), "`END` cannot be written as a code @ events.parquet, row 2");
    let said = with(&"x".repeat(10 << 20));
    assert!(said.contains("has a name longer than 1024 bytes @ events.parquet"), "{said}");
    let said = with(&"x".repeat(2000));
    assert!(said.ends_with("has a name longer than 1024 bytes @ events.parquet, row 2"), "{said}");
}

#[test]
fn records_of_more_visits_than_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    Events::new(&[(1, Some(0), "A"), (1, Some(DAY), "A"), (1, Some(2 * DAY), "A")]).write(&path);
    let limits = |visits| MedsOptions {
        limits: Limits { visits, ..Limits::default() },
        ..MedsOptions::default()
    };
    assert!(meds::read(&path, &limits(3)).is_ok());
    let error = meds::read(&path, &limits(2)).unwrap_err().to_string();
    assert!(error.starts_with("the record has more than 2 encounters\n"), "{error}");
    assert!(error.ends_with("events.parquet, row 3"), "{error}");
}

#[test]
fn what_is_no_dataset() {
    let directory = tempfile::tempdir().unwrap();
    assert!(
        refused(directory.path()).starts_with("not a MEDS dataset: no Parquet file in its folder")
    );
    fs::create_dir(directory.path().join("data")).unwrap();
    fs::write(directory.path().join("data/events.csv"), "a,b").unwrap();
    assert!(refused(directory.path()).contains("found `data` @"));
    let file = directory.path().join("events.parquet");
    assert!(refused(&file).starts_with("cannot open the file"));
    fs::write(&file, "a,b\n1,7777\n").unwrap();
    assert!(refused(&file).starts_with("the Parquet file is damaged or cut short"));
    fs::write(&file, "").unwrap();
    assert!(refused(&file).starts_with("the Parquet file is damaged or cut short"));
    let none = refused_file(&Events::new(&[]));
    assert_eq!(none, "no records in the file @ events.parquet");
    let only_static = refused_file(&Events::new(&[(1, None, "A")]));
    assert_eq!(only_static, "no records in the file @ events.parquet");
}

/// What is told of the codes of a record: visit, name, time and value.
fn told(
    details: DetailsView<'_>,
    dataset: &Dataset,
) -> Vec<(u32, String, Option<i64>, Option<f32>)> {
    let tell = |event: &EventDetail| {
        (event.visit, dataset.vocabulary.name(event.code).to_owned(), event.time, event.value)
    };
    details.events.iter().map(tell).collect()
}

#[test]
fn births_deaths_times_and_values() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    let events = [
        (1, None, "SEX//F"),
        (1, Some(-9 * DAY), "MEDS_BIRTH"),
        (1, Some(5), "A"),
        (1, Some(5), "B"),
        (1, Some(6), "A"),
        (1, Some(7), "A"),
        (1, Some(8), "A"),
        (1, Some(8), "C"),
        (1, Some(9), "C"),
        (1, Some(2 * DAY + 4), "MEDS_DEATH"),
        (2, Some(0), "MEDS_BIRTH"),
        (3, Some(0), "MEDS_BIRTH//x"),
        (3, Some(1), "MEDS_BIRTH"),
    ];
    let mut values = [None; 13];
    values[2..8].copy_from_slice(&[Some(1.0), None, Some(2.5), Some(3.5), Some(f64::NAN), None]);
    let table = Events::new(&events).with_values("numeric_value", &values);
    table.write(&path);
    let dataset = &read(&path).unwrap();
    assert_eq!(dataset.cohort.len(), 2, "a birth is no encounter");
    assert_eq!(named(dataset, 0), [vec!["SEX//F"], vec!["A", "B", "C"], vec!["DEATH"]]);
    let details = dataset.details.as_ref().unwrap();
    assert_eq!((details.of(0).birth, details.of(0).times), (Some(-9 * DAY), &[5, 2 * DAY + 4][..]));
    let of_codes = [(1, "A".to_owned(), Some(7), Some(3.5)), (1, "C".to_owned(), Some(8), None)];
    assert_eq!(told(details.of(0), dataset), of_codes);
    assert_eq!((details.of(1).birth, details.of(1).times), (Some(1), &[0][..]), "as it is told");
    assert!(dataset.vocabulary.code("MEDS_BIRTH").is_none());

    // Some call the column otherwise; codes alone do not look at it.
    table.clone().renamed("numeric_value", "value").write(&path);
    assert_eq!(told(read(&path).unwrap().details.unwrap().of(0), dataset), of_codes);
    table.clone().with_texts("value", &["x"; 13]).write(&path);
    assert!(read(&path).is_ok(), "a column of that name may be anything");
    for value in [f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        values[4] = Some(value);
        let table = Events::new(&events).with_values("numeric_value", &values);
        let said = refused_file(&table);
        let expected = "a value is infinite, or too large for a number of 32 bits";
        assert_eq!(said, format!("{expected} @ events.parquet, row 5"));
        table.write(&path);
        let codes = MedsOptions { details: false, ..MedsOptions::default() };
        assert_eq!(meds::read(&path, &codes).unwrap().cohort, dataset.cohort);
    }
    let said = refused_file(&table.with_texts("numeric_value", &["7777"; 13]));
    assert!(said.starts_with("column `numeric_value` holds strings, and numbers"), "{said}");
    let unsorted = [(7777, Some(5), "A"), (7777, Some(4), "MEDS_BIRTH")];
    let said = refused_file(&Events::new(&unsorted));
    assert!(said.starts_with("the events of a subject are not in the order"), "{said}");
}

#[test]
fn a_death_belongs_to_the_visit_it_falls_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    let died = |time: i64| {
        let mut events = vec![
            (1, Some(0), "A"),
            (1, Some(2 * DAY), "B"),
            (1, Some(5 * DAY), "C"),
            (1, Some(time), "MEDS_DEATH"),
        ];
        let mut numbers = vec![Some(10), Some(10), Some(11), None];
        let at = events.iter().position(|event| event.1 > Some(time)).unwrap_or(3);
        let (event, number) = (events.pop().unwrap(), numbers.pop().unwrap());
        events.insert(at, event);
        numbers.insert(at, number);
        Events::new(&events).with_numbers("hadm_id", &numbers).write(&path);
        let dataset = read(&path).unwrap();
        let death = dataset.vocabulary.code("DEATH").unwrap();
        let of = (1..).find(|&visit| dataset.cohort.record(0).visit(visit).contains(&death));
        let details = dataset.details.as_ref().unwrap().of(0);
        (of.unwrap(), details.times.len(), details.event(of.unwrap(), death).and_then(|e| e.time))
    };
    assert_eq!(died(DAY + 1), (1, 2, Some(DAY + 1)), "between events of an admission");
    assert_eq!(died(2 * DAY + 7), (1, 2, Some(2 * DAY + 7)), "on its last day");
    assert_eq!(died(3 * DAY), (2, 3, None), "an encounter of its own");
    assert_eq!(died(5 * DAY), (2, 2, None));
    assert_eq!(died(6 * DAY), (3, 3, None));
}

#[test]
fn both_names_of_a_death_are_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    Events::new(&[(1, Some(0), "DEATH"), (1, Some(1), "MEDS_DEATH"), (2, Some(0), "MEDS_DEATH")])
        .write(&path);
    let dataset = &read(&path).unwrap();
    assert_eq!(
        [named(dataset, 0), named(dataset, 1)],
        [[vec![], vec!["DEATH"]], [vec![], vec!["DEATH"]]]
    );
    // A vocabulary that knows the name of MEDS alone, as of a cohort made before.
    let names = [("MEDS_DEATH", Kind::Encounter), ("MEDS_BIRTH", Kind::Encounter)];
    let vocabulary = Some(std::sync::Arc::new(consequence_record::Vocabulary::new(names).unwrap()));
    Events::new(&[(1, Some(0), "MEDS_BIRTH"), (1, Some(DAY), "MEDS_DEATH")]).write(&path);
    let given = MedsOptions { vocabulary, ..MedsOptions::default() };
    let dataset = &meds::read(&path, &given).unwrap();
    assert_eq!(named(dataset, 0), [vec![], vec!["MEDS_BIRTH"], vec!["MEDS_DEATH"]]);
}

#[test]
fn a_description_that_is_not_json() {
    let directory = tempfile::tempdir().unwrap();
    let one = Events::new(&[(1, Some(0), "A")]);
    let path = folder_of(directory.path(), &[("0", &one)]);
    fs::write(path.join("metadata/dataset.json"), "{\n\"time\": ordinal}").unwrap();
    assert_eq!(refused(&path), "invalid JSON: expected value @ dataset.json:2:9");
}

/// The MIMIC-IV demo as another project published it.
#[test]
fn the_mimic_demo() {
    let demo = "data/inpatient/mimic4_demo/mimic_iv_demo_meds_events.parquet";
    let Some(path) = consequence_testing::shared(demo) else { return };
    let dataset = Dataset::open(&path).unwrap();
    let cohort = &dataset.cohort;
    // Counted with another program: subjects, days with an event but births, codes with and without a time.
    assert_eq!(cohort.len(), 100);
    assert_eq!(cohort.visit_count() - cohort.len(), 3313);
    let of_kind = |kind| {
        let codes = dataset.vocabulary.codes();
        codes.filter(|&code| dataset.vocabulary.kind(code) == kind).count()
    };
    assert_eq!((of_kind(Kind::Static), of_kind(Kind::Encounter)), (2, 7032 + 1));
    let female = dataset.vocabulary.code("GENDER//F").unwrap();
    assert_eq!(cohort.records().filter(|record| record.visit(0) == [female]).count(), 43);
    let ids: BTreeSet<&str> = (0..cohort.len()).map(|index| cohort.id(index)).collect();
    assert!(ids.contains("10000032"));

    let details = dataset.details.as_ref().unwrap();
    assert!((0..100).all(|record| details.of(record).birth.is_some()));
    let death = dataset.vocabulary.code("DEATH").unwrap();
    let died =
        cohort.records().filter(|record| record.visits().any(|visit| visit.contains(&death)));
    assert_eq!(died.count(), 31);

    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("cohort");
    meds::write(&copy, &dataset).unwrap();
    let back = Dataset::open(&copy).unwrap();
    assert_eq!((&back.cohort, &back.details), (&dataset.cohort, &dataset.details));
}
