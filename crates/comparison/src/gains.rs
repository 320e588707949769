//! What rules gain on one network and on another.

use serde::Serialize;

use super::estimate::Answer;
use super::figures::{RunFigures, TrainedOnce, values};
use super::{Contestant, Estimate, Method};
use crate::task::{network_name, network_title};

/// What a figure gains by rules, Consequence against vanilla, on two networks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The figure.
    pub figure: &'static str,
    /// What the gain is counted in; nothing where it is a plain number.
    pub unit: &'static str,
    /// The network of all methods, then the one beside it.
    pub networks: [GainOn; 2],
    /// Whether the gain is less on the network of all methods.
    pub less: Answer,
    /// The same in a sentence.
    pub finding: String,
}

/// What a figure gains by rules on a network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GainOn {
    /// The network.
    pub network: &'static str,
    /// The figure without rules.
    pub vanilla: Estimate,
    /// The figure with rules.
    pub ours: Estimate,
    /// What rules gain, training by training and generation by generation: more is better.
    pub gain: Estimate,
}

/// What is known of a contestant.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub contestant: &'a Contestant,
    pub trained: &'a [TrainedOnce],
    pub runs: &'a [Vec<RunFigures>],
}

/// Vanilla and Consequence on one network.
type Pair<'a> = [Known<'a>; 2];

/// What rules gain on both networks; nothing if vanilla and Consequence are not on both.
pub(super) fn gains(known: &[Known<'_>]) -> Vec<Gain> {
    let pair = |beside: bool| -> Option<Pair<'_>> {
        let of = |method: Method| {
            let mut all = known.iter().copied();
            all.find(|one| one.contestant.method == method && one.contestant.beside == beside)
        };
        Some([of(Method::Vanilla)?, of(Method::Consequence)?])
    };
    let Some(pairs) = pair(false).zip(pair(true)).map(|(one, other)| [one, other]) else {
        return Vec::new();
    };
    let r2 = ["R² of codes", "R² of pairs", "R² of sequential pairs"];
    let titles = pairs.map(|[vanilla, _]| network_title(&vanilla.contestant.network));
    let told = |figure, unit, networks: Option<[GainOn; 2]>, digits: [usize; 2]| {
        let networks = networks?;
        let less = networks[0].gain.less(&networks[1].gain);
        let finding = finding(figure, unit, (&networks, titles, less), digits);
        Some(Gain { figure, unit, networks, less, finding })
    };
    let valid = |run: &RunFigures| Some(run.valid_percent());
    let mut all = vec![
        told("perplexity", "%", both(pairs, perplexity), [3, 2]),
        told("valid records", " points", both(pairs, |pair| raised(pair, valid)), [2, 2]),
    ];
    for (at, figure) in r2.into_iter().enumerate() {
        let networks = both(pairs, |pair| raised(pair, |run| run.r2[at]));
        all.push(told(figure, "", networks, [4, 4]));
    }
    all.into_iter().flatten().collect()
}

fn both(pairs: [Pair<'_>; 2], gain: impl Fn(Pair<'_>) -> Option<GainOn>) -> Option<[GainOn; 2]> {
    Some([gain(pairs[0])?, gain(pairs[1])?])
}

/// By how much of it rules lower perplexity.
fn perplexity(pair: Pair<'_>) -> Option<GainOn> {
    let of = |one: Known<'_>| -> Option<Vec<f64>> {
        one.trained.iter().map(|once| once.prediction.as_ref()?.perplexity).collect()
    };
    let [vanilla, ours] = [of(pair[0])?, of(pair[1])?];
    let lowered = |(plain, ruled): (&f64, &f64)| 100.0 * (plain - ruled) / plain;
    let gains: Vec<f64> = vanilla.iter().zip(&ours).map(lowered).collect();
    Some(GainOn {
        network: network_name(&pair[0].contestant.network),
        vanilla: Estimate::of_trainings(&vanilla)?,
        ours: Estimate::of_trainings(&ours)?,
        gain: Estimate::of_trainings(&gains)?,
    })
}

/// By how much rules raise a figure of generations.
fn raised(pair: Pair<'_>, figure: impl Fn(&RunFigures) -> Option<f64>) -> Option<GainOn> {
    let [vanilla, ours] = [values(pair[0].runs, &figure)?, values(pair[1].runs, &figure)?];
    let less = |(plain, ruled): (&f64, &f64)| ruled - plain;
    let pairs = vanilla.iter().zip(&ours);
    let gains: Vec<Vec<f64>> =
        pairs.map(|(plain, ruled)| plain.iter().zip(ruled).map(less).collect()).collect();
    Some(GainOn {
        network: network_name(&pair[0].contestant.network),
        vanilla: Estimate::of_generations(&vanilla)?,
        ours: Estimate::of_generations(&ours)?,
        gain: Estimate::of_generations(&gains)?,
    })
}

fn finding(
    figure: &str,
    unit: &str,
    (networks, [here, other], less): (&[GainOn; 2], [&str; 2], Answer),
    [digits, gained]: [usize; 2],
) -> String {
    let verdict = match less {
        Answer::Yes => format!("Rules gain less in {figure} on the {here} than on the {other}"),
        Answer::No => format!("Rules gain more in {figure} on the {here} than on the {other}"),
        Answer::Unclear => format!(
            "No clear difference between what rules gain in {figure} on the {here} and on the {other}"
        ),
    };
    let [first, second] = networks.map(|GainOn { vanilla, ours, gain, .. }| {
        let (without, with) = (vanilla.mean, ours.mean);
        format!("{gain:.gained$}{unit} ({without:.digits$} without rules, {with:.digits$} with)")
    });
    let once = match networks.iter().any(|one| one.gain.half_width.is_none()) {
        true => "; measured once, so without an interval",
        false => "",
    };
    format!("{verdict}: {first} against {second}{once}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_gain_is_said_with_both_figures() {
        let of = |gains: &[f64], vanilla: f64| {
            let ours = Estimate::of_trainings(&[35.5]).expect("a figure");
            let vanilla = Estimate::of_trainings(&[vanilla]).expect("a figure");
            GainOn { network: "", vanilla, ours, gain: Estimate::of_trainings(gains).expect("one") }
        };
        let titles = ["recurrent network", "HALO network"];
        let told = |networks: [GainOn; 2]| {
            let less = networks[0].gain.less(&networks[1].gain);
            finding("perplexity", "%", (&networks, titles, less), [3, 2])
        };
        assert_eq!(
            told([of(&[2.0, 2.1, 2.2], 36.25), of(&[7.0, 7.1, 7.2], 38.0)]),
            "Rules gain less in perplexity on the recurrent network than on the HALO network: 2.10 ± \
             0.25% (36.250 without rules, 35.500 with) against 7.10 ± 0.25% (38.000 without rules, \
             35.500 with)."
        );
        let unclear = told([of(&[2.0, 9.0], 36.25), of(&[7.0, 7.1], 38.0)]);
        assert!(unclear.starts_with("No clear difference between what rules gain in perplexity"));
        let once = told([of(&[8.0], 36.25), of(&[7.0], 38.0)]);
        assert!(once.starts_with("Rules gain more") && once.contains("measured once"), "{once}");
    }
}
