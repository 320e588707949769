//! Rules help to predict, in short.

use consequence_studies::mining_splits::Subjects;
use consequence_studies::rule_gain::gain;
use consequence_train::Preset;

#[test]
fn rules_cost_no_nats() -> Result<(), Box<dyn std::error::Error>> {
    let dataset = Subjects::Inpatients(1_000).load()?.expect("simulated");
    let found = gain(&dataset, Preset::TINY, 1)?;
    let [without, with] = found.nats;
    assert!(found.rules > 3 && found.records[1] > 50, "{found:?}");
    assert!(with < 1.01 * without, "{found:?}");
    Ok(())
}
