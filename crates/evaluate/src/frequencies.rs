//! How frequent codes and pairs of codes are in two cohorts, one by one: the points of scatter plots.

use consequence_record::{Code, Vocabulary};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::check::check;
use crate::compare::{CompareError, Sample};
use crate::counts::{Counts, PairCounts};

/// How frequent a code is in the encounters of two cohorts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeFrequency {
    /// Its name.
    pub code: String,
    /// The share of the real encounters that hold it; 0 if there is none.
    pub real: f64,
    /// The share of the synthetic encounters.
    pub synthetic: f64,
}

/// How frequent two codes together are in two cohorts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairFrequency {
    /// One code; of sequential pairs, the one of the earlier encounter.
    pub first: String,
    /// The other code.
    pub second: String,
    /// The share of the real encounters, or of the real pairs of encounters; 0 if there is none.
    pub real: f64,
    /// The same of the synthetic ones.
    pub synthetic: f64,
}

/// How frequent codes and pairs of codes are. No static codes, and no `END`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frequencies {
    /// All codes seen in either cohort, in the order of the vocabulary, per encounter.
    pub codes: Vec<CodeFrequency>,
    /// The most frequent pairs of codes of one encounter, per encounter.
    pub pairs: Vec<PairFrequency>,
    /// The most frequent pairs of a code of one encounter and a code of the next, per pair of such
    /// encounters.
    pub sequences: Vec<PairFrequency>,
}

/// The frequencies of all codes, and of the `pairs` most frequent pairs of either kind: by the higher
/// of the real and the synthetic frequency, equal ones in the order of the vocabulary.
///
/// ```
/// use consequence_evaluate::{Sample, frequencies};
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 200, 7);
/// let cohort = simulation.cohort();
/// let records: Vec<usize> = (0..200).collect();
/// let sample = Sample { cohort: &cohort, records: &records };
/// let points = frequencies(sample, sample, simulation.vocabulary(), 50)?;
/// assert!(points.codes.iter().all(|code| code.real == code.synthetic));
/// assert_eq!((points.pairs.len(), points.sequences.len()), (50, 50));
/// # Ok::<(), consequence_evaluate::CompareError>(())
/// ```
pub fn frequencies(
    real: Sample<'_>,
    synthetic: Sample<'_>,
    vocabulary: &Vocabulary,
    pairs: usize,
) -> Result<Frequencies, CompareError> {
    let sound =
        |sample: Sample<'_>| check(sample.cohort, sample.records.iter().copied(), vocabulary);
    sound(real).map_err(CompareError::Real)?;
    sound(synthetic).map_err(CompareError::Synthetic)?;
    let counts = |sample: Sample<'_>| Counts::new(sample.cohort, sample.records, vocabulary.len());
    let (real, synthetic) = (counts(real), counts(synthetic));
    let seen = |code: &Code| real.codes[code.index()] + synthetic.codes[code.index()] > 0;
    let codes = vocabulary.codes().filter(seen).map(|code| CodeFrequency {
        code: vocabulary.name(code).to_owned(),
        real: share(real.codes[code.index()], real.encounters),
        synthetic: share(synthetic.codes[code.index()], synthetic.encounters),
    });
    let top = |of: fn(&Counts) -> (&PairCounts, u64)| top(of(&real), of(&synthetic), pairs);
    let named =
        |points: Vec<Point>| {
            let name = |code| vocabulary.name(code).to_owned();
            let named = points.into_iter().map(|((first, second), real, synthetic)| {
                PairFrequency { first: name(first), second: name(second), real, synthetic }
            });
            named.collect()
        };
    Ok(Frequencies {
        codes: codes.collect(),
        pairs: named(top(|counts| (&counts.pairs, counts.encounters))),
        sequences: named(top(|counts| (&counts.sequences, counts.transitions))),
    })
}

/// Two codes, and how frequent they are in each cohort.
type Point = ((Code, Code), f64, f64);

fn top(real: (&PairCounts, u64), synthetic: (&PairCounts, u64), limit: usize) -> Vec<Point> {
    let keys: FxHashSet<(Code, Code)> = real.0.keys().chain(synthetic.0.keys()).copied().collect();
    let of = |(counts, trials): (&PairCounts, u64), key: (Code, Code)| {
        share(counts.get(&key).copied().unwrap_or(0), trials)
    };
    let mut points: Vec<Point> =
        keys.into_iter().map(|key| (key, of(real, key), of(synthetic, key))).collect();
    let highest = |point: &Point| point.1.max(point.2);
    points.sort_unstable_by(|one, other| {
        highest(other).total_cmp(&highest(one)).then(one.0.cmp(&other.0))
    });
    points.truncate(limit);
    points
}

fn share(count: u64, trials: u64) -> f64 {
    count as f64 / trials.max(1) as f64
}
