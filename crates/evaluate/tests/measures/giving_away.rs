//! Privacy against its definition, taken literally.

use std::collections::BTreeSet;

use consequence_evaluate::{
    Guesses, Measured, Privacy, PrivacyOptions, Role, Samples, Unmeasured, draw_records, privacy,
};
use consequence_record::{Code, Cohort, Record, Selection, Vocabulary};
use consequence_testing::every::vocabulary;
use rayon::ThreadPoolBuilder;

use crate::support::random_cohort;

type Set = BTreeSet<u32>;

fn sets(cohort: &Cohort, indices: &[usize]) -> Vec<Set> {
    let set = |&index: &usize| cohort.record(index).visits().flatten().map(|code| code.0).collect();
    indices.iter().map(set).collect()
}

fn distance(one: &Set, other: &Set) -> f64 {
    let either = one.union(other).count();
    if either == 0 { 0.0 } else { 1.0 - one.intersection(other).count() as f64 / either as f64 }
}

fn to_nearest(one: &Set, others: &[Set]) -> f64 {
    others.iter().map(|other| distance(one, other)).fold(f64::INFINITY, f64::min)
}

/// Samples over all records of three cohorts.
fn with_samples<T>(
    vocabulary: &Vocabulary,
    cohorts: [&Cohort; 3],
    then: impl FnOnce(&Samples<'_>) -> T,
) -> T {
    let [train, synthetic, held_out] = cohorts.map(Selection::all);
    then(&Samples { train, synthetic, held_out, vocabulary })
}

fn measured(vocabulary: &Vocabulary, cohorts: [&Cohort; 3], options: &PrivacyOptions) -> Privacy {
    with_samples(vocabulary, cohorts, |samples| privacy(samples, options).unwrap())
}

#[test]
fn figures_are_what_their_definition_says() {
    let vocabulary = vocabulary(2, 14);
    for seed in 0..8 {
        let [train, synthetic, held_out] = [(70, 1), (45, 2), (60, 3)]
            .map(|(records, number)| random_cohort(&vocabulary, records, 10 * seed + number));
        let cohorts = [&train, &synthetic, &held_out];
        let options = PrivacyOptions { records: 50, seed, sensitive: 4 };
        let drawn = with_samples(&vocabulary, cohorts, |samples| draw_records(samples, &options));
        assert_eq!([drawn.train.len(), drawn.held_out.len(), drawn.synthetic.len()], [50, 50, 45]);
        let found = measured(&vocabulary, cohorts, &options);
        let real = sets(&train, &drawn.train);
        let other = sets(&held_out, &drawn.held_out);
        let made = sets(&synthetic, &drawn.synthetic);

        let closest = found.closest.figures().unwrap();
        let nearer = |one: &Set| match (to_nearest(one, &real), to_nearest(one, &other)) {
            (a, b) if (a - b).abs() < 1e-12 => 0.5,
            (a, b) => f64::from(u8::from(a < b)),
        };
        let share = made.iter().map(nearer).sum::<f64>() / 45.0;
        assert!((closest.closer_to_train - share).abs() < 1e-12);
        let copies = made.iter().filter(|set| real.contains(set)).count() as u64;
        assert_eq!(closest.to_train.copies, copies);
        let mut distances: Vec<f64> = made.iter().map(|set| to_nearest(set, &other)).collect();
        distances.sort_by(f64::total_cmp);
        assert!((closest.to_held_out.median - distances[22]).abs() < 1e-12);
        let fifth = distances[2] + 0.2 * (distances[3] - distances[2]);
        assert!((closest.to_held_out.fifth_percentile - fifth).abs() < 1e-12);

        let membership = found.membership.figures().unwrap();
        let mut wins = 0.0;
        for member in &real {
            for stranger in &other {
                let (a, b) = (to_nearest(member, &made), to_nearest(stranger, &made));
                wins += if (a - b).abs() < 1e-12 { 0.5 } else { f64::from(u8::from(a < b)) };
            }
        }
        assert!((membership.auroc - wins / 2500.0).abs() < 1e-12);

        let attributes = found.attributes.figures().unwrap();
        let hidden: Set =
            attributes.sensitive.iter().map(|name| vocabulary.code(name).unwrap().0).collect();
        assert_eq!((hidden.len(), attributes.sources), (4, 45));
        let literal = |sources: &[Set], victims: &[Set]| {
            let mut guesses = Guesses::default();
            for victim in victims {
                let far = |set: &&Set| distance(&(*set - &hidden), &(victim - &hidden));
                let least = sources.iter().map(|set| far(&set)).fold(f64::INFINITY, f64::min);
                let near: Vec<&Set> =
                    sources.iter().filter(|set| far(set) < least + 1e-12).collect();
                for code in &hidden {
                    let votes = near.iter().filter(|set| set.contains(code)).count();
                    match (2 * votes > near.len(), victim.contains(code)) {
                        (true, true) => guesses.true_positives += 1,
                        (true, false) => guesses.false_positives += 1,
                        (false, true) => guesses.false_negatives += 1,
                        (false, false) => guesses.true_negatives += 1,
                    }
                }
            }
            guesses
        };
        assert_eq!(attributes.from_synthetic.guesses, literal(&made, &real));
        assert_eq!(attributes.from_held_out.guesses, literal(&other[..45], &real));
        assert_eq!(attributes.of_held_out.guesses, literal(&made, &other));
        let [one, from, of] =
            [attributes.from_synthetic, attributes.from_held_out, attributes.of_held_out]
                .map(|figures| figures.f1.unwrap());
        assert_eq!(attributes.gain(), Some(one - from.max(of)));
        let pool = ThreadPoolBuilder::new().num_threads(7).build().unwrap();
        assert_eq!(pool.install(|| measured(&vocabulary, cohorts, &options)), found);
    }
}

#[test]
fn a_generator_that_hands_out_what_it_trained_is_found_out() {
    let vocabulary = vocabulary(3, 40);
    let [train, held_out] = [1, 2].map(|seed| random_cohort(&vocabulary, 200, seed));
    let options = PrivacyOptions::default();
    let copied = measured(&vocabulary, [&train, &train, &held_out], &options);
    let closest = copied.closest.figures().unwrap();
    assert_eq!((closest.to_train.copies, closest.to_train.median), (200, 0.0));
    assert!(closest.closer_to_train > 0.9);
    assert!(copied.membership.figures().unwrap().auroc > 0.9);
    let attributes = copied.attributes.figures().unwrap();
    assert!(attributes.gain().unwrap() > 0.2);
    assert_eq!(attributes.majority.balanced_accuracy, Some(0.5));

    let fresh = random_cohort(&vocabulary, 200, 3);
    let honest = measured(&vocabulary, [&train, &fresh, &held_out], &options);
    let membership = honest.membership.figures().unwrap();
    let error = membership.standard_error.unwrap();
    assert!((membership.auroc - 0.5).abs() < 4.0 * error, "{honest}");
    assert!((honest.closest.figures().unwrap().closer_to_train - 0.5).abs() < 0.15, "{honest}");
}

#[test]
fn tiny_cohorts_have_figures_or_a_reason() {
    let vocabulary = vocabulary(1, 2);
    let one = |visits: Vec<Vec<Code>>| {
        let mut cohort = Cohort::default();
        cohort.push("p", &Record::new(visits));
        cohort
    };
    let (bare, full) = (one(vec![vec![], vec![]]), one(vec![vec![Code(0)], vec![Code(1)]]));
    let empty = Cohort::default();
    let options = PrivacyOptions::default();
    for (role, cohorts) in
        [(Role::Train, [&empty, &full, &full]), (Role::Synthetic, [&full, &empty, &full])]
    {
        let found = measured(&vocabulary, cohorts, &options);
        assert_eq!(found.closest, Measured::Unmeasured(Unmeasured::NoRecords(role)));
        assert!(found.to_string().contains(&format!("there are no {role} records")), "{found}");
        assert!(!serde_json::to_string(&found).unwrap().contains("null"));
    }
    // Without held-out records as many train records are drawn: none.
    let found = measured(&vocabulary, [&full, &full, &empty], &options);
    assert!(found.membership.figures().is_none());
    assert_eq!(found.real_records, 0);

    let found = measured(&vocabulary, [&bare, &bare, &full], &options);
    let closest = found.closest.figures().unwrap();
    assert_eq!((closest.to_train.copies, closest.to_held_out.copies), (1, 0));
    assert_eq!(closest.closer_to_train, 1.0);
    let membership = found.membership.figures().unwrap();
    assert_eq!((membership.auroc, membership.standard_error), (1.0, None));
    assert_eq!(found.attributes, Measured::Unmeasured(Unmeasured::NothingSensitive));
}
