//! What is written as MEDS is read back the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use consequence_record::{
    Code, Cohort, CohortDetails, Concept, DetailsView, Kind, Record, Split, Vocabulary,
};
use consequence_tables::meds::{self, MedsOptions, Subject, Writer, WriterOptions};
use consequence_tables::{Dataset, WriteError, jsonl};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

/// Four static codes, then encounter codes, odd names among them.
const NAMES: [&str; 10] = [
    "SEX//F",
    "SEX//M",
    "AGE//40-60",
    "sprache//größe",
    "ICD9CM//250",
    "VISIT",
    "CUT",
    "VISIT//2",
    "\"quoted\", and\nmore",
    "糖尿病",
];
const STATIC: u32 = 4;

fn vocabulary() -> Arc<Vocabulary> {
    let kind = |index| if index < STATIC as usize { Kind::Static } else { Kind::Encounter };
    let codes = NAMES.iter().enumerate().map(|(index, name)| (name, kind(index)));
    Arc::new(Vocabulary::new(codes).unwrap())
}

fn visit(from: u32, to: u32) -> impl Strategy<Value = Vec<Code>> {
    btree_set(from..to, 0..5).prop_map(|codes| codes.into_iter().map(Code).collect())
}

fn record() -> impl Strategy<Value = Record> {
    let encounters = vec(visit(STATIC, NAMES.len() as u32), 1..8);
    (visit(0, STATIC), encounters, any::<bool>()).prop_map(|(first, mut visits, ended)| {
        visits.insert(0, first);
        Record { visits, ended }
    })
}

/// A dataset with ids of every kind, with or without times.
fn dataset() -> impl Strategy<Value = Dataset> {
    let id = prop_oneof!["[0-9]{1,4}", "-?[0-9]{18,20}", "p[0-9]{2}", "\\PC{0,3}"];
    let one = (id, record(), 0..3_usize, vec(-5_000_000_000_000_i64..5_000_000_000_000, 8));
    (vec(one, 1..20), any::<bool>(), any::<bool>()).prop_map(|(records, dated, titled)| {
        let mut cohort = Cohort::default();
        let mut times = CohortDetails::default();
        let mut splits = Vec::new();
        let mut ids = std::collections::BTreeSet::new();
        for (id, record, split, mut when) in records {
            if ids.insert(id.clone()) {
                cohort.push(&id, &record);
                splits.push(Split::ALL[split]);
                when.truncate(record.visits.len() - 1);
                when.sort_unstable();
                times.push(DetailsView { times: &when, ..DetailsView::default() });
            }
        }
        let titles = BTreeMap::from([(Code(4), "Diabetes, \u{e9}".to_owned())]);
        let concept = Concept { id: 201_826, ancestors: vec![4, 40_000_000_000] };
        let concepts = BTreeMap::from([(Code(4), concept), (Code(3), Concept::default())]);
        Dataset {
            splits,
            concepts: if titled { concepts } else { BTreeMap::new() },
            titles: if titled { titles } else { BTreeMap::new() },
            details: dated.then_some(times),
            ..Dataset::new(cohort, vocabulary())
        }
    })
}

fn assert_same(left: &Dataset, right: &Dataset) {
    assert_eq!(left.cohort, right.cohort);
    assert_eq!(left.splits, right.splits);
    assert_eq!(left.titles, right.titles);
    assert_eq!(left.concepts, right.concepts);
    assert_eq!(left.details, right.details);
    let names = |vocabulary: &Vocabulary| -> Vec<(String, Kind)> {
        let codes = vocabulary.codes();
        codes.map(|code| (vocabulary.name(code).into(), vocabulary.kind(code))).collect()
    };
    assert_eq!(names(&left.vocabulary), names(&right.vocabulary));
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
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_dataset_is_read_back_the_same(dataset in dataset(), shard_rows in 1..60_usize) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cohort");
        let options = WriterOptions { shard_rows, ..WriterOptions::default() };
        meds::write_with(&path, &dataset, &options).unwrap();
        assert_same(&meds::read(&path, &MedsOptions::default()).unwrap(), &dataset);
        let given = MedsOptions { vocabulary: Some(vocabulary()), ..MedsOptions::default() };
        assert_same(&Dataset::open_with(&path, &given).unwrap(), &dataset);
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
    assert!(refused(&[(whole("1"), &[none, &[Code(10)]])]).contains("`END`"));
    assert!(refused(&[(whole("1"), &[none, &[Code(99)]])]).contains("not of the vocabulary"));
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
