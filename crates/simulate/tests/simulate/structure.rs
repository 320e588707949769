//! What a model can find in the cohorts beside the rules.

use consequence_record::{Code, Cohort};
use consequence_simulate::{Preset, Simulation};

/// How often the second condition holds where the first does, relative to everywhere.
fn lift(
    cohort: &Cohort,
    given: impl Fn(&[Code], &[Code]) -> bool,
    then: impl Fn(&[Code]) -> bool,
) -> f64 {
    let (mut all, mut held, mut all_given, mut held_given) = (0u32, 0u32, 0u32, 0u32);
    for record in cohort.records() {
        let visits: Vec<&[Code]> = record.visits().collect();
        for pair in visits.windows(2) {
            let (fires, holds) = (given(pair[0], pair[1]), then(pair[1]));
            all += 1;
            held += u32::from(holds);
            all_given += u32::from(fires);
            held_given += u32::from(fires && holds);
        }
    }
    f64::from(held_given) / f64::from(all_given) / (f64::from(held) / f64::from(all))
}

#[test]
fn there_is_structure_worth_training() {
    for (preset, patients) in [(Preset::Inpatient, 30_000), (Preset::Outpatient, 5_000)] {
        let simulation = Simulation::new(preset, patients, 31);
        let cohort = simulation.cohort();
        let code = |name: &str| simulation.vocabulary().code(name).unwrap();
        let has = |name: &str| {
            let code = code(name);
            move |visit: &[Code]| visit.contains(&code)
        };
        let now = |name: &str| {
            let has = has(name);
            move |_: &[Code], visit: &[Code]| has(visit)
        };
        let before = |name: &str| {
            let has = has(name);
            move |before: &[Code], _: &[Code]| has(before)
        };
        let copd = "DX//respiratory//copd";
        let tobacco = "DX//mental//tobacco-dependence";
        let lifts = [
            ("clusters", lift(&cohort, now(copd), has(tobacco)), 2.0),
            ("chronic disease", lift(&cohort, before(copd), has(copd)), 4.0),
            ("what follows", lift(&cohort, before(copd), has(tobacco)), 1.5),
            (
                "categories",
                lift(&cohort, now("DX//eye//retina//tear"), has("DX//eye//retina")),
                5.0,
            ),
        ];
        for (what, lift, least) in lifts {
            assert!(lift > least, "{preset}, {what}: {lift}");
        }
        let mut first = Cohort::default();
        for (index, record) in cohort.records().enumerate() {
            first.push_visits(cohort.id(index), record.visits().take(2), true);
        }
        let old = lift(&first, before("AGE//65+"), has("DX//mental//dementia"));
        let women = lift(&first, before("SEX//F"), has("DX//mental//anxiety"));
        assert!(old > 1.3 && women > 1.05, "{preset}, age and sex: {old}, {women}");
    }
}

#[test]
fn frequencies_are_skewed() {
    for (preset, patients) in [(Preset::Inpatient, 10_000), (Preset::Outpatient, 3_000)] {
        let simulation = Simulation::new(preset, patients, 32);
        let mut counts = vec![0u32; simulation.vocabulary().len()];
        for (_, record) in simulation.records() {
            for code in record.visits.iter().skip(1).flatten() {
                counts[code.index()] += 1;
            }
        }
        counts.sort_unstable_by(|left, right| right.cmp(left));
        let sum = |counts: &[u32]| counts.iter().sum::<u32>();
        let share = f64::from(sum(&counts[..100])) / f64::from(sum(&counts));
        assert!((0.45..0.8).contains(&share), "{preset}: the top hundred codes have {share}");
    }
}
