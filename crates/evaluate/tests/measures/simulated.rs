//! The simulated inpatient cohort: counts of pairs predict held-out records better than counts
//! alone.

use consequence_evaluate::{Independent, Likelihood, Parts, ReplayOptions, likelihood};
use consequence_model::Markov;
use consequence_record::{Selection, Split};
use consequence_rules::Order;
use consequence_simulate::{Preset, Simulation};

#[test]
fn markov_beats_independent_codes_on_held_out_records() {
    let simulation = Simulation::new(Preset::Inpatient, 5_000, 7);
    let cohort = simulation.cohort();
    let codes = Order::natural(simulation.vocabulary().clone());
    let splits = Split::of_records(&cohort);
    let split = [Split::Train, Split::HeldOut].map(|split| split.indices(&splits));
    let [train, test] = split.each_ref().map(|records| Selection::new(&cohort, records));
    let (options, markov) = (ReplayOptions::default(), Markov::fit(codes.clone(), train, 100));
    let independent = Independent::fit(codes, train, 100).unwrap();
    let each = |model: &dyn Fn(Selection<'_>) -> Likelihood| -> Vec<Likelihood> {
        test.chunks(1).into_iter().map(model).collect()
    };
    let markov = each(&|record| likelihood(&markov, record, &options).unwrap());
    let independent = each(&|record| likelihood(&independent, record, &options).unwrap());
    // Of the records that both can tell: independent codes give no probability to what they never
    // saw.
    let both: Vec<(Parts, Parts)> = markov
        .iter()
        .zip(&independent)
        .filter(|(one, other)| one.measured == 1 && other.measured == 1)
        .map(|(one, other)| (one.nats, other.nats))
        .collect();
    assert!(markov.iter().all(|one| one.measured == 1));
    assert!(both.len() * 100 > test.len() * 95);
    let sum = |part: fn(&Parts) -> f64| {
        let markov: f64 = both.iter().map(|(markov, _)| part(markov)).sum();
        (markov, both.iter().map(|(_, independent)| part(independent)).sum::<f64>())
    };
    let statics = sum(|parts| parts.static_codes);
    let encounters = sum(|parts| parts.encounter_codes);
    let end = sum(|parts| parts.end);
    eprintln!("Markov and independent: static {statics:?}, encounters {encounters:?}, END {end:?}");
    assert!(statics.0 < 0.7 * statics.1);
    assert!(encounters.0 < 0.93 * encounters.1);
    assert!(end.0 < 1.02 * end.1);
}
