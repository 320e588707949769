//! How near synthetic records come to those trained on, beside records that were not.

use consequence_record::Code;
use rayon::prelude::*;
use serde::Serialize;

use super::neighbours::{Nearest, Neighbours};

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
