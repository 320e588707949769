//! Whether synthetic records give away who was trained on.

use consequence_record::Code;
use serde::Serialize;

use super::closest::distances;
use super::neighbours::Neighbours;
use crate::measured::{Role, Unmeasured};
use crate::ranking::Ranking;

/// An attacker guesses who of as many train as held-out records was trained on: those with a
/// synthetic record near.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MembershipInference {
    /// The probability that a train record is nearer to a synthetic one than a held-out record is.
    pub auroc: f64,
    /// Its standard error, by DeLong; none with fewer than two records of either kind.
    pub standard_error: Option<f64>,
    /// The share of right guesses at the distance that tells best. It is chosen with the answers at
    /// hand, so it is one half at least, and a little above it by luck.
    pub best_balanced_accuracy: f64,
    /// What guessing gives for both: one half.
    pub expected: f64,
}

/// Needs at least one record of each kind.
pub(super) fn membership(
    train: &[Vec<Code>],
    held_out: &[Vec<Code>],
    synthetic: &Neighbours,
) -> Result<MembershipInference, Unmeasured> {
    let scores = |records, member| {
        distances(records, synthetic).into_iter().map(move |distance| (-distance, member))
    };
    let ranking = Ranking::new(scores(train, true).chain(scores(held_out, false)).collect());
    let nobody = Unmeasured::NoRecords(Role::HeldOut);
    Ok(MembershipInference {
        auroc: ranking.auroc().ok_or(nobody)?,
        standard_error: ranking.standard_error(),
        best_balanced_accuracy: ranking.best_balanced_accuracy().ok_or(nobody)?,
        expected: 0.5,
    })
}
