//! The learning rate from step to step.

use crate::TrainOptions;

/// The rate at a step, counted from 1: it rises in a line, then falls as half a cosine.
pub(crate) fn rate(options: &TrainOptions, step: u64, steps: u64) -> f32 {
    let highest = f64::from(options.rate);
    // A short run rises in a tenth of its steps.
    let warm_up = options.warm_up.min(steps / 10);
    let risen = (step as f64 / warm_up.max(1) as f64).min(1.0);
    let after = step.saturating_sub(warm_up) as f64;
    let length = steps.saturating_sub(warm_up).max(1) as f64;
    let wave = 0.5 + 0.5 * (std::f64::consts::PI * (after / length).min(1.0)).cos();
    let left = f64::from(options.final_rate);
    (highest * risen * (left + (1.0 - left) * wave)) as f32
}

#[cfg(test)]
mod tests {
    use super::rate;
    use crate::TrainOptions;

    #[test]
    fn rises_and_falls() {
        let options =
            TrainOptions { rate: 1.0, warm_up: 10, final_rate: 0.1, ..TrainOptions::default() };
        let all: Vec<f32> = (1..=110).map(|step| rate(&options, step, 110)).collect();
        assert!(all[..10].is_sorted() && all[10..].iter().rev().is_sorted());
        assert_eq!((all[9], all[109]), (1.0, 0.1));
    }
}
