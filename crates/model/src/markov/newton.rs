//! A step of Newton's method for a few weights, with a base rate for every code beside them.
#![allow(clippy::needless_range_loop, reason = "matrices are read by row and column")]

/// How firmly base rates stay where they are, as so many toss-ups.
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
