//! A short run of mining simulated cohorts.

use consequence_mine::MineOptions;
use consequence_simulate::Preset;
use consequence_studies::mining::{low_cutoffs, mine_simulated};

/// Not among the seeds that were looked at while the miner was made, nor among the long run's.
const SEED: u64 = 301;

#[test]
fn planted_rules_are_recovered_and_others_are_not_made_up() {
    // Smaller cohorts support fewer of the rules, so that there are fewer to be recovered.
    for (preset, patients, least) in
        [(Preset::Inpatient, 20_000, 40), (Preset::Outpatient, 8_000, 50)]
    {
        let outcome = mine_simulated(preset, patients, SEED, &MineOptions::default());
        println!("{preset}: {outcome:#?}");
        assert!(outcome.supported >= least, "{preset}: {outcome:#?}");
        assert!(outcome.holds(), "{preset}: {outcome:#?}");
    }
}

#[test]
fn where_counts_alone_make_rules_up_the_evidence_does_not() {
    let options = |options: MineOptions| MineOptions { cutoffs: Some(low_cutoffs()), ..options };
    let by_counts = options(MineOptions::counts_alone());
    let careless = mine_simulated(Preset::Inpatient, 5_000, SEED, &by_counts);
    let by_evidence = options(MineOptions::default());
    let careful = mine_simulated(Preset::Inpatient, 5_000, SEED, &by_evidence);
    println!(
        "wrong: {} of {}, with evidence {} of {}",
        careless.wrong.len(),
        careless.hard,
        careful.wrong.len(),
        careful.hard
    );
    assert!(!careless.holds(), "the study would not notice: {careless:#?}");
    assert!(careful.supported >= 30 && careful.holds(), "{careful:#?}");
}
