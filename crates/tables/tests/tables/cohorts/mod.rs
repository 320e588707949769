//! Random datasets with all that one can have.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, Concept, Details, DetailsView, Domain, EventDetail, Kind,
    Record, Scale, Split, Vocabulary,
};
use consequence_tables::Dataset;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

/// Four static codes, then encounter codes, odd names among them.
const NAMES: [&str; 13] = [
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
    "VISIT_END",
    "MEDS_BIRTH",
    "AGE_NOW//40-60",
];
const STATIC: u32 = 4;

/// The vocabulary with one or two codes more.
pub fn with_last(last: &[&str]) -> Arc<Vocabulary> {
    let kind = |index| if index < STATIC as usize { Kind::Static } else { Kind::Encounter };
    let names = NAMES.iter().chain(last).enumerate();
    Arc::new(Vocabulary::new(names.map(|(index, name)| (name, kind(index)))).unwrap())
}

fn visit(from: u32, to: u32) -> impl Strategy<Value = Vec<Code>> {
    btree_set(from..to, 0..5).prop_map(|codes| codes.into_iter().map(Code).collect())
}

fn record() -> impl Strategy<Value = Record> {
    let encounters = vec(visit(STATIC, NAMES.len() as u32 + 1), 1..8);
    (visit(0, STATIC), encounters, any::<bool>()).prop_map(|(first, mut visits, ended)| {
        visits.insert(0, first);
        Record { visits, ended }
    })
}

/// Draws that details are made of: what they are of depends on the record.
type Draws = (Option<i64>, Vec<i64>, Vec<Option<i64>>, Vec<Option<u8>>, Vec<Draw>);
/// Whether a code is told of, how far from its visit's beginning it is, and its value.
type Draw = (bool, Option<i64>, Option<f32>);

const SPAN: i64 = 5_000_000_000_000;

fn draws() -> impl Strategy<Value = Draws> {
    let finite = any::<f32>().prop_filter("finite", |value| value.is_finite());
    let value = proptest::option::of(prop_oneof![finite, Just(7.2), Just(-0.0), Just(f32::MAX)]);
    let apart = proptest::option::of(-SPAN..SPAN);
    let end = proptest::option::of(prop_oneof![Just(0), 0..SPAN]);
    (
        proptest::option::of(-40 * SPAN..SPAN),
        vec(-SPAN..SPAN, 8),
        vec(end, 8),
        vec(proptest::option::of(0..10_u8), 8),
        vec((any::<bool>(), apart, value), 48),
    )
}

/// What a record can have beside its codes: all of it, or only what there is without dates.
fn details(record: &Record, draws: Draws, dated: bool, detailed: bool) -> Details {
    let encounters = record.visits.len() - 1;
    let (birth, mut times, ends, ages, draws) = draws;
    times.truncate(encounters);
    times.sort_unstable();
    // Some begin together.
    if times.len() > 2 && draws[0].0 {
        times[1] = times[0];
    }
    let times = if dated { times } else { Vec::new() };
    if !detailed {
        return Details { times, ..Details::default() };
    }
    let ends = times.iter().zip(ends).map(|(begin, stay)| stay.map(|stay| begin + stay));
    let ends: Vec<Option<i64>> = ends.collect();
    let band = |age: u8| match age {
        9 => AgeBand { from: 90, to: None },
        age => AgeBand { from: age as u16 * 10, to: Some(age as u16 * 10 + 10) },
    };
    let ages: Vec<_> = ages.into_iter().take(encounters).map(|age| age.map(band)).collect();
    let known = |any: bool| if any { 1 } else { 0 };
    let mut events = Vec::new();
    let mut draws = draws.into_iter().cycle();
    for (visit, codes) in record.visits.iter().enumerate() {
        for &code in codes {
            let (told, apart, value) = draws.next().unwrap();
            let begin = visit.checked_sub(1).and_then(|index| times.get(index));
            let time = begin.zip(apart).map(|(begin, apart)| begin + apart);
            let time = time.filter(|time| Some(time) != begin);
            if told && (time.is_some() || value.is_some()) {
                events.push(EventDetail { visit: visit as u32, code, time, value });
            }
        }
    }
    Details {
        birth,
        ends: ends.repeat(known(ends.iter().any(Option::is_some))),
        ages: ages.repeat(known(ages.iter().any(Option::is_some))),
        times,
        events,
    }
}

/// What the values of two codes are.
fn scales() -> BTreeMap<Code, Scale> {
    let unit = Some("mg/dL, é".to_owned());
    let low = Scale { test: "LAB//x".into(), up_to: Some(5.1), count: 7, ..Scale::default() };
    let high = Scale { above: Some(5.1), up_to: None, unit, ..low.clone() };
    BTreeMap::from([(Code(4), low), (Code(9), high)])
}

/// A dataset with ids of every kind, with or without times, and with or without all else.
pub fn dataset() -> impl Strategy<Value = Dataset> {
    let id = prop_oneof!["[0-9]{1,4}", "-?[0-9]{18,20}", "p[0-9]{2}", "\\PC{0,3}"];
    let one = (id, record(), 0..3_usize, draws());
    let last = prop_oneof![
        Just(vec!["糖尿病 2"]),
        Just(vec!["DEATH"]),
        Just(vec!["MEDS_DEATH"]),
        Just(vec!["MEDS_DEATH", "DEATH"]),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (vec(one, 1..20), last, flags).prop_map(|(records, last, (dated, titled, detailed))| {
        let mut cohort = Cohort::default();
        let mut known = CohortDetails::default();
        let mut splits = Vec::new();
        let mut ids = std::collections::BTreeSet::new();
        for (id, record, split, draws) in records {
            if ids.insert(id.clone()) {
                cohort.push(&id, &record);
                splits.push(Split::ALL[split]);
                known.push(details(&record, draws, dated, detailed).view());
            }
        }
        let titles = BTreeMap::from([
            (Code(4), "Diabetes, \u{e9}".to_owned()),
            (Code(NAMES.len() as u32), "the last".to_owned()),
        ]);
        let concept = Concept {
            id: 201_826,
            ancestors: vec![4, 40_000_000_000],
            domain: Some(Domain::Condition),
            source: true,
            result: Some(45_884_084),
        };
        let concepts = BTreeMap::from([(Code(4), concept), (Code(3), Concept::default())]);
        let any = (0..known.len()).any(|record| known.of(record) != DetailsView::default());
        Dataset {
            splits,
            concepts: if titled { concepts } else { BTreeMap::new() },
            titles: if titled { titles } else { BTreeMap::new() },
            scales: if detailed && titled { scales() } else { BTreeMap::new() },
            details: any.then_some(known),
            ..Dataset::new(cohort, with_last(&last))
        }
    })
}

pub fn assert_same(left: &Dataset, right: &Dataset) {
    assert_eq!(left.cohort, right.cohort);
    assert_eq!(left.splits, right.splits);
    assert_eq!(left.titles, right.titles);
    assert_eq!(left.concepts, right.concepts);
    assert_eq!(left.scales, right.scales);
    assert_eq!(left.details, right.details);
    let names = |vocabulary: &Vocabulary| -> Vec<(String, Kind)> {
        let codes = vocabulary.codes();
        codes.map(|code| (vocabulary.name(code).into(), vocabulary.kind(code))).collect()
    };
    assert_eq!(names(&left.vocabulary), names(&right.vocabulary));
}
