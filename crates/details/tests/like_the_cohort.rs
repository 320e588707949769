//! What is drawn is like the cohort it was fitted to, agrees with the codes, and tells of no one patient.

use std::collections::BTreeMap;

use consequence_details::{Checker, DetailModel, FEWEST_PATIENTS};
use consequence_prng::{Draws, Purpose};
use consequence_record::calendar::{DAY, civil, years_between};
use consequence_record::{
    Code, Cohort, CohortDetails, DayBand, Details, EventDetail, Kind, Record, Scale, Selection,
    Vocabulary,
};

/// Patients who come on weekdays, most of them two weeks after a cold and three months after anything else, and
/// who stay longer the worse they are.
struct World {
    vocabulary: Vocabulary,
    scales: BTreeMap<Code, Scale>,
    cohort: Cohort,
    details: CohortDetails,
}

const TESTS: [(&str, f32, f32); 2] =
    [("LAB//a1c//q1", f32::NEG_INFINITY, 6.5), ("LAB//a1c//q2", 6.5, f32::INFINITY)];

fn world(patients: u64) -> World {
    let mut names: Vec<(String, Kind)> =
        ["AGE//0-40", "AGE//40+"].map(|name| (name.into(), Kind::Static)).into();
    names.extend(["COLD", "DEATH"].map(|name| (name.into(), Kind::Encounter)));
    names.extend(DayBand::gaps().iter().map(|band| (format!("GAP//{band}"), Kind::Encounter)));
    names.extend(DayBand::stays().iter().map(|band| (format!("STAY//{band}"), Kind::Encounter)));
    names.extend(TESTS.map(|(name, ..)| (name.into(), Kind::Encounter)));
    let vocabulary = Vocabulary::new(names).unwrap();
    let code = |name: &str| vocabulary.code(name).unwrap();
    let scales = TESTS.map(|(name, above, up_to)| {
        let finite = |cut: f32| cut.is_finite().then_some(cut);
        let scale = Scale {
            test: "LAB//a1c".into(),
            unit: Some("%".into()),
            above: finite(above),
            up_to: finite(up_to),
            count: 0,
        };
        (code(name), scale)
    });
    let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    for patient in 0..patients {
        let mut draws = Draws::new(5).visit(patient, 0, 0, Purpose::Simulation);
        let mut at = 0;
        let mut uniform = || {
            at += 1;
            draws.uniform(at)
        };
        let start = 14_000 + (uniform() * 2_000.0) as i64;
        let age = (uniform() * 29_000.0) as i64;
        let mut told = Details { birth: Some((start - age) * DAY), ..Details::default() };
        let young = years_between((start - age) * DAY, start * DAY) < 40;
        let mut visits = vec![vec![code(if young { "AGE//0-40" } else { "AGE//40+" })]];
        let mut day = start;
        let encounters = 1 + (uniform() * 8.0) as usize;
        for visit in 1..=encounters {
            let mut codes = Vec::new();
            if visit > 1 {
                let cold = visits[visit - 1].contains(&code("COLD"));
                let gap = if cold { 10.0 + uniform() * 8.0 } else { 30.0 + uniform() * 120.0 };
                let before = day;
                day += gap as i64;
                // Nobody comes on a Sunday.
                day += i64::from((day + 3).rem_euclid(7) == 6);
                let band =
                    DayBand::gaps().into_iter().find(|band| band.holds(day - before)).unwrap();
                codes.push(code(&format!("GAP//{band}")));
            } else {
                day += i64::from((day + 3).rem_euclid(7) == 6);
            }
            if uniform() < 0.4 {
                codes.push(code("COLD"));
            }
            let stay = (uniform() * uniform() * 9.0) as i64;
            let band = DayBand::stays().into_iter().find(|band| band.holds(stay)).unwrap();
            codes.push(code(&format!("STAY//{band}")));
            let end = (day + stay) * DAY + DAY / 2;
            told.times.push(day * DAY + DAY / 3);
            told.ends.push(Some(end));
            if visit == encounters && uniform() < 0.2 {
                codes.push(code("DEATH"));
                told.events.push(EventDetail {
                    visit: visit as u32,
                    code: code("DEATH"),
                    time: Some(end),
                    value: None,
                });
            }
            if uniform() < 0.5 {
                let value = ((5.0 + 4.0 * uniform() * uniform()) * 10.0).round() as f32 / 10.0;
                let part = if value <= 6.5 { "LAB//a1c//q1" } else { "LAB//a1c//q2" };
                codes.push(code(part));
                told.events.push(EventDetail {
                    visit: visit as u32,
                    code: code(part),
                    time: None,
                    value: Some(value),
                });
            }
            visits.push(codes);
        }
        told.events.sort_by_key(|event| (event.visit, event.code));
        cohort.push(&patient.to_string(), &Record::new(visits));
        details.push(told.view());
    }
    World { vocabulary, scales: scales.into(), cohort, details }
}

/// The greatest distance of two distributions.
fn distance(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
    one.sort_by(f64::total_cmp);
    other.sort_by(f64::total_cmp);
    let share = |all: &[f64], most: f64| {
        all.partition_point(|value| *value <= most) as f64 / all.len() as f64
    };
    one.iter()
        .chain(&other)
        .map(|&at| (share(&one, at) - share(&other, at)).abs())
        .fold(0.0, f64::max)
}

/// Numbers that are read off the details of records.
type Reading<'a> = &'a dyn Fn(&Details) -> Vec<f64>;

#[test]
fn what_is_drawn_is_like_the_cohort() {
    let World { vocabulary, scales, cohort, details } = world(3_000);
    let model = DetailModel::fit(Selection::all(&cohort), &details, &vocabulary, &scales);
    let drawer = model.drawer(&vocabulary);
    let checker = Checker::new(&vocabulary, model.scales_over(&vocabulary));
    let day = |time: i64| time.div_euclid(DAY);
    let mut real = Vec::new();
    let mut drawn = Vec::new();
    for index in 0..cohort.len() {
        let record = cohort.record(index).to_record();
        let new = drawer.draw(&record, &Draws::new(9), index as u64);
        assert_eq!(checker.disagreement(&record, new.view()), None);
        assert_eq!(new, drawer.draw(&record, &Draws::new(9), index as u64));
        real.push(details.of(index).to_details());
        drawn.push(new);
    }
    let gaps = |one: &Details| {
        one.times.windows(2).map(|pair| (day(pair[1]) - day(pair[0])) as f64).collect()
    };
    let readings: [(&str, Reading<'_>); 7] = [
        ("gaps", &gaps),
        ("weekdays", &|one| {
            one.times.iter().map(|&time| (day(time) + 3).rem_euclid(7) as f64).collect()
        }),
        ("months", &|one| one.times.iter().map(|&time| civil(day(time)).1 as f64).collect()),
        ("starts", &|one| vec![day(one.times[0]) as f64]),
        ("stays", &|one| {
            one.ends
                .iter()
                .zip(&one.times)
                .map(|(end, begin)| (day(end.unwrap()) - day(*begin)) as f64)
                .collect()
        }),
        ("ages", &|one| {
            one.times.iter().map(|time| (time - one.birth.unwrap()) as f64 / DAY as f64).collect()
        }),
        ("values", &|one| {
            one.events.iter().filter_map(|event| event.value.map(f64::from)).collect()
        }),
    ];
    for (name, reading) in readings {
        let of = |all: &[Details]| all.iter().flat_map(reading).collect::<Vec<f64>>();
        let off = distance(of(&real), of(&drawn));
        assert!(off < 0.03, "{name}: {off}");
    }
    let sundays =
        drawn.iter().flat_map(|one| &one.times).filter(|&&time| (day(time) + 3).rem_euclid(7) == 6);
    assert_eq!(sundays.count(), 0, "nobody comes on a Sunday");
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<DetailModel>(&text).unwrap(), model);
}

#[test]
fn nothing_is_told_of_fewer_than_ten_patients() {
    for patients in [1, 5, FEWEST_PATIENTS as u64 - 1, 12, 25] {
        let World { vocabulary, scales, cohort, details } = world(patients);
        let model = DetailModel::fit(Selection::all(&cohort), &details, &vocabulary, &scales);
        let text = serde_json::to_string(&model).unwrap();
        if (patients as usize) < FEWEST_PATIENTS {
            assert!(!model.dated(), "{text}");
            assert!(!text.contains("6.5"), "a cut point is somebody's: {text}");
        }
        for index in 0..cohort.len() {
            let record = cohort.record(index).to_record();
            let new = model.drawer(&vocabulary).draw(&record, &Draws::new(9), index as u64);
            let checker = Checker::new(&vocabulary, model.scales_over(&vocabulary));
            assert_eq!(checker.disagreement(&record, new.view()), None, "{patients}");
        }
    }
}

#[test]
fn records_take_no_longer_than_ten_patients_do() {
    let World { vocabulary, scales, cohort, details } = world(400);
    let model = DetailModel::fit(Selection::all(&cohort), &details, &vocabulary, &scales);
    let span =
        |times: &[i64]| (times[times.len() - 1].div_euclid(DAY) - times[0].div_euclid(DAY)).max(0);
    let mut spans: Vec<i64> =
        (0..cohort.len()).map(|index| span(details.of(index).times)).collect();
    spans.sort_unstable();
    let longest = spans[spans.len() - FEWEST_PATIENTS];
    // A model from before this was kept draws each record once.
    let mut old: serde_json::Value = serde_json::to_value(&model).unwrap();
    let kept = old["dates"].as_object_mut().and_then(|dates| dates.remove("longest"));
    assert_eq!(kept, Some(longest.into()));
    let old: DetailModel = serde_json::from_value(old).unwrap();
    assert!(model.bounded() && !old.bounded() && old.dated());
    let (drawer, unbounded) = (model.drawer(&vocabulary), old.drawer(&vocabulary));
    let checker = Checker::new(&vocabulary, model.scales_over(&vocabulary));
    let (mut shortened, mut over) = (0, 0);
    for number in 0..4_000 {
        let record = cohort.record(number % cohort.len()).to_record();
        let [new, before] =
            [&drawer, &unbounded].map(|drawer| drawer.draw(&record, &Draws::new(9), number as u64));
        assert_eq!(checker.disagreement(&record, new.view()), None);
        assert!(span(&new.times) <= span(&before.times));
        match span(&before.times) <= longest {
            true => assert_eq!(new, before, "what is short enough stays"),
            false if span(&new.times) <= longest => shortened += 1,
            false => over += 1,
        }
        assert_eq!(new.events.len(), before.events.len());
    }
    // Codes of a few patients stand for more than ten of them reach, whatever is drawn.
    assert!(shortened > 10 && over < 90, "{shortened} {over}");
}

#[test]
fn codes_of_gaps_stand_for_their_mean() {
    let World { vocabulary, scales, cohort, details } = world(2_000);
    let model = DetailModel::fit(Selection::all(&cohort), &details, &vocabulary, &scales);
    let days = model.gap_days();
    assert_eq!((days["GAP//0d"], days["GAP//1d"]), (0.0, 1.0));
    for (name, mean) in &days {
        let band = DayBand::of_gap(name).unwrap();
        assert!(f64::from(band.from) <= *mean && band.to.is_none_or(|to| *mean < to.into()));
    }
    let code = vocabulary.code("GAP//14-21d").unwrap();
    let met: Vec<f64> = (0..cohort.len())
        .flat_map(|index| {
            let (record, told) = (cohort.record(index), details.of(index));
            let with = (2..record.len()).filter(move |&visit| record.visit(visit).contains(&code));
            let day = move |visit| told.time(visit).unwrap().div_euclid(DAY);
            with.map(move |visit| (day(visit) - day(visit - 1)) as f64).collect::<Vec<_>>()
        })
        .collect();
    let mean = met.iter().sum::<f64>() / met.len() as f64;
    assert!((days["GAP//14-21d"] - mean).abs() < 0.1, "{} {mean}", days["GAP//14-21d"]);
    assert!(DetailModel::default().gap_days().is_empty());
}
