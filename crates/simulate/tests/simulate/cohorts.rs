//! The cohorts: of the shape they should have, and the same however they are made.

use std::fmt::Debug;

use consequence_simulate::{Figures, Preset, Simulation, measure};

fn near(what: impl Debug, value: f64, target: f64) {
    assert!((value / target - 1.0).abs() < 0.02, "{what:?}: {value} is not near {target}");
}

fn check(preset: Preset, figures: Figures) {
    let paper = preset.figures();
    near((preset, "visits a record"), figures.visits_per_record, paper.visits_per_record);
    near((preset, "codes a visit"), figures.codes_per_visit, paper.codes_per_visit);
    near((preset, "codes"), figures.codes as f64, paper.codes as f64);
    assert_eq!(figures.demographic, paper.demographic);
}

#[test]
fn the_figures_are_those_of_the_paper() {
    for (preset, patients) in [(Preset::Inpatient, 46_520), (Preset::Outpatient, 60_000)] {
        let simulation = Simulation::new(preset, patients, 21);
        let cohort = simulation.cohort();
        check(preset, measure(&cohort, simulation.vocabulary()));
        let longest = cohort.longest();
        assert!(preset == Preset::Inpatient || (150..=200).contains(&longest), "{longest}");
        let empty = cohort.records().flat_map(|r| r.visits().skip(1)).any(<[_]>::is_empty);
        assert!(!empty, "every encounter has a code");
    }
}

#[test]
fn threads_do_not_matter() {
    for (preset, patients) in [(Preset::Inpatient, 40_000), (Preset::Outpatient, 3_000)] {
        let simulation = Simulation::new(preset, patients, 22);
        let cohorts = [1, 2, 7].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| simulation.cohort())
        });
        assert!(cohorts[0] == cohorts[1] && cohorts[0] == cohorts[2]);
    }
}

#[test]
fn a_patient_is_the_same_in_a_cohort_of_any_size() {
    for preset in Preset::ALL {
        let [small, large] = [1_000, 1_000_000].map(|size| Simulation::new(preset, size, 23));
        assert_eq!(small.cohort(), large.part(0..1_000));
        let late = large.part(999_990..2_000_000);
        assert_eq!(late.len(), 10);
        assert_eq!(late.record(9).to_record(), large.record(999_999));
        assert_eq!(late.id(9), "sim-1000000");
        assert!(large.part(1_000_000..1_000_010).is_empty());
    }
}

#[test]
fn parts_and_records_are_those_of_the_cohort() {
    let simulation = Simulation::new(Preset::Outpatient, 1_234, 24);
    let cohort = simulation.cohort();
    let mut index = 0;
    for part in simulation.parts(100) {
        for (number, record) in part.records().enumerate() {
            assert_eq!(part.id(number), cohort.id(index));
            assert_eq!(record.to_record(), cohort.record(index).to_record());
            index += 1;
        }
    }
    assert_eq!(index, 1_234);
    for (index, (id, record)) in simulation.records().enumerate() {
        assert_eq!((id.as_str(), record), (cohort.id(index), cohort.record(index).to_record()));
    }
}

#[test]
fn seeds_make_different_patients() {
    let [one, other] = [1, 2].map(|seed| Simulation::new(Preset::Inpatient, 1, seed).record(0));
    assert_ne!(one, other);
}
