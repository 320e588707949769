//! A short run of mining several splits of cohorts, and of what rules gain.

use consequence_studies::mining_splits::{Outcome, Subjects, judge_split, mine_split};
use consequence_studies::rule_gain::gain;
use consequence_train::Preset;

/// Not among the splits of the long run.
const SEEDS: [u64; 2] = [11, 12];

#[test]
fn held_out_records_break_few_rules() {
    let mut all = Outcome::default();
    for subjects in [Subjects::Synthea, Subjects::Outpatients(2_000)] {
        let Some(dataset) = subjects.load().unwrap() else { continue };
        for seed in SEEDS {
            all += judge_split(&dataset, seed).unwrap();
        }
    }
    println!("{all:#?}");
    let [certain, certain_broken] = all.certain;
    let [likely, likely_broken] = all.likely;
    assert!(certain >= 80, "{certain}");
    // One percent and five, with one more for so few.
    assert!(certain_broken * 100 <= certain + 100, "{certain_broken} of {certain}");
    assert!(likely_broken * 20 <= likely + 20, "{likely_broken} of {likely}");
}

#[test]
fn synthea_keeps_pregnancy_from_men_and_ends_at_death() {
    let Some(dataset) = Subjects::Synthea.load().unwrap() else { return };
    let (mined, _) = mine_split(&dataset, SEEDS[0]).unwrap();
    let hard = mined.rules.iter().filter(|rule| rule.probability.is_none());
    assert!(hard.count() >= 20);
    assert!(mined.rules.iter().any(|rule| rule.statement.ends_with(": DEATH => END")));
    let pregnancy = mined.rules.iter().find(|rule| rule.name == "no-pregnancy-for-SEX//M").unwrap();
    assert!(pregnancy.codes.len() > 4, "{}", pregnancy.statement);
    assert!(pregnancy.codes.contains(&"SNOMED//72892002".to_owned()), "{}", pregnancy.statement);
}

#[test]
fn rules_cost_no_nats() -> Result<(), Box<dyn std::error::Error>> {
    let dataset = Subjects::Inpatients(1_000).load()?.expect("simulated");
    let found = gain(&dataset, Preset::TINY, 1)?;
    let [without, with] = found.nats;
    assert!(found.rules > 3 && found.records[1] > 50, "{found:?}");
    assert!(with < 1.01 * without, "{found:?}");
    Ok(())
}
