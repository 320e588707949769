//! Records that a model writes under rules about days, counts, ages and values, judged by their dates and values.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{network, rules};
use consequence_details::DetailModel;
use consequence_prng::{Draws, Purpose};
use consequence_record::calendar::{DAY, years_between};
use consequence_record::{
    Code, Cohort, CohortDetails, DayBand, Details, EventDetail, Kind, Record, Scale, Selection,
    Vocabulary,
};
use consequence_referee::{Detailed, Referee};
use consequence_sample::{Mode, Request, SampleError, Sampler, Totals};

const RULES: &str = "
    rule one-gap: at most one of GAP//*
    rule told: first visit => none of GAP//*
    rule apart: A in last 20 days => not A
    rule due: A in previous => B
    rule window: B in 3 to 14 days ago => not C
    rule few: C at most 2 times
    rule young: AGE < 18 => not B and not A
    rule high: LAB > 6 => not C
    rule adults: exactly one of AGE//*";

const FEWER: &str = "
    rule apart: A in last 20 days => not A
    rule high: LAB > 6 => not C";

/// Patients of all ages who come within a year.
fn world() -> (Arc<Vocabulary>, DetailModel) {
    let mut names: Vec<(String, Kind)> =
        ["AGE//0-18", "AGE//18+"].map(|name| (name.into(), Kind::Static)).into();
    names.extend(["A", "B", "C", "LAB"].map(|name| (name.into(), Kind::Encounter)));
    let bands = &DayBand::gaps()[..12];
    names.extend(bands.iter().map(|band| (format!("GAP//{band}"), Kind::Encounter)));
    let vocabulary = Vocabulary::new(names).unwrap();
    let code = |name: &str| vocabulary.code(name).unwrap();
    let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    for patient in 0..400 {
        let mut draws = Draws::new(5).visit(patient, 0, 0, Purpose::Simulation);
        let mut at = 0;
        let mut below = |most: i64| {
            at += 1;
            (draws.uniform(at) * most as f64) as i64
        };
        let mut day = 14_000 + below(2_000);
        let birth = day - below(20_000);
        let adult = years_between(birth * DAY, day * DAY) >= 18;
        let mut visits = vec![vec![code(if adult { "AGE//18+" } else { "AGE//0-18" })]];
        let mut told = Details { birth: Some(birth * DAY), ..Details::default() };
        for visit in 1..=4 {
            let mut codes = vec![code("LAB")];
            if visit > 1 {
                let gap = below(170);
                day += gap;
                let band = bands.iter().find(|band| band.holds(gap)).unwrap();
                codes.push(code(&format!("GAP//{band}")));
            }
            codes.sort_unstable();
            visits.push(codes);
            told.times.push(day * DAY);
            let value = Some(4.0 + below(50) as f32 / 10.0);
            told.events.push(EventDetail { visit, code: code("LAB"), time: None, value });
        }
        cohort.push(&patient.to_string(), &Record::new(visits));
        details.push(told.view());
    }
    let scale = Scale { test: "LAB".into(), count: 1_600, ..Scale::default() };
    let scales: BTreeMap<Code, Scale> = [(code("LAB"), scale)].into();
    let model = DetailModel::fit(Selection::all(&cohort), &details, &vocabulary, &scales);
    (Arc::new(vocabulary), model)
}

#[test]
fn every_record_obeys_by_its_dates_and_values() {
    let (vocabulary, details) = world();
    let (all, some) = (rules(RULES, &vocabulary), rules(FEWER, &vocabulary));
    let gaps: Vec<(Code, DayBand)> = vocabulary
        .codes()
        .filter_map(|code| Some((code, DayBand::of_gap(vocabulary.name(code))?)))
        .collect();
    for (mode, seed) in [
        (Mode::Guided, 1),
        (Mode::Guided, 2),
        (Mode::Override, 3),
        (Mode::Reject, 4),
        (Mode::Exact, 5),
    ] {
        let generator = network(&vocabulary, 5, seed);
        // A network that was trained on nothing hardly ever keeps all of them by itself.
        let rules = if mode == Mode::Reject { &some } else { &all };
        let referee = Referee::new(rules);
        let details = Some(&details);
        let request = Request { seed, mode, attempts: 10_000, details, ..Request::default() };
        let count = match mode {
            Mode::Reject => 20,
            Mode::Exact => 100,
            _ => 1_000,
        };
        let sampler = Sampler::new(&generator, rules, request).unwrap();
        let (mut totals, mut later, mut present) = (Totals::default(), 0, [0; 3]);
        let written = sampler.each(0..count, &mut totals, |sampled| {
            let view = sampled.details.view();
            let judged = Detailed { record: &sampled.record, details: view };
            assert!(referee.is_valid(&judged), "{mode}: {:?}", referee.violations(&judged));
            for (visit, codes) in sampled.record.visits.iter().enumerate().skip(2) {
                later += 1;
                let days = (view.times[visit - 1] - view.times[visit - 2]) / DAY;
                let told = gaps.iter().filter(|(code, _)| codes.contains(code));
                // Where no rule keeps them apart, several codes may tell the days.
                let right = |(_, band): &(Code, DayBand)| band.holds(days);
                let fits = told.clone().count() == 0 || told.clone().any(right);
                assert!(fits, "{mode}: {days} days");
                for (count, name) in present.iter_mut().zip(["A", "B", "C"]) {
                    *count += usize::from(codes.contains(&vocabulary.code(name).unwrap()));
                }
            }
            Ok(())
        });
        written.unwrap_or_else(|error| panic!("{mode}: {error}"));
        assert_eq!(totals.records, count);
        if matches!(mode, Mode::Guided | Mode::Override) {
            assert!(later > 500 && present.iter().all(|&count| count > 10), "{mode}: {present:?}");
        }
    }
}

#[test]
fn without_dates_ages_are_those_of_static_codes() {
    let names = ["AGE//0-18", "AGE//18-65", "AGE//65+"].map(|name| (name, Kind::Static));
    let codes = ["A", "B", "C"].map(|name| (name, Kind::Encounter));
    let vocabulary = Arc::new(Vocabulary::new(names.into_iter().chain(codes)).unwrap());
    let code = |name: &str| vocabulary.code(name).unwrap();
    let rules = rules(
        "rule one-age: exactly one of AGE//*
         rule adults: A => AGE between 18 and 64
         rule old: AGE >= 65 and B in previous => C
         rule young: AGE < 18 => not B
         rule rarely: AGE >= 18 => C with probability 10%",
        &vocabulary,
    );
    let referee = Referee::new(&rules);
    for mode in [Mode::Guided, Mode::Override, Mode::Reject, Mode::Exact] {
        let generator = network(&vocabulary, 5, 7);
        let trained_with = Some(&rules);
        let request = Request { mode, attempts: 10_000, trained_with, ..Request::default() };
        let sampler = Sampler::new(&generator, &rules, request).unwrap();
        let (mut totals, mut adults, mut as_old) = (Totals::default(), 0, 0);
        let written = sampler.each(0..200, &mut totals, |sampled| {
            let visits = &sampled.record.visits;
            assert!(referee.is_valid(&sampled.record), "{mode}: {visits:?}");
            adults += usize::from(visits.iter().any(|codes| codes.contains(&code("A"))));
            as_old += usize::from(visits[0].contains(&code("AGE//65+")));
            Ok(())
        });
        written.unwrap_or_else(|error| panic!("{mode}: {error}"));
        assert!(adults > 0 && as_old > 0, "{mode}: {adults}, {as_old}");
    }
    // Where static codes tell none either, nobody could.
    let vocabulary =
        Arc::new(Vocabulary::new([("SEX//F", Kind::Static), ("A", Kind::Encounter)]).unwrap());
    let rules = common::rules("rule adults: A => AGE >= 18", &vocabulary);
    let generator = network(&vocabulary, 2, 1);
    let refused = Sampler::new(&generator, &rules, Request::default()).err();
    assert!(matches!(refused, Some(SampleError::NoDates)));
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let (vocabulary, details) = world();
    let rules = rules(RULES, &vocabulary);
    let generator = network(&vocabulary, 5, 1);
    let refused = |request: Request<'_>| Sampler::new(&generator, &rules, request).err();
    assert!(matches!(refused(Request::default()), Some(SampleError::NoDates)));
    let mut prefix = Cohort::default();
    prefix.push("p", &Record::new(vec![vec![], vec![]]));
    let goes_on = Request { prefix: Some(&prefix), details: Some(&details), ..Request::default() };
    assert!(matches!(refused(goes_on), Some(SampleError::PrefixDates { record: 1 })));
}

/// Few codes and days, so that records that obey are often drawn by themselves.
const SMALL: &str = "
    rule one-gap: at most one of GAP//*
    rule told: first visit => none of GAP//*
    rule tells: not first visit => any of GAP//*
    rule apart: A in last 3 days => not A
    rule young: AGE < 30 => not B
    rule high: LAB > 6 => not A";

/// Adults who come within eight days, in a world with few codes.
fn small_world() -> (Arc<Vocabulary>, DetailModel) {
    let mut names: Vec<(String, Kind)> = vec![("AGE//20+".into(), Kind::Static)];
    names.extend(
        ["GAP//0-2d", "GAP//2-8d", "A", "B", "LAB"].map(|name| (name.into(), Kind::Encounter)),
    );
    let vocabulary = Vocabulary::new(names).unwrap();
    let code = |name: &str| vocabulary.code(name).unwrap();
    let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    for patient in 0..400_i64 {
        let mut day = 14_000 + patient % 90;
        let birth = day - 365 * (25 + patient % 12);
        let mut told = Details { birth: Some(birth * DAY), ..Details::default() };
        let mut visits = vec![vec![code("AGE//20+")]];
        for visit in 1..=3_u32 {
            let mut codes = vec![code("LAB")];
            if visit > 1 {
                let gap = (patient * 7 + i64::from(visit) * 3) % 8;
                day += gap;
                codes.insert(0, code(if gap < 2 { "GAP//0-2d" } else { "GAP//2-8d" }));
            }
            visits.push(codes);
            told.times.push(day * DAY);
            let value = Some(4.0 + (patient % 40) as f32 / 10.0);
            told.events.push(EventDetail { visit, code: code("LAB"), time: None, value });
        }
        cohort.push(&patient.to_string(), &Record::new(visits));
        details.push(told.view());
    }
    let scale = Scale { test: "LAB".into(), count: 1_200, ..Scale::default() };
    let scales: BTreeMap<Code, Scale> = [(code("LAB"), scale)].into();
    let model = DetailModel::fit(Selection::all(&cohort), &details, &vocabulary, &scales);
    (Arc::new(vocabulary), model)
}

/// What rules tell apart of a record: its codes, days, whether the patient is young, and which values are high.
type Seen = Vec<(Vec<Code>, i64, bool, bool)>;

fn seen(record: &Record, details: &Details, lab: Code) -> Seen {
    let view = details.view();
    let of = |(visit, codes): (usize, &Vec<Code>)| {
        let [now, before] =
            [visit, visit.max(2) - 1].map(|visit| view.time(visit).unwrap_or(0) / DAY);
        let young = view.age(visit).is_some_and(|age| age.from < 30);
        let high =
            view.event(visit, lab).and_then(|event| event.value).is_some_and(|value| value > 6.0);
        (codes.clone(), now - before, young, high)
    };
    record.visits.iter().enumerate().skip(1).map(of).collect()
}

#[test]
fn exact_weighs_days_ages_and_values_as_well_as_codes() {
    let (vocabulary, details) = small_world();
    let rules = rules(SMALL, &vocabulary);
    let lab = vocabulary.code("LAB").unwrap();
    let generator = network(&vocabulary, 2, 3);
    let code = |name: &str| vocabulary.code(name).unwrap();
    let (mut begun, mut told) = (Cohort::default(), CohortDetails::default());
    begun.push("p", &Record::new(vec![vec![code("AGE//20+")], vec![code("A")]]));
    let birth = Some((15_000 - 29 * 365) * DAY);
    told.push(Details { birth, times: vec![15_000 * DAY + 9], ..Details::default() }.view());
    let write = |prefix: bool, mode: Mode, proposals: u16, seed: u64, count: u64| {
        let details = Some(&details);
        let attempts = 10_000;
        let request = Request {
            seed,
            mode,
            proposals,
            attempts,
            details,
            prefix: prefix.then_some(&begun),
            prefix_details: prefix.then_some(&told),
            batch: 1024,
            ..Request::default()
        };
        let sampler = Sampler::new(&generator, &rules, request).unwrap();
        let (mut counts, mut totals) = (BTreeMap::<Seen, f64>::new(), Totals::default());
        let written = sampler.each(0..count, &mut totals, |sampled| {
            *counts.entry(seen(&sampled.record, &sampled.details, lab)).or_default() +=
                1.0 / count as f64;
            Ok(())
        });
        written.unwrap_or_else(|error| panic!("{mode}: {error}"));
        (counts, totals)
    };
    let apart = |one: &BTreeMap<Seen, f64>, other: &BTreeMap<Seen, f64>| -> f64 {
        let keys: std::collections::BTreeSet<&Seen> = one.keys().chain(other.keys()).collect();
        let share = |of: &BTreeMap<Seen, f64>, key: &Seen| of.get(key).copied().unwrap_or(0.0);
        keys.into_iter().map(|key| (share(one, key) - share(other, key)).abs()).sum::<f64>() / 2.0
    };
    const COUNT: u64 = 20_000;
    let (free, drawn) = write(false, Mode::Reject, 1, 1, COUNT);
    let (again, _) = write(false, Mode::Reject, 1, 2, COUNT);
    let (one, guided) = write(false, Mode::Exact, 1, 3, COUNT);
    let (many, _) = write(false, Mode::Exact, 32, 4, COUNT);
    // What counting so many records costs by itself.
    let counting = apart(&free, &again);
    let found = [apart(&free, &one), apart(&free, &many)];
    println!("{counting} {found:?}");
    assert!(found[0] > 2.0 * counting, "guided alone is something else: {found:?}, {counting}");
    assert!(found[1] < 1.2 * counting, "{found:?}, {counting}");
    // Weights average to the probability that a record which the model writes by itself obeys.
    let obeying = COUNT as f64 / drawn.attempts as f64;
    let weighed = guided.obeying().unwrap();
    println!("{obeying} {weighed}");
    assert!((weighed / obeying - 1.0).abs() < 0.05, "{weighed} of {obeying}");
    // The same after an encounter that is given with its day.
    let [free, again, many] = [(Mode::Reject, 5), (Mode::Reject, 6), (Mode::Exact, 7)]
        .map(|(mode, seed)| write(true, mode, 32, seed, COUNT / 10).0);
    let (counting, found) = (apart(&free, &again), apart(&free, &many));
    println!("{counting} {found}");
    assert!(
        free.keys().any(|seen| seen.len() > 1) && found < 1.2 * counting,
        "{found}, {counting}"
    );
}

#[test]
fn what_a_record_begins_with_keeps_its_days_and_binds_what_follows() {
    let (vocabulary, details) = world();
    let rules = rules(RULES, &vocabulary);
    let referee = Referee::new(&rules);
    let generator = network(&vocabulary, 5, 1);
    let code = |name: &str| vocabulary.code(name).unwrap();
    let (mut prefix, mut told) = (Cohort::default(), CohortDetails::default());
    let band = DayBand::gaps().into_iter().find(|band| band.holds(4)).unwrap();
    let gap = code(&format!("GAP//{band}"));
    let (day, birth) = (15_000, 15_000 - 40 * 366);
    let begun = Record::new(vec![vec![code("AGE//18+")], vec![code("LAB")], vec![code("A"), gap]]);
    let value = EventDetail { visit: 1, code: code("LAB"), time: None, value: Some(7.5) };
    let given = Details {
        birth: Some(birth * DAY),
        times: vec![day * DAY + 5, (day + 4) * DAY + 7],
        events: vec![value],
        ..Details::default()
    };
    prefix.push("p", &begun);
    told.push(given.view());
    for mode in [Mode::Guided, Mode::Override, Mode::Exact] {
        let request = Request {
            mode,
            prefix: Some(&prefix),
            prefix_details: Some(&told),
            details: Some(&details),
            ..Request::default()
        };
        let sampler = Sampler::new(&generator, &rules, request).unwrap();
        let (mut totals, mut longer) = (Totals::default(), 0);
        let written = sampler.each(0..200, &mut totals, |sampled| {
            let (record, details) = (&sampled.record, sampled.details.view());
            assert_eq!(record.visits[..3], begun.visits);
            assert_eq!(
                (details.times[..2].to_vec(), details.birth),
                (given.times.clone(), given.birth)
            );
            assert_eq!(details.events_of(1), given.events);
            let judged = Detailed { record, details };
            assert!(referee.is_valid(&judged), "{mode}: {:?}", referee.violations(&judged));
            longer += usize::from(record.visits.len() > 3);
            Ok(())
        });
        written.unwrap_or_else(|error| panic!("{mode}: {error}"));
        // That a network trained on nothing goes on as rules will have it is improbable, and `exact` says so.
        assert!(longer > 50 || mode == Mode::Exact, "{mode}: {longer}");
    }
    // Twice within twenty days: no record may begin so.
    let mut twice = Cohort::default();
    twice.push(
        "p",
        &Record::new(vec![begun.visits[0].clone(), vec![code("A")], begun.visits[2].clone()]),
    );
    let request = Request {
        prefix: Some(&twice),
        prefix_details: Some(&told),
        details: Some(&details),
        ..Request::default()
    };
    let refused = Sampler::new(&generator, &rules, request).err();
    assert!(
        matches!(refused, Some(SampleError::PrefixForbidden { record: 1, visit: 2, .. })),
        "{refused:?}"
    );
}
