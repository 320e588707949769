//! A dataset that is written data file by data file has dates, stays, births and values too.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, Concept, Details, EventDetail, Kind, Record, Scale,
    Split, Vocabulary,
};
use consequence_tables::Dataset;
use consequence_tables::meds::{CodeFacts, Shards};

fn vocabulary() -> Arc<Vocabulary> {
    let names = ["LAB//x//q1", "LAB//x//q2", "DEATH"];
    Arc::new(Vocabulary::new(names.map(|name| (name, Kind::Encounter))).unwrap())
}

/// One record of number `id`.
fn part(id: i64) -> (Cohort, CohortDetails) {
    let mut cohort = Cohort::default();
    cohort.push(&id.to_string(), &Record::new(vec![vec![], vec![Code(0)], vec![Code(1), Code(2)]]));
    let event = |visit, code, time, value| EventDetail { visit, code: Code(code), time, value };
    let details = Details {
        birth: Some(-id),
        times: vec![id, id + 10],
        ends: vec![None, Some(id + 30)],
        events: vec![event(1, 0, None, Some(1.5)), event(2, 2, Some(id + 30), None)],
        ..Details::default()
    };
    let mut known = CohortDetails::default();
    known.push(details.view());
    (cohort, known)
}

#[test]
fn details_survive_a_run_in_two_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort");
    let scale = Scale { test: "LAB//x".into(), up_to: Some(2.0), count: 5, ..Scale::default() };
    let scales = BTreeMap::from([(Code(0), scale)]);
    let fill = |file: usize| {
        let shards = Shards::open(&path, vocabulary(), false).unwrap();
        let (cohort, details) = part(file as i64 + 1);
        shards.fill(file, &cohort, Some(&details)).unwrap().commit().unwrap();
        shards
    };
    drop(fill(0));
    let shards = fill(1);
    assert!(shards.has(0) && shards.has(1));
    let subjects = [(1, Split::Train), (2, Split::HeldOut)];
    let concepts = BTreeMap::from([(Code(0), Concept { id: 3_004_501, ..Concept::default() })]);
    let facts = CodeFacts { scales: scales.clone(), concepts, ..CodeFacts::default() };
    shards.describe(subjects, &facts, true).unwrap();
    assert_eq!(Shards::describing(&facts).len(), 5);
    for name in Shards::describing(&facts) {
        assert!(shards.path().join(name).is_file(), "{name}");
    }
    shards.commit().unwrap();
    let dataset = Dataset::open(&path).unwrap();
    for index in 0..2 {
        let (cohort, details) = part(index as i64 + 1);
        assert_eq!(dataset.cohort.id(index), cohort.id(0));
        assert!(dataset.cohort.record(index).visits().eq(cohort.record(0).visits()));
        assert_eq!(dataset.details_of(index), details.of(0));
    }
    assert_eq!((dataset.scales, dataset.splits), (scales, vec![Split::Train, Split::HeldOut]));
}

#[test]
fn what_has_no_place_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let shards = Shards::open(directory.path().join("cohort"), vocabulary(), false).unwrap();
    let refused = |change: &dyn Fn(&mut Details)| {
        let (cohort, known) = part(1);
        let mut details = known.of(0).to_details();
        change(&mut details);
        let mut changed = CohortDetails::default();
        changed.push(details.view());
        shards.fill(0, &cohort, Some(&changed)).unwrap_err().to_string()
    };
    let age = Some(AgeBand { from: 60, to: None });
    assert!(refused(&|details| details.ages = vec![age, None]).contains("ages of its own"));
    assert!(refused(&|details| details.ends = vec![Some(0), None]).contains("before it begins"));
    let undated = |details: &mut Details| {
        *details = Details { birth: details.birth, ..Details::default() };
    };
    assert!(refused(&undated).contains("a birth and no times"));
    let (cohort, _) = part(1);
    let none = shards.fill(0, &cohort, Some(&CohortDetails::default())).unwrap_err();
    assert!(none.to_string().contains("no details where others have them"));
}
