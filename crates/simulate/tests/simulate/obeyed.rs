//! The planted rules: every record obeys them, and the cohorts give evidence of them.

use std::sync::Arc;

use consequence_referee::Referee;
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_simulate::{Preset, RuleKind, Simulation};

use crate::search::evidence;

#[test]
fn every_record_obeys_every_rule() {
    for (preset, patients) in [(Preset::Inpatient, 20_000), (Preset::Outpatient, 1_500)] {
        let simulation = Simulation::new(preset, patients, 11);
        let referee = Referee::new(&simulation.truth().rules);
        for (id, record) in simulation.records() {
            assert!(referee.is_valid(&record), "{id}: {:?}", referee.violations(&record));
        }
    }
}

#[test]
fn every_rule_is_about_codes_that_occur() {
    // A rule about codes that never come would hold, and teach nothing.
    for (preset, patients) in [(Preset::Inpatient, 10_000), (Preset::Outpatient, 10_000)] {
        let simulation = Simulation::new(preset, patients, 12);
        let known = evidence(&simulation.cohort(), simulation.vocabulary());
        let truth = simulation.truth();
        for (rule, planted) in truth.rules.iter().zip(&truth.planted) {
            let occurrences = known[planted.code.index()].occurrences;
            let expected = planted.ample && planted.kind != RuleKind::OneOfCategory;
            assert!(!expected || occurrences >= 10, "{preset}: {} has {occurrences}", rule.name);
        }
    }
}

#[test]
fn at_full_inpatient_size_the_evidence_is_as_claimed() {
    let preset = Preset::Inpatient;
    let simulation = Simulation::new(preset, preset.figures().records, 13);
    let known = evidence(&simulation.cohort(), simulation.vocabulary());
    let truth = simulation.truth();
    for (rule, planted) in truth.rules.iter().zip(&truth.planted) {
        let Some((occurrences, repeats)) = planted.kind.cut_off(preset) else { continue };
        let code = &known[planted.code.index()];
        let enough = code.occurrences >= occurrences && code.repeats >= repeats;
        assert_eq!(enough, planted.ample, "{}: {}", rule.name, code.occurrences);
    }
}

#[test]
fn the_file_says_what_the_rules_say_and_is_proved() {
    for preset in Preset::ALL {
        let simulation = Simulation::new(preset, 0, 0);
        let truth = simulation.truth();
        let vocabulary = Arc::clone(simulation.vocabulary());
        let read = RuleSet::parse(&truth.text, Some(vocabulary)).unwrap();
        assert_eq!(read.len(), truth.rules.len());
        for (read, rule) in read.iter().zip(truth.rules.iter()) {
            assert_eq!((&read.name, &read.says), (&rule.name, &rule.says));
            assert_eq!(read.origin.line, rule.origin.line, "{}", rule.name);
        }
        assert!(RuleSet::parse(&truth.text, None).is_ok(), "without a vocabulary too");
        let options = CompileOptions { max_visits: 200, ..CompileOptions::default() };
        compile(Arc::clone(&truth.rules), &options).unwrap();
        for kind in RuleKind::ALL {
            assert!(truth.planted.iter().any(|planted| planted.kind == kind), "{kind:?}");
        }
    }
}
