//! Values that some real patient has, of the same code and on the same date.

use consequence_record::{DetailsView, EventDetail};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::columns::day;
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

/// The code, the bits of the value, and the date. A dozen bytes each, so that the set of those of a cohort
/// stays smaller than its details.
type Triple = (u32, u32, i32);

fn triples<'a>(sample: &TimingSample<'a>) -> impl Iterator<Item = Triple> + use<'a> {
    sample.records().flat_map(|(_, details)| {
        details.events.iter().filter_map(move |event| triple(details, event))
    })
}

fn triple(details: DetailsView<'_>, event: &EventDetail) -> Option<Triple> {
    let time = event.time.or_else(|| details.time(event.visit as usize))?;
    // Both zeros are one value.
    let bits = (event.value? + 0.0).to_bits();
    Some((event.code.0, bits, day(time)))
}

/// How many triples of generated records, and of other real ones, are those of the real records; none
/// where the real records have none. Of the real records themselves all are known.
pub(super) fn known(sides: &Sides<TimingSample<'_>>) -> Option<Sides<Known>> {
    let real: FxHashSet<Triple> = triples(&sides.real).collect();
    if real.is_empty() {
        return None;
    }
    Some(sides.map(|sample| {
        let mut found = Known::default();
        for triple in triples(sample) {
            found.triples += 1;
            found.known += u64::from(real.contains(&triple));
        }
        found
    }))
}
