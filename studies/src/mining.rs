//! Rules planted in simulated cohorts, and rules mined from them.

use std::ops::AddAssign;

use consequence_mine::{Cutoffs, MineOptions, Mined, Reason, mine};
use consequence_record::{Split, Vocabulary};
use consequence_rules::Formula;
use consequence_simulate::{Preset, Simulation};

use crate::evidence::{Sample, Support};
use crate::implied::follows;

/// What mining one cohort came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Planted rules of the kinds that are looked for.
    pub planted: usize,
    /// Of these, those with fewer occasions than the cut-offs ask for.
    pub few: usize,
    /// Those that probability might show too.
    pub by_chance: usize,
    /// Those that the miner lists as doubted, for others of their kind are only nearly rules.
    pub doubted: usize,
    /// The rest: those that the sample supports.
    pub supported: usize,
    /// Of these, those that follow from the hard rules that were mined.
    pub recovered: usize,
    /// Planted rules that follow from the hard rules mined, supported or not.
    pub implied: usize,
    /// Rules mined as hard ones.
    pub hard: usize,
    /// Rules mined as soft ones.
    pub soft: usize,
    /// Supported rules that were not recovered.
    pub missed: Vec<String>,
    /// Planted rules that were doubted.
    pub doubts: Vec<String>,
    /// Hard rules mined that do not follow from the truth.
    pub wrong: Vec<String>,
}

impl Outcome {
    /// Whether every supported rule was recovered, with at most 5% of the hard rules wrong.
    pub fn holds(&self) -> bool {
        self.missed.is_empty() && self.wrong.len() * 20 <= self.hard
    }
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.planted += other.planted;
        self.few += other.few;
        self.by_chance += other.by_chance;
        self.doubted += other.doubted;
        self.supported += other.supported;
        self.recovered += other.recovered;
        self.implied += other.implied;
        self.hard += other.hard;
        self.soft += other.soft;
        self.missed.extend(other.missed);
        self.doubts.extend(other.doubts);
        self.wrong.extend(other.wrong);
    }
}

/// Cut-offs so low that codes seem bound which are not: what is left to judge by is the evidence.
pub fn low_cutoffs() -> Cutoffs {
    Cutoffs { together: 3, never_for: 10, group_records: 1, only_after: 3, stays: 3, repeats: 2 }
}

/// Simulates a cohort and mines it.
///
/// # Panics
/// If the cohort is too small to have a train split.
pub fn mine_simulated(
    preset: Preset,
    patients: usize,
    seed: u64,
    options: &MineOptions,
) -> Outcome {
    let simulation = Simulation::new(preset, patients, seed);
    let cohort = simulation.cohort();
    let splits = Split::of_records(&cohort);
    let mined = mine(&cohort, simulation.vocabulary(), &splits, options)
        .expect("the cohort has a train split");
    let sample = Sample::new(&cohort, &splits, simulation.vocabulary(), options);
    judge(&simulation, &sample, &mined)
}

fn judge(simulation: &Simulation, sample: &Sample<'_>, mined: &Mined) -> Outcome {
    let truth = simulation.truth();
    let vocabulary = simulation.vocabulary();
    let planted: Vec<Formula> =
        truth.rules.iter().map(|rule| rule.formula().into_owned()).collect();
    let hard = hard_rules(mined);
    let doubted = mined.dropped.iter().filter(|dropped| dropped.reason == Reason::Doubted);
    let with_doubted: Vec<Formula> =
        hard.iter().cloned().chain(doubted.map(|dropped| dropped.rule.formula.clone())).collect();
    let recovered = follows(&hard, &planted, vocabulary);
    let seen = follows(&with_doubted, &planted, vocabulary);

    let soft = mined.rules.len() - hard.len();
    let mut outcome = Outcome { hard: hard.len(), soft, ..Outcome::default() };
    for (place, (rule, planted)) in truth.rules.iter().zip(&truth.planted).enumerate() {
        let support = sample.support(rule, planted);
        if support == Support::OtherKind {
            continue;
        }
        outcome.planted += 1;
        outcome.implied += usize::from(recovered[place]);
        match support {
            Support::OtherKind => {}
            Support::Few => outcome.few += 1,
            Support::ByChance => outcome.by_chance += 1,
            Support::Enough if seen[place] && !recovered[place] => {
                outcome.doubted += 1;
                outcome.doubts.push(rule.name.to_string());
            }
            Support::Enough => {
                outcome.supported += 1;
                outcome.recovered += usize::from(recovered[place]);
                outcome.missed.extend((!recovered[place]).then(|| rule.name.to_string()));
            }
        }
    }
    let implied = follows(&planted, &hard, vocabulary);
    let wrong = hard.iter().zip(implied).filter(|(_, implied)| !implied);
    outcome.wrong = wrong.map(|(formula, _)| shown(formula, vocabulary)).collect();
    outcome
}

/// The hard rules that were mined.
pub fn hard_rules(mined: &Mined) -> Vec<Formula> {
    let hard = mined.rules.iter().filter(|rule| rule.probability.is_none());
    hard.map(|rule| rule.formula.clone()).collect()
}

fn shown(formula: &Formula, vocabulary: &Vocabulary) -> String {
    formula.text(vocabulary).to_string()
}
