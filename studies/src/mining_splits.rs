//! Whether mined rules hold for records that mining never saw, over several splits of each cohort.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::sync::Arc;

use consequence_feedback::Unwatched;
use consequence_import::{ImportOptions, Source, open};
use consequence_mine::{Class, Known, MineOptions, Mined, mine_knowing};
use consequence_record::Split;
use consequence_referee::Referee;
use consequence_rules::{Rule, RuleSet};
use consequence_simulate::{Preset, Simulation};
use consequence_tables::Dataset;
use consequence_testing::shared;
use rayon::prelude::*;

use crate::real_cohorts::synpuf;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A cohort of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subjects {
    /// Synthea's outpatients in OMOP tables.
    Synthea,
    /// The demo of MIMIC-III.
    Mimic3,
    /// The demo of MIMIC-IV.
    Mimic4,
    /// The synthetic claims of CMS.
    Synpuf,
    /// The diabetes data of 130 US hospitals.
    Uci,
    /// Simulated inpatients, so many.
    Inpatients(usize),
    /// Simulated outpatients, so many.
    Outpatients(usize),
}

impl Subjects {
    /// What it is called.
    pub fn name(self) -> String {
        match self {
            Self::Synthea => "Synthea OMOP".into(),
            Self::Mimic3 => "MIMIC-III demo".into(),
            Self::Mimic4 => "MIMIC-IV demo".into(),
            Self::Synpuf => "SynPUF claims".into(),
            Self::Uci => "UCI diabetes".into(),
            Self::Inpatients(patients) => format!("simulated inpatients, {patients}"),
            Self::Outpatients(patients) => format!("simulated outpatients, {patients}"),
        }
    }

    /// Whether it is a demo of a hundred patients.
    pub fn is_demo(self) -> bool {
        matches!(self, Self::Mimic3 | Self::Mimic4)
    }

    /// Its records; `None` where the data are not there.
    ///
    /// # Errors
    /// If a file cannot be read or is not what it is said to be.
    pub fn load(self) -> Fallible<Option<Dataset>> {
        let options = ImportOptions::default();
        let frequent = ImportOptions { min_patients: 5, ..ImportOptions::default() };
        let import = |source: Source, path: &str, options: &ImportOptions| -> Fallible<_> {
            let Some(path) = shared(path) else { return Ok(None) };
            Ok(Some(open(&source, &path, options, &Unwatched)?.collect()?.0))
        };
        let simulated = |preset: Preset, patients: usize| {
            let simulation = Simulation::new(preset, patients, 1);
            Some(Dataset::new(simulation.cohort(), Arc::clone(simulation.vocabulary())))
        };
        match self {
            Self::Synthea => import(Source::Omop, "data/outpatient/synthea1k_omop", &options),
            Self::Mimic3 => import(Source::Mimic3, "data/inpatient/mimic3_demo", &options),
            Self::Mimic4 => import(Source::Mimic4, "data/inpatient/mimic4_demo", &options),
            Self::Synpuf => match shared("data/outpatient/synpuf_claims500") {
                Some(folder) => Ok(Some(synpuf(&folder, None)?)),
                None => Ok(None),
            },
            Self::Uci => {
                let archive = "data/inpatient/uci_diabetes130/dataset_diabetes.zip";
                import(Source::UciDiabetes, archive, &frequent)
            }
            Self::Inpatients(patients) => Ok(simulated(Preset::Inpatient, patients)),
            Self::Outpatients(patients) => Ok(simulated(Preset::Outpatient, patients)),
        }
    }
}

/// Rules without exceptions, and those that a held-out record breaks.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Splits.
    pub splits: usize,
    /// Certain rules, and of these the broken ones.
    pub certain: [usize; 2],
    /// Likely rules, and of these the broken ones.
    pub likely: [usize; 2],
    /// Frequent rules.
    pub frequent: usize,
    /// Claims that were doubted.
    pub doubted: usize,
    /// The rules that were broken, by how often.
    pub broken: BTreeMap<String, usize>,
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.splits += other.splits;
        for part in 0..2 {
            self.certain[part] += other.certain[part];
            self.likely[part] += other.likely[part];
        }
        self.frequent += other.frequent;
        self.doubted += other.doubted;
        for (rule, times) in other.broken {
            *self.broken.entry(rule).or_default() += times;
        }
    }
}

/// Mines one split of a cohort.
///
/// # Errors
/// If the cohort is too small for it.
pub fn mine_split(dataset: &Dataset, seed: u64) -> Fallible<(Mined, Vec<Split>)> {
    let Dataset { cohort, vocabulary, titles, .. } = dataset;
    let splits: Vec<Split> =
        (0..cohort.len()).map(|index| Split::seeded(cohort.id(index), seed)).collect();
    let title = |name: &str| vocabulary.code(name).and_then(|code| titles.get(&code).cloned());
    let known = Known { titles: &title, ..Known::NOTHING };
    let mined = mine_knowing(cohort, vocabulary, &splits, &known, &MineOptions::default())?;
    Ok((mined, splits))
}

/// Mines one split of a cohort, and holds the rules against the held-out records.
///
/// # Errors
/// If the cohort is too small for it.
pub fn judge_split(dataset: &Dataset, seed: u64) -> Fallible<Outcome> {
    let Dataset { cohort, vocabulary, .. } = dataset;
    let (mined, splits) = mine_split(dataset, seed)?;
    let hard: Vec<_> = mined.rules.iter().filter(|rule| rule.probability.is_none()).collect();
    let rules = hard.iter().map(|rule| Rule::hard(rule.name.clone(), rule.formula.clone()));
    let referee = Referee::new(&RuleSet::new(Arc::clone(vocabulary), rules.collect())?);
    let broken: BTreeSet<usize> = Split::HeldOut
        .indices(&splits)
        .into_par_iter()
        .flat_map_iter(|index| referee.violations(&cohort.record(index).to_record()))
        .map(|violation| violation.rule)
        .collect();
    let count = |class: Class| {
        let of_class = |place: &usize| hard[*place].class == class;
        let all = (0..hard.len()).filter(of_class).count();
        [all, broken.iter().filter(|place| of_class(place)).count()]
    };
    let shown = |&place: &usize| {
        let rule = hard[place];
        (format!("{}: {}", rule.class.name(), rule.name), 1)
    };
    Ok(Outcome {
        splits: 1,
        certain: count(Class::Certain),
        likely: count(Class::Likely),
        frequent: mined.of(Class::Frequent).len(),
        doubted: mined.dropped.iter().filter(|one| one.rule.class == Class::Doubted).count(),
        broken: broken.iter().map(shown).collect(),
    })
}
