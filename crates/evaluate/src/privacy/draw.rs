//! Which records are measured: as many train as held-out ones, and not too many.

use consequence_prng::{Draws, Purpose};
use consequence_record::Selection;

use super::PrivacyOptions;
use crate::measured::{Role, Samples};

/// The visit number of the draws: past every visit of a record, so that they are shared with no
/// other.
const PAST_ALL_VISITS: u16 = u16::MAX;

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

/// Draws the records that [`privacy`](super::privacy) measures: the same for the same seed.
///
/// As many train as held-out records, and of both and of the synthetic ones no more than the limit,
/// which is 1 at least.
pub fn draw_records(samples: &Samples<'_>, options: &PrivacyOptions) -> DrawnRecords {
    let limit = options.records.max(1);
    let real = samples.train.len().min(samples.held_out.len()).min(limit);
    let drawn = |role, limit| drawn(samples.of(role), role, options.seed, limit);
    DrawnRecords {
        train: drawn(Role::Train, real),
        held_out: drawn(Role::HeldOut, real),
        synthetic: drawn(Role::Synthetic, limit),
    }
}

/// The records with the lowest of keys drawn for each.
fn drawn(records: Selection<'_>, role: Role, seed: u64, limit: usize) -> Vec<usize> {
    let draws = Draws::new(seed);
    let key = |index: usize| {
        let mut words = draws.visit(index as u64, role as u16, PAST_ALL_VISITS, Purpose::Order);
        (words.word(0), words.word(1), index)
    };
    let mut keys: Vec<(u32, u32, usize)> = records.indices().map(key).collect();
    keys.sort_unstable();
    let mut indices: Vec<usize> = keys.into_iter().take(limit).map(|(_, _, index)| index).collect();
    indices.sort_unstable();
    indices
}
