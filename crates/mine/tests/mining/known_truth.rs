//! Cohorts with five planted rules among many codes that are nearly, but not quite, bound.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_mine::{Class, Cutoffs, MineOptions, Mined, mine};
use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};

use crate::support::{reread, said};

/// Codes of each loose kind.
const LOOSE: usize = 40;

fn vocabulary() -> Arc<Vocabulary> {
    let statics = ["SEX//F", "SEX//M", "AGE//old", "AGE//young"].map(|name| name.to_owned());
    let mut codes: Vec<String> =
        ["bound", "binder", "twin", "other-twin", "men-only", "later", "first", "lifelong"]
            .map(|name| name.to_owned())
            .to_vec();
    for kind in ["loose", "companion", "chronic", "mostly-old", "follower", "leader"] {
        codes.extend((0..LOOSE).map(|number| format!("{kind}-{number}")));
    }
    let statics = statics.into_iter().map(|name| (name, Kind::Static));
    let codes = codes.into_iter().map(|name| (name, Kind::Encounter));
    Arc::new(Vocabulary::new(statics.chain(codes)).unwrap())
}

/// What holds in every record, as mined rules say it.
fn truth() -> BTreeSet<&'static str> {
    BTreeSet::from([
        "exactly one of SEX//F, SEX//M",
        "exactly one of AGE//old, AGE//young",
        "bound => binder",
        "twin <=> other-twin",
        "SEX//F in static => not men-only",
        "not first in past => not later",
        "lifelong in previous => lifelong",
    ])
}

struct Patient<'a> {
    draws: VisitDraws,
    next: u32,
    vocabulary: &'a Vocabulary,
    past: BTreeSet<String>,
    previous: BTreeSet<String>,
    now: BTreeSet<String>,
}

impl Patient<'_> {
    fn probability(&mut self, probability: f64) -> bool {
        self.next += 1;
        self.draws.below(self.next, probability)
    }

    fn put(&mut self, name: &str, probability: f64) -> bool {
        let there = self.probability(probability);
        if there {
            self.now.insert(name.to_owned());
        }
        there
    }

    fn encounter(&mut self, male: bool, old: bool) -> Vec<consequence_record::Code> {
        self.put("binder", 0.05);
        if self.put("bound", 0.03) {
            self.now.insert("binder".to_owned());
        }
        if self.put("twin", 0.03) {
            self.now.insert("other-twin".to_owned());
        }
        if male {
            self.put("men-only", 0.2);
        }
        self.put("first", 0.1);
        if self.past.contains("first") {
            self.put("later", 0.2);
        }
        let stays = if self.previous.contains("lifelong") { 1.0 } else { 0.02 };
        self.put("lifelong", stays);
        for number in 0..LOOSE {
            // From rare to common, and from loosely to nearly bound.
            let along = (number + 1) as f64 / LOOSE as f64;
            let bond = 0.6 + 0.38 * along;
            let name = |kind: &str| format!("{kind}-{number}");
            self.put(&name("companion"), 0.01);
            if self.put(&name("loose"), 0.001 + 0.01 * along * along) && self.probability(bond) {
                self.now.insert(name("companion"));
            }
            let stays = if self.previous.contains(&name("chronic")) { bond } else { 0.004 };
            self.put(&name("chronic"), stays);
            self.put(&name("mostly-old"), if old { 0.05 } else { 0.05 * (1.0 - bond) });
            let led = self.past.contains(&name("leader"));
            self.put(&name("leader"), 0.05);
            self.put(&name("follower"), if led { 0.03 } else { 0.03 * (1.0 - bond) });
        }
        self.previous = std::mem::take(&mut self.now);
        self.past.extend(self.previous.iter().cloned());
        self.previous.iter().filter_map(|name| self.vocabulary.code(name)).collect()
    }
}

fn cohort(seed: u64, records: u64, vocabulary: &Vocabulary) -> Cohort {
    let draws = Draws::new(seed);
    let mut cohort = Cohort::default();
    for number in 0..records {
        let mut patient = Patient {
            draws: draws.visit(number, 0, 0, Purpose::Code),
            next: 0,
            vocabulary,
            past: BTreeSet::new(),
            previous: BTreeSet::new(),
            now: BTreeSet::new(),
        };
        let (male, old) = (patient.probability(0.5), patient.probability(0.5));
        let statics =
            [if male { "SEX//M" } else { "SEX//F" }, if old { "AGE//old" } else { "AGE//young" }];
        let statics = statics.iter().filter_map(|name| vocabulary.code(name)).collect();
        let mut visits = vec![statics];
        visits.push(patient.encounter(male, old));
        while visits.len() < 6 && patient.probability(0.6) {
            visits.push(patient.encounter(male, old));
        }
        cohort.push(&number.to_string(), &Record::new(visits));
    }
    cohort
}

fn wrong(mined: &Mined) -> Vec<String> {
    let certain = mined.rules.iter().map(|rule| rule.class == Class::Certain);
    let truth = truth();
    let said = said(mined).into_iter().zip(certain).filter(|(_, certain)| *certain);
    said.map(|(said, _)| said).filter(|said| !truth.contains(said.as_str())).collect()
}

#[test]
fn planted_rules_are_found_and_loose_bonds_are_not_taken_for_rules() {
    let vocabulary = vocabulary();
    let (mut found, mut false_ones, mut careless) = (0, Vec::new(), 0);
    for seed in 1..=8 {
        let cohort = cohort(seed, 4000, &vocabulary);
        let splits: Vec<Split> = (0..cohort.len()).map(|at| Split::of(cohort.id(at))).collect();
        let mined = |options: &MineOptions| mine(&cohort, &vocabulary, &splits, options).unwrap();
        let cutoffs = Some(Cutoffs { never_for: 100, ..Cutoffs::inpatient() });
        let careful = mined(&MineOptions { cutoffs, ..MineOptions::default() });
        let said: BTreeSet<String> = said(&careful).into_iter().collect();
        for rule in truth() {
            assert!(said.contains(rule), "seed {seed}: {rule}");
        }
        reread(&careful, &vocabulary);
        found += careful.of(Class::Certain).len();
        false_ones.extend(wrong(&careful));
        careless += wrong(&mined(&MineOptions { cutoffs, ..MineOptions::counts_alone() })).len();
    }
    assert!(false_ones.len() * 20 <= found, "{found} found, and of these wrong: {false_ones:?}");
    assert!(careless > 15, "counts alone would do as well: {careless}");
}
