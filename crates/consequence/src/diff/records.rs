//! Which records two cohorts share, by the ids of their patients.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use consequence_pipeline::{Error, Watch};
use serde::Serialize;

use crate::look::{Seen, Source};

/// Records of two cohorts, by the ids of their patients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordCounts {
    /// Patients of both, with the same record: codes, dates and values.
    pub same: u64,
    /// Patients of both, with another record.
    pub changed: u64,
    /// Patients of the first alone.
    pub only_a: u64,
    /// Patients of the second alone.
    pub only_b: u64,
}

impl RecordCounts {
    /// Reads both once; of the first it keeps two digests a record.
    pub(super) fn of(a: &Source, b: &Source, watch: &dyn Watch) -> Result<Self, Error> {
        let names = names(a);
        let mut known: HashMap<u128, u128> = HashMap::new();
        a.each(watch, |seen| {
            known.insert(digest(&|hasher| seen.id.hash(hasher)), content(&seen, &names));
            true
        })?;
        let names = self::names(b);
        let mut counts = Self::default();
        b.each(watch, |seen| {
            match known.get(&digest(&|hasher| seen.id.hash(hasher))) {
                Some(other) if *other == content(&seen, &names) => counts.same += 1,
                Some(_) => counts.changed += 1,
                None => counts.only_b += 1,
            }
            true
        })?;
        counts.only_a = known.len() as u64 - counts.same - counts.changed;
        Ok(counts)
    }

    /// Whether all records of all patients are the same.
    pub fn same(&self) -> bool {
        self.changed + self.only_a + self.only_b == 0
    }
}

/// Digests of the names of codes, by number.
fn names(source: &Source) -> Vec<u128> {
    let vocabulary = source.vocabulary();
    vocabulary.codes().map(|code| digest(&|hasher| vocabulary.name(code).hash(hasher))).collect()
}

/// A digest of all that is known of a record. Codes are summed, as two vocabularies may number them in
/// another order.
fn content(seen: &Seen<'_>, names: &[u128]) -> u128 {
    let visit = |number: usize| -> u128 {
        let codes = seen.record.visit(number).iter().map(|code| {
            let event = seen.details.event(number, *code);
            let value = event.and_then(|event| event.value).map(f32::to_bits);
            let time = event.and_then(|event| event.time);
            digest(&|hasher| (names[code.index()], value, time).hash(hasher))
        });
        codes.fold(0, u128::wrapping_add)
    };
    let visits: Vec<u128> = (0..seen.record.len()).map(visit).collect();
    let details = seen.details;
    digest(&|hasher| {
        (&visits, seen.record.ended(), details.birth, details.times, details.ends).hash(hasher);
        for age in details.ages {
            age.map(|age| (age.from, age.to)).hash(hasher);
        }
    })
}

fn digest(write: &dyn Fn(&mut DefaultHasher)) -> u128 {
    let half = |number: u8| {
        let mut hasher = DefaultHasher::new();
        number.hash(&mut hasher);
        write(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
