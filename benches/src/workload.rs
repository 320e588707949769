//! What is measured on: rules, visits to repair, and probabilities to sample from.

use std::sync::Arc;

use consequence_record::{Code, Cohort, Kind, Record};
use consequence_rules::RuleSet;
use consequence_studies::published::Published;
use consequence_testing::worlds::Choices;

use crate::generator::{Shape, generate};
use crate::planted::{CODES_PER_STATIC, CODES_PER_VISIT, ENCOUNTERS};
use crate::popularity::Popularity;

/// Rules with the popularity of the codes they speak of.
#[derive(Debug)]
pub struct Workload {
    /// The rules.
    pub rules: Arc<RuleSet>,
    statics: Popularity,
    encounters: Popularity,
}

impl Workload {
    /// Rules, with how popular static codes and encounter codes are.
    pub fn new(rules: Arc<RuleSet>, statics: Popularity, encounters: Popularity) -> Self {
        Self { rules, statics, encounters }
    }

    /// The published rules, where they are there.
    pub fn published() -> Option<Self> {
        let published = Published::load()?;
        let vocabulary = &published.vocabulary;
        let of_kind = |kind: Kind| -> Vec<Code> {
            let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
            codes.filter(|&code| vocabulary.kind(code) == kind).collect()
        };
        Some(Self {
            statics: Popularity::even(of_kind(Kind::Static)),
            encounters: Popularity::zipf(of_kind(Kind::Encounter)),
            rules: Arc::new(published.rule_set(0..published.neurons.len())),
        })
    }

    /// Generated rules.
    pub fn generated(shape: Shape, seed: u64) -> Self {
        let generated = generate(shape, seed);
        Self {
            rules: generated.rules,
            statics: generated.classes.static_popularity(),
            encounters: generated.classes.encounters(),
        }
    }

    /// Records as a tool without rules would write them: eight encounters of 14 codes.
    pub fn proposals(&self, records: usize, seed: u64) -> Cohort {
        self.proposals_of(records, ENCOUNTERS, seed)
    }

    /// The same with another number of encounters.
    pub fn proposals_of(&self, records: usize, encounters: usize, seed: u64) -> Cohort {
        let mut cohort = Cohort::default();
        for number in 0..records {
            let mut choices = Choices::new(seed, number as u64);
            let mut visits = vec![self.statics.pick_set(CODES_PER_STATIC, &mut choices)];
            visits.extend(
                (0..encounters).map(|_| self.encounters.pick_set(CODES_PER_VISIT, &mut choices)),
            );
            cohort.push(&number.to_string(), &Record::new(visits).cut());
        }
        cohort
    }

    /// A probability for each code, by number, under which a visit without rules has 14 codes on
    /// average and never ends the record.
    pub fn probabilities(&self) -> Vec<f64> {
        let mut table = vec![0.0; self.rules.vocabulary().len()];
        let statics = self.statics.probabilities(CODES_PER_STATIC as f64);
        let encounters = self.encounters.probabilities(CODES_PER_VISIT as f64);
        for (code, probability) in statics.chain(encounters) {
            table[code.index()] = probability;
        }
        table
    }
}
