//! How much lifts count.
//!
//! Codes that come together say the same thing more than once, so their lifts must not be added in
//! full. How much of each kind to add is trained on records that the lifts were not counted in, by
//! their likelihood. Base rates that move along keep each code as frequent as it is.

use consequence_rules::Order;
use rayon::prelude::*;

use super::MarkovPast;
use super::fit::PARTS;
use super::newton::Sums;
use super::pack::Pack;
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
    // A code speaks of later ones only, so those of the visit may all speak at once.
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
