//! Correlations against their definition, taken literally.

use std::collections::{BTreeMap, BTreeSet};

use consequence_evaluate::{CompareOptions, Comparison, Correlation, compare};
use consequence_record::{Code, Cohort, Selection};
use consequence_testing::every::vocabulary;
use rayon::ThreadPoolBuilder;

use crate::support::random_cohort;

type Key = (u32, u32);

/// Frequencies of codes (as pairs with themselves), pairs, and sequential pairs.
fn frequencies(cohort: &Cohort) -> [BTreeMap<Key, f64>; 3] {
    let mut counts: [BTreeMap<Key, f64>; 3] = Default::default();
    let mut trials = [0.0; 3];
    for record in cohort.records() {
        let visits: Vec<&[Code]> = record.visits().skip(1).collect();
        for visit in &visits {
            trials[0] += 1.0;
            trials[1] += 1.0;
            for one in *visit {
                *counts[0].entry((one.0, one.0)).or_default() += 1.0;
                for other in visit.iter().filter(|other| one < other) {
                    *counts[1].entry((one.0, other.0)).or_default() += 1.0;
                }
            }
        }
        for pair in visits.windows(2) {
            trials[2] += 1.0;
            for one in pair[0] {
                for other in pair[1] {
                    *counts[2].entry((one.0, other.0)).or_default() += 1.0;
                }
            }
        }
    }
    for (counts, trials) in counts.iter_mut().zip(trials) {
        counts.values_mut().for_each(|count| *count /= trials);
    }
    counts
}

fn literal(
    real: &BTreeMap<Key, f64>,
    synthetic: &BTreeMap<Key, f64>,
    counts: impl Fn(u32) -> bool,
) -> (u64, f64) {
    let counted = |key: &&Key| counts(key.0) || counts(key.1);
    let keys: BTreeSet<Key> =
        real.keys().chain(synthetic.keys()).filter(counted).copied().collect();
    let of = |from: &BTreeMap<Key, f64>, key| from.get(key).copied().unwrap_or(0.0);
    let mean = keys.iter().map(|key| of(real, key)).sum::<f64>() / keys.len() as f64;
    let missed: f64 = keys.iter().map(|key| (of(real, key) - of(synthetic, key)).powi(2)).sum();
    let spread: f64 = keys.iter().map(|key| (of(real, key) - mean).powi(2)).sum();
    (keys.len() as u64, 1.0 - missed / spread)
}

#[test]
fn correlations_are_what_their_definition_says() {
    let vocabulary = vocabulary(3, 12);
    for seed in 0..20 {
        let [real, synthetic] = [(40 + seed, seed), (15, 100 + seed)]
            .map(|(n, seed)| random_cohort(&vocabulary, n, seed));
        let options = CompareOptions { rare_below: 0.2 };
        let measure = || {
            let [real, synthetic] = [&real, &synthetic].map(Selection::all);
            compare(real, synthetic, &vocabulary, &options).unwrap()
        };
        let comparison = measure();
        let [one, other] = [&real, &synthetic].map(frequencies);
        let rare = |code: u32| one[0].get(&(code, code)).is_none_or(|&share| share < 0.2);
        let figures = |of: fn(&Comparison) -> [Correlation; 6]| of(&comparison);
        let figures = figures(|comparison| {
            let (all, rare) = (comparison.all, comparison.rare);
            [all.code, all.pair, all.sequence, rare.code, rare.pair, rare.sequence]
        });
        for (index, figure) in figures.iter().enumerate() {
            let kind = index % 3;
            let counts = |code| index < 3 || rare(code);
            let (keys, r2) = literal(&one[kind], &other[kind], counts);
            assert_eq!(figure.keys, keys);
            assert!((figure.r2.unwrap() - r2).abs() < 1e-12, "{figure:?} {r2}");
        }
        let pool = ThreadPoolBuilder::new().num_threads(7).build().unwrap();
        assert_eq!(pool.install(measure), comparison);
    }
}

#[test]
fn a_cohort_agrees_with_itself_and_an_empty_one_has_no_figure() {
    let vocabulary = vocabulary(3, 12);
    let (cohort, empty) = (random_cohort(&vocabulary, 30, 1), Cohort::default());
    let real = Selection::all(&cohort);
    let options = CompareOptions::default();
    let same = compare(real, real, &vocabulary, &options).unwrap();
    assert_eq!([same.all.code, same.all.pair, same.all.sequence].map(|f| f.r2), [Some(1.0); 3]);
    assert_eq!(same.real.records, 30);
    assert_eq!(same.real.visits_per_record.iter().sum::<u64>(), 30);
    assert_eq!(same.real.codes_per_visit.iter().sum::<u64>(), same.real.encounters);
    assert_eq!(same.real.static_codes.len(), 3);
    let nothing = Selection::all(&empty);
    let none = compare(real, nothing, &vocabulary, &options).unwrap();
    assert_eq!(none.all.code.r2, None);
    assert!(none.to_string().contains("all codes   none ("), "{none}");
    compare(nothing, nothing, &vocabulary, &options).unwrap();
}
