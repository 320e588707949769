//! Whether synthetic records give away what else a patient has.

use std::cmp::Reverse;
use std::ops::AddAssign;

use consequence_record::{Code, Kind, Vocabulary};
use rayon::prelude::*;
use serde::Serialize;

use super::nearest::{Nearest, Neighbours};
use crate::measured::Unmeasured;

/// Guesses over all victims and sensitive codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Guesses {
    /// Guessed, and so.
    pub true_positives: u64,
    /// Guessed, and not so.
    pub false_positives: u64,
    /// Not guessed, but so.
    pub false_negatives: u64,
    /// Not guessed, and not so.
    pub true_negatives: u64,
}

/// How good guesses are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GuessFigures {
    /// The guesses.
    pub guesses: Guesses,
    /// `2 TP / (2 TP + FP + FN)`; none where nothing was guessed and nothing was so.
    pub f1: Option<f64>,
    /// The mean of the shares of right guesses where the code is there and where it is not; none
    /// where one of the two never occurs.
    pub balanced_accuracy: Option<f64>,
}

/// An attacker knows a train record but for its sensitive codes, and reads them off from the
/// synthetic record that is nearest in the codes known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttributeInference {
    /// The sensitive codes: the most frequent encounter codes that at most half of the train
    /// records have.
    pub sensitive: Vec<String>,
    /// The train records that are attacked.
    pub victims: u64,
    /// Synthetic records, and held-out records, that can be read off from.
    pub sources: u64,
    /// Read off from synthetic records.
    pub from_synthetic: GuessFigures,
    /// Read off from as many held-out records: what can be known of anyone.
    pub from_held_out: GuessFigures,
    /// Read off from synthetic records for held-out records, which nobody trained on: what the synthetic
    /// records say of anyone.
    pub of_held_out: GuessFigures,
    /// Guessed for everyone what more than half of the synthetic records have.
    pub majority: GuessFigures,
}

impl AttributeInference {
    /// What guesses of those trained on gain in F1, over guesses from other real records and over
    /// guesses of people whom nobody trained on, whichever are better. A good generator knows what goes
    /// with what, and so guesses well of anyone: only what it guesses better of those trained on is given
    /// away. None where nothing was guessed.
    pub fn gain(&self) -> Option<f64> {
        let of_anyone = self.from_held_out.f1?.max(self.of_held_out.f1?);
        Some(self.from_synthetic.f1? - of_anyone)
    }
}

impl Guesses {
    fn add(&mut self, guessed: bool, so: bool) {
        *match (guessed, so) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_positives,
            (false, true) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        } += 1;
    }

    fn figures(self) -> GuessFigures {
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let doubled = 2 * self.true_positives;
        let there = share(self.true_positives, self.true_positives + self.false_negatives);
        let absent = share(self.true_negatives, self.true_negatives + self.false_positives);
        GuessFigures {
            guesses: self,
            f1: share(doubled, doubled + self.false_positives + self.false_negatives),
            balanced_accuracy: there.zip(absent).map(|(there, absent)| 0.5 * (there + absent)),
        }
    }
}

impl AddAssign for Guesses {
    fn add_assign(&mut self, other: Self) {
        self.true_positives += other.true_positives;
        self.false_positives += other.false_positives;
        self.false_negatives += other.false_negatives;
        self.true_negatives += other.true_negatives;
    }
}

/// Needs at least one record of each kind.
pub(super) fn attributes(
    train: &[Vec<Code>],
    synthetic: &[Vec<Code>],
    held_out: &[Vec<Code>],
    vocabulary: &Vocabulary,
    limit: usize,
) -> Result<AttributeInference, Unmeasured> {
    let sensitive = sensitive(train, vocabulary, limit);
    if sensitive.is_empty() {
        return Err(Unmeasured::NothingSensitive);
    }
    let sources = synthetic.len().min(held_out.len());
    let attack = Attack { sensitive: &sensitive, codes: vocabulary.len(), victims: train };
    let of_others = Attack { victims: held_out, ..attack };
    let (synthetic, held_out) = (&synthetic[..sources], &held_out[..sources]);
    Ok(AttributeInference {
        victims: train.len() as u64,
        sources: sources as u64,
        from_synthetic: attack.by_nearest(synthetic).figures(),
        from_held_out: attack.by_nearest(held_out).figures(),
        of_held_out: of_others.by_nearest(synthetic).figures(),
        majority: attack.by_majority(synthetic).figures(),
        sensitive: sensitive.iter().map(|&code| vocabulary.name(code).to_owned()).collect(),
    })
}

/// The most frequent encounter codes in at most half of some sets; of equal ones, the first first.
fn sensitive(train: &[Vec<Code>], vocabulary: &Vocabulary, limit: usize) -> Vec<Code> {
    let mut counts = vec![0usize; vocabulary.len()];
    train.iter().flatten().for_each(|code| counts[code.index()] += 1);
    let fits = |code: &Code| {
        let count = counts[code.index()];
        vocabulary.kind(*code) == Kind::Encounter && count > 0 && 2 * count <= train.len()
    };
    let mut codes: Vec<Code> = vocabulary.codes().filter(fits).collect();
    codes.sort_by_key(|code| Reverse(counts[code.index()]));
    codes.truncate(limit);
    codes
}

#[derive(Clone, Copy)]
struct Attack<'a> {
    sensitive: &'a [Code],
    codes: usize,
    victims: &'a [Vec<Code>],
}

impl Attack<'_> {
    /// What is known of a set.
    fn known(&self, set: &[Code]) -> Vec<Code> {
        set.iter().filter(|code| !self.sensitive.contains(code)).copied().collect()
    }

    /// Each sensitive code is guessed if more than half of the nearest sets hold it: usually there
    /// is one, and all that are equally near have a vote.
    fn by_nearest(&self, sources: &[Vec<Code>]) -> Guesses {
        let known: Vec<Vec<Code>> = sources.iter().map(|set| self.known(set)).collect();
        let neighbours = Neighbours::new(&known, self.codes);
        let attacked = self.victims.par_iter().map_init(Nearest::default, |found, victim| {
            neighbours.nearest(&self.known(victim), found);
            let mut guesses = Guesses::default();
            for code in self.sensitive {
                let holds = |&&set: &&u32| sources[set as usize].binary_search(code).is_ok();
                let votes = found.sets.iter().filter(holds).count();
                guesses.add(2 * votes > found.sets.len(), victim.binary_search(code).is_ok());
            }
            guesses
        });
        let mut all = Guesses::default();
        attacked.collect::<Vec<_>>().into_iter().for_each(|guesses| all += guesses);
        all
    }

    fn by_majority(&self, sources: &[Vec<Code>]) -> Guesses {
        let mut guesses = Guesses::default();
        for code in self.sensitive {
            let holds = |set: &&Vec<Code>| set.binary_search(code).is_ok();
            let guessed = 2 * sources.iter().filter(holds).count() > sources.len();
            self.victims.iter().for_each(|victim| guesses.add(guessed, holds(&victim)));
        }
        guesses
    }
}
