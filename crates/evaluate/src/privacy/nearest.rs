//! Records as sets of codes: the nearest of them, how near synthetic records come to those trained
//! on, and whether that gives away who was.

use consequence_record::{Code, RecordView, Selection};
use rayon::prelude::*;
use serde::Serialize;

use crate::measured::{Role, Unmeasured};
use crate::ranking::Ranking;

/// The distinct codes of a record, static ones and those of all encounters; ascending.
pub(super) fn code_set(record: RecordView<'_>) -> Vec<Code> {
    let mut codes: Vec<Code> = record.visits().flatten().copied().collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The sets of some records.
pub(super) fn code_sets(records: Selection<'_>) -> Vec<Vec<Code>> {
    records.records().map(code_set).collect()
}

/// Sets that can be searched, by lists of the sets that hold each code.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    sizes: Vec<u32>,
    holders: Vec<Vec<u32>>,
}

/// Which sets are nearest.
#[derive(Clone, Debug, Default)]
pub(super) struct Nearest {
    shared: Vec<u32>,
    /// The distance, 1 at most.
    pub distance: f64,
    /// All sets at that distance, ascending.
    pub sets: Vec<u32>,
}

impl Neighbours {
    /// Prepares sets of codes below a number.
    pub fn new(sets: &[Vec<Code>], codes: usize) -> Self {
        let mut holders = vec![Vec::new(); codes];
        for (number, set) in sets.iter().enumerate() {
            set.iter().for_each(|code| holders[code.index()].push(number as u32));
        }
        Self { sizes: sets.iter().map(|set| set.len() as u32).collect(), holders }
    }

    /// Finds the sets nearest to another by Jaccard distance: codes in one of the two over codes in
    /// either. Two empty sets are at distance 0.
    pub fn nearest(&self, set: &[Code], found: &mut Nearest) {
        found.shared.clear();
        found.shared.resize(self.sizes.len(), 0);
        for code in set {
            for &holder in &self.holders[code.index()] {
                found.shared[holder as usize] += 1;
            }
        }
        found.distance = f64::INFINITY;
        found.sets.clear();
        for (number, (&size, &shared)) in self.sizes.iter().zip(&found.shared).enumerate() {
            // Quotients of such small whole numbers are equal in double precision only if they are.
            let union = set.len() as u32 + size - shared;
            let distance = f64::from(union - shared) / f64::from(union.max(1));
            if distance < found.distance {
                found.distance = distance;
                found.sets.clear();
            }
            if distance == found.distance {
                found.sets.push(number as u32);
            }
        }
    }
}

/// How far synthetic records are from their nearest real record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distances {
    /// Half are nearer.
    pub median: f64,
    /// One in twenty is nearer. Between two records, in proportion.
    pub fifth_percentile: f64,
    /// Synthetic records with exactly the codes of a real one.
    pub copies: u64,
}

/// How near synthetic records come to train records, beside as many held-out ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClosestRecords {
    /// The nearest train record.
    pub to_train: Distances,
    /// The nearest held-out record: what a generator that copies nobody has for both.
    pub to_held_out: Distances,
    /// The share of synthetic records that are nearer to a train record than to any held-out one;
    /// equally near ones count half. It varies more from sample to sample than a count of coins:
    /// all synthetic records are held against the same real ones.
    pub closer_to_train: f64,
    /// What it is for a generator that copies nobody: one half.
    pub expected: f64,
}

/// The distance of each set to the nearest of others.
pub(super) fn distances(from: &[Vec<Code>], to: &Neighbours) -> Vec<f64> {
    let nearest = |found: &mut Nearest, set: &Vec<Code>| {
        to.nearest(set, found);
        found.distance
    };
    from.par_iter().map_init(Nearest::default, nearest).collect()
}

/// Needs at least one record of each kind.
pub(super) fn closest(
    synthetic: &[Vec<Code>],
    train: &Neighbours,
    held_out: &Neighbours,
) -> ClosestRecords {
    let (to_train, to_held_out) = (distances(synthetic, train), distances(synthetic, held_out));
    // Twice the count, so that ties are whole numbers.
    let twice: u64 = to_train
        .iter()
        .zip(&to_held_out)
        .map(|(train, held_out)| if train < held_out { 2 } else { u64::from(train == held_out) })
        .sum();
    ClosestRecords {
        closer_to_train: twice as f64 / (2 * synthetic.len()) as f64,
        expected: 0.5,
        to_train: summary(to_train),
        to_held_out: summary(to_held_out),
    }
}

fn summary(mut distances: Vec<f64>) -> Distances {
    distances.sort_unstable_by(f64::total_cmp);
    Distances {
        median: quantile(&distances, 0.5),
        fifth_percentile: quantile(&distances, 0.05),
        copies: distances.iter().take_while(|&&distance| distance == 0.0).count() as u64,
    }
}

/// Of sorted values, with a straight line between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    low + (high - low) * rank.fract()
}

/// An attacker guesses who of as many train as held-out records was trained on: those with a
/// synthetic record near.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MembershipInference {
    /// The probability that a train record is nearer to a synthetic one than a held-out record is.
    pub auroc: f64,
    /// Its standard error, by DeLong; none with fewer than two records of either kind.
    pub standard_error: Option<f64>,
    /// The share of right guesses at the distance that tells best. It is chosen with the answers at
    /// hand, so it is one half at least, and a little above it by luck.
    pub best_balanced_accuracy: f64,
    /// What guessing gives for both: one half.
    pub expected: f64,
}

/// Needs at least one record of each kind.
pub(super) fn membership(
    train: &[Vec<Code>],
    held_out: &[Vec<Code>],
    synthetic: &Neighbours,
) -> Result<MembershipInference, Unmeasured> {
    let scores = |records, member| {
        distances(records, synthetic).into_iter().map(move |distance| (-distance, member))
    };
    let ranking = Ranking::new(scores(train, true).chain(scores(held_out, false)).collect());
    let nobody = Unmeasured::NoRecords(Role::HeldOut);
    Ok(MembershipInference {
        auroc: ranking.auroc().ok_or(nobody)?,
        standard_error: ranking.standard_error(),
        best_balanced_accuracy: ranking.best_balanced_accuracy().ok_or(nobody)?,
        expected: 0.5,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(codes: &[u32]) -> Vec<Code> {
        codes.iter().map(|&code| Code(code)).collect()
    }

    #[test]
    fn all_nearest_sets_are_found() {
        let sets = [set(&[0, 1, 2]), set(&[1, 2, 3]), set(&[]), set(&[5])];
        let neighbours = Neighbours::new(&sets, 6);
        let mut found = Nearest::default();
        neighbours.nearest(&set(&[1, 2]), &mut found);
        assert_eq!((found.distance, found.sets.as_slice()), (1.0 / 3.0, &[0, 1][..]));
        neighbours.nearest(&set(&[]), &mut found);
        assert_eq!((found.distance, found.sets.as_slice()), (0.0, &[2][..]));
        neighbours.nearest(&set(&[4]), &mut found);
        assert_eq!((found.distance, found.sets.as_slice()), (1.0, &[0, 1, 2, 3][..]));
    }
}
