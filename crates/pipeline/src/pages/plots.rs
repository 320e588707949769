//! Plots of how two or more cohorts agree.

use std::collections::BTreeMap;

use consequence_evaluate::{CohortShape, Frequencies, Points, shares_of};
use consequence_record::{Code, Vocabulary};
use consequence_report::{Block, Histogram, Histograms, ScaleKind, Scatter, ScatterPanel};

/// Pairs of codes that a plot shows.
const PAIRS: usize = 1_500;

/// A synthetic cohort in a plot.
pub struct Panel<'a> {
    /// Its name.
    pub title: String,
    /// Its records, counted.
    pub counted: &'a Frequencies,
    /// R2 of codes, pairs and sequential pairs, where they are known.
    pub r2: [Option<f64>; 3],
    /// Whether the report is about this one.
    pub ours: bool,
}

/// How frequent codes and pairs of codes are in synthetic cohorts and in the real one. Codes are named
/// with their titles, where those are known.
pub fn scatters(
    real: &Frequencies,
    panels: &[Panel<'_>],
    vocabulary: &Vocabulary,
    titles: &BTreeMap<Code, String>,
) -> Vec<Block> {
    let mut counted = vec![real];
    counted.extend(panels.iter().map(|panel| panel.counted));
    let found = shares_of(&counted, vocabulary, PAIRS);
    let pairs_note = format!("The {PAIRS} pairs that are most frequent in any of the cohorts.");
    let kinds: [(&Points, &str, &str, &str, &str); 3] = [
        (&found.codes, "Codes", "code", "of encounters", "Every code of encounters."),
        (&found.pairs, "Pairs of codes in one encounter", "pair", "of encounters", &pairs_note),
        (
            &found.sequences,
            "A code and a code of the next encounter",
            "pair",
            "of pairs of encounters",
            &pairs_note,
        ),
    ];
    let titled = |name: &str| {
        let title = vocabulary.code(name).and_then(|code| titles.get(&code));
        title.map_or_else(|| name.to_owned(), |title| format!("{name} ({title})"))
    };
    let scatter = |(at, (points, title, point, share, note)): (usize, _)| {
        let (points, note): (&Points, &str) = (points, note);
        let panel = |(number, panel): (usize, &Panel<'_>)| ScatterPanel {
            title: panel.title.clone(),
            figure: panel.r2[at].map_or_else(String::new, |r2| format!("R² {r2:.3}")),
            synthetic: points.shares[number + 1].clone(),
            ours: panel.ours,
        };
        Block::Scatter(Scatter {
            title: str::to_owned(title),
            note: format!("{note} On the diagonal a synthetic share is that of the real records."),
            point: str::to_owned(point),
            share: str::to_owned(share),
            scale: ScaleKind::SquareRoot,
            names: points.names.iter().map(|name| titled(name)).collect(),
            real: points.shares[0].clone(),
            panels: panels.iter().enumerate().map(panel).collect(),
        })
    };
    kinds.into_iter().enumerate().map(scatter).collect()
}

/// How long records and visits are, in the real cohort and in synthetic ones.
pub fn histograms(real: &CohortShape, synthetic: &[(String, &CohortShape)]) -> Block {
    let panels = synthetic.iter().flat_map(|(title, shape)| {
        let lengths = [
            ("encounters a record", &real.visits_per_record, &shape.visits_per_record),
            ("codes an encounter", &real.codes_per_visit, &shape.codes_per_visit),
        ];
        lengths.map(|(axis, real, synthetic)| histogram(title, axis, real, synthetic))
    });
    Block::Histograms(Histograms {
        title: "Lengths".to_owned(),
        note: "The share of records with so many encounters, and of encounters with so many codes."
            .to_owned(),
        panels: panels.collect(),
    })
}

/// Bins of a histogram at most; longer ones have several lengths in a bin, and all that is long in the
/// last.
const BINS: usize = 30;

fn histogram(title: &str, axis: &str, real: &[u64], synthetic: &[u64]) -> Histogram {
    let longest = far(real).max(far(synthetic));
    let width = (longest + 1).div_ceil(BINS).max(1);
    let count = (longest + 1).div_ceil(width);
    let share = |counts: &[u64]| -> Vec<f64> {
        let total = counts.iter().sum::<u64>().max(1) as f64;
        let bin = |bin: usize| {
            let from = (bin * width).min(counts.len());
            let to =
                if bin + 1 == count { counts.len() } else { ((bin + 1) * width).min(counts.len()) };
            counts[from..to].iter().sum::<u64>() as f64 / total
        };
        (0..count).map(bin).collect()
    };
    let name = |bin: usize| {
        let first = bin * width;
        match (bin + 1 == count, width) {
            (true, _) => format!("{first}+"),
            (false, 1) => first.to_string(),
            (false, _) => format!("{first}-{}", first + width - 1),
        }
    };
    Histogram {
        title: format!("{title}: {axis}"),
        axis: axis.to_owned(),
        bins: (0..count).map(name).collect(),
        real: share(real),
        synthetic: share(synthetic),
    }
}

/// The length that all but one in two hundred stay below.
fn far(counts: &[u64]) -> usize {
    let total: u64 = counts.iter().sum();
    let mut beyond = total / 200;
    for (length, &count) in counts.iter().enumerate().rev() {
        if count > beyond {
            return length;
        }
        beyond -= count;
    }
    0
}
