//! What few patients have, against its definition taken literally.

use std::collections::{BTreeMap, BTreeSet};

use consequence_evaluate::{RarityOptions, Shown, TimingSample, TimingSamples, rarity};
use consequence_record::{Code, Cohort, CohortDetails, Details, EventDetail, Selection};
use consequence_testing::every::vocabulary;
use consequence_testing::worlds::Choices;

use crate::support::random_cohort;

/// Values for some of the codes of each record.
fn details(cohort: &Cohort, seed: u64) -> CohortDetails {
    let mut choices = Choices::new(23, seed);
    let mut all = CohortDetails::default();
    for record in cohort.records() {
        let mut details = Details::default();
        for (visit, codes) in record.visits().enumerate() {
            for &code in codes {
                if choices.probability(0.5) {
                    continue;
                }
                let value = Some(choices.below(12) as f32 - 4.0);
                details.events.push(EventDetail { visit: visit as u32, code, time: None, value });
            }
        }
        all.push(details.view());
    }
    all
}

#[test]
fn counts_are_what_their_definition_says() {
    let vocabulary = vocabulary(3, 9);
    let mut met = Shown::default();
    for seed in 0..30 {
        let [real, made, other] = [(12, 1), (40, 2), (30, 3)]
            .map(|(records, number)| random_cohort(&vocabulary, records, 10 * seed + number));
        // Some are copies.
        let mut synthetic = Cohort::default();
        for (number, record) in made.records().enumerate() {
            let record = if number % 4 == 0 { real.record(number % 7) } else { record };
            synthetic.push(&number.to_string(), &record.to_record());
        }
        let below = 2 + seed as u32 % 4;
        let [real_details, details_made, other_details] =
            [(&real, 4), (&synthetic, 5), (&other, 6)]
                .map(|(of, number)| details(of, 10 * seed + number));
        let sample = |cohort, details| TimingSample { records: Selection::all(cohort), details };
        let samples = TimingSamples {
            real: sample(&real, Some(&real_details)),
            synthetic: sample(&synthetic, Some(&details_made)),
            other: Some(sample(&other, Some(&other_details))),
            vocabulary: &vocabulary,
            scales: &BTreeMap::new(),
        };
        let found = rarity(&samples, &RarityOptions { below }).unwrap();

        let few = |patients: usize| patients > 0 && patients < below as usize;
        let codes = |cohort: &Cohort, index: usize| -> BTreeSet<Code> {
            cohort.record(index).visits().flatten().copied().collect()
        };
        let patients =
            |has: &dyn Fn(usize) -> bool| (0..real.len()).filter(|&one| has(one)).count();
        let with_code = |code: Code| patients(&|one| codes(&real, one).contains(&code));
        let rare: BTreeSet<Code> =
            vocabulary.codes().filter(|&code| few(with_code(code))).collect();
        assert_eq!(found.rare_codes, rare.len() as u64);
        let shown = |cohort: &Cohort, details: &CohortDetails| {
            let mut shown = Shown { records: cohort.len() as u64, ..Shown::default() };
            for index in 0..cohort.len() {
                let record = cohort.record(index).to_record();
                let same = |one: usize| real.record(one).to_record().visits == record.visits;
                shown.copies += u64::from(patients(&same) == 1);
                let cell = |one: usize| real.record(one).visit(0) == record.visits[0].as_slice();
                shown.in_small_cells += u64::from(few(patients(&cell)));
                let has_rare = codes(cohort, index).iter().any(|code| rare.contains(code));
                shown.with_rare_codes += u64::from(has_rare);
                for event in details.of(index).events {
                    let same = |one: usize| {
                        let events = real_details.of(one).events;
                        events
                            .iter()
                            .any(|other| (other.code, other.value) == (event.code, event.value))
                    };
                    shown.values += 1;
                    shown.rare_values += u64::from(few(patients(&same)));
                }
            }
            shown
        };
        assert_eq!(found.synthetic, shown(&synthetic, &details_made), "{seed}");
        assert_eq!(found.other, Some(shown(&other, &other_details)), "{seed}");
        let written: BTreeSet<Code> =
            (0..synthetic.len()).flat_map(|index| codes(&synthetic, index)).collect();
        let names: BTreeSet<&str> =
            written.intersection(&rare).map(|&code| vocabulary.name(code)).collect();
        assert_eq!(found.written.iter().map(String::as_str).collect::<BTreeSet<_>>(), names);
        met.copies += found.synthetic.copies;
        met.with_rare_codes += found.synthetic.with_rare_codes;
        met.in_small_cells += found.synthetic.in_small_cells;
        met.rare_values += found.synthetic.rare_values;
    }
    assert!(met.copies > 0 && met.with_rare_codes > 0 && met.rare_values > 0, "{met:?}");
    assert!(met.in_small_cells > 0, "{met:?}");
}
