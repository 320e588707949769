//! What is mined in parts is what is mined in one place.

use std::sync::Arc;

use consequence_mine::{Known, MineError, MineOptions, Mined, mine_in_rounds, mine_knowing};
use consequence_record::{Cohort, CohortDetails, Selection, Split, Vocabulary};
use consequence_simulate::{Preset, Simulation};
use consequence_tally::Paused;
use consequence_testing::parts::{Parts, in_parts};

fn of_parts(
    (cohort, details): (&Cohort, Option<&CohortDetails>),
    vocabulary: &Arc<Vocabulary>,
    splits: &[Split],
    options: &MineOptions,
    (parts, block): (usize, usize),
) -> (Mined, usize) {
    let records = Selection::all(cohort).detailed(details);
    let part_of = |number: usize| match parts {
        // One part is empty, and one has a single record.
        1 => 0,
        _ => {
            if number == 0 {
                0
            } else {
                1 + number % (parts - 1) % (parts - 2).max(1)
            }
        }
    };
    let parts = Parts { records, splits, part_of: &part_of, parts, block };
    let mine = |rounds: &mut consequence_tally::Rounds<'_>| {
        mine_in_rounds(rounds, vocabulary, &Known::NOTHING, details.is_some(), options)
    };
    let paused = |error: MineError| match error {
        MineError::Paused(paused) => paused,
        other => Paused::Failed(Box::new(other)),
    };
    in_parts(&parts, None, mine, paused)
}

#[test]
fn rules_do_not_depend_on_how_records_are_divided() {
    let simulation = Simulation::new(Preset::Inpatient, 3_000, 3).detailed();
    let (cohort, details) = simulation.cohort();
    let (vocabulary, splits) = (Arc::clone(simulation.vocabulary()), Split::of_records(&cohort));
    let known = Known { details: Some(&details), ..Known::NOTHING };
    // So little memory that pairs take several rounds.
    let options = MineOptions { memory: 1 << 20, ..MineOptions::default() };
    let whole = mine_knowing(&cohort, &vocabulary, &splits, &known, &options).unwrap();
    assert!(whole.rules.len() > 5, "{}", whole.rules.len());
    for division in [(1, 10_000), (1, 64), (5, 50)] {
        let (parts, rounds) =
            of_parts((&cohort, Some(&details)), &vocabulary, &splits, &options, division);
        assert!(rounds > 10, "{rounds}");
        assert!(parts == whole, "{division:?}");
    }
    let usual = mine_knowing(&cohort, &vocabulary, &splits, &known, &MineOptions::default());
    assert!(usual.unwrap() == whole, "memory decides nothing but the number of rounds");
}
