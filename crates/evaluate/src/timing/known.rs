//! Values that some real patient has, of the same code and on the same date.

use std::hash::{DefaultHasher, Hash, Hasher};

use consequence_record::{DetailsView, EventDetail};
use serde::Serialize;

use super::counting::{TimingCounts, day};
use super::{Sides, TimingSample};

/// Codes with a value and a date, and how many of them some real patient has too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Known {
    /// Codes with a value and a date.
    pub triples: u64,
    /// Those of them of which a real record that was trained on has the same code with the same value
    /// on the same date.
    pub known: u64,
}

impl Known {
    /// The share that is known; none without any.
    pub fn share(&self) -> Option<f64> {
        (self.triples > 0).then(|| self.known as f64 / self.triples as f64)
    }
}

/// A digest of every code with a value and a date, of the value, and of the date.
pub(super) fn triples<'a>(sample: &TimingSample<'a>) -> impl Iterator<Item = u64> + use<'a> {
    sample.records().flat_map(|(_, details)| {
        details.events.iter().filter_map(move |event| triple(details, event))
    })
}

fn triple(details: DetailsView<'_>, event: &EventDetail) -> Option<u64> {
    let time = event.time.or_else(|| details.time(event.visit as usize))?;
    // Both zeros are one value.
    let bits = (event.value? + 0.0).to_bits();
    let mut hasher = DefaultHasher::new();
    (event.code.0, bits, day(time)).hash(&mut hasher);
    Some(hasher.finish())
}

/// How many triples of generated records, and of other real ones, are those of the real records; none
/// where the real records have none. Of the real records themselves all are known.
pub(super) fn known(sides: &Sides<TimingCounts>) -> Option<Sides<Known>> {
    let real = &sides.real;
    (real.triples > 0).then(|| Sides {
        real: Known { triples: real.triples, known: real.triples },
        ..sides.map(|side| Known {
            triples: side.triples,
            // Where a part stands for all, it may come to a little more.
            known: side.known.of(&real.known).min(side.triples),
        })
    })
}
