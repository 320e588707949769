//! What is measured of a method.

use std::collections::BTreeMap;

use consequence_evaluate::{Correlations, Interval, Measured, Privacy, Utility};
use consequence_model::Epoch;
use serde::{Deserialize, Serialize};

/// How a method trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Seconds of training, validation included; those of all sittings, if there were several.
    pub seconds: f64,
    /// Every epoch: nats a record of what the method trains for, which for some is not the likelihood.
    pub epochs: Vec<Epoch>,
    /// Parameters of the network that make a difference.
    pub parameters: u64,
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
    /// Nats of static codes, of encounter codes and of `END`.
    pub nats: [f64; 3],
    /// Whether probabilities add up to one over all records. The paper's figure does not: it lets a rule see
    /// codes that the network has not decided yet.
    pub normalised: bool,
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

/// A method, measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodFigures {
    /// Its name.
    pub method: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// What it can and cannot express.
    pub reach: &'static str,
    /// Rules that it cannot express, with the reason.
    pub unexpressed: Vec<String>,
    /// How it trained.
    pub training: Training,
    /// How well it predicts; none where it has no probabilities of its own.
    pub prediction: Option<Prediction>,
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
    /// Records of each.
    pub records: u64,
    /// Violations of hard rules that look at one visit only.
    pub within_visit_violations: Option<Interval>,
    /// Violations of hard rules that look back.
    pub temporal_violations: Option<Interval>,
    /// Records that break no hard rule, in percent.
    pub valid_percent: Option<Interval>,
    /// Milliseconds a record.
    pub milliseconds: Option<Interval>,
    /// How much longer a record takes than with vanilla HALO, generation by generation: 1 is as long.
    pub times_vanilla: Option<Interval>,
    /// The same by the middle one of the ratios, which a disturbed generation does not move.
    pub median_times_vanilla: Option<Median>,
    /// Records begun for each that was kept.
    pub attempts: Option<Interval>,
    /// Encounters of a record.
    pub encounters: Option<Interval>,
    /// Codes of an encounter.
    pub codes: Option<Interval>,
    /// R2 of codes, pairs and sequential pairs.
    pub r2: [Option<Interval>; 3],
    /// The same for rare codes.
    pub rare_r2: [Option<Interval>; 3],
}

/// The middle of some figures, and the two between which it lies with a probability of about 95%, whatever
/// their distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Median {
    /// The middle.
    pub median: f64,
    /// The lower bound; the smallest figure where there are few.
    pub low: f64,
    /// The upper bound; the largest figure where there are few.
    pub high: f64,
}

impl Median {
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (count, last) = (sorted.len(), sorted.len().checked_sub(1)?);
        let median = (sorted[last / 2] + sorted[count / 2]) / 2.0;
        // So many figures are below the middle or fewer with a probability of one in forty.
        let below = (count as f64 / 2.0 - 0.98 * (count as f64).sqrt()).floor().max(0.0) as usize;
        Some(Self { median, low: sorted[below], high: sorted[last - below] })
    }
}

/// Utility and privacy over some generations: means and 95% intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deep {
    /// Generations.
    pub runs: u64,
    /// AUROC, trained on generated records and from real ones.
    pub auroc: [Option<Interval>; 2],
    /// Average precision of the same.
    pub average_precision: [Option<Interval>; 2],
    /// The share of generated records nearer to a train record.
    pub closer_to_train: Option<Interval>,
    /// Copies of train records and of held-out ones.
    pub copies: [Option<Interval>; 2],
    /// AUROC of telling who was trained on.
    pub membership: Option<Interval>,
    /// F1 of sensitive codes, from generated records and from held-out ones.
    pub attributes: [Option<Interval>; 2],
}

/// The interval of a figure that every run has.
fn interval<T>(runs: &[T], figure: impl Fn(&T) -> Option<f64>) -> Option<Interval> {
    let values: Option<Vec<f64>> = runs.iter().map(figure).collect();
    Interval::of(&values?)
}

impl Generation {
    /// Sums up the generations of a method, beside those of vanilla HALO in the same order.
    pub(super) fn of(runs: &[RunFigures], vanilla: Option<&[RunFigures]>) -> Self {
        let of = |figure: &dyn Fn(&RunFigures) -> f64| interval(runs, |run| Some(figure(run)));
        let per_record = |run: &RunFigures| run.seconds / run.records.max(1) as f64;
        let ratios: Option<Vec<f64>> = vanilla.map(|vanilla| {
            runs.iter()
                .zip(vanilla)
                .map(|(run, plain)| per_record(run) / per_record(plain))
                .collect()
        });
        Self {
            runs: runs.len() as u64,
            records: runs.first().map_or(0, |run| run.records),
            within_visit_violations: of(&|run| run.within_visit_violations as f64),
            temporal_violations: of(&|run| run.temporal_violations as f64),
            valid_percent: of(&|run| 100.0 * run.valid_records as f64 / run.records.max(1) as f64),
            milliseconds: of(&|run| 1_000.0 * per_record(run)),
            times_vanilla: ratios.as_deref().and_then(Interval::of),
            median_times_vanilla: ratios.as_deref().and_then(Median::of),
            attempts: of(&|run| run.attempts),
            encounters: of(&|run| run.encounters as f64 / run.records.max(1) as f64),
            codes: of(&|run| run.codes as f64 / run.encounters.max(1) as f64),
            r2: std::array::from_fn(|at| interval(runs, |run| run.r2[at])),
            rare_r2: std::array::from_fn(|at| interval(runs, |run| run.rare_r2[at])),
        }
    }
}

impl Deep {
    pub(super) fn of(runs: &[DeepFigures]) -> Self {
        let pair = |figure: fn(&DeepFigures) -> Option<[f64; 2]>| -> [Option<Interval>; 2] {
            std::array::from_fn(|at| interval(runs, |run| figure(run).map(|pair| pair[at])))
        };
        Self {
            runs: runs.len() as u64,
            auroc: pair(|run| run.auroc),
            average_precision: pair(|run| run.average_precision),
            closer_to_train: interval(runs, |run| run.closer_to_train),
            copies: pair(|run| run.copies.map(|copies| copies.map(|count| count as f64))),
            membership: interval(runs, |run| run.membership),
            attributes: pair(|run| run.attributes),
        }
    }
}

/// Violations of each rule, a generation.
pub(super) fn broken(runs: &[RunFigures]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (rule, violations) in runs.iter().flat_map(|run| &run.broken) {
        *sums.entry(rule.clone()).or_default() += *violations as f64 / runs.len() as f64;
    }
    sums
}
