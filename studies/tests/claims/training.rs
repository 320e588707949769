//! Short versions of the studies of training.

use consequence_studies::networks::{self, Subject};
use consequence_studies::{peers, training_simulated, training_uci};
use consequence_train::{Preset, TrainOptions};

#[test]
fn rules_are_kept_and_help_to_predict() {
    let extent = training_simulated::Extent { patients: 600, written: 300, epochs: 2 };
    let lines = training_simulated::run(&extent).unwrap();
    let [fresh, markov, plain, guided, overridden] = &lines[..] else { panic!("five lines") };
    assert_eq!([fresh, guided, overridden].map(|line| line.violations), [0; 3]);
    // Without rules they are broken, or the others would prove nothing.
    assert!(markov.violations > 0 && plain.violations > 0);
    assert!(guided.perplexity < plain.perplexity, "{guided:?} {plain:?}");
    assert!(lines.iter().all(|line| line.r2[0] > 0.5), "{lines:?}");
}

#[test]
fn networks_learn_that_there_is_one_sex() {
    let loaded = Subject::Inpatients(1_500).load().unwrap().unwrap();
    let options = TrainOptions { epochs: 8, ..Preset::TINY.options() };
    let line = networks::run(&loaded, Preset::TINY.sizes(), &options).unwrap();
    // Independent draws would give both in a quarter of the records.
    assert!(line.sexes[0] < 0.01 && line.sexes[1] < 0.05, "{line:?}");
    assert!(line.nats_a_record() < 90.0 && line.nats.iter().all(|nats| *nats > 0.0), "{line:?}");
}

#[test]
fn real_records_are_trained_on() {
    let extent = training_uci::Extent { records: 1_500, epochs: 2, heads: vec![32] };
    let Some(lines) = training_uci::run(&extent).unwrap() else { return };
    let [_markov, plain, ruled] = &lines[..] else { panic!("three lines") };
    assert_eq!(plain.impossible, [0, 0]);
    // One test patient breaks a mined rule; nothing else is infinite.
    assert_eq!(ruled.impossible, [1, 0]);
    assert!(ruled.nats[0] < plain.nats[0], "age and sex follow from the rules in part");
    assert!(plain.perplexity < 25.0, "{plain:?}");
}

#[test]
fn the_task_of_the_peers_breaks_no_rule() {
    let options = TrainOptions { epochs: 1, batch: Some(64), ..Preset::default().options() };
    let extent = peers::Extent { patients: 300, written: 200, options, ..peers::Extent::default() };
    let Some(row) = peers::run(&extent).unwrap() else { return };
    assert_eq!(row.broken, [0; 3]);
    assert!(row.r2[0] > 0.8, "{row:?}");
}
