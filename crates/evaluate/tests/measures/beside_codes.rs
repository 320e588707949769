//! Codes that tell time or a value change no figure that was there before them.

use std::sync::Arc;

use consequence_evaluate::{
    CompareOptions, Independent, Likelihood, PrivacyOptions, ReplayOptions, Samples,
    UtilityOptions, compare, likelihood, privacy, shares, utility,
};
use consequence_record::{Code, Cohort, Kind, Record, Selection, Vocabulary};
use consequence_rules::Order;

use crate::support::random_cohort;

const ADDED: [&str; 4] = ["GAP//0d", "GAP//7-14d", "LAB//x//q1", "STAY//2d"];

/// Three static codes and eight of encounters; with the others among them, or without.
fn vocabulary(with: bool) -> Arc<Vocabulary> {
    let mut codes: Vec<(String, Kind)> =
        (0..3).map(|number| (format!("S{number}"), Kind::Static)).collect();
    for number in 0..8 {
        codes.push((format!("C{number}"), Kind::Encounter));
        // Between the others, so that numbers and positions shift.
        if with && number % 2 == 0 {
            codes.push((ADDED[number / 2].to_owned(), Kind::Encounter));
        }
    }
    Arc::new(Vocabulary::new(codes).unwrap())
}

/// The same records with the codes added here and there.
fn with_added(cohort: &Cohort, from: &Vocabulary, to: &Vocabulary) -> Cohort {
    let mut made = Cohort::default();
    for (index, record) in cohort.records().enumerate() {
        let visits = record.visits().enumerate().map(|(visit, codes)| {
            let name = |code: &Code| to.code(from.name(*code)).unwrap();
            let mut codes: Vec<Code> = codes.iter().map(name).collect();
            if visit > 0 {
                let at = |step: usize| to.code(ADDED[(index + visit * step) % 4]).unwrap();
                codes.extend([at(1), at(3)]);
            }
            codes
        });
        made.push(cohort.id(index), &Record::new(visits.collect()));
    }
    made
}

#[test]
fn figures_of_codes_stay_as_they_were() {
    let (plain, wide) = (vocabulary(false), vocabulary(true));
    let cohorts = [(120, 1), (90, 2), (60, 3)].map(|(n, seed)| random_cohort(&plain, n, seed));
    let added = cohorts.each_ref().map(|cohort| with_added(cohort, &plain, &wide));
    let figures = |cohorts: &[Cohort; 3], vocabulary: &Arc<Vocabulary>| {
        let [train, synthetic, held_out] = cohorts.each_ref().map(Selection::all);
        let samples = Samples { train, synthetic, held_out, vocabulary };
        let model = Independent::fit(Order::natural(Arc::clone(vocabulary)), train, 50).unwrap();
        (
            compare(train, synthetic, vocabulary, &CompareOptions::default()).unwrap(),
            shares(&[train, synthetic], vocabulary, 30).unwrap(),
            utility(&samples, &UtilityOptions { codes: 6, examples: 100 }).unwrap(),
            privacy(&samples, &PrivacyOptions { records: 50, ..PrivacyOptions::default() })
                .unwrap(),
            likelihood(&model, held_out, &ReplayOptions::default()).unwrap(),
        )
    };
    let (before, after) = (figures(&cohorts, &plain), figures(&added, &wide));
    assert_eq!((&before.0, &before.1), (&after.0, &after.1));
    assert_eq!(before.3, after.3);
    // Regressions have more columns, all of them empty: the sums are the same but for rounding.
    let [scores, others] = [&before.2, &after.2].map(|found| found.figures().unwrap());
    assert_eq!(scores.codes.len(), others.codes.len());
    for (one, other) in scores.codes.iter().zip(&others.codes) {
        assert_eq!(one.code, other.code);
        assert!((one.real.scores.auroc - other.real.scores.auroc).abs() < 1e-9);
        assert!((one.synthetic.norm - other.synthetic.norm).abs() < 1e-8);
    }

    let (plain, wide): (&Likelihood, &Likelihood) = (&before.4, &after.4);
    assert_eq!((plain.perplexity, plain.measured), (wide.perplexity, wide.measured));
    assert_eq!((plain.nats.time, plain.nats.values), (0.0, 0.0));
    assert_eq!(plain.nats.each()[..3], wide.nats.each()[..3]);
    assert!(wide.nats.time > 1.0 && wide.nats.values > 1.0);
    let sum: f64 = wide.nats.each().iter().sum();
    assert!((wide.nats.total() - sum).abs() < 1e-9);
    let record = wide.nats_per_record.unwrap();
    assert!((record - sum / wide.measured as f64).abs() < 1e-9);
    // Two of the added codes a visit at most, three kinds of which tell time.
    assert_eq!(plain.positives.of_codes(), wide.positives.of_codes());
    let counted = wide.positives.time + wide.positives.values;
    assert!(counted >= wide.encounters && counted <= 2 * wide.encounters);
    assert_eq!(wide.positives.total(), wide.positives.of_codes() + counted);
    assert!(wide.to_string().contains("values (not in the perplexity)"));
    assert!(!plain.to_string().contains("values"));
}
