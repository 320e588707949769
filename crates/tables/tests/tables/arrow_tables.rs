//! Tables of events that other programs have in memory, good and bad.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float64Array, Int8Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampSecondArray,
    UInt64Array, new_null_array,
};
use arrow_schema::{DataType, Field, Schema};
use consequence_feedback::Advise;
use consequence_record::{DetailsView, Kind, Split, Vocabulary};
use consequence_tables::arrow::{
    self, Column, Columns, ReadOptions, RecordStream, RowOrder, TableOptions, Tables,
};
use consequence_tables::meds::Streamed;
use consequence_tables::{Dataset, Limits, TableError};

const DAY: i64 = 86_400_000_000;

/// Five rows of two subjects, in order.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let times = [None, Some(0), Some(DAY), None, Some(5)];
    vec![
        ("subject_id", Arc::new(Int64Array::from(vec![7777, 7777, 7777, 8, 8]))),
        ("time", Arc::new(TimestampMicrosecondArray::from(times.to_vec()))),
        ("code", Arc::new(StringArray::from(vec!["SEX//F", "A", "B", "SEX//M", "A"]))),
        ("numeric_value", Arc::new(Float64Array::from(vec![None, Some(1.5), None, None, None]))),
        ("visit_id", new_null_array(&DataType::Null, 5)),
    ]
}

/// With another column in place of one, or more than there are.
fn with(name: &'static str, array: impl arrow_array::Array + 'static) -> RecordBatch {
    let mut columns = columns();
    match columns.iter_mut().find(|(known, _)| *known == name) {
        Some(column) => column.1 = Arc::new(array),
        None => columns.push((name, Arc::new(array))),
    }
    batch(columns)
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn told(error: &TableError) -> String {
    let message = error.to_string();
    assert!(!message.starts_with(char::is_uppercase) && !message.contains("7777"), "{message}");
    let advice = error.advice().expect("advice").worded(|setting| setting.name.into());
    assert!(!advice.is_empty() && !advice.ends_with('.') && !advice.contains("7777"), "{advice}");
    message.replace("\n  --> ", " @ ")
}

fn read_with(batches: Vec<RecordBatch>, options: &ReadOptions) -> Result<Dataset, TableError> {
    arrow::read(&batches.into(), options)
}

fn read(batch: RecordBatch) -> Dataset {
    read_with(vec![batch], &ReadOptions::default()).unwrap()
}

fn refused_with(batches: Vec<RecordBatch>, options: &ReadOptions) -> String {
    told(&read_with(batches, options).expect_err("this should be refused"))
}

fn refused(batch: RecordBatch) -> String {
    refused_with(vec![batch], &ReadOptions::default())
}

fn vocabulary() -> Arc<Vocabulary> {
    let codes = [("SEX//F", Kind::Static), ("SEX//M", Kind::Static)];
    let timed = ["A", "B"].map(|name| (name, Kind::Encounter));
    Arc::new(Vocabulary::new(codes.into_iter().chain(timed)).unwrap())
}

/// What a stream says to batches.
fn streamed(batches: &[RecordBatch], options: &ReadOptions) -> Result<Vec<String>, TableError> {
    let mut stream = RecordStream::new(vocabulary(), options);
    let mut ids = Vec::new();
    let mut take = |record: Streamed<'_>| {
        ids.push(record.id.to_owned());
        Ok(())
    };
    for batch in batches {
        stream.push(batch, &mut take)?;
    }
    stream.finish(&mut take)?;
    Ok(ids)
}

#[test]
fn columns_that_are_not_there_or_twice() {
    let without = |name: &str| {
        let columns = columns();
        batch(columns.into_iter().filter(|(known, _)| *known != name).collect())
    };
    assert_eq!(
        refused(without("code")),
        "missing column `code`; the columns are `subject_id`, `time`, `numeric_value`, \
         `visit_id` @ the table"
    );
    assert!(refused(without("time")).starts_with("missing column `time`; "));
    assert!(refused(without("subject_id")).starts_with("missing column `subject_id`; "));
    let named = |columns| ReadOptions { columns, ..ReadOptions::default() };
    let claims = named(Columns { visit: Column::Named("claim".into()), ..Columns::default() });
    let refusal = refused_with(vec![batch(columns())], &claims);
    assert!(refusal.starts_with("missing column `claim`; "), "{refusal}");
    assert_eq!(
        refused(with("time", Int8Array::from(vec![1; 5])).project(&[0, 1, 2, 2]).unwrap()),
        "two columns are named `code` @ the table"
    );
    // Twice where it is not read is no trouble.
    let twice = batch(columns()).project(&[0, 1, 2, 3, 3]).unwrap();
    assert!(refused(twice.clone()).starts_with("two columns are named `numeric_value`"));
    let codes = named(Columns { value: Column::Unused, ..Columns::default() });
    assert_eq!(read_with(vec![twice], &codes).unwrap().cohort.len(), 2);
}

#[test]
fn columns_of_other_types() {
    let truths = || BooleanArray::from(vec![true; 5]);
    let texts = || StringArray::from(vec!["7777"; 5]);
    let wrong = |column, array: ArrayRef| refused(with(column, array));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![7777.0; 5]));
    assert_eq!(
        wrong("subject_id", floats),
        "column `subject_id` holds Float64, and whole numbers or strings is needed @ the table"
    );
    assert_eq!(
        wrong("time", Arc::new(texts())),
        "column `time` holds strings, and times, as timestamp[us] is needed @ the table"
    );
    assert_eq!(
        wrong("code", Arc::new(Int64Array::from(vec![7777; 5]))),
        "column `code` holds Int64, and strings is needed @ the table"
    );
    assert_eq!(
        wrong("numeric_value", Arc::new(texts())),
        "column `numeric_value` holds strings, and numbers, as float32, is needed @ the table"
    );
    assert_eq!(
        wrong("visit_id", Arc::new(truths())),
        "column `visit_id` holds Boolean, and whole numbers or strings is needed @ the table"
    );
    let zone = TimestampSecondArray::from(vec![1; 5]).with_timezone("Middle/Earth");
    assert_eq!(
        refused(with("time", zone)),
        "column `time` has a time zone that is not known: `Middle/Earth` @ the table"
    );
    let batches = vec![batch(columns()), with("subject_id", Int32Array::from(vec![9; 5]))];
    let changed = "column `subject_id` has another type than in the batches before, or is in only \
                   some @ the table";
    assert_eq!(refused_with(batches.clone(), &ReadOptions::default()), changed);
    assert_eq!(told(&streamed(&batches, &ReadOptions::default()).unwrap_err()), changed);
}

#[test]
fn rows_that_cannot_be() {
    let nobody = Int64Array::from(vec![Some(7777), None, Some(7777), Some(8), Some(8)]);
    assert_eq!(
        refused(with("subject_id", nobody)),
        "column `subject_id` has no value here @ row 2 of the table"
    );
    let nobody = StringArray::from(vec![Some("7777"), Some("7777"), None, Some("8"), Some("8")]);
    assert!(refused(with("subject_id", nobody)).ends_with("@ row 3 of the table"));
    let unnamed = StringArray::from(vec![Some("A"), None, None, Some("A"), Some("A")]);
    assert_eq!(
        refused(with("code", unnamed)),
        "column `code` has no value here @ row 2 of the table"
    );
    let values = Float64Array::from(vec![0.0, 1.0, f64::NEG_INFINITY, 7777e60, 0.0]);
    assert_eq!(
        refused(with("numeric_value", values)),
        "a value is infinite, or too large for a number of 32 bits @ row 3 of the table"
    );
    let far = TimestampSecondArray::from(vec![None, Some(7777), Some(i64::MAX / 7), None, None]);
    assert_eq!(refused(with("time", far)), "a time is too far from 1970 @ row 3 of the table");
    let far = Int64Array::from(vec![None, Some(1), Some(2), None, Some(i64::MIN)]);
    assert_eq!(refused(with("time", far)), "a time is too far from 1970 @ row 5 of the table");
    let empty = StringArray::from(vec!["A", "A", "", "A", "A"]);
    assert_eq!(refused(with("code", empty)), "a code has an empty name @ row 3 of the table");
    let end = StringArray::from(vec!["A", "A", "END", "A", "A"]);
    assert!(refused(with("code", end)).starts_with("`END` cannot be written"));
    // Rows are counted over all batches.
    let pieces = vec![
        batch(columns()),
        with("code", StringArray::from(vec![Some("A"), None, None, None, None])),
    ];
    assert!(refused_with(pieces, &ReadOptions::default()).ends_with("@ row 7 of the table"));

    let limits = Limits { visits: 1, ..Limits::default() };
    let few = ReadOptions { limits, ..ReadOptions::default() };
    assert_eq!(
        refused_with(vec![batch(columns())], &few),
        "the record has more than 1 encounters @ row 3 of the table"
    );
    let given = ReadOptions { vocabulary: Some(vocabulary()), ..ReadOptions::default() };
    let other = StringArray::from(vec!["SEX//F", "A", "C", "SEX//M", "A"]);
    let refusal = refused_with(vec![with("code", other)], &given);
    assert_eq!(refusal, "unknown code `C` @ row 3 of the table");
    let timed = StringArray::from(vec!["SEX//F", "A", "SEX//F", "SEX//M", "A"]);
    assert!(
        refused_with(vec![with("code", timed)], &given).contains("`SEX//F` in a visit @ row 3")
    );
}

#[test]
fn tables_without_records() {
    let nothing = "no records in the table: no row is of an encounter @ the table";
    assert_eq!(refused_with(Vec::new(), &ReadOptions::default()), nothing);
    assert_eq!(refused(batch(columns()).slice(0, 0)), nothing);
    assert_eq!(refused(with("time", new_null_array(&DataType::Null, 5))), nothing);
    assert_eq!(streamed(&[], &ReadOptions::default()).unwrap().len(), 0);
    let bare =
        RecordBatch::new_empty(Arc::new(Schema::new(vec![Field::new("x", DataType::Int8, true)])));
    assert!(refused(bare).starts_with("missing column `subject_id`; the columns are `x`"));
}

#[test]
fn rows_out_of_order_are_sorted_where_that_is_allowed() {
    let scattered = with("subject_id", StringArray::from(vec!["b", "a", "b", "a", "a"]));
    let dataset = read(scattered.clone());
    assert_eq!((dataset.cohort.id(0), dataset.cohort.id(1)), ("b", "a"));
    assert_eq!(dataset.details_of(1).times, [0]);
    let sorted = ReadOptions { order: RowOrder::Sorted, ..ReadOptions::default() };
    let refusal = "the events of a subject are not together: others stand between them @ row 3 of \
                   the table";
    assert_eq!(refused_with(vec![scattered.clone()], &sorted), refusal);
    assert_eq!(told(&streamed(&[scattered], &ReadOptions::default()).unwrap_err()), refusal);
    // It comes back in a later batch.
    let batches = [batch(columns()), batch(columns()).slice(0, 1)];
    let refusal = told(&streamed(&batches, &ReadOptions::default()).unwrap_err());
    assert!(
        refusal.starts_with("the events of a subject") && refusal.contains("row 6"),
        "{refusal}"
    );

    let times = vec![None, Some(2 * DAY), Some(DAY), None, Some(5)];
    let back = with("time", TimestampMicrosecondArray::from(times));
    assert_eq!(read(back.clone()).details_of(0).times, [DAY, 2 * DAY]);
    let refusal =
        "the events of a subject are not in the order of their times @ row 3 of the table";
    assert_eq!(refused_with(vec![back.clone()], &sorted), refusal);
    assert_eq!(told(&streamed(&[back], &ReadOptions::default()).unwrap_err()), refusal);
    assert_eq!(streamed(&[batch(columns())], &ReadOptions::default()).unwrap(), ["7777", "8"]);
}

#[test]
fn numbers_of_visits_are_an_order_without_dates() {
    let numbers = Int32Array::from(vec![None, Some(3), Some(7), None, Some(-4)]);
    let dataset = read(with("time", numbers));
    assert!(dataset.ordinal_time());
    let names: Vec<Vec<&str>> = (dataset.cohort.record(0).visits())
        .map(|visit| visit.iter().map(|&code| dataset.vocabulary.name(code)).collect())
        .collect();
    assert_eq!(names, [vec!["SEX//F"], vec!["A"], vec!["B"]]);
    let value = dataset.details_of(0).events[0];
    assert_eq!((value.visit, value.value, value.time), (1, Some(1.5), None));
    // The number of a visit tells no birth.
    let mut columns = columns();
    columns[1].1 = Arc::new(UInt64Array::from(vec![1; 5]));
    columns[2].1 = Arc::new(StringArray::from(vec!["MEDS_BIRTH", "A", "B", "MEDS_BIRTH", "A"]));
    let dataset = read(batch(columns));
    assert_eq!(dataset.cohort.record(0).len(), 2);
    assert_eq!(dataset.details_of(0).birth, None);
}

#[test]
fn visits_and_values_may_be_missing_in_any_way() {
    // As some programs number where some are missing.
    let floats = Float64Array::from(vec![f64::NAN, 3.0, 3.0, f64::NAN, f64::NAN]);
    let dataset = read(with("visit_id", floats));
    assert_eq!(dataset.cohort.record(0).len(), 2);
    let texts = StringArray::from(vec![None, Some("x"), Some("x"), None, None]);
    assert_eq!(read(with("visit_id", texts)).cohort, dataset.cohort);
    let same = read(with("hadm_id", Int64Array::from(vec![1; 5])));
    assert_eq!(same.cohort.record(0).len(), 3, "a visit goes before an admission");
    let values = Float64Array::from(vec![f64::NAN, f64::NAN, 2.0, f64::NAN, 1.0]);
    let dataset = read(with("numeric_value", values));
    let told: Vec<_> = dataset.details_of(0).events.iter().map(|event| event.value).collect();
    assert_eq!(told, [Some(2.0)]);
    let whole = read(with("numeric_value", UInt64Array::from(vec![0, 1, 2, 3, 4])));
    assert_eq!(whole.details_of(1).events.len(), 2);
}

#[test]
fn ids_of_any_size_and_clocks_of_any_zone() {
    let large = UInt64Array::from(vec![u64::MAX, u64::MAX, u64::MAX, 8, 8]);
    let dataset = read(with("subject_id", large));
    assert_eq!((dataset.cohort.id(0), dataset.cohort.id(1)), (&*u64::MAX.to_string(), "8"));
    let hour = 3600;
    let times = vec![None, Some(0), Some(23 * hour), None, Some(0)];
    let zoned = TimestampSecondArray::from(times).with_timezone("Europe/Berlin");
    let dataset = read(with("time", zoned));
    assert_eq!(dataset.details_of(0).times, [hour * 1_000_000, DAY], "midnight comes earlier");
    let days = Date32Array::from(vec![None, Some(-1), Some(1), None, Some(0)]);
    assert_eq!(read(with("time", days)).details_of(0).times, [-DAY, DAY]);
}

#[test]
fn a_few_rows_of_a_large_dictionary() {
    let names = (0..50_000).map(|number| format!("CODE//{number}"));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let keys = Int32Array::from(vec![49_999, 7, 7, 40_000, 7]);
    let dataset = read(with("code", DictionaryArray::new(keys, names)));
    let codes: Vec<&str> =
        dataset.vocabulary.codes().map(|code| dataset.vocabulary.name(code)).collect();
    assert_eq!(codes, ["CODE//40000", "CODE//49999", "CODE//7", "END"]);
    assert_eq!(dataset.cohort.record(0).visit(2).len(), 1);
}

#[test]
fn tables_beside_events() {
    let dataset = read(batch(columns()));
    let tables = arrow::tables(&dataset, &TableOptions::default()).unwrap();
    let subjects = |ids: ArrayRef, numbers: ArrayRef| {
        let table = batch(vec![("original_id", ids), ("subject_id", numbers)]);
        let tables = Tables { subjects: Some(table), ..tables.clone() };
        arrow::read(&tables, &ReadOptions::default())
    };
    let texts = |texts: [Option<&str>; 2]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
    let numbers = |numbers: [i64; 2]| Arc::new(Int64Array::from(numbers.to_vec())) as ArrayRef;
    let named = subjects(texts([Some("eve"), Some("bob")]), numbers([8, 7777])).unwrap();
    assert_eq!((named.cohort.id(0), named.cohort.id(1)), ("bob", "eve"));
    let error = subjects(texts([Some("eve"), None]), numbers([8, 7777])).unwrap_err();
    assert_eq!(
        told(&error),
        "column `original_id` has no value here @ row 2 of the table of subjects"
    );
    let error = subjects(texts([Some("eve"), Some("bob")]), numbers([8, 8])).unwrap_err();
    assert_eq!(told(&error), "a subject is listed twice @ row 2 of the table of subjects");

    let codes = batch(vec![("code", texts([Some("A"), Some("B")]))]);
    let refused = RecordStream::with_codes(codes.clone(), &ReadOptions::default());
    let refusal = told(&refused.err().unwrap());
    assert!(refusal.ends_with("what kind it is @ the table of codes"), "{refusal}");
    let given = ReadOptions { vocabulary: Some(vocabulary()), ..ReadOptions::default() };
    assert!(RecordStream::with_codes(codes, &given).is_ok());
    assert_eq!(named.details_of(0), DetailsView { ..dataset.details_of(0) });
}

#[test]
fn splits_that_a_column_tells() {
    let events = RecordBatch::try_from_iter([
        ("subject_id", Arc::new(Int64Array::from(vec![3, 3, 1, 2, 2])) as ArrayRef),
        ("time", Arc::new(Date32Array::from(vec![Some(0), Some(9), Some(1), Some(1), Some(2)]))),
        ("code", Arc::new(StringArray::from(vec!["A"; 5]))),
        (
            "part",
            Arc::new(StringArray::from(vec![
                Some("tuning"),
                Some("tuning"),
                Some("held_out"),
                None,
                None,
            ])),
        ),
    ])
    .unwrap();
    let columns = Columns { split: Column::Named("part".into()), ..Columns::default() };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let expected = [Split::Tuning, Split::HeldOut, Split::of("2")];
    // In one table, cut into batches anywhere, and as a stream of them.
    for cut in 0..5 {
        let batches = vec![events.slice(0, cut), events.slice(cut, 5 - cut)];
        let dataset = arrow::read(&batches.clone().into(), &options).unwrap();
        assert_eq!(dataset.splits, expected);
        let mut stream = RecordStream::new(Arc::clone(&dataset.vocabulary), &options);
        let mut found = Vec::new();
        let mut take = |one: Streamed<'_>| -> Result<(), TableError> {
            found.push(one.split.unwrap_or_else(|| Split::of(one.id)));
            Ok(())
        };
        batches.iter().for_each(|batch| stream.push(batch, &mut take).unwrap());
        stream.finish(&mut take).unwrap();
        assert_eq!(found, expected);
    }
}

#[test]
fn splits_of_one_subject_that_differ() {
    let events = |ids: [&str; 5], parts: [Option<&str>; 5]| {
        RecordBatch::try_from_iter([
            ("subject_id", Arc::new(StringArray::from(ids.to_vec())) as ArrayRef),
            (
                "time",
                Arc::new(Date32Array::from(vec![Some(0), Some(1), Some(2), Some(3), Some(4)])),
            ),
            ("code", Arc::new(StringArray::from(vec!["A"; 5]))),
            ("part", Arc::new(StringArray::from(parts.to_vec()))),
        ])
        .unwrap()
    };
    let columns = Columns { split: Column::Named("part".into()), ..Columns::default() };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let whole = |events: &RecordBatch| arrow::read(&vec![events.clone()].into(), &options);
    let streamed = |events: &RecordBatch, cut: usize| -> Result<Vec<Option<Split>>, TableError> {
        let vocabulary = Vocabulary::new([("A", Kind::Encounter)]).unwrap();
        let mut stream = RecordStream::new(Arc::new(vocabulary), &options);
        let mut found = Vec::new();
        let mut take = |one: Streamed<'_>| -> Result<(), TableError> {
            found.push(one.split);
            Ok(())
        };
        stream.push(&events.slice(0, cut), &mut take)?;
        stream.push(&events.slice(cut, 5 - cut), &mut take)?;
        stream.finish(&mut take)?;
        Ok(found)
    };
    let (train, tuning) = (Some("train"), Some("tuning"));
    // A row that tells none is no row that tells another, wherever it stands.
    let some = events(["a", "a", "b", "b", "b"], [None, train, tuning, Some("elsewhere"), None]);
    let expected = [Split::Train, Split::Tuning];
    assert_eq!(whole(&some).unwrap().splits, expected);
    for cut in 0..5 {
        assert_eq!(streamed(&some, cut).unwrap(), expected.map(Some));
    }
    let differing = events(["a", "a", "b", "b", "b"], [train, None, tuning, tuning, train]);
    let refusal = "column `part` tells two splits of one subject\n  --> row 5 of the table";
    assert_eq!(whole(&differing).unwrap_err().to_string(), refusal);
    for cut in 0..5 {
        assert_eq!(streamed(&differing, cut).unwrap_err().to_string(), refusal);
    }
    // In rows of any order, too.
    let scattered = events(["b", "a", "b", "a", "b"], [tuning, train, train, None, None]);
    assert!(whole(&scattered).unwrap_err().to_string().contains("row 3"));
    let apart = events(["b", "a", "b", "a", "b"], [tuning, None, None, train, None]);
    assert_eq!(whole(&apart).unwrap().splits, [Split::Tuning, Split::Train]);
}
