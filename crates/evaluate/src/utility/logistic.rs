//! Logistic regression with a squared penalty, brought to its optimum.
//!
//! The objective is that of scikit-learn with `C = 1`: half the squared weights plus the nats of
//! the labels; the intercept is free. It is strictly convex, so there is one optimum, whoever finds
//! it. Newton's method, with each step solved by conjugate gradients scaled by the diagonal.
//!
//! What holds throughout: a step is taken only as far as it lowers the objective or, where rounding
//! hides that, the gradient; features that no row has keep a weight of zero; rows are summed in
//! their order, so the same rows give the same bits.

use super::Rows;

/// Where to stop: the norm of the gradient, relative to that at the start.
const TOLERANCE: f64 = 1e-10;
const NEWTON_STEPS: usize = 100;
const CONJUGATE_STEPS: usize = 2_000;

/// A regression at its optimum.
#[derive(Clone, Debug)]
pub(crate) struct Logistic {
    /// One weight a feature, and the intercept last.
    weights: Vec<f64>,
}

impl Logistic {
    /// Fits the first rows, one for each label; none if the optimum was not reached. Both labels
    /// must occur.
    pub fn fit(rows: &Rows, labels: &[bool]) -> Option<Self> {
        let problem = Problem { rows, labels };
        let mut weights = vec![0.0; rows.width + 1];
        let mut here = problem.at(&weights);
        let goal = TOLERANCE * here.norm;
        for _ in 0..NEWTON_STEPS {
            if here.norm <= goal {
                return Some(Self { weights });
            }
            // The nearer the goal, the more exact the step: convergence is faster than linear.
            let exactness = 0.1f64.min((here.norm * TOLERANCE / goal).sqrt());
            let step = problem.newton_step(&here, exactness * here.norm);
            let descent = dot(&step, &here.gradient);
            let mut length = 1.0;
            (weights, here) = loop {
                let there: Vec<f64> = weights
                    .iter()
                    .zip(&step)
                    .map(|(weight, step)| weight + length * step)
                    .collect();
                let state = problem.at(&there);
                // Near the optimum the objective no longer tells points apart, the gradient does.
                let level = 1e-12 * (1.0 + here.objective.abs());
                let lower = state.objective <= here.objective + 1e-4 * length * descent;
                let flatter = state.objective <= here.objective + level && state.norm < here.norm;
                if lower || flatter {
                    break (there, state);
                }
                length *= 0.5;
                if length < 1e-12 {
                    return None;
                }
            };
        }
        None
    }

    /// The log odds of a row. Rows with the same features have the same to the last bit.
    pub fn score(&self, row: &[u32]) -> f64 {
        score(&self.weights, row)
    }

    pub fn intercept(&self) -> f64 {
        self.weights.last().copied().unwrap_or(0.0)
    }

    /// The length of the vector of weights, without the intercept.
    pub fn norm(&self) -> f64 {
        let weights = &self.weights[..self.weights.len() - 1];
        dot(weights, weights).sqrt()
    }
}

struct Problem<'a> {
    rows: &'a Rows,
    labels: &'a [bool],
}

/// What is known of a point.
struct State {
    objective: f64,
    gradient: Vec<f64>,
    norm: f64,
    /// For each row, the variance of its label.
    curvature: Vec<f64>,
}

impl Problem<'_> {
    fn at(&self, weights: &[f64]) -> State {
        let intercept = self.rows.width;
        let mut gradient = weights.to_vec();
        gradient[intercept] = 0.0;
        let mut objective = 0.5 * dot(&gradient, &gradient);
        let mut curvature = Vec::with_capacity(self.labels.len());
        for (row, &label) in self.labels.iter().enumerate() {
            let features = self.rows.row(row);
            let score = score(weights, features);
            let small = (-score.abs()).exp();
            let probability = if score < 0.0 { small } else { 1.0 } / (1.0 + small);
            let against = if label { -score } else { score };
            objective += against.max(0.0) + small.ln_1p();
            // Of a label that is 1, the probability of 0, without a difference of nearly equal
            // numbers.
            let error = if label {
                -if score < 0.0 { 1.0 } else { small } / (1.0 + small)
            } else {
                probability
            };
            features.iter().for_each(|&feature| gradient[feature as usize] += error);
            gradient[intercept] += error;
            curvature.push(small / (1.0 + small).powi(2));
        }
        let norm = dot(&gradient, &gradient).sqrt();
        State { objective, gradient, norm, curvature }
    }

    /// Solves for the step to where the gradient would be 0, up to a residual.
    fn newton_step(&self, here: &State, residual_goal: f64) -> Vec<f64> {
        let diagonal = self.diagonal(&here.curvature);
        let mut step = vec![0.0; here.gradient.len()];
        let mut residual: Vec<f64> = here.gradient.iter().map(|part| -part).collect();
        let scaled = |residual: &[f64]| -> Vec<f64> {
            residual.iter().zip(&diagonal).map(|(part, scale)| part / scale).collect()
        };
        let mut along = scaled(&residual);
        let mut product = dot(&residual, &along);
        let mut turned = vec![0.0; step.len()];
        for _ in 0..CONJUGATE_STEPS {
            if dot(&residual, &residual).sqrt() <= residual_goal {
                break;
            }
            self.apply(&here.curvature, &along, &mut turned);
            let length = product / dot(&along, &turned);
            add(&mut step, length, &along);
            add(&mut residual, -length, &turned);
            let next = scaled(&residual);
            let after = dot(&residual, &next);
            let keep = after / product;
            along.iter_mut().zip(&next).for_each(|(part, next)| *part = next + keep * *part);
            product = after;
        }
        step
    }

    fn diagonal(&self, curvature: &[f64]) -> Vec<f64> {
        let mut diagonal = vec![1.0; self.rows.width + 1];
        diagonal[self.rows.width] = f64::MIN_POSITIVE;
        for (row, &weight) in curvature.iter().enumerate() {
            self.rows.row(row).iter().for_each(|&feature| diagonal[feature as usize] += weight);
            diagonal[self.rows.width] += weight;
        }
        diagonal
    }

    /// The second derivatives times a vector.
    fn apply(&self, curvature: &[f64], vector: &[f64], result: &mut [f64]) {
        let intercept = self.rows.width;
        result.copy_from_slice(vector);
        result[intercept] = 0.0;
        for (row, &weight) in curvature.iter().enumerate() {
            let features = self.rows.row(row);
            let part = weight * score(vector, features);
            features.iter().for_each(|&feature| result[feature as usize] += part);
            result[intercept] += part;
        }
    }
}

fn score(weights: &[f64], row: &[u32]) -> f64 {
    // Four sums at a time do not wait for each other.
    let mut sums = [0.0; 4];
    let (fours, rest) = row.as_chunks::<4>();
    for four in fours {
        for (sum, &feature) in sums.iter_mut().zip(four) {
            *sum += weights[feature as usize];
        }
    }
    let rest: f64 = rest.iter().map(|&feature| weights[feature as usize]).sum();
    let intercept = weights.last().copied().unwrap_or(0.0);
    intercept + (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn add(sum: &mut [f64], factor: f64, more: &[f64]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += factor * more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_features_the_intercept_is_the_log_odds() {
        let rows = Rows::of(&[&[], &[], &[], &[]], 3);
        let fit = Logistic::fit(&rows, &[true, false, false, false]).unwrap();
        assert!((fit.intercept() - (1f64 / 3.0).ln()).abs() < 1e-9);
        assert_eq!(fit.norm(), 0.0);
    }

    #[test]
    fn the_gradient_is_zero_at_the_optimum() {
        // One feature that always comes with the label: w = 2 (1 - probability(b + w)), and by
        // symmetry b = -w / 2.
        let rows = Rows::of(&[&[0], &[0], &[], &[]], 1);
        let fit = Logistic::fit(&rows, &[true, true, false, false]).unwrap();
        let weight = fit.norm();
        assert!((fit.intercept() + weight / 2.0).abs() < 1e-9);
        let probability = 1.0 / (1.0 + (-weight / 2.0).exp());
        assert!((weight - 2.0 * (1.0 - probability)).abs() < 1e-9);
        assert_eq!(fit.score(&[0]), fit.intercept() + weight);
    }

    #[test]
    fn a_point_beside_the_optimum_is_worse() {
        let drawn: Vec<Vec<u32>> = (0..200u32)
            .map(|row| (0..8).filter(|&f| (row * 7 + f * f * 13 + row * row * f) % 5 < 2).collect())
            .collect();
        let rows = Rows::of(&drawn.iter().map(Vec::as_slice).collect::<Vec<_>>(), 8);
        let labels: Vec<bool> =
            (0..200).map(|row| drawn[row].contains(&3) != (row % 4 == 0)).collect();
        let fit = Logistic::fit(&rows, &labels).unwrap();
        let problem = Problem { rows: &rows, labels: &labels };
        let best = problem.at(&fit.weights);
        assert!(best.norm < 1e-7);
        for feature in 0..9 {
            for change in [-1e-3, 1e-3] {
                let mut beside = fit.weights.clone();
                beside[feature] += change;
                let beside = problem.at(&beside);
                assert!(beside.objective > best.objective);
                // The gradient there against differences of the objective.
                let measured = (beside.objective - best.objective) / change;
                assert!((beside.gradient[feature] / 2.0 - measured).abs() < 1e-3 * measured.abs());
            }
        }
    }
}
