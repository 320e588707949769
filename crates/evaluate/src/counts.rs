//! How often codes and pairs of codes occur: counted, held against another cohort, and listed one
//! by one.

use consequence_record::{Code, RecordView, Selection, Vocabulary};
use consequence_tally::{Counts as _, counts};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::compare::Frequencies;
use crate::measured::BadRecord;

/// Counts of two codes together, by both; sparse, since most pairs never occur.
pub(crate) type PairCounts = FxHashMap<(Code, Code), u64>;

/// How often codes and pairs of codes occur. No static codes, and no `END`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub encounters: u64,
    /// Encounters that another follows.
    pub transitions: u64,
    pub codes: Vec<u64>,
    /// Two codes of one encounter, the lower number first.
    pub pairs: PairCounts,
    /// A code of one encounter, and a code of the next.
    pub sequences: PairCounts,
}

counts!(Counts { encounters, transitions, codes, pairs, sequences });

impl Counts {
    /// Counts records on all threads.
    pub fn new(records: Selection<'_>, codes: usize) -> Self {
        // One part a thread: parts hold the same pairs again and again.
        let size = records.len().div_ceil(rayon::current_num_threads()).max(1);
        let none = || Self { codes: vec![0; codes], ..Self::default() };
        let parts = records.chunks(size).into_par_iter().map(|records| {
            let mut counts = none();
            records.records().for_each(|record| counts.add_record(record));
            counts
        });
        parts.reduce(none, |mut sum, more| {
            sum.add(more);
            sum
        })
    }

    fn add_record(&mut self, record: RecordView<'_>) {
        let mut before: Option<&[Code]> = None;
        for visit in record.visits().skip(1) {
            self.encounters += 1;
            for (index, &code) in visit.iter().enumerate() {
                self.codes[code.index()] += 1;
                for &other in &visit[index + 1..] {
                    *self.pairs.entry((code, other)).or_default() += 1;
                }
            }
            if let Some(before) = before {
                self.transitions += 1;
                for &code in before {
                    for &next in visit {
                        *self.sequences.entry((code, next)).or_default() += 1;
                    }
                }
            }
            before = Some(visit);
        }
    }
}

/// Sums over the counts of two cohorts, key by key: whole numbers, so their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    pub keys: u128,
    real: u128,
    real_squares: u128,
    products: u128,
    synthetic_squares: u128,
}

impl Moments {
    /// Adds a key that was seen so often in each cohort.
    pub fn add(&mut self, real: u64, synthetic: u64) {
        let (real, synthetic) = (u128::from(real), u128::from(synthetic));
        self.keys += 1;
        self.real += real;
        self.real_squares += real * real;
        self.products += real * synthetic;
        self.synthetic_squares += synthetic * synthetic;
    }

    /// `1 - SS(real - synthetic) / SS(real - mean)` of frequencies: counts over the trials of each
    /// cohort. None without trials, or where all real frequencies are the same.
    pub fn r2(&self, real_trials: u64, synthetic_trials: u64) -> Option<f64> {
        let (real, synthetic) = (u128::from(real_trials), u128::from(synthetic_trials));
        if real == 0 || synthetic == 0 {
            return None;
        }
        // Both sums times the squares of the trials, so that they are whole numbers.
        let spread = match self.exact_spread() {
            Some(0) => return None,
            Some(exact) => exact as f64 / self.keys as f64,
            None => self.real_squares as f64 - (self.real as f64).powi(2) / self.keys as f64,
        };
        let missed = match self.exact_missed(real, synthetic) {
            Some(exact) => exact as f64 / (synthetic * synthetic) as f64,
            None => {
                let ratio = real as f64 / synthetic as f64;
                self.real_squares as f64 - 2.0 * ratio * self.products as f64
                    + ratio * ratio * self.synthetic_squares as f64
            }
        };
        Some(1.0 - missed / spread)
    }

    fn exact_spread(&self) -> Option<u128> {
        self.keys.checked_mul(self.real_squares)?.checked_sub(self.real.checked_mul(self.real)?)
    }

    fn exact_missed(&self, real: u128, synthetic: u128) -> Option<u128> {
        let squares = self
            .real_squares
            .checked_mul(synthetic.checked_mul(synthetic)?)?
            .checked_add(self.synthetic_squares.checked_mul(real.checked_mul(real)?)?)?;
        squares
            .checked_sub(self.products.checked_mul(real.checked_mul(synthetic)?)?.checked_mul(2)?)
    }
}

/// Codes, or pairs of codes, and how frequent each is in every cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Points {
    /// What each point is.
    pub names: Vec<String>,
    /// For each cohort, the share of each point, in the order of the names.
    pub shares: Vec<Vec<f64>>,
}

/// How frequent codes and pairs of codes are. No static codes, no `END`, and none that tells time or
/// a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// All codes seen in any cohort, in the order of the vocabulary, per encounter.
    pub codes: Points,
    /// The most frequent pairs of codes of one encounter, per encounter.
    pub pairs: Points,
    /// The most frequent pairs of a code of one encounter and a code of the next, per pair of such
    /// encounters.
    pub sequences: Points,
}

/// The shares of all codes, and of so many pairs of either kind: those with the highest share in
/// any cohort, equal ones in the order of the vocabulary.
///
/// ```
/// use consequence_evaluate::shares;
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 200, 7);
/// let cohort = simulation.cohort();
/// let [one, other] = [0..100, 100..200].map(|range| Selection::all(&cohort).part(range));
/// let found = shares(&[one, other, one], simulation.vocabulary(), 50)?;
/// assert_eq!((found.pairs.names.len(), found.pairs.shares.len()), (50, 3));
/// assert_eq!(found.codes.shares[0], found.codes.shares[2]);
/// # Ok::<(), consequence_evaluate::BadRecord>(())
/// ```
pub fn shares(
    selections: &[Selection<'_>],
    vocabulary: &Vocabulary,
    pairs: usize,
) -> Result<Shares, BadRecord> {
    let counted = selections.iter().map(|&records| Frequencies::of(records, vocabulary));
    let counted: Vec<Frequencies> = counted.collect::<Result<_, _>>()?;
    Ok(shares_of(&counted.iter().collect::<Vec<_>>(), vocabulary, pairs))
}

/// The same of records that were counted.
pub fn shares_of(counted: &[&Frequencies], vocabulary: &Vocabulary, pairs: usize) -> Shares {
    let counts: Vec<&Counts> = counted.iter().map(|one| &one.counts).collect();
    let seen = |code: &Code| counts.iter().any(|counts| counts.codes[code.index()] > 0);
    let codes: Vec<Code> = vocabulary.codes().filter(seen).collect();
    let name = |code: Code| vocabulary.name(code);
    let share = |counts: &&Counts| {
        codes.iter().map(|code| share(counts.codes[code.index()], counts.encounters)).collect()
    };
    let named = |(first, second): (Code, Code), between: &str| {
        format!("{}{between}{}", name(first), name(second))
    };
    let kind = |of: fn(&Counts) -> (&PairCounts, u64), between: &str| {
        let top = top(&counts, of, pairs);
        Points {
            names: top.iter().map(|(pair, _)| named(*pair, between)).collect(),
            shares: (0..counts.len())
                .map(|at| top.iter().map(|(_, shares)| shares[at]).collect())
                .collect(),
        }
    };
    Shares {
        codes: Points {
            names: codes.iter().map(|&code| name(code).to_owned()).collect(),
            shares: counts.iter().map(share).collect(),
        },
        pairs: kind(|counts| (&counts.pairs, counts.encounters), " + "),
        sequences: kind(|counts| (&counts.sequences, counts.transitions), " then "),
    }
}

type PairShares = ((Code, Code), Vec<f64>);

/// The pairs with the highest share in any cohort, and their shares in all.
fn top(counts: &[&Counts], of: fn(&Counts) -> (&PairCounts, u64), limit: usize) -> Vec<PairShares> {
    let mut found: FxHashMap<(Code, Code), Vec<f64>> = FxHashMap::default();
    for (at, one) in counts.iter().enumerate() {
        let (pairs, trials) = of(one);
        for (&pair, &count) in pairs {
            found.entry(pair).or_insert_with(|| vec![0.0; counts.len()])[at] = share(count, trials);
        }
    }
    let mut found: Vec<PairShares> = found.into_iter().collect();
    let highest = |(_, shares): &PairShares| shares.iter().copied().fold(0.0, f64::max);
    found.sort_unstable_by(|one, other| {
        highest(other).total_cmp(&highest(one)).then(one.0.cmp(&other.0))
    });
    found.truncate(limit);
    found
}

fn share(count: u64, trials: u64) -> f64 {
    count as f64 / trials.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_too_large_for_whole_numbers_give_the_same_figure() {
        let counts = [(3u64, 5u64), (10, 9), (0, 4), (7, 0), (20, 31)];
        let [mut small, mut large] = [Moments::default(); 2];
        let scale = 1 << 52;
        for (real, synthetic) in counts {
            small.add(real, synthetic);
            large.add(real * scale, synthetic * scale);
        }
        assert!(large.exact_missed(40 * scale as u128, 50 * scale as u128).is_none());
        let [small, large] = [small.r2(40, 50), large.r2(40 * scale, 50 * scale)];
        assert!((small.unwrap() - large.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn the_same_counts_agree_exactly_and_equal_ones_have_no_figure() {
        let [mut same, mut equal] = [Moments::default(); 2];
        for count in [1, 7, 3] {
            same.add(count, count);
            equal.add(5, count);
        }
        assert_eq!(same.r2(9, 9), Some(1.0));
        assert_eq!((equal.r2(9, 9), same.r2(0, 9), same.r2(9, 0)), (None, None, None));
    }
}
