//! What synthetic records give away of those trained on, each beside what held-out records give
//! away.
//!
//! A record is the set of its distinct codes, static ones and those of all encounters; when and how
//! often a code comes does not count. Two records are as far apart as the Jaccard distance says:
//! the codes in one of the two over the codes in either. Nearest records are found exactly.

mod attributes;
mod nearest;

use std::fmt::{self, Display, Formatter};

use consequence_record::Selection;
use serde::Serialize;

pub use self::attributes::{AttributeInference, GuessFigures, Guesses};
pub use self::nearest::{ClosestRecords, Distances, MembershipInference};
use self::nearest::{Neighbours, closest, code_sets, membership};
use crate::codes_only::CodesOnly;
use crate::keyed::by_key;
use crate::measured::{MeasureError, Measured, Role, Samples, Unmeasured};
use consequence_feedback::words::number;

/// How many records are measured, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivacyOptions {
    /// The most records of each kind. Default 5,000.
    pub records: usize,
    /// What draws them where there are more. Default 0.
    pub seed: u64,
    /// Sensitive codes. Default 20.
    pub sensitive: usize,
}

impl Default for PrivacyOptions {
    fn default() -> Self {
        Self { records: 5_000, seed: 0, sensitive: 20 }
    }
}

/// What synthetic records give away of those trained on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Privacy {
    /// Train records measured; as many held-out ones.
    pub real_records: u64,
    /// Synthetic records measured.
    pub synthetic_records: u64,
    /// The most records of each kind that were to be measured.
    pub limit: u64,
    /// The seed that drew them.
    pub seed: u64,
    /// How near synthetic records come to train records.
    pub closest: Measured<ClosestRecords>,
    /// Whether they give away who was trained on.
    pub membership: Measured<MembershipInference>,
    /// Whether they give away what else someone has.
    pub attributes: Measured<AttributeInference>,
}

/// Measures what synthetic records give away, on the records that [`draw_records`] draws.
///
/// ```
/// use consequence_evaluate::{PrivacyOptions, Samples, privacy};
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 400, 7);
/// let cohort = simulation.cohort();
/// let [train, held_out] = [0..200, 200..400].map(|range| Selection::all(&cohort).part(range));
/// // A generator that hands out the records it trained on.
/// let samples = Samples { train, synthetic: train, held_out, vocabulary: simulation.vocabulary() };
/// let found = privacy(&samples, &PrivacyOptions::default())?;
/// assert!(found.closest.figures().unwrap().closer_to_train > 0.9);
/// assert!(found.membership.figures().unwrap().auroc > 0.9);
/// let attributes = found.attributes.figures().unwrap();
/// assert!(attributes.gain() > Some(0.05));
/// # Ok::<(), consequence_evaluate::MeasureError>(())
/// ```
pub fn privacy(samples: &Samples<'_>, options: &PrivacyOptions) -> Result<Privacy, MeasureError> {
    samples.check()?;
    let drawn = draw_records(samples, options);
    let samples = Samples {
        train: Selection::new(samples.train.cohort(), &drawn.train),
        synthetic: Selection::new(samples.synthetic.cohort(), &drawn.synthetic),
        held_out: Selection::new(samples.held_out.cohort(), &drawn.held_out),
        ..*samples
    };
    let (closest, membership, attributes) = match samples.nobody() {
        Some(why) => (Err(why), Err(why), Err(why)),
        None => measure(&samples, options.sensitive),
    };
    Ok(Privacy {
        real_records: drawn.train.len() as u64,
        synthetic_records: drawn.synthetic.len() as u64,
        limit: options.records as u64,
        seed: options.seed,
        closest: closest.into(),
        membership: membership.into(),
        attributes: attributes.into(),
    })
}

type Figures = (
    Result<ClosestRecords, Unmeasured>,
    Result<MembershipInference, Unmeasured>,
    Result<AttributeInference, Unmeasured>,
);

/// Measures samples none of which is empty.
fn measure(samples: &Samples<'_>, sensitive: usize) -> Figures {
    let (vocabulary, codes) = (samples.vocabulary, samples.vocabulary.len());
    let [train, synthetic, held_out] =
        Role::ALL.map(|role| code_sets(CodesOnly::of(samples.of(role), vocabulary).records()));
    let [near_train, near_synthetic, near_held_out] =
        [&train, &synthetic, &held_out].map(|sets| Neighbours::new(sets, codes));
    (
        Ok(closest(&synthetic, &near_train, &near_held_out)),
        membership(&train, &held_out, &near_synthetic),
        attributes::attributes(&train, &synthetic, &held_out, vocabulary, sensitive),
    )
}

impl Display for Privacy {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (real, synthetic) = (number(self.real_records), number(self.synthetic_records));
        writeln!(
            out,
            "privacy: {synthetic} synthetic records, {real} train and as many held-out ones"
        )?;
        write!(out, "  closest records       {}", self.closest)?;
        write!(out, "  membership inference  {}", self.membership)?;
        write!(out, "  attribute inference   {}", self.attributes)
    }
}

impl Display for ClosestRecords {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (train, other) = (self.to_train, self.to_held_out);
        writeln!(
            out,
            "{:.4} nearer to train (expected {}); median {:.4} to train, {:.4} to held-out; copies {} and {}",
            self.closer_to_train,
            self.expected,
            train.median,
            other.median,
            number(train.copies),
            number(other.copies)
        )
    }
}

impl Display for MembershipInference {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "AUROC {:.4}", self.auroc)?;
        if let Some(error) = self.standard_error {
            write!(out, " (standard error {error:.4})")?;
        }
        let best = self.best_balanced_accuracy;
        writeln!(out, ", best balanced accuracy {best:.4}, expected {}", self.expected)
    }
}

impl Display for AttributeInference {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let f1 = |figures: &GuessFigures| match figures.f1 {
            Some(f1) => format!("{f1:.4}"),
            None => "none".to_owned(),
        };
        writeln!(
            out,
            "F1 {} from synthetic records, {} from held-out ones; of held-out ones {}; {} by the majority",
            f1(&self.from_synthetic),
            f1(&self.from_held_out),
            f1(&self.of_held_out),
            f1(&self.majority)
        )
    }
}

/// Indices of the records that privacy is measured on, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnRecords {
    /// Train records, as many as held-out ones.
    pub train: Vec<usize>,
    /// Held-out records.
    pub held_out: Vec<usize>,
    /// Synthetic records.
    pub synthetic: Vec<usize>,
}

/// Draws the records that [`privacy`] measures: the same for the same seed, by keys of their ids.
///
/// As many train as held-out records, and of both and of the synthetic ones no more than the limit,
/// which is 1 at least.
pub fn draw_records(samples: &Samples<'_>, options: &PrivacyOptions) -> DrawnRecords {
    let limit = options.records.max(1);
    let real = samples.train.len().min(samples.held_out.len()).min(limit);
    let drawn = |role, limit| {
        let mut indices = by_key(samples.of(role), options.seed);
        indices.truncate(limit);
        indices.sort_unstable();
        indices
    };
    DrawnRecords {
        train: drawn(Role::Train, real),
        held_out: drawn(Role::HeldOut, real),
        synthetic: drawn(Role::Synthetic, limit),
    }
}
