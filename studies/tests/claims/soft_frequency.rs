//! A short run of the soft rules.

use consequence_studies::soft_frequency::frequencies;

#[test]
fn soft_rules_hold_as_often_as_they_say() {
    for frequency in frequencies(50_000, 41) {
        assert!(frequency.score().abs() <= 3.0, "{frequency:?} is off by {}", frequency.score());
    }
}
