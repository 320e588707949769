//! What is measured of a method.

use std::collections::{BTreeMap, BTreeSet};

use consequence_evaluate::{Correlations, Interval, Measured, Privacy, Utility};
use consequence_model::Epoch;
use serde::{Deserialize, Serialize};

use super::{Estimate, TriedRate};

/// How a method trained once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Seconds of training, validation included; those of all sittings, if there were several.
    pub seconds: f64,
    /// Every epoch: nats a record of what the method trains for, which for some is not the likelihood.
    pub epochs: Vec<Epoch>,
    /// Parameters of the network that make a difference.
    pub parameters: u64,
    /// What it trained on, and why.
    #[serde(default)]
    pub device: String,
}

impl Training {
    /// Seconds of an epoch.
    pub fn seconds_per_epoch(&self) -> f64 {
        self.seconds / self.epochs.len().max(1) as f64
    }
}

/// How well a method predicts held-out records that break no rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Records.
    pub records: u64,
    /// Those of them that the method holds to be possible.
    pub measured: u64,
    /// The exponential of the nats for each code present.
    pub perplexity: Option<f64>,
    /// Nats of static codes, of encounter codes, of `END`, of time and of values.
    pub nats: [f64; 5],
    /// Whether probabilities add up to one over all records. The paper's figure does not: it lets a rule see
    /// codes that the network has not decided yet.
    pub normalised: bool,
}

/// One training of a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainedOnce {
    /// What its first weights and the order of records depend on.
    pub seed: u64,
    /// How it trained.
    pub training: Training,
    /// How well it predicts; none where the method has no probabilities of its own.
    pub prediction: Option<Prediction>,
}

/// What the trainings of a method came to: means and 95% intervals over trainings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OverTrainings {
    /// Trainings.
    pub trainings: u64,
    /// Seconds of training.
    pub seconds: Option<Estimate>,
    /// Epochs.
    pub epochs: Option<Estimate>,
    /// Seconds of an epoch.
    pub seconds_per_epoch: Option<Estimate>,
    /// How much longer an epoch takes than with vanilla on the same network, seed by seed.
    pub times_vanilla: Option<Estimate>,
    /// The exponential of the nats for each code present.
    pub perplexity: Option<Estimate>,
    /// Nats of static codes, of encounter codes, of `END`, of time and of values.
    pub nats: [Option<Estimate>; 5],
    /// The five together.
    pub all_nats: Option<Estimate>,
}

impl OverTrainings {
    /// Sums up the trainings of a method, beside those of vanilla in the same order.
    pub(super) fn of(trained: &[TrainedOnce], vanilla: Option<&[TrainedOnce]>) -> Self {
        let of = |figure: &dyn Fn(&TrainedOnce) -> Option<f64>| {
            let values: Option<Vec<f64>> = trained.iter().map(figure).collect();
            Estimate::of_trainings(&values?)
        };
        let epoch = |one: &TrainedOnce| one.training.seconds_per_epoch();
        let times = |vanilla: &[TrainedOnce]| {
            let pairs = trained.iter().zip(vanilla);
            let ratios: Vec<f64> = pairs.map(|(one, plain)| epoch(one) / epoch(plain)).collect();
            Estimate::of_trainings(&ratios)
        };
        let nats = |one: &TrainedOnce| one.prediction.as_ref().map(|found| found.nats);
        Self {
            trainings: trained.len() as u64,
            seconds: of(&|one| Some(one.training.seconds)),
            epochs: of(&|one| Some(one.training.epochs.len() as f64)),
            seconds_per_epoch: of(&|one| Some(epoch(one))),
            times_vanilla: vanilla.and_then(times),
            perplexity: of(&|one| one.prediction.as_ref()?.perplexity),
            nats: std::array::from_fn(|at| of(&|one| Some(nats(one)?[at]))),
            all_nats: of(&|one| Some(nats(one)?.iter().sum())),
        }
    }
}

/// What one generation of a method came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Records.
    pub records: u64,
    /// Their encounters.
    pub encounters: u64,
    /// The codes of these.
    pub codes: u64,
    /// Seconds to generate them, files not counted.
    pub seconds: f64,
    /// Records begun for each that was kept.
    pub attempts: f64,
    /// What drew the records.
    #[serde(default)]
    pub drawn_by: String,
    /// Violations of hard rules that look at one visit only.
    pub within_visit_violations: u64,
    /// Violations of hard rules that look back.
    pub temporal_violations: u64,
    /// Records that break no hard rule.
    pub valid_records: u64,
    /// R2 against the train split: codes, pairs and sequential pairs.
    pub r2: [Option<f64>; 3],
    /// The same for rare codes.
    pub rare_r2: [Option<f64>; 3],
    /// Violations of each rule that was broken, by name.
    pub broken: BTreeMap<String, u64>,
}

impl RunFigures {
    /// Records that break no hard rule, in percent.
    pub(super) fn valid_percent(&self) -> f64 {
        100.0 * self.valid_records as f64 / self.records.max(1) as f64
    }
}

/// The three R2.
pub(super) fn r2(correlations: &Correlations) -> [Option<f64>; 3] {
    [correlations.code.r2, correlations.pair.r2, correlations.sequence.r2]
}

/// What the records of one generation are good for, and what they give away; each beside the same
/// figure of real records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeepFigures {
    /// AUROC of the next encounter's codes, trained on generated records and from real ones.
    pub auroc: Option<[f64; 2]>,
    /// Average precision of the same.
    pub average_precision: Option<[f64; 2]>,
    /// The share of generated records that are nearer to a train record than to any held-out one.
    pub closer_to_train: Option<f64>,
    /// Copies of train records and of held-out records.
    pub copies: Option<[u64; 2]>,
    /// AUROC of telling train records from held-out ones.
    pub membership: Option<f64>,
    /// F1 of sensitive codes read off the nearest generated record, and the nearest held-out one.
    pub attributes: Option<[f64; 2]>,
}

impl DeepFigures {
    pub(crate) fn new(utility: &Measured<Utility>, privacy: &Privacy) -> Self {
        let utility = utility.figures();
        let closest = privacy.closest.figures();
        let guessed = privacy.attributes.figures();
        Self {
            auroc: utility.map(|found| [found.synthetic.auroc, found.real.auroc]),
            average_precision: utility
                .map(|found| [found.synthetic.average_precision, found.real.average_precision]),
            closer_to_train: closest.map(|found| found.closer_to_train),
            copies: closest.map(|found| [found.to_train.copies, found.to_held_out.copies]),
            membership: privacy.membership.figures().map(|found| found.auroc),
            attributes: guessed
                .and_then(|found| Some([found.from_synthetic.f1?, found.from_held_out.f1?])),
        }
    }
}

/// A method on a network, measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodFigures {
    /// Its name.
    pub method: &'static str,
    /// The network that it is put on: `recurrent` or `halo`.
    pub network: &'static str,
    /// Whether that is the second network, beside the one of all methods.
    pub beside: bool,
    /// Its name in tables.
    pub title: String,
    /// What it can and cannot express.
    pub reach: &'static str,
    /// Rules that it cannot express, with the reason.
    pub unexpressed: Vec<String>,
    /// The learning rate that it began with.
    pub rate: f32,
    /// The learning rates that were tried; nothing where there was no choice.
    pub tried_rates: Vec<TriedRate>,
    /// How it trained first.
    pub training: Training,
    /// How well the network of the first training predicts; none where the method has no probabilities
    /// of its own.
    pub prediction: Option<Prediction>,
    /// Every training, the first one too.
    pub trainings: Vec<TrainedOnce>,
    /// What the trainings came to.
    pub over_trainings: OverTrainings,
    /// What its generations came to.
    pub generation: Generation,
    /// The generations that were asked for utility and privacy.
    pub deep: Deep,
    /// Violations of each rule that was broken, a generation.
    pub broken: BTreeMap<String, f64>,
}

/// What repeated generations of a method came to: means and 95% intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generation {
    /// Generations.
    pub runs: u64,
    /// The trainings that they are of.
    pub trainings: u64,
    /// Records of each.
    pub records: u64,
    /// What drew them.
    pub drawn_by: Vec<String>,
    /// Violations of hard rules that look at one visit only.
    pub within_visit_violations: Option<Estimate>,
    /// Violations of hard rules that look back.
    pub temporal_violations: Option<Estimate>,
    /// Records that break no hard rule, in percent.
    pub valid_percent: Option<Estimate>,
    /// Milliseconds a record.
    pub milliseconds: Option<Estimate>,
    /// How much longer a record takes than with vanilla on the same network, generation by generation:
    /// 1 is as long.
    pub times_vanilla: Option<Estimate>,
    /// The same by the middle one of the ratios, which a disturbed generation does not move.
    pub median_times_vanilla: Option<Median>,
    /// Records begun for each that was kept.
    pub attempts: Option<Estimate>,
    /// Encounters of a record.
    pub encounters: Option<Estimate>,
    /// Codes of an encounter.
    pub codes: Option<Estimate>,
    /// R2 of codes, pairs and sequential pairs.
    pub r2: [Option<Estimate>; 3],
    /// The same for rare codes.
    pub rare_r2: [Option<Estimate>; 3],
}

/// The middle of some ratios, and the two between which it lies with a probability of about 95%. With
/// one training that needs no assumption. With several it is the geometric mean of their middles, and
/// the interval is that of these by Student's distribution, on the scale of logarithms, as ratios are
/// above zero; it is never narrower than that of all generations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Median {
    /// The middle.
    pub median: f64,
    /// The lower bound; the smallest figure where there are few.
    pub low: f64,
    /// The upper bound; the largest figure where there are few.
    pub high: f64,
    /// The generations behind it.
    pub runs: u64,
    /// The trainings behind it.
    pub trainings: u64,
}

impl Median {
    /// Of a figure of every generation, by the training of its network.
    fn of(trainings: &[Vec<f64>]) -> Option<Self> {
        let all = Self::of_one(&trainings.concat())?;
        let groups: Vec<Self> =
            trainings.iter().filter_map(|values| Self::of_one(values)).collect();
        if groups.len() == 1 {
            return Some(all);
        }
        let logarithms: Vec<f64> = groups.iter().map(|group| group.median.ln()).collect();
        let Interval { mean, half_width, .. } = Interval::of(&logarithms)?;
        let width = half_width.unwrap_or(0.0);
        Some(Self {
            median: mean.exp(),
            low: all.low.min((mean - width).exp()),
            high: all.high.max((mean + width).exp()),
            trainings: groups.len() as u64,
            ..all
        })
    }

    fn of_one(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (count, last) = (sorted.len(), sorted.len().checked_sub(1)?);
        let median = (sorted[last / 2] + sorted[count / 2]) / 2.0;
        // So many figures are below the middle or fewer with a probability of one in forty.
        let below = (count as f64 / 2.0 - 0.98 * (count as f64).sqrt()).floor().max(0.0) as usize;
        let (low, high) = (sorted[below], sorted[last - below]);
        Some(Self { median, low, high, runs: count as u64, trainings: 1 })
    }
}

/// Utility and privacy over some generations: means and 95% intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deep {
    /// Generations.
    pub runs: u64,
    /// The trainings that they are of.
    pub trainings: u64,
    /// AUROC, trained on generated records and from real ones.
    pub auroc: [Option<Estimate>; 2],
    /// Average precision of the same.
    pub average_precision: [Option<Estimate>; 2],
    /// The share of generated records nearer to a train record.
    pub closer_to_train: Option<Estimate>,
    /// Copies of train records and of held-out ones.
    pub copies: [Option<Estimate>; 2],
    /// AUROC of telling who was trained on.
    pub membership: Option<Estimate>,
    /// F1 of sensitive codes, from generated records and from held-out ones.
    pub attributes: [Option<Estimate>; 2],
}

/// A figure of every generation, by training; none if one does not have it.
pub(super) fn values<T>(
    trainings: &[Vec<T>],
    figure: impl Fn(&T) -> Option<f64>,
) -> Option<Vec<Vec<f64>>> {
    trainings.iter().map(|runs| runs.iter().map(&figure).collect()).collect()
}

/// The estimate of a figure that every generation has.
fn estimate<T>(trainings: &[Vec<T>], figure: impl Fn(&T) -> Option<f64>) -> Option<Estimate> {
    Estimate::of_generations(&values(trainings, figure)?)
}

/// How many trainings there are a generation of, and how many generations.
fn counted<T>(trainings: &[Vec<T>]) -> [u64; 2] {
    let with_runs = trainings.iter().filter(|runs| !runs.is_empty()).count();
    [with_runs as u64, trainings.iter().map(|runs| runs.len() as u64).sum()]
}

impl Generation {
    /// Sums up the generations of a method by training, beside those of vanilla in the same order.
    pub(super) fn of(runs: &[Vec<RunFigures>], vanilla: Option<&[Vec<RunFigures>]>) -> Self {
        let of = |figure: &dyn Fn(&RunFigures) -> f64| estimate(runs, |run| Some(figure(run)));
        let per_record = |run: &RunFigures| run.seconds / run.records.max(1) as f64;
        let ratio = |(run, plain)| per_record(run) / per_record(plain);
        let ratios: Option<Vec<Vec<f64>>> = vanilla.map(|vanilla| {
            let pairs = runs.iter().zip(vanilla);
            pairs.map(|(runs, plain)| runs.iter().zip(plain).map(ratio).collect()).collect()
        });
        let [trainings, count] = counted(runs);
        let drawn_by: BTreeSet<String> =
            runs.iter().flatten().map(|run| run.drawn_by.clone()).collect();
        Self {
            runs: count,
            trainings,
            records: runs.iter().flatten().next().map_or(0, |run| run.records),
            drawn_by: drawn_by.into_iter().collect(),
            within_visit_violations: of(&|run| run.within_visit_violations as f64),
            temporal_violations: of(&|run| run.temporal_violations as f64),
            valid_percent: of(&RunFigures::valid_percent),
            milliseconds: of(&|run| 1_000.0 * per_record(run)),
            times_vanilla: ratios.as_deref().and_then(Estimate::of_generations),
            median_times_vanilla: ratios.as_deref().and_then(Median::of),
            attempts: of(&|run| run.attempts),
            encounters: of(&|run| run.encounters as f64 / run.records.max(1) as f64),
            codes: of(&|run| run.codes as f64 / run.encounters.max(1) as f64),
            r2: std::array::from_fn(|at| estimate(runs, |run| run.r2[at])),
            rare_r2: std::array::from_fn(|at| estimate(runs, |run| run.rare_r2[at])),
        }
    }
}

impl Deep {
    /// Sums up generations by training.
    pub(super) fn of(runs: &[Vec<DeepFigures>]) -> Self {
        let pair = |figure: fn(&DeepFigures) -> Option<[f64; 2]>| -> [Option<Estimate>; 2] {
            std::array::from_fn(|at| estimate(runs, |run| figure(run).map(|pair| pair[at])))
        };
        let [trainings, count] = counted(runs);
        Self {
            runs: count,
            trainings,
            auroc: pair(|run| run.auroc),
            average_precision: pair(|run| run.average_precision),
            closer_to_train: estimate(runs, |run| run.closer_to_train),
            copies: pair(|run| run.copies.map(|copies| copies.map(|count| count as f64))),
            membership: estimate(runs, |run| run.membership),
            attributes: pair(|run| run.attributes),
        }
    }
}

/// Violations of each rule, a generation.
pub(super) fn broken(runs: &[Vec<RunFigures>]) -> BTreeMap<String, f64> {
    let [_, count] = counted(runs);
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (rule, violations) in runs.iter().flatten().flat_map(|run| &run.broken) {
        *sums.entry(rule.clone()).or_default() += *violations as f64 / count as f64;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_one_training_and_of_several() {
        let once = Median::of(&[vec![3.0, 1.0, 2.0]]).expect("a middle");
        assert_eq!((once.median, once.low, once.high), (2.0, 1.0, 3.0));
        assert_eq!((once.runs, once.trainings), (3, 1));
        // Middles 1 and 4: their logarithms are 0 and ln 4, the mean is ln 2 and its standard error
        // ln 2, of which Student's distribution with one degree asks for 12.706204736174694.
        let twice = Median::of(&[vec![0.5, 1.0, 1.5], vec![4.0]]).expect("a middle");
        let factor = 2f64.powf(12.706204736174694);
        assert!((twice.median - 2.0).abs() < 1e-12);
        assert!((twice.low * factor - 2.0).abs() < 1e-9);
        assert!((twice.high / factor - 2.0).abs() < 1e-9);
        assert_eq!((twice.runs, twice.trainings), (4, 2));
        // Middles that agree: the bounds of all generations.
        let alike = Median::of(&[vec![0.5, 1.0, 1.5], vec![1.0]]).expect("a middle");
        assert_eq!((alike.median, alike.low, alike.high), (1.0, 0.5, 1.5));
    }
}
