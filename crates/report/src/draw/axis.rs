//! Axes: where a figure stands, and which figures are named.

use crate::tree::ScaleKind;

/// An axis from one figure to a larger one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) kind: ScaleKind,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Axis {
    /// An axis that holds these figures. A linear or square-root axis starts at zero if told to, or
    /// if nothing negative asks for more. A log axis spans at least a power of ten, and leaves out
    /// what is not positive.
    pub(crate) fn over(
        kind: ScaleKind,
        from_zero: bool,
        figures: impl Iterator<Item = f64>,
    ) -> Self {
        let usable = |figure: &f64| match kind {
            ScaleKind::Linear => figure.is_finite(),
            ScaleKind::SquareRoot => figure.is_finite() && *figure >= 0.0,
            ScaleKind::Log => figure.is_finite() && *figure >= f64::MIN_POSITIVE,
        };
        let ends = figures.filter(usable).fold(None, |ends: Option<(f64, f64)>, figure| {
            let (low, high) = ends.unwrap_or((figure, figure));
            Some((low.min(figure), high.max(figure)))
        });
        let Some((low, high)) = ends else {
            let low = if kind == ScaleKind::Log { 0.1 } else { 0.0 };
            return Self { kind, low, high: 1.0 };
        };
        // Half of the range of a number, so that no difference below overflows.
        let (low, high) = (low.max(f64::MIN / 4.0), high.min(f64::MAX / 4.0));
        match kind {
            ScaleKind::Log => {
                let (low, high) =
                    (low.clamp(1e-290, 1e290).log10(), high.clamp(1e-290, 1e290).log10());
                // A little room at both ends, and at least a power of ten between them.
                let room = (0.5 - (high - low) / 2.0).max(0.08);
                Self { kind, low: 10_f64.powf(low - room), high: 10_f64.powf(high + room) }
            }
            ScaleKind::SquareRoot => {
                Self { kind, low: 0.0, high: if high > 0.0 { high } else { 1.0 } }
            }
            ScaleKind::Linear => {
                let low = if from_zero { low.min(0.0) } else { low };
                let high = if from_zero { high.max(0.0) } else { high };
                let span = if high > low { high - low } else { low.abs().max(1.0) };
                let step = nice_step(span / 4.0);
                let low = (low / step).floor() * step;
                let high = (high / step).ceil() * step;
                Self { kind, low, high: if high > low { high } else { low + step } }
            }
        }
    }

    /// Where a figure stands: 0 at the low end, 1 at the high end; none for one that is not on the
    /// axis.
    pub(crate) fn fraction(&self, figure: f64) -> Option<f64> {
        let fraction = match self.kind {
            ScaleKind::Linear => (figure - self.low) / (self.high - self.low),
            ScaleKind::SquareRoot if figure < 0.0 => return None,
            ScaleKind::SquareRoot => (figure / self.high).sqrt(),
            ScaleKind::Log if figure <= 0.0 => return None,
            ScaleKind::Log => (figure / self.low).ln() / (self.high / self.low).ln(),
        };
        fraction.is_finite().then_some(fraction.clamp(0.0, 1.0))
    }

    /// Figures to name on the axis, about so many, from low to high.
    pub(crate) fn ticks(&self, about: usize) -> Vec<f64> {
        let about = about.clamp(1, 20);
        match self.kind {
            ScaleKind::Linear => {
                let step = nice_step((self.high - self.low) / about as f64);
                let first = (self.low / step).ceil() as i64;
                (first..=first.saturating_add(40))
                    .map(|number| number as f64 * step)
                    .take_while(|tick| *tick <= self.high + step * 1e-9)
                    .collect()
            }
            ScaleKind::SquareRoot => {
                let even = (0..=about).map(|part| {
                    let root = part as f64 / about as f64;
                    nice_below(self.high * root * root)
                });
                let mut ticks: Vec<f64> = even.collect();
                ticks.dedup();
                ticks
            }
            ScaleKind::Log => {
                let first = self.low.log10().ceil() as i32;
                let last = self.high.log10().floor() as i32;
                let powers = (first - 1..=last).map(|power| 10_f64.powi(power));
                if last - first < 1 {
                    return powers
                        .flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * power))
                        .filter(|tick| (self.low..=self.high).contains(tick))
                        .collect();
                }
                let stride = usize::try_from(last - first).unwrap_or(0).div_ceil(about).max(1);
                powers.skip(1).step_by(stride).collect()
            }
        }
    }
}

/// The nearest of 1, 2, 5 times a power of ten that is not smaller.
fn nice_step(step: f64) -> f64 {
    if !step.is_finite() || step < f64::MIN_POSITIVE {
        return 1.0;
    }
    let power = 10_f64.powf(step.log10().floor());
    let times = step / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|nice| times <= nice * (1.0 + 1e-9));
    nice.unwrap_or(10.0) * power
}

/// The nearest of 1, 2, 3, 5, 7 times a power of ten that is not larger; 0 for 0.
fn nice_below(figure: f64) -> f64 {
    if !figure.is_finite() || figure < f64::MIN_POSITIVE {
        return 0.0;
    }
    let power = 10_f64.powf((figure.log10() + 1e-9).floor());
    let times = figure / power * (1.0 + 1e-9);
    [7.0, 5.0, 3.0, 2.0, 1.0].into_iter().find(|nice| *nice <= times).unwrap_or(1.0) * power
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axis(kind: ScaleKind, figures: &[f64]) -> Axis {
        Axis::over(kind, true, figures.iter().copied())
    }

    #[test]
    fn linear_ticks_are_round_and_reach_both_ends() {
        let axis = axis(ScaleKind::Linear, &[0.0, 4320.6]);
        assert_eq!(axis.ticks(4), [0.0, 2000.0, 4000.0, 6000.0]);
        assert_eq!(axis.fraction(3000.0), Some(0.5));
    }

    #[test]
    fn a_log_axis_names_powers_of_ten() {
        let axis = axis(ScaleKind::Log, &[0.0, 0.003, 20.0]);
        let near = |ticks: &[f64], powers: &[f64]| {
            ticks.len() == powers.len()
                && ticks.iter().zip(powers).all(|(tick, power)| (tick / power - 1.0).abs() < 1e-9)
        };
        assert!(near(&axis.ticks(8), &[0.01, 0.1, 1.0, 10.0]));
        assert!(near(&axis.ticks(2), &[0.01, 1.0]));
        assert_eq!(axis.fraction(0.0), None);
        assert!(axis.fraction(0.003) > Some(0.0) && axis.fraction(20.0) < Some(1.0));
    }

    #[test]
    fn a_short_log_axis_names_steps_between() {
        let axis = axis(ScaleKind::Log, &[3.0, 4.0]);
        assert!(axis.ticks(6).len() >= 2, "{:?}", axis.ticks(6));
    }

    #[test]
    fn a_square_root_axis_has_zero() {
        let axis = axis(ScaleKind::SquareRoot, &[0.36]);
        assert_eq!(axis.fraction(0.0), Some(0.0));
        assert_eq!(axis.fraction(0.09), Some(0.5));
        assert_eq!(axis.fraction(-1.0), None);
        let ticks = axis.ticks(4);
        assert_eq!(ticks[0], 0.0);
        assert!(ticks.is_sorted() && ticks.len() >= 4 && ticks.iter().all(|tick| *tick <= 0.36));
    }

    #[test]
    fn axes_of_nothing_and_of_one_figure_have_a_length() {
        for kind in [ScaleKind::Linear, ScaleKind::SquareRoot, ScaleKind::Log] {
            for figures in [&[][..], &[0.0], &[7.0], &[f64::NAN], &[-3.0], &[f64::INFINITY]] {
                let axis = axis(kind, figures);
                assert!(axis.low < axis.high, "{kind:?} {figures:?} {axis:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_figure_and_tick_is_on_the_axis(
            figures in prop::collection::vec(any::<f64>(), 0..6), about in 0_usize..30,
            from_zero: bool,
        ) {
            for kind in [ScaleKind::Linear, ScaleKind::SquareRoot, ScaleKind::Log] {
                let axis = Axis::over(kind, from_zero, figures.iter().copied());
                prop_assert!(axis.low.is_finite() && axis.high.is_finite() && axis.low < axis.high);
                let ticks = axis.ticks(about);
                prop_assert!(ticks.len() <= 42 && ticks.iter().all(|tick| tick.is_finite()));
                prop_assert!(ticks.is_sorted());
                for figure in figures.iter().chain(&ticks) {
                    if let Some(fraction) = axis.fraction(*figure) {
                        prop_assert!((0.0..=1.0).contains(&fraction));
                    }
                }
            }
        }
    }
}
