//! Dates, stays, ages and values against their definitions, taken literally.

use std::collections::{BTreeMap, BTreeSet};

use consequence_evaluate::{
    Distribution, Known, Misplaced, Sides, Timing, TimingOptions, TimingSample, TimingSamples,
    timing,
};
use consequence_prng::{Draws, Purpose};
use consequence_record::calendar::{DAY, Date, parse};
use consequence_record::{
    AgeBand, Code, Cohort, CohortDetails, Details, EventDetail, Kind, Record, Scale, Selection,
    Vocabulary,
};

const NAMES: [&str; 11] =
    ["C0", "C1", "C2", "C3", "C4", "C5", "DEATH", "GAP//0d", "LAB//a//q1", "LAB//a//q2", "LAB//b"];

fn vocabulary() -> Vocabulary {
    let encounter = NAMES.map(|name| (name, Kind::Encounter));
    Vocabulary::new([("SEX//F", Kind::Static)].into_iter().chain(encounter)).unwrap()
}

fn scales(vocabulary: &Vocabulary) -> BTreeMap<Code, Scale> {
    let scale = |name: &str| {
        let (test, unit) = ("LAB//a".to_owned(), Some("mg/dL".to_owned()));
        (vocabulary.code(name).unwrap(), Scale { test, unit, ..Scale::default() })
    };
    // The third is a code without a scale.
    [scale("LAB//a//q1"), scale("LAB//a//q2")].into()
}

/// Records with everything that can be known, drawn without sense.
fn drawn(vocabulary: &Vocabulary, records: u64, seed: u64) -> (Cohort, CohortDetails) {
    let (mut cohort, mut all) = (Cohort::default(), CohortDetails::default());
    let draws = Draws::new(seed);
    for number in 0..records {
        let mut values = draws.visit(number, 0, 0, Purpose::Code);
        let mut next = 0;
        let mut draw = |below: f64| {
            next += 1;
            (values.uniform(next) * below) as i64
        };
        let encounters = 1 + draw(6.0) as usize;
        let mut time = parse("2001-02-03").unwrap() + draw(900.0) * DAY;
        let mut details = Details {
            birth: (draw(10.0) > 0).then_some(time - draw(2_000.0) * DAY + 300 * DAY),
            ..Details::default()
        };
        let mut visits = vec![vec![]];
        for visit in 1..=encounters {
            details.times.push(time);
            details.ends.push((draw(3.0) > 0).then_some(time + draw(9.0) * DAY / 2));
            let mut codes = Vec::new();
            for code in vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Encounter)
            {
                let lab = vocabulary.name(code).starts_with("LAB");
                let rare = vocabulary.name(code) == "DEATH";
                if code == vocabulary.end() || draw(if rare { 12.0 } else { 3.0 }) > 0 {
                    continue;
                }
                codes.push(code);
                let own = (draw(2.0) > 0).then_some(time + draw(40.0) * DAY / 8);
                let value = lab.then(|| draw(30.0) as f32 / 4.0);
                if own.is_some() || value.is_some() {
                    details.events.push(EventDetail {
                        visit: visit as u32,
                        code,
                        time: own,
                        value,
                    });
                }
            }
            visits.push(codes);
            time += draw(200.0) * DAY * draw(3.0) / 4;
        }
        cohort.push(&number.to_string(), &Record::new(visits));
        all.push(details.view());
    }
    (cohort, all)
}

/// The distance, taken literally.
fn literal(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let share = |numbers: &[f64], most: f64| {
        numbers.iter().filter(|&&number| number <= most).count() as f64 / numbers.len() as f64
    };
    let apart = |&at: &f64| (share(one, at) - share(other, at)).abs();
    Some(one.iter().chain(other).map(apart).fold(0.0, f64::max))
}

fn close(found: Option<f64>, expected: Option<f64>) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}")
        }
        both => assert_eq!(both, (None, None)),
    }
}

/// A list of numbers of each record of a cohort.
type Of<'a> = &'a dyn Fn(&Cohort, &CohortDetails, usize) -> Vec<f64>;

#[test]
fn figures_are_what_their_definitions_say() {
    let vocabulary = vocabulary();
    let scales = scales(&vocabulary);
    let mut matched = 0;
    for seed in 0..8 {
        let sides: [(Cohort, CohortDetails); 3] =
            [(60, 3 * seed), (45, 3 * seed + 1), (30, 3 * seed + 2)]
                .map(|(records, seed)| drawn(&vocabulary, records, seed));
        let sample = |at: usize| TimingSample {
            records: Selection::all(&sides[at].0),
            details: Some(&sides[at].1),
        };
        let samples = TimingSamples {
            real: sample(0),
            synthetic: sample(1),
            other: Some(sample(2)),
            vocabulary: &vocabulary,
            scales: &scales,
        };
        let found = timing(&samples, &TimingOptions { codes: 3, tests: 20 }).unwrap();
        let gather = |of: Of<'_>| {
            [0, 1, 2].map(|at| {
                let (cohort, details) = &sides[at];
                (0..cohort.len()).flat_map(|index| of(cohort, details, index)).collect::<Vec<f64>>()
            })
        };
        let same = |found: &Distribution, of: Of<'_>| {
            let [real, synthetic, other] = gather(of);
            close(found.ks, literal(&real, &synthetic));
            close(found.other_ks, literal(&real, &other));
            let counts = found.sides.map(|side| side.count);
            let lengths = [&real, &synthetic, &other].map(|list| list.len() as u64);
            assert_eq!([counts.real, counts.synthetic, counts.other.unwrap()], lengths);
            let mut sorted = synthetic;
            sorted.sort_by(f64::total_cmp);
            if let (Some(median), true) = (found.sides.synthetic.median(), sorted.len() % 2 == 1) {
                close(Some(median), Some(sorted[sorted.len() / 2]));
            }
        };
        let date = |time: i64| (time / DAY) as f64;
        let gaps = |times: &[i64]| -> Vec<f64> {
            times.windows(2).map(|pair| date(pair[1]) - date(pair[0])).collect()
        };
        same(&found.days_between_visits, &|_, details, index| gaps(details.of(index).times));
        same(&found.span, &|_, details, index| {
            let times = details.of(index).times;
            vec![date(*times.last().unwrap()) - date(times[0])]
        });
        same(&found.age, &|_, details, index| {
            let details = details.of(index);
            let birth = details.birth.map(date);
            let age = |time: &i64| Some((date(*time) - birth?) / 365.25);
            details.times.iter().filter_map(age).collect()
        });
        same(&found.stay, &|_, details, index| {
            let details = details.of(index);
            let stays = details.times.iter().zip(details.ends);
            stays.filter_map(|(&time, &end)| Some(date(end?) - date(time))).collect()
        });
        let mut often: Vec<(usize, &str)> = ["C0", "C1", "C2", "C3", "C4", "C5", "DEATH", "LAB//b"]
            .map(|name| {
                let code = vocabulary.code(name).unwrap();
                let followed = sides[0].0.records().flat_map(|record| {
                    (1..record.len() - 1).filter(move |&visit| record.visit(visit).contains(&code))
                });
                (followed.count(), name)
            })
            .to_vec();
        often.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        assert_eq!(found.days_after.len(), 3);
        for (after, (_, name)) in found.days_after.iter().zip(&often) {
            assert_eq!(after.code, *name);
            let code = vocabulary.code(name).unwrap();
            same(&after.days, &|cohort, details, index| {
                let gaps = gaps(details.of(index).times).into_iter().enumerate();
                let has = |visit: usize| cohort.record(index).visit(visit + 1).contains(&code);
                gaps.filter(|&(visit, _)| has(visit)).map(|(_, gap)| gap).collect()
            });
        }
        let valued = |test: &'static str| {
            let codes: Vec<Code> = vocabulary
                .codes()
                .filter(|&code| vocabulary.name(code).starts_with(test))
                .collect();
            move |_: &Cohort, details: &CohortDetails, index: usize| -> Vec<f64> {
                let events = details.of(index).events.iter();
                let events = events.filter(|event| codes.contains(&event.code));
                events.filter_map(|event| event.value).map(f64::from).collect()
            }
        };
        assert_eq!((found.values.tests, found.values.in_both), (2, 2));
        let tests = &found.values.commonest;
        assert_eq!((tests[0].test.as_str(), tests[0].unit.as_deref()), ("LAB//a", Some("mg/dL")));
        assert_eq!((tests[1].test.as_str(), tests[1].unit.as_deref()), ("LAB//b", None));
        same(&tests[0].values, &valued("LAB//a"));
        same(&tests[1].values, &valued("LAB//b"));
        let distances = [tests[0].values.ks.unwrap(), tests[1].values.ks.unwrap()];
        close(found.values.median_ks, Some((distances[0] + distances[1]) / 2.0));
        close(found.values.largest_ks, Some(distances[0].max(distances[1])));
        spread(&found, &sides);
        matched += known(&found, &sides);
        impossible(&found, &vocabulary, &sides);
    }
    assert!(matched > 0);
}

/// Weekdays and months, by dates as they are written.
fn spread(found: &Timing, sides: &[(Cohort, CohortDetails); 3]) {
    let times = |at: usize| {
        let (cohort, details) = &sides[at];
        (0..cohort.len()).flat_map(|index| details.of(index).times.to_vec())
    };
    for (at, of) in [(0, 0), (3, 5), (6, 11)] {
        // The third of February 2001 was a Saturday.
        let saturday = parse("2001-02-03").unwrap() / DAY;
        let weekday = |time: &i64| (time / DAY - saturday).rem_euclid(7) == (at as i64 + 2) % 7;
        assert_eq!(found.weekdays.rows[at].visits.real, times(0).filter(weekday).count() as u64);
        let month = format!("-{:02}-", of + 1);
        let in_month = |time: &i64| Date(*time).to_string().contains(&month);
        let visits = found.months.rows[of].visits;
        assert_eq!(visits.synthetic, times(1).filter(in_month).count() as u64);
        assert_eq!(visits.other, Some(times(2).filter(in_month).count() as u64));
    }
    let all = found.weekdays.rows.iter();
    let (real, synthetic) = (times(0).count() as f64, times(1).count() as f64);
    let apart = all.map(|row| {
        (row.visits.real as f64 / real - row.visits.synthetic as f64 / synthetic).abs() / 2.0
    });
    close(found.weekdays.total_variation, Some(apart.sum()));
}

/// Counts triples, and gives how many generated ones are known.
fn known(found: &Timing, sides: &[(Cohort, CohortDetails); 3]) -> u64 {
    let triples = |at: usize| -> Vec<(u32, String, i64)> {
        let (cohort, details) = &sides[at];
        let mut all = Vec::new();
        for index in 0..cohort.len() {
            let details = details.of(index);
            for event in details.events.iter().filter(|event| event.value.is_some()) {
                let time = event.time.unwrap_or(details.times[event.visit as usize - 1]);
                all.push((event.code.0, format!("{:?}", event.value), time / DAY));
            }
        }
        all
    };
    let real: BTreeSet<_> = triples(0).into_iter().collect();
    let known = |at: usize| {
        let all = triples(at);
        let known = all.iter().filter(|triple| real.contains(triple)).count() as u64;
        Known { triples: all.len() as u64, known }
    };
    let other = Some(known(2));
    assert_eq!(found.known, Some(Sides { real: known(0), synthetic: known(1), other }));
    assert_eq!(known(0).known, known(0).triples);
    known(1).known
}

fn impossible(found: &Timing, vocabulary: &Vocabulary, sides: &[(Cohort, CohortDetails); 3]) {
    let (cohort, all) = &sides[1];
    let death = vocabulary.code("DEATH").unwrap();
    let (mut after, mut before) = (Misplaced::default(), Misplaced::default());
    for (index, record) in cohort.records().enumerate() {
        let details = all.of(index);
        let mut events = Vec::new();
        for visit in 1..record.len() {
            for &code in record.visit(visit) {
                let own = details.events.iter();
                let own = own.filter(|event| (event.visit as usize, event.code) == (visit, code));
                let own = own.filter_map(|event| event.time).next();
                events.push((code, own.unwrap_or(details.times[visit - 1])));
            }
        }
        let died = events.iter().filter(|(code, _)| *code == death).map(|&(_, time)| time);
        let died = died.map(|time| if time % DAY == 0 { time + DAY - 1 } else { time }).min();
        events.retain(|(code, _)| vocabulary.name(*code) != "GAP//0d");
        let late = |time: i64| died.is_some_and(|died| time > died);
        let early = |time: i64| details.birth.is_some_and(|birth| time / DAY < birth / DAY);
        for (found, is) in [(&mut after, &late as &dyn Fn(i64) -> bool), (&mut before, &early)] {
            let visits = details.times.iter().filter(|&&time| is(time)).count() as u64;
            let events = events.iter().filter(|&&(_, time)| is(time)).count() as u64;
            found.visits += visits;
            found.events += events;
            found.records += u64::from(visits + events > 0);
        }
    }
    assert_eq!((found.after_death.synthetic, found.before_birth.synthetic), (after, before));
    assert!(after.events > 0 && before.events > 0, "{after:?} {before:?}");
}

#[test]
fn without_dates_the_rest_is_told() {
    let vocabulary = vocabulary();
    let [death, other] = ["DEATH", "C1"].map(|name| vocabulary.code(name).unwrap());
    let (mut cohort, mut details) = (Cohort::default(), CohortDetails::default());
    let band = |text: &str| text.parse::<AgeBand>().unwrap();
    for number in 0..20 {
        // One in ten has a visit after death.
        let last = if number % 10 == 0 { vec![other] } else { vec![other, death] };
        let visits = vec![vec![], vec![other, death], last];
        let visits =
            if number % 10 == 0 { visits } else { vec![vec![], vec![other], visits[2].clone()] };
        cohort.push("", &Record::new(visits));
        let ages = vec![Some(band("40-60")), (number < 5).then(|| band("60+"))];
        details.push(Details { ages, ..Details::default() }.view());
    }
    let (front, back) = (Selection::all(&cohort).part(0..10), Selection::all(&cohort).part(10..20));
    let samples = TimingSamples {
        real: TimingSample { records: front, details: Some(&details) },
        synthetic: TimingSample { records: back, details: Some(&details) },
        other: None,
        vocabulary: &vocabulary,
        scales: &BTreeMap::new(),
    };
    let found = timing(&samples, &TimingOptions::default()).unwrap();
    assert_eq!(found.undated(), Some("neither the real nor the synthetic records have dates"));
    assert!(found.days_between_visits.ks.is_none() && found.weekdays.total_variation.is_none());
    assert!(found.days_after.is_empty() && found.known.is_none() && found.values.tests == 0);
    assert_eq!(found.after_death.synthetic, Misplaced { records: 1, visits: 1, events: 1 });
    assert_eq!(found.age_bands.rows[1].name, "60+");
    assert_eq!(
        (found.age_bands.rows[1].visits.real, found.age_bands.rows[1].visits.other),
        (5, None)
    );
    // A third of the real visits are at 60 or more, and none of the others.
    close(found.age_bands.total_variation, Some(1.0 / 3.0));
    let text = found.to_string();
    assert!(text.contains("have dates: nothing can be said of days") && text.contains("age bands"));
    assert!(text.contains("after death: 1 visit and 1 event of 1 record in synthetic records"));

    // A record that is not of the vocabulary is refused, as everywhere.
    let small = Vocabulary::new([("C0", Kind::Encounter)]).unwrap();
    assert!(
        timing(&TimingSamples { vocabulary: &small, ..samples }, &TimingOptions::default())
            .is_err()
    );
}

#[test]
fn records_without_anything_known_do_no_harm() {
    let vocabulary = vocabulary();
    let (cohort, details) = drawn(&vocabulary, 30, 9);
    let known = TimingSample { records: Selection::all(&cohort), details: Some(&details) };
    let unknown = TimingSample { records: Selection::all(&cohort), details: None };
    let samples = TimingSamples {
        real: known,
        synthetic: unknown,
        other: Some(known),
        vocabulary: &vocabulary,
        scales: &scales(&vocabulary),
    };
    let found = timing(&samples, &TimingOptions::default()).unwrap();
    assert_eq!(found.undated(), Some("the synthetic records have no dates"));
    assert_eq!(
        (found.days_between_visits.ks, found.days_between_visits.other_ks),
        (None, Some(0.0))
    );
    assert_eq!((found.values.in_both, found.values.values.synthetic), (0, 0));
    assert_eq!(found.known.unwrap().synthetic, Known::default());
    assert!(!found.to_string().contains("NaN"));
    let json = serde_json::to_value(&found).unwrap();
    assert!(json["days_between_visits"]["real"]["quartiles"][1].is_number());
    assert!(json["days_between_visits"]["real"]["percentiles"].is_null());
}
