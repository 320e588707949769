//! What is written as MEDS is read back the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type, TimestampMicrosecondType};
use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, Details, DetailsView, EventDetail, Kind, Record, Split,
    Vocabulary,
};
use consequence_tables::meds::{self, Files, MedsOptions, Stream, Subject, Writer, WriterOptions};
use consequence_tables::{Dataset, TableError, WriteError, jsonl};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

use crate::cohorts::{assert_same, dataset, with_last};

fn vocabulary() -> Arc<Vocabulary> {
    with_last(&["糖尿病 2"])
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.to_string_lossy().replace('\\', "/"), fs::read(&path).unwrap());
        }
    }
    let prefix = folder.to_string_lossy().into_owned();
    found.into_iter().map(|(name, bytes)| (name.replace(&prefix, ""), bytes)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_dataset_is_read_back_the_same(dataset in dataset(), shard_rows in 1..60_usize) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cohort");
        let options = WriterOptions { shard_rows, ..WriterOptions::default() };
        meds::write_with(&path, &dataset, &options).unwrap();
        assert_same(&meds::read(&path, &MedsOptions::default()).unwrap(), &dataset);
        let vocabulary = Some(Arc::clone(&dataset.vocabulary));
        let given = MedsOptions { vocabulary, ..MedsOptions::default() };
        assert_same(&Dataset::open_with(&path, &given).unwrap(), &dataset);
        // Codes alone are the same codes.
        let codes = MedsOptions { details: false, ..MedsOptions::default() };
        let codes = meds::read(&path, &codes).unwrap();
        assert_eq!((&codes.cohort, codes.details), (&dataset.cohort, None));
        // One record after the other is the same too.
        let stream = Stream::open(&path, &MedsOptions::default()).unwrap();
        let mut index = 0;
        stream.each_record(|streamed| {
            assert_eq!(streamed.id, dataset.cohort.id(index));
            assert_eq!(streamed.details, dataset.details_of(index));
            index += 1;
            Ok::<_, TableError>(())
        }, |_| ()).unwrap();
        assert_eq!((index, stream.scales()), (dataset.cohort.len(), &dataset.scales));
        // And so is each data file by itself, wherever it is read.
        let files = Files::open(&path, &given).unwrap();
        files.check_subjects().unwrap();
        files.check_apart().unwrap();
        let (mut records, count) = (Cohort::default(), files.paths().len());
        for number in 0..count {
            let file = Files::open(&path, &given).unwrap().only(|place| place == number);
            file.each_record(|one| {
                let index = records.len();
                assert_eq!(one.details, dataset.details_of(index));
                assert_eq!(one.split.unwrap_or_else(|| Split::of(one.id)), dataset.splits[index]);
                records.push_visits(one.id, one.record.visits(), one.record.ended());
                Ok::<_, TableError>(())
            }).unwrap();
        }
        assert_eq!(records, dataset.cohort);
        // What is new has a number of its own, and what is not has none of it.
        let described = fs::read_to_string(path.join("metadata/dataset.json")).unwrap();
        let beyond_times = |record: usize| {
            let details = dataset.details_of(record);
            details != DetailsView { times: details.times, ..DetailsView::default() }
        };
        let renamed = dataset.vocabulary.code("DEATH").is_some()
            && dataset.vocabulary.code("MEDS_DEATH").is_none();
        let new = renamed || !dataset.scales.is_empty()
            || (0..dataset.cohort.len()).any(beyond_times);
        let format = format!("\"consequence_format\": {}", if new { 2 } else { 1 });
        assert!(described.contains(&format), "{described}");
    }
}

fn sample(records: u32) -> Dataset {
    let mut cohort = Cohort::default();
    for number in 0..records {
        let encounters = (0..1 + number % 5).map(|visit| vec![Code(4 + (number + visit) % 6)]);
        let visits = std::iter::once(vec![Code(number % 4)]).chain(encounters).collect();
        cohort.push(&format!("patient-{number}"), &Record::new(visits));
    }
    Dataset::new(cohort, vocabulary())
}

#[test]
fn the_files_are_the_same_on_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = sample(2000);
    let mut written = Vec::new();
    for threads in [1, 2, 5] {
        let path = directory.path().join(threads.to_string());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = WriterOptions { shard_rows: 700, ..WriterOptions::default() };
        pool.install(|| meds::write_with(&path, &dataset, &options)).unwrap();
        let back = pool.install(|| meds::read(&path, &MedsOptions::default())).unwrap();
        assert_same(&back, &dataset);
        written.push(contents(&path));
    }
    assert!(written[0].len() > 10, "several data files");
    assert!(written.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_folder_is_replaced_only_when_asked_and_only_if_it_is_a_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort");
    meds::write(&path, &sample(3)).unwrap();
    let refused = meds::write(&path, &sample(4)).unwrap_err();
    assert!(refused.to_string().starts_with("the folder is not empty"), "{refused}");
    let replace = WriterOptions { replace: true, ..WriterOptions::default() };
    meds::write_with(&path, &sample(4), &replace).unwrap();
    assert_eq!(Dataset::open(&path).unwrap().cohort.len(), 4);

    fs::write(path.join("thesis.txt"), "years of work").unwrap();
    assert!(meds::write_with(&path, &sample(5), &replace).is_err());
    assert_eq!(fs::read_to_string(path.join("thesis.txt")).unwrap(), "years of work");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary is left");
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort");
    let mut writer = Writer::create(&path, vocabulary(), WriterOptions::default()).unwrap();
    let subject =
        Subject { id: "1", split: Split::Train, ended: true, details: DetailsView::default() };
    writer.push(subject, [&[][..], &[Code(4)]]).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let none: &[Code] = &[];
    let whole =
        |id| Subject { id, split: Split::Train, ended: true, details: DetailsView::default() };
    fn dated(times: &[i64]) -> Subject<'_> {
        let details = DetailsView { times, ..DetailsView::default() };
        Subject { id: "1", split: Split::Train, ended: true, details }
    }
    let refused = |subjects: &[(Subject<'_>, &[&[Code]])]| {
        let path = directory.path().join("cohort");
        let mut writer = Writer::create(path, vocabulary(), WriterOptions::default()).unwrap();
        let mut outcomes =
            subjects.iter().map(|(subject, visits)| writer.push(*subject, visits.iter().copied()));
        match outcomes.find_map(Result::err) {
            Some(WriteError::Record { number, reason }) => {
                assert_eq!(number, subjects.len());
                reason
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&[(whole("1"), &[none])]), "has no encounter");
    let fine: &[&[Code]] = &[none, none];
    let repeated = refused(&[(whole("1"), fine), (whole("1"), fine)]);
    assert_eq!(repeated, "has the id of an earlier one");
    assert!(refused(&[(whole("1"), fine), (dated(&[1]), fine)]).contains("times where others"));
    assert!(refused(&[(dated(&[1, 2]), fine)]).contains("than times"));
    assert!(refused(&[(dated(&[2, 1]), &[none, none, none])]).contains("back in time"));
    assert!(refused(&[(whole("1"), &[none, &[Code(0)]])]).contains("static code"));
    assert!(refused(&[(whole("1"), &[none, &[Code(14)]])]).contains("`END`"));
    assert!(refused(&[(whole("1"), &[none, &[Code(99)]])]).contains("not of the vocabulary"));

    let told = |details: Details| {
        let subject =
            Subject { id: "1", split: Split::Train, ended: true, details: details.view() };
        refused(&[(subject, &[&[Code(1)], &[Code(4), Code(5)]])])
    };
    let event = |visit, code, time, value| EventDetail { visit, code: Code(code), time, value };
    let dated = || Details { times: vec![5], ..Details::default() };
    assert!(told(Details { ends: vec![Some(4)], ..dated() }).contains("ends before it begins"));
    assert!(told(Details { ends: vec![None, None], ..dated() }).contains("another number"));
    assert!(told(Details { ends: vec![None], ..Details::default() }).contains("no times"));
    assert!(told(Details { ages: vec![None, None], ..dated() }).contains("than ages"));
    let with = |events| Details { events, ..dated() };
    assert!(
        told(with(vec![event(1, 5, None, Some(1.0)), event(1, 4, None, Some(1.0))]))
            .contains("order")
    );
    assert!(told(with(vec![event(1, 4, None, Some(1.0)); 2])).contains("two of one code"));
    for value in [f32::NAN, f32::INFINITY] {
        assert!(told(with(vec![event(1, 4, None, Some(value))])).contains("no finite number"));
    }
    for stray in [event(1, 6, None, Some(1.0)), event(2, 4, None, Some(1.0))] {
        assert!(told(with(vec![stray])).contains("the visit does not have"));
    }
    assert!(told(with(vec![event(0, 1, Some(4), None)])).contains("its visit has none"));
    let undated = Details { events: vec![event(1, 4, Some(4), None)], ..Details::default() };
    assert!(told(undated).contains("its visit has none"));
}

/// The events of a record as another program would see them.
#[test]
fn events_are_in_the_order_of_their_times() {
    let names = ["SEX//F", "A", "DEATH", "LAB//x//q2"];
    let kind = |name| if name == "SEX//F" { Kind::Static } else { Kind::Encounter };
    let vocabulary = Vocabulary::new(names.map(|name| (name, kind(name)))).unwrap();
    let mut cohort = Cohort::default();
    let visits = vec![vec![Code(0)], vec![Code(1), Code(3)], vec![Code(1), Code(2)]];
    cohort.push("1", &Record::new(visits).cut());
    let mut known = CohortDetails::default();
    let event = |visit, code, time, value| EventDetail { visit, code: Code(code), time, value };
    let details = Details {
        birth: Some(-5),
        times: vec![10, 30],
        ends: vec![Some(40), None],
        ages: vec![None, Some(AgeBand { from: 70, to: Some(80) })],
        events: vec![event(1, 3, Some(9), Some(7.25)), event(2, 2, Some(50), None)],
    };
    known.push(details.view());
    let dataset = Dataset { details: Some(known), ..Dataset::new(cohort, Arc::new(vocabulary)) };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort");
    meds::write(&path, &dataset).unwrap();
    assert_same(&Dataset::open(&path).unwrap(), &dataset);

    let file = fs::File::open(path.join("data/000000.parquet")).unwrap();
    let batch = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = batch.into_iter().next().unwrap().unwrap();
    let column = |name| batch.column_by_name(name).unwrap();
    let times = column("time").as_primitive::<TimestampMicrosecondType>();
    let visits = column("visit_id").as_primitive::<Int64Type>();
    let values = column("numeric_value").as_primitive::<Float32Type>();
    let codes = column("code").as_string::<i32>();
    let rows: Vec<_> = (0..batch.num_rows())
        .map(|row| {
            let time = times.is_valid(row).then(|| times.value(row));
            let visit = visits.is_valid(row).then(|| visits.value(row));
            (time, visit, codes.value(row), values.is_valid(row).then(|| values.value(row)))
        })
        .collect();
    let expected = [
        (None, None, "SEX//F", None),
        (Some(-5), None, "MEDS_BIRTH", None),
        (Some(9), Some(1), "LAB//x//q2", Some(7.25)),
        (Some(10), Some(1), "VISIT", None),
        (Some(10), Some(1), "A", None),
        (Some(30), Some(2), "VISIT", None),
        (Some(30), Some(2), "CUT", None),
        (Some(30), Some(2), "AGE_NOW//70-80", None),
        (Some(30), Some(2), "A", None),
        (Some(40), Some(1), "VISIT_END", None),
        (Some(50), Some(2), "MEDS_DEATH", None),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn every_format_opens_by_one_function() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = sample(5);
    let (folder, lines) = (directory.path().join("cohort"), directory.path().join("cohort.jsonl"));
    meds::write(&folder, &dataset).unwrap();
    jsonl::write(&lines, &dataset.cohort, &dataset.vocabulary).unwrap();
    let given = MedsOptions { vocabulary: Some(vocabulary()), ..MedsOptions::default() };
    assert_same(&Dataset::open_with(&lines, &given).unwrap(), &dataset);
    assert_same(&Dataset::open(&folder).unwrap(), &dataset);
    let file = folder.join("data/000000.parquet");
    let alone = Dataset::open(&file).unwrap();
    assert_eq!(alone.cohort.len(), 5, "a data file alone is read as another tool's");
    assert!(alone.vocabulary.code("VISIT//3").is_some(), "its marker is then a code");
    assert!(Dataset::open(directory.path().join("nowhere")).is_err());
}

#[test]
fn an_undated_dataset_gets_a_day_a_visit_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort");
    meds::write(&path, &sample(5)).unwrap();
    let description = fs::read_to_string(path.join("metadata/dataset.json")).unwrap();
    assert!(description.contains("\"time\": \"ordinal\""), "{description}");
    fs::remove_file(path.join("metadata/dataset.json")).unwrap();
    let dated = Dataset::open(&path).unwrap().details.unwrap();
    let days: Vec<i64> = dated.of(4).times.iter().map(|time| time / 86_400_000_000).collect();
    assert_eq!(days, [10957, 10958, 10959, 10960, 10961]);
}
