//! Births, dates, stays, deaths and values: consistent with the codes and with each other.

use std::sync::Arc;

use consequence_record::calendar::{DAY, civil, years_between};
use consequence_record::{Code, Cohort, CohortDetails, DayBand, Part, Vocabulary};
use consequence_referee::Referee;
use consequence_rules::RuleSet;
use consequence_simulate::{DetailedSimulation, Preset, Simulation, TESTS};

const SIZES: [(Preset, usize); 2] = [(Preset::Inpatient, 6_000), (Preset::Outpatient, 1_000)];

fn detailed(preset: Preset, patients: usize, seed: u64) -> DetailedSimulation {
    Simulation::new(preset, patients, seed).detailed()
}

fn date(time: i64) -> i64 {
    time.div_euclid(DAY)
}

fn bands(
    visit: &[Code],
    vocabulary: &Vocabulary,
    read: fn(&str) -> Option<DayBand>,
) -> Vec<DayBand> {
    visit.iter().filter_map(|&code| read(vocabulary.name(code))).collect()
}

/// The ages that a static code tells, the last included, as these presets write them.
fn ages(name: &str) -> Option<(i64, i64)> {
    let band = name.strip_prefix("AGE//")?;
    match band.split_once('-') {
        Some((from, to)) => Some((from.parse().ok()?, to.parse().ok()?)),
        None => Some((band.strip_suffix('+')?.parse().ok()?, 150)),
    }
}

fn median(mut values: Vec<f32>) -> f64 {
    values.sort_by(f32::total_cmp);
    f64::from(values[values.len() / 2])
}

/// A number for all that a cohort tells.
fn fingerprint(cohort: &Cohort) -> u64 {
    let numbers = cohort.records().flat_map(|record| {
        let visits =
            record.visits().flat_map(|visit| visit.iter().map(|code| code.0).chain([9_999]));
        visits.collect::<Vec<u32>>()
    });
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash: u64, number| {
        (hash ^ u64::from(number)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn the_codes_of_a_seed_are_what_they_always_were() {
    let expected = [0xfe4a_5d40_c1e8_e251, 0xd5d3_92bc_fe16_75ae];
    for ((preset, patients), expected) in SIZES.into_iter().zip(expected) {
        let simulation = Simulation::new(preset, patients, 7);
        assert_eq!(fingerprint(&simulation.cohort()), expected, "{preset}");
        let (codes, plain) = (simulation.cohort(), Arc::clone(simulation.vocabulary()));
        let simulation = simulation.detailed();
        let vocabulary = simulation.vocabulary();
        for code in plain.codes().filter(|&code| code != plain.end()) {
            assert_eq!(vocabulary.name(code), plain.name(code));
            assert!(simulation.title(code).is_some());
        }
        let (cohort, _) = simulation.cohort();
        for (record, before) in cohort.records().zip(codes.records()) {
            assert_eq!(record.len(), before.len());
            for (visit, before) in record.visits().zip(before.visits()) {
                let is_old = |code: &&Code| code.index() < plain.len() - 1;
                let old: Vec<Code> = visit.iter().filter(is_old).copied().collect();
                assert_eq!(old, before);
            }
        }
    }
}

#[test]
fn what_the_vocabulary_adds() {
    let added = |preset| {
        let simulation = detailed(preset, 0, 1);
        let vocabulary = simulation.vocabulary();
        let count = |part| vocabulary.codes().filter(|&code| vocabulary.part(code) == part).count();
        let titled = vocabulary.codes().filter(|&code| simulation.title(code).is_some()).count();
        assert_eq!(titled, vocabulary.len() - 1, "all but END");
        (count(Part::Time), count(Part::Values))
    };
    let (gaps, stays) = (DayBand::gaps().len(), DayBand::stays().len());
    assert_eq!(added(Preset::Inpatient), (gaps + stays, 40));
    assert_eq!(added(Preset::Outpatient), (gaps, 40));
}

#[test]
fn dates_and_stays_are_what_their_codes_tell() {
    for (preset, patients) in SIZES {
        let simulation = detailed(preset, patients, 41);
        let vocabulary = simulation.vocabulary();
        let (cohort, details) = simulation.cohort();
        assert!(details.dated() && details.len() == cohort.len());
        for (index, record) in cohort.records().enumerate() {
            let known = details.of(index);
            assert_eq!(known.times.len(), record.len() - 1);
            for visit in 1..record.len() {
                let begin = known.time(visit).unwrap();
                let gaps = bands(record.visit(visit), vocabulary, DayBand::of_gap);
                match visit {
                    1 => assert!(gaps.is_empty()),
                    _ => {
                        let before = known.time(visit - 1).unwrap();
                        let over = known.end(visit - 1).unwrap_or(before);
                        assert!(over < begin, "it begins after the one before");
                        assert_eq!(gaps.len(), 1);
                        assert!(gaps[0].holds(date(begin) - date(before)));
                    }
                }
                let stays = bands(record.visit(visit), vocabulary, DayBand::of_stay);
                match (preset, known.end(visit)) {
                    (Preset::Inpatient, Some(end)) => {
                        assert!(end > begin && stays.len() == 1);
                        assert!(stays[0].holds(date(end) - date(begin)));
                    }
                    (Preset::Outpatient, None) => assert!(stays.is_empty()),
                    (preset, end) => panic!("{preset}: {end:?}"),
                }
            }
        }
    }
}

#[test]
fn births_are_before_everything_and_ages_in_their_band() {
    for (preset, patients) in SIZES {
        let simulation = detailed(preset, patients, 42);
        let vocabulary = simulation.vocabulary();
        let (cohort, details) = simulation.cohort();
        let mut newborn = 0;
        for (index, record) in cohort.records().enumerate() {
            let known = details.of(index);
            let band = record.visit(0).iter().find_map(|&code| ages(vocabulary.name(code)));
            assert_eq!(band.is_some(), known.birth.is_some(), "a birth is known where the age is");
            let (Some((from, to)), Some(birth)) = (band, known.birth) else { continue };
            let first = known.times[0];
            assert!((from..=to).contains(&years_between(birth, first)));
            assert!(birth <= first);
            let perinatal = |code: &Code| vocabulary.name(*code).starts_with("DX//perinatal");
            if record.visit(1).iter().any(perinatal) {
                newborn += 1;
                assert!(date(first) - date(birth) < 28);
            }
        }
        assert!(newborn > 0);
    }
}

#[test]
fn nothing_comes_after_death_and_outcomes_stand_at_the_end() {
    for (preset, patients, death) in [
        (Preset::Inpatient, 6_000, "DISCHARGE//EXPIRED"),
        (Preset::Outpatient, 6_000, "STATUS//DECEASED"),
    ] {
        let simulation = detailed(preset, patients, 43);
        let vocabulary = simulation.vocabulary();
        let (cohort, details) = simulation.cohort();
        let mut deaths = 0;
        for (index, record) in cohort.records().enumerate() {
            let known = details.of(index);
            let last = record.len() - 1;
            for event in known.events {
                let visit = event.visit as usize;
                let (begin, end) = (known.time(visit).unwrap(), known.end(visit));
                assert!(record.visit(visit).contains(&event.code));
                assert!(
                    event.time.is_none_or(|time| time > begin && end.is_none_or(|e| time <= e))
                );
                if vocabulary.name(event.code).starts_with("DISCHARGE//") {
                    assert_eq!(event.time, end);
                }
            }
            let code = vocabulary.code(death).unwrap();
            let Some(event) = known.event(last, code) else {
                assert!(!record.visit(last).contains(&code), "a death has its time");
                continue;
            };
            deaths += 1;
            let died = event.time.unwrap();
            assert_eq!(date(died), date(known.end(last).unwrap_or(known.time(last).unwrap())));
            let times = known.times.iter().copied();
            let ends = known.ends.iter().flatten().copied();
            let events = known.events.iter().filter_map(|event| event.time);
            assert!(times.chain(ends).chain(events).all(|time| time <= died));
        }
        assert!(deaths > 20, "{preset}: {deaths}");
    }
}

#[test]
fn values_are_in_their_parts_and_the_parts_are_quarters() {
    for (preset, patients) in [(Preset::Inpatient, 20_000), (Preset::Outpatient, 20_000)] {
        let simulation = detailed(preset, patients, 44);
        let vocabulary = simulation.vocabulary();
        let scales = simulation.scales();
        assert_eq!(scales.len(), 40);
        let (cohort, details) = simulation.cohort();
        let mut counts = vec![0_u64; vocabulary.len()];
        for (index, record) in cohort.records().enumerate() {
            let known = details.of(index);
            let order = |event: &consequence_record::EventDetail| (event.visit, event.code);
            assert!(known.events.is_sorted_by(|one, next| order(one) < order(next)));
            for event in known.events {
                let Some(value) = event.value else { continue };
                assert!(scales[&event.code].holds(value));
                counts[event.code.index()] += 1;
            }
            for visit in 1..record.len() {
                let is_value = |code: &&Code| vocabulary.part(**code) == Part::Values;
                let measured = record.visit(visit).iter().filter(is_value);
                for &code in measured {
                    assert!(known.event(visit, code).unwrap().value.is_some());
                }
            }
        }
        for test in &TESTS {
            let bins: Vec<Code> = (1..=4)
                .map(|bin| vocabulary.code(&format!("{}//q{bin}", test.name)).unwrap())
                .collect();
            let all: u64 = bins.iter().map(|bin| counts[bin.index()]).sum();
            for (number, bin) in bins.iter().enumerate() {
                let scale = &scales[bin];
                assert_eq!((&*scale.test, scale.unit.as_deref()), (test.name, Some(test.unit)));
                assert_eq!(scale.count, counts[bin.index()]);
                let share = scale.count as f64 / all as f64;
                assert!(
                    (0.17..0.33).contains(&share),
                    "{preset}: {} q{}: {share}",
                    test.name,
                    number + 1
                );
            }
        }
    }
}

/// The values of a test, in patients whom `has` says.
fn values(
    simulation: &DetailedSimulation,
    (cohort, details): &(Cohort, CohortDetails),
    name: &str,
    has: impl Fn(usize) -> bool,
) -> Vec<f32> {
    let vocabulary = simulation.vocabulary();
    let of_test: Vec<Code> =
        (1..=4).map(|bin| vocabulary.code(&format!("{name}//q{bin}")).unwrap()).collect();
    let patients = (0..cohort.len()).filter(|&index| has(index));
    let events = patients.flat_map(|index| details.of(index).events.iter());
    events.filter(|event| of_test.contains(&event.code)).filter_map(|event| event.value).collect()
}

#[test]
fn the_driver_of_a_test_shifts_its_values() {
    for (preset, patients) in [(Preset::Inpatient, 20_000), (Preset::Outpatient, 4_000)] {
        let simulation = detailed(preset, patients, 45);
        let made = simulation.cohort();
        for test in &TESTS {
            let driver = simulation.vocabulary().code(test.driver).unwrap();
            let has: Vec<bool> = made
                .0
                .records()
                .map(|record| record.visits().any(|visit| visit.contains(&driver)))
                .collect();
            let with = values(&simulation, &made, test.name, |index| has[index]);
            let without = values(&simulation, &made, test.name, |index| !has[index]);
            assert!(with.len() > 200 && without.len() > 200, "{preset}: {}", test.name);
            let steps = 10_f64.powi(test.decimals as i32);
            let rounded = |value: f32| {
                (f64::from(value) * steps - (f64::from(value) * steps).round()).abs() < 1e-2
            };
            assert!(with.iter().chain(&without).all(|&value| rounded(value)), "{}", test.name);
            let shift = median(with) - median(without);
            let error = (shift / test.shift - 1.0).abs();
            assert!(error < 0.3, "{preset}: {} shifts by {shift}, not {}", test.name, test.shift);
        }
    }
}

#[test]
fn values_go_by_age_and_time() {
    let simulation = detailed(Preset::Outpatient, 5_000, 46);
    let made = simulation.cohort();
    let vocabulary = simulation.vocabulary();
    let in_band = |name: &str| {
        let code = vocabulary.code(name).unwrap();
        let has: Vec<bool> = made.0.records().map(|r| r.visit(0).contains(&code)).collect();
        move |index: usize| has[index]
    };
    let young = values(&simulation, &made, "LAB//sbp", in_band("AGE//18-34"));
    let old = values(&simulation, &made, "LAB//sbp", in_band("AGE//65+"));
    assert!(median(old) > median(young) + 10.0);
    // Results of one test of one patient, the first and one some years later.
    let first_code = vocabulary.code("LAB//creatinine//q1").unwrap();
    let (mut sum, mut count) = (0.0, 0.0);
    for index in 0..made.0.len() {
        let known = made.1.of(index);
        let results: Vec<(i64, f32)> = known
            .events
            .iter()
            .filter(|event| (first_code.0..first_code.0 + 4).contains(&event.code.0))
            .filter_map(|event| Some((known.time(event.visit as usize)?, event.value?)))
            .collect();
        let [(from, first), .., (to, last)] = results[..] else { continue };
        let years = (to - from) as f64 / (365.25 * DAY as f64);
        if years > 4.0 {
            sum += f64::from(last - first) / years;
            count += 1.0;
        }
    }
    assert!(count > 50.0 && sum / count > 0.02, "{} a year in {count} patients", sum / count);
}

#[test]
fn gaps_go_by_the_codes_before_and_dates_by_the_week_and_the_season() {
    let simulation = detailed(Preset::Outpatient, 3_000, 47);
    let vocabulary = simulation.vocabulary();
    let (cohort, details) = simulation.cohort();
    let [chronic, acute] = ["DX//circulatory//hypertension", "DX//injury//fracture-care"]
        .map(|name| vocabulary.code(name).unwrap());
    let (mut after_chronic, mut after_acute, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let (mut weekdays, mut months) = ([0.0; 7], [0.0; 12]);
    for (index, record) in cohort.records().enumerate() {
        let times = details.of(index).times;
        for &time in times {
            weekdays[(date(time) + 3).rem_euclid(7) as usize] += 1.0;
            months[civil(date(time)).1 as usize - 1] += 1.0;
        }
        for visit in 2..record.len().min(12) {
            let days = (date(times[visit - 1]) - date(times[visit - 2])) as f32;
            all.push(days);
            if record.visit(visit - 1).contains(&acute) {
                after_acute.push(days);
            } else if record.visit(visit - 1).contains(&chronic) {
                after_chronic.push(days);
            }
        }
    }
    all.sort_by(f32::total_cmp);
    assert!(all[all.len() * 99 / 100] > 365.0, "there is a tail of years");
    assert!((50.0..110.0).contains(&median(after_chronic)));
    assert!(median(after_acute) < 15.0);
    let share = |counts: &[f64], of: usize| counts[of] / counts.iter().sum::<f64>();
    assert!(share(&weekdays, 5) + share(&weekdays, 6) < 0.06);
    assert!((0..5).all(|weekday| share(&weekdays, weekday) > 0.14));
    assert!(share(&months, 7) < share(&months, 0));
}

#[test]
fn a_record_is_the_same_whatever_the_batch_and_the_threads() {
    for (preset, patients) in SIZES {
        let simulation = detailed(preset, patients, 48);
        let made = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| simulation.cohort())
        });
        assert!(made[0] == made[1]);
        let (cohort, details) = &made[0];
        let mut index = 0;
        for (part, of_part) in simulation.parts(777) {
            for (number, record) in part.records().enumerate() {
                assert_eq!(part.id(number), cohort.id(index));
                assert_eq!(record.to_record(), cohort.record(index).to_record());
                assert_eq!(of_part.of(number), details.of(index));
                index += 1;
            }
        }
        assert_eq!(index, patients);
        let (record, alone) = detailed(preset, patients * 10, 48).record(patients - 1);
        assert_eq!(record, cohort.record(patients - 1).to_record());
        assert_eq!(alone.view(), details.of(patients - 1));
    }
}

#[test]
fn the_truth_and_the_own_rules_hold() {
    for (preset, patients) in [(Preset::Inpatient, 8_000), (Preset::Outpatient, 1_000)] {
        let simulation = detailed(preset, patients, 49);
        let vocabulary = Arc::clone(simulation.vocabulary());
        let own = RuleSet::parse(&simulation.own_rules(), Some(Arc::clone(&vocabulary))).unwrap();
        let truth = simulation.truth();
        assert_eq!(RuleSet::parse(&truth.text, Some(vocabulary)).unwrap().len(), truth.rules.len());
        let (cohort, _) = simulation.cohort();
        for rules in [&own, &*truth.rules] {
            let referee = Referee::new(rules);
            for record in cohort.records() {
                let record = record.to_record();
                assert!(referee.is_valid(&record), "{:?}", referee.violations(&record));
            }
        }
        let referee = Referee::new(&own);
        let long = cohort.records().find(|record| record.len() > 3).unwrap().to_record();
        let mut without = long;
        let is_gap = |code: &Code| DayBand::of_gap(simulation.vocabulary().name(*code)).is_some();
        without.visits[3].retain(|code| !is_gap(code));
        assert!(!referee.is_valid(&without), "a visit without a gap is noticed");
    }
}
