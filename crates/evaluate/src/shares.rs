//! How frequent codes and pairs of codes are in several cohorts, point by point: what scatter plots
//! show.

use consequence_record::{Code, Selection, Vocabulary};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::check::{BadRecord, check};
use crate::counts::{Counts, PairCounts};

/// Codes, or pairs of codes, and how frequent each is in every cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Points {
    /// What each point is.
    pub names: Vec<String>,
    /// For each cohort, the share of each point, in the order of the names.
    pub shares: Vec<Vec<f64>>,
}

/// How frequent codes and pairs of codes are. No static codes, and no `END`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// All codes seen in any cohort, in the order of the vocabulary, per encounter.
    pub codes: Points,
    /// The most frequent pairs of codes of one encounter, per encounter.
    pub pairs: Points,
    /// The most frequent pairs of a code of one encounter and a code of the next, per pair of such
    /// encounters.
    pub sequences: Points,
}

/// The shares of all codes, and of so many pairs of either kind: those with the highest share in
/// any cohort, equal ones in the order of the vocabulary.
///
/// ```
/// use consequence_evaluate::shares;
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 200, 7);
/// let cohort = simulation.cohort();
/// let [one, other] = [0..100, 100..200].map(|range| Selection::all(&cohort).part(range));
/// let found = shares(&[one, other, one], simulation.vocabulary(), 50)?;
/// assert_eq!((found.pairs.names.len(), found.pairs.shares.len()), (50, 3));
/// assert_eq!(found.codes.shares[0], found.codes.shares[2]);
/// # Ok::<(), consequence_evaluate::BadRecord>(())
/// ```
pub fn shares(
    selections: &[Selection<'_>],
    vocabulary: &Vocabulary,
    pairs: usize,
) -> Result<Shares, BadRecord> {
    for &records in selections {
        check(records, vocabulary)?;
    }
    let counts: Vec<Counts> =
        selections.iter().map(|&records| Counts::new(records, vocabulary.len())).collect();
    let seen = |code: &Code| counts.iter().any(|counts| counts.codes[code.index()] > 0);
    let codes: Vec<Code> = vocabulary.codes().filter(seen).collect();
    let name = |code: Code| vocabulary.name(code);
    let share = |counts: &Counts| {
        codes.iter().map(|code| share(counts.codes[code.index()], counts.encounters)).collect()
    };
    let named = |(first, second): (Code, Code), between: &str| {
        format!("{}{between}{}", name(first), name(second))
    };
    let kind = |of: fn(&Counts) -> (&PairCounts, u64), between: &str| {
        let top = top(&counts, of, pairs);
        Points {
            names: top.iter().map(|(pair, _)| named(*pair, between)).collect(),
            shares: (0..counts.len())
                .map(|at| top.iter().map(|(_, shares)| shares[at]).collect())
                .collect(),
        }
    };
    Ok(Shares {
        codes: Points {
            names: codes.iter().map(|&code| name(code).to_owned()).collect(),
            shares: counts.iter().map(share).collect(),
        },
        pairs: kind(|counts| (&counts.pairs, counts.encounters), " + "),
        sequences: kind(|counts| (&counts.sequences, counts.transitions), " then "),
    })
}

type PairShares = ((Code, Code), Vec<f64>);

/// The pairs with the highest share in any cohort, and their shares in all.
fn top(counts: &[Counts], of: fn(&Counts) -> (&PairCounts, u64), limit: usize) -> Vec<PairShares> {
    let mut found: FxHashMap<(Code, Code), Vec<f64>> = FxHashMap::default();
    for (at, one) in counts.iter().enumerate() {
        let (pairs, trials) = of(one);
        for (&pair, &count) in pairs {
            found.entry(pair).or_insert_with(|| vec![0.0; counts.len()])[at] = share(count, trials);
        }
    }
    let mut found: Vec<PairShares> = found.into_iter().collect();
    let highest = |(_, shares): &PairShares| shares.iter().copied().fold(0.0, f64::max);
    found.sort_unstable_by(|one, other| {
        highest(other).total_cmp(&highest(one)).then(one.0.cmp(&other.0))
    });
    found.truncate(limit);
    found
}

fn share(count: u64, trials: u64) -> f64 {
    count as f64 / trials.max(1) as f64
}
