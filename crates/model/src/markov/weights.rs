//! How much lifts count.
//!
//! Codes that come together say the same thing more than once, so their lifts must not be added in
//! full. How much of each kind to add is trained on records that the lifts were not counted in, by
//! their likelihood, in steps of Newton's method for a few weights. Base rates that move along keep
//! each code as frequent as it is.
#![allow(clippy::needless_range_loop, reason = "matrices are read by row and column")]

use consequence_rules::Order;
use rayon::prelude::*;

use super::MarkovPast;
use super::counts::Pack;
use super::fit::PARTS;
use super::pairs::Evidence;
use super::tables::{MarkovTables, probability};

/// Steps of Newton's method: the likelihood is concave in weights and base rates.
const STEPS: usize = 6;

/// Weights by kind of evidence: static codes, the previous encounter, the same visit.
pub(super) type Weights = [f64; 3];

/// Weights of what is said of codes, and of what is said of `END`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighting {
    pub codes: Weights,
    pub end: Weights,
}

impl Weighting {
    /// What to begin with, and to stay with where there are few records.
    const FIRST: Self = Self { codes: [0.5, 0.3, 0.5], end: [0.5, 0.3, 0.5] };

    pub fn of(&self, is_end: bool) -> &Weights {
        if is_end { &self.end } else { &self.codes }
    }

    /// Chooses weights by the likelihood of records that `evidence` and `tables` do not know.
    pub fn fit(
        tables: &MarkovTables,
        evidence: &[Evidence; 3],
        fresh: &Pack,
        codes: &Order,
    ) -> Self {
        let mut weighting = Self::FIRST;
        // What the base rates move by, in first and in later encounters.
        let mut moved = [vec![0.0; codes.len()], vec![0.0; codes.len()]];
        for _ in 0..STEPS {
            let sums = add_up(tables, evidence, fresh, codes, &weighting, &moved);
            let end = codes.end() as usize;
            let all = codes.statics()..codes.len();
            let for_codes = sums.step(all.filter(|&code| code != end), &mut moved);
            let for_end = sums.step([end].into_iter(), &mut moved);
            for (weights, steps) in
                [(&mut weighting.codes, for_codes), (&mut weighting.end, for_end)]
            {
                for (weight, step) in weights.iter_mut().zip(steps) {
                    *weight = (*weight + step).clamp(0.0, 1.0);
                }
            }
        }
        weighting
    }
}

/// Walks over the records and adds up what a step needs.
fn add_up(
    tables: &MarkovTables,
    evidence: &[Evidence; 3],
    fresh: &Pack,
    codes: &Order,
    weighting: &Weighting,
    moved: &[Vec<f64>; 2],
) -> Sums {
    let size = fresh.records().len().div_ceil(PARTS).max(1);
    let parts: Vec<Sums> = fresh
        .records()
        .par_chunks(size)
        .map(|records| {
            let mut sums = Sums::new(codes.len());
            let mut odds = Vec::new();
            let mut said: [Vec<f64>; 3] = Default::default();
            for visits in records {
                let mut past = MarkovPast::default();
                for visit in visits.clone().skip(1) {
                    let (previous, truth) = (fresh.visit(visit - 1), fresh.visit(visit));
                    past.see(previous);
                    let later = usize::from(past.visits > 1);
                    tables.base_odds(&past, previous, codes.end(), &mut odds);
                    gather(evidence, &past, previous, truth, &mut said);
                    let mut present = truth.iter().copied().peekable();
                    for position in codes.range(1) {
                        let code = position as usize;
                        let said = [said[0][code], said[1][code], said[2][code]];
                        let weights = weighting.of(position == codes.end());
                        let weighted: f64 =
                            weights.iter().zip(said).map(|(w, said)| w * said).sum();
                        let probability = probability(odds[code] + moved[later][code] + weighted);
                        let present = present.next_if_eq(&position).is_some();
                        sums.add(later, code, &said, probability, present);
                    }
                }
            }
            sums
        })
        .collect();
    let mut total = Sums::new(codes.len());
    parts.iter().for_each(|part| total.join(part));
    total
}

/// What each kind of evidence says of every code of a visit, less what it says on average.
fn gather(
    evidence: &[Evidence; 3],
    past: &MarkovPast,
    previous: &[u32],
    truth: &[u32],
    said: &mut [Vec<f64>; 3],
) {
    // A code has lifts for later codes only, so those of the whole visit can be added at once.
    let speakers = [past.statics.as_slice(), previous, truth];
    for (kind, ((said, evidence), speakers)) in
        said.iter_mut().zip(evidence).zip(speakers).enumerate()
    {
        said.clear();
        if kind == 1 && past.visits == 1 {
            said.resize(evidence.means.len(), 0.0);
            continue;
        }
        said.extend(evidence.means.iter().map(|mean| -mean));
        speakers.iter().for_each(|&code| evidence.lifts.add(code, said));
    }
}

/// How firmly base rates stay where they are: the weight of a prior, in visits with even odds.
const FIRMNESS: f64 = 1.0;

/// Gradients and curvatures of the likelihood, by code and by weight.
pub(super) struct Sums {
    /// In first and in later encounters.
    codes: [Vec<OfCode>; 2],
}

/// What was added up for one code.
#[derive(Clone, Copy, Default)]
struct OfCode {
    missed: f64,
    spread: f64,
    missed_by: [f64; 3],
    spread_by: [f64; 3],
    curvature: [[f64; 3]; 3],
}

impl Sums {
    pub fn new(codes: usize) -> Self {
        Self { codes: [vec![OfCode::default(); codes], vec![OfCode::default(); codes]] }
    }

    /// Adds one code of one visit: what was said of it, its probability, and the truth.
    #[inline]
    pub fn add(
        &mut self,
        later: usize,
        code: usize,
        said: &[f64; 3],
        probability: f64,
        present: bool,
    ) {
        let missed = f64::from(u8::from(present)) - probability;
        let spread = probability * (1.0 - probability);
        let sums = &mut self.codes[later][code];
        sums.missed += missed;
        sums.spread += spread;
        for row in 0..3 {
            sums.missed_by[row] += missed * said[row];
            sums.spread_by[row] += spread * said[row];
            for column in 0..3 {
                sums.curvature[row][column] += spread * said[row] * said[column];
            }
        }
    }

    pub fn join(&mut self, other: &Self) {
        for (mine, others) in self.codes.iter_mut().zip(&other.codes) {
            for (sums, more) in mine.iter_mut().zip(others) {
                sums.missed += more.missed;
                sums.spread += more.spread;
                for row in 0..3 {
                    sums.missed_by[row] += more.missed_by[row];
                    sums.spread_by[row] += more.spread_by[row];
                    for column in 0..3 {
                        sums.curvature[row][column] += more.curvature[row][column];
                    }
                }
            }
        }
    }

    /// The step for the weights that these codes share; moves their base rates.
    pub fn step(
        &self,
        codes: impl Iterator<Item = usize> + Clone,
        moved: &mut [Vec<f64>; 2],
    ) -> [f64; 3] {
        let (mut gradient, mut curvature) = ([0.0; 3], [[0.0; 3]; 3]);
        let all =
            || [0, 1].into_iter().flat_map(|later| codes.clone().map(move |code| (later, code)));
        for (later, code) in all() {
            let sums = &self.codes[later][code];
            let firm = sums.spread + FIRMNESS;
            let missed = sums.missed - FIRMNESS * moved[later][code];
            for row in 0..3 {
                gradient[row] += sums.missed_by[row] - sums.spread_by[row] * missed / firm;
                for column in 0..3 {
                    let follows = sums.spread_by[row] * sums.spread_by[column] / firm;
                    curvature[row][column] += sums.curvature[row][column] - follows;
                }
            }
        }
        let step = solve(curvature, gradient);
        for (later, code) in all() {
            let sums = &self.codes[later][code];
            let follows: f64 =
                sums.spread_by.iter().zip(step).map(|(spread, step)| spread * step).sum();
            let missed = sums.missed - FIRMNESS * moved[later][code];
            moved[later][code] += (missed - follows) / (sums.spread + FIRMNESS);
        }
        step
    }
}

/// Solves three equations whose matrix has no direction below zero, made a little larger.
fn solve(mut rows: [[f64; 3]; 3], mut right: [f64; 3]) -> [f64; 3] {
    for pivot in 0..3 {
        rows[pivot][pivot] += 1.0;
    }
    for pivot in 0..3 {
        for row in pivot + 1..3 {
            let share = rows[row][pivot] / rows[pivot][pivot];
            for column in pivot..3 {
                rows[row][column] -= share * rows[pivot][column];
            }
            right[row] -= share * right[pivot];
        }
    }
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|column| rows[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / rows[row][row];
    }
    right
}
