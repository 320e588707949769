//! What synthetic records are good for: models trained on them, tried on real ones.

mod logistic;

use std::fmt::{self, Display, Formatter};

use consequence_feedback::words::{count, number};
use consequence_record::{Code, Lists, Selection, Vocabulary};
use rayon::prelude::*;
use serde::Serialize;

use self::logistic::Logistic;
use crate::codes_only::CodesOnly;
use crate::keyed::{UTILITY, by_key};
use crate::measured::{MeasureError, Measured, Role, Samples, Unmeasured};
use crate::ranking::Ranking;

/// What to predict, and from how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtilityOptions {
    /// Codes to predict. Default 20.
    pub codes: usize,
    /// The most transitions to train on, and to try on. Default 20,000.
    pub examples: usize,
}

impl Default for UtilityOptions {
    fn default() -> Self {
        Self { codes: 20, examples: 20_000 }
    }
}

/// How well a code is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// The probability that an encounter with the code scores above one without, ties counted half.
    pub auroc: f64,
    /// The mean precision over the recall: guesses reach the share of encounters with the code.
    pub average_precision: f64,
}

/// A regression trained on some records, tried on held-out ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FittedModel {
    /// Transitions with the code among those trained on; 0 if it never changes there, so that
    /// nothing is trained: the scores are then those of probability.
    pub positives: u64,
    /// How well it does.
    pub scores: Scores,
    /// Its intercept.
    pub intercept: f64,
    /// The length of the vector of its weights.
    pub norm: f64,
}

impl FittedModel {
    /// What a model predicts that was trained on records that never have a code next, or always.
    fn of_nothing(prevalence: f64) -> Self {
        let scores = Scores { auroc: 0.5, average_precision: prevalence };
        Self { positives: 0, scores, intercept: 0.0, norm: 0.0 }
    }
}

/// How well one code is predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Its name.
    pub code: String,
    /// Held-out transitions with the code.
    pub positives: u64,
    /// Trained from real train records.
    pub real: FittedModel,
    /// Trained from synthetic records.
    pub synthetic: FittedModel,
}

/// A code that was left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub code: String,
    /// Why.
    pub because: Unmeasured,
}

/// How well the codes of the next encounter are predicted in held-out records, by models trained on
/// real records and by models trained on as many synthetic ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Utility {
    /// Transitions trained on: as many real as synthetic ones.
    pub trained_on: u64,
    /// Held-out transitions tried on.
    pub tried_on: u64,
    /// The mean over the codes, trained on real records.
    pub real: Scores,
    /// The mean over the codes, trained on synthetic records.
    pub synthetic: Scores,
    /// The codes, the most frequent first.
    pub codes: Vec<Predicted>,
    /// Codes that could not be predicted.
    pub left_out: Vec<LeftOut>,
}

/// Trains models to predict the next encounter on synthetic and on real records, and tries both on
/// held-out real ones.
///
/// An example is an encounter that another follows; records with one encounter have none. Its
/// features are the codes of the encounter, the codes of any earlier encounter (apart from the
/// former), and the static codes. What is predicted is whether a code is in the next encounter, for
/// each of the codes that are most frequent in the encounters of the real train examples, whatever
/// the synthetic records have; of equal ones, the first in the vocabulary. Examples are taken in
/// the order of keys of the records' ids up to the limit, and no more from one side than the other has. The
/// model is a logistic regression with the objective `|w|^2 / 2 + nats of the labels`, at its
/// optimum.
///
/// ```
/// use consequence_evaluate::{Samples, UtilityOptions, utility};
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
///
/// let real = Simulation::new(Preset::Inpatient, 900, 7);
/// let synthetic = Simulation::new(Preset::Inpatient, 600, 8).cohort();
/// let (cohort, vocabulary) = (real.cohort(), real.vocabulary());
/// let samples = Samples {
///     train: Selection::all(&cohort).part(0..600),
///     synthetic: Selection::all(&synthetic),
///     held_out: Selection::all(&cohort).part(600..900),
///     vocabulary,
/// };
/// let options = UtilityOptions { codes: 3, ..UtilityOptions::default() };
/// let measured = utility(&samples, &options)?;
/// let figures = measured.figures().unwrap();
/// assert!(figures.real.auroc > 0.5 && figures.synthetic.auroc > 0.5);
/// # Ok::<(), consequence_evaluate::MeasureError>(())
/// ```
pub fn utility(
    samples: &Samples<'_>,
    options: &UtilityOptions,
) -> Result<Measured<Utility>, MeasureError> {
    samples.check()?;
    let keyed = Role::ALL.map(|role| by_key(samples.of(role), UTILITY));
    let kept = [0, 1, 2].map(|at| {
        let records = Selection::new(samples.of(Role::ALL[at]).cohort(), &keyed[at]);
        CodesOnly::of(records, samples.vocabulary)
    });
    let [train, synthetic, held_out] = [0, 1, 2].map(|at| kept[at].records());
    let samples = Samples { train, synthetic, held_out, ..*samples };
    Ok(measure(&samples, options).into())
}

fn measure(samples: &Samples<'_>, options: &UtilityOptions) -> Result<Utility, Unmeasured> {
    if let Some(why) = samples.nobody() {
        return Err(why);
    }
    let vocabulary = samples.vocabulary;
    let examples = |role| {
        let made = Transitions::new(samples.of(role), vocabulary.len(), options.examples);
        if made.rows.len() == 0 { Err(Unmeasured::NoTransitions(role)) } else { Ok(made) }
    };
    let trial = Trial {
        train: examples(Role::Train)?,
        synthetic: examples(Role::Synthetic)?,
        held_out: examples(Role::HeldOut)?,
    };
    let frequent = trial.frequent(vocabulary, options.codes);
    let tried: Vec<(Code, Result<Predicted, Unmeasured>)> = frequent
        .into_par_iter()
        .map(|code| (code, trial.predict(code, vocabulary.name(code))))
        .collect();
    let (mut codes, mut left_out) = (Vec::new(), Vec::new());
    for (code, outcome) in tried {
        match outcome {
            Ok(predicted) => codes.push(predicted),
            Err(because) => left_out.push(LeftOut { code: vocabulary.name(code).into(), because }),
        }
    }
    if codes.is_empty() {
        return Err(Unmeasured::NoCode);
    }
    let mean = |of: fn(&Predicted) -> Scores| {
        let over = |part: fn(Scores) -> f64| {
            codes.iter().map(|code| part(of(code))).sum::<f64>() / codes.len() as f64
        };
        Scores {
            auroc: over(|scores| scores.auroc),
            average_precision: over(|scores| scores.average_precision),
        }
    };
    Ok(Utility {
        trained_on: trial.trained_on() as u64,
        tried_on: trial.held_out.rows.len() as u64,
        real: mean(|code| code.real.scores),
        synthetic: mean(|code| code.synthetic.scores),
        codes,
        left_out,
    })
}

/// What is trained on, and what is tried on.
struct Trial<'a> {
    train: Transitions<'a>,
    synthetic: Transitions<'a>,
    held_out: Transitions<'a>,
}

impl Trial<'_> {
    fn trained_on(&self) -> usize {
        self.train.rows.len().min(self.synthetic.rows.len())
    }

    /// The codes that are most frequent in the encounters of the real examples.
    fn frequent(&self, vocabulary: &Vocabulary, limit: usize) -> Vec<Code> {
        let mut counts = vec![0u64; vocabulary.len()];
        for code in self.train.current.iter().copied().flatten() {
            counts[code.index()] += 1;
        }
        let mut codes: Vec<Code> =
            vocabulary.codes().filter(|code| counts[code.index()] > 0).collect();
        codes.sort_by_key(|code| std::cmp::Reverse(counts[code.index()]));
        codes.truncate(limit);
        codes
    }

    fn predict(&self, code: Code, name: &str) -> Result<Predicted, Unmeasured> {
        let truth = labels(&self.held_out, code, self.held_out.rows.len(), Role::HeldOut)?;
        let prevalence = positives(&truth) as f64 / truth.len() as f64;
        let trained = |from: &Transitions<'_>, role| {
            let labels = match (labels(from, code, self.trained_on(), role), role) {
                // What never changes is no lesson: it predicts nothing, and that is its score.
                (Err(_), Role::Synthetic) => return Ok(FittedModel::of_nothing(prevalence)),
                (labels, _) => labels?,
            };
            let model = Logistic::fit(&from.rows, &labels).ok_or(Unmeasured::NotConverged(role))?;
            let scored = truth.iter().enumerate();
            let scored =
                scored.map(|(row, &label)| (model.score(self.held_out.rows.row(row)), label));
            let ranking = Ranking::new(scored.collect());
            let none = Unmeasured::NeverNext(Role::HeldOut);
            Ok(FittedModel {
                positives: positives(&labels),
                scores: Scores {
                    auroc: ranking.auroc().ok_or(none)?,
                    average_precision: ranking.average_precision().ok_or(none)?,
                },
                intercept: model.intercept(),
                norm: model.norm(),
            })
        };
        let (real, synthetic) = rayon::join(
            || trained(&self.train, Role::Train),
            || trained(&self.synthetic, Role::Synthetic),
        );
        Ok(Predicted {
            code: name.to_owned(),
            positives: positives(&truth),
            real: real?,
            synthetic: synthetic?,
        })
    }
}

/// Which of the first transitions lead to a code, unless all or none do.
fn labels(
    from: &Transitions<'_>,
    code: Code,
    rows: usize,
    role: Role,
) -> Result<Vec<bool>, Unmeasured> {
    let labels = from.labels(code, rows);
    match positives(&labels) as usize {
        0 => Err(Unmeasured::NeverNext(role)),
        all if all == labels.len() => Err(Unmeasured::AlwaysNext(role)),
        _ => Ok(labels),
    }
}

fn positives(labels: &[bool]) -> u64 {
    labels.iter().filter(|&&label| label).count() as u64
}

impl Display for Utility {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let codes = count(self.codes.len() as u64, "code");
        let (from, on) = (number(self.trained_on), number(self.tried_on));
        writeln!(
            out,
            "next encounter predicted: mean over {codes}, trained on {from} transitions, tried on {on} held-out ones"
        )?;
        for (name, scores) in [("real", self.real), ("synthetic", self.synthetic)] {
            let Scores { auroc, average_precision } = scores;
            writeln!(
                out,
                "  trained on {name:9}  AUROC {auroc:.4}, average precision {average_precision:.4}"
            )?;
        }
        for LeftOut { code, because } in &self.left_out {
            writeln!(out, "  {code} left out: {because}")?;
        }
        Ok(())
    }
}

/// Rows of features that are there or not, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    features: Lists<u32>,
    /// Features that there are.
    pub width: usize,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// The features of a row, ascending.
    pub fn row(&self, row: usize) -> &[u32] {
        self.features.list(row)
    }

    fn push(&mut self, features: impl IntoIterator<Item = u32>) {
        self.features.push(features);
    }

    #[cfg(test)]
    pub fn of(rows: &[&[u32]], width: usize) -> Self {
        let mut made = Self { width, ..Self::default() };
        rows.iter().for_each(|row| made.push(row.iter().copied()));
        made
    }
}

/// The transitions of some records, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Transitions<'a> {
    pub rows: Rows,
    /// The encounters themselves.
    pub current: Vec<&'a [Code]>,
    /// The encounters that follow.
    pub next: Vec<&'a [Code]>,
}

impl<'a> Transitions<'a> {
    /// The first transitions, up to a limit. With `codes` codes, feature `c` is code `c` in the
    /// encounter or in the static visit, and feature `codes + c` is code `c` in an earlier
    /// encounter.
    pub fn new(records: Selection<'a>, codes: usize, limit: usize) -> Self {
        let rows = Rows { width: 2 * codes, ..Rows::default() };
        let mut made = Self { rows, current: Vec::new(), next: Vec::new() };
        let mut earlier: Vec<u32> = Vec::new();
        let mut now: Vec<u32> = Vec::new();
        for record in records.records() {
            earlier.clear();
            for visit in 1..record.len().saturating_sub(1) {
                if made.next.len() == limit {
                    return made;
                }
                let current = record.visit(visit);
                now.clear();
                now.extend(record.visit(0).iter().chain(current).map(|code| code.0));
                now.sort_unstable();
                made.rows.push(now.iter().chain(&earlier).copied());
                made.current.push(current);
                made.next.push(record.visit(visit + 1));
                earlier.extend(current.iter().map(|code| code.0 + codes as u32));
                earlier.sort_unstable();
                earlier.dedup();
            }
        }
        made
    }

    /// Whether a code is in the encounter that follows, for the first rows.
    pub fn labels(&self, code: Code, rows: usize) -> Vec<bool> {
        self.next.iter().take(rows).map(|next| next.binary_search(&code).is_ok()).collect()
    }
}
