//! Records in the order of keys of their ids, so that a sample is the same however records are divided and in whatever
//! order they come.

use consequence_record::{Cohort, RecordView, Selection, Vocabulary};
use consequence_tally::{Lowest, SampledRecord, counts, key};

use crate::codes_only::CodesOnly;
use crate::measured::{BadRecord, check};
use crate::{PrivacyOptions, UtilityOptions};

/// The indices of records in their cohort by the keys of their ids; of equal keys, the first first.
pub(crate) fn by_key(records: Selection<'_>, purpose: u64) -> Vec<usize> {
    let mut keyed: Vec<(u64, usize)> =
        records.indices().map(|index| (key(records.cohort().id(index), purpose), index)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, index)| index).collect()
}

/// Transitions of a record: encounters that another follows.
fn transitions(record: RecordView<'_>) -> u64 {
    record.len().saturating_sub(2) as u64
}

/// Some records, of all that there are: those that [`utility`](crate::utility) and [`privacy`](crate::privacy) take of
/// them. Samples of parts of the records can be added up.
///
/// ```
/// use consequence_evaluate::{KeyedSample, PrivacyOptions, Samples, UtilityOptions, privacy};
/// use consequence_record::{Cohort, Selection};
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 900, 7);
/// let (cohort, vocabulary) = (simulation.cohort(), simulation.vocabulary());
/// let parts = [0..300, 300..600, 600..900].map(|range| Selection::all(&cohort).part(range));
/// let options = PrivacyOptions { records: 50, ..PrivacyOptions::default() };
/// let of = |[train, synthetic, held_out]: [Selection<'_>; 3]| {
///     privacy(&Samples { train, synthetic, held_out, vocabulary }, &options)
/// };
/// let small: Vec<Cohort> = parts
///     .iter()
///     .map(|&part| {
///         Ok(KeyedSample::of(part, vocabulary, &UtilityOptions::default(), &options)?.for_privacy())
///     })
///     .collect::<Result<_, consequence_evaluate::BadRecord>>()?;
/// let [one, two, three] = &small[..] else { unreachable!() };
/// assert_eq!(one.len(), 50);
/// assert_eq!(of([one, two, three].map(Selection::all))?, of(parts)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KeyedSample {
    utility: Lowest<SampledRecord>,
    privacy: Lowest<SampledRecord>,
}

counts!(KeyedSample { utility, privacy });

impl KeyedSample {
    /// Of some records, once it is known that they can be measured.
    pub fn of(
        records: Selection<'_>,
        vocabulary: &Vocabulary,
        utility: &UtilityOptions,
        privacy: &PrivacyOptions,
    ) -> Result<Self, BadRecord> {
        check(records, vocabulary)?;
        let kept = CodesOnly::of(records, vocabulary);
        let records = kept.records();
        let mut sample = Self {
            utility: Lowest::new(utility.examples as u64),
            privacy: Lowest::new(privacy.records.max(1) as u64),
        };
        for (record, index) in records.records().zip(records.indices()) {
            let id = records.cohort().id(index);
            let copy = || SampledRecord::of(id, record);
            let size = transitions(record);
            if size > 0 {
                sample.utility.offer(key(id, UTILITY), size, copy);
            }
            sample.privacy.offer(key(id, privacy.seed), 1, copy);
        }
        Ok(sample)
    }

    /// The records that utility is measured on.
    pub fn for_utility(&self) -> Cohort {
        cohort(&self.utility)
    }

    /// The records that privacy is measured on.
    pub fn for_privacy(&self) -> Cohort {
        cohort(&self.privacy)
    }
}

fn cohort(sample: &Lowest<SampledRecord>) -> Cohort {
    let mut cohort = Cohort::default();
    sample.things().for_each(|one| cohort.push(&one.id, &one.record));
    cohort
}

/// What keys are for that utility takes records by.
pub(crate) const UTILITY: u64 = 0x7574_696c;
