//! What synthetic records show that few real patients have: whole records, cells of static codes, codes and
//! values; each beside how often other real records show it.

use std::hash::{Hash, Hasher};

use consequence_record::{Code, EventDetail, RecordView};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::Serialize;

use crate::codes_only::CodesOnly;
use crate::measured::{BadRecord, check};
use crate::timing::{TimingSample, TimingSamples};

/// From how many patients on something is not rare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RarityOptions {
    /// What fewer patients than this have is rare. Default 5.
    pub below: u32,
}

impl Default for RarityOptions {
    fn default() -> Self {
        Self { below: 5 }
    }
}

/// What synthetic records show that few of the patients trained on have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rarity {
    /// What fewer patients than this have is rare.
    pub below: u32,
    /// Real records that were trained on.
    pub real_records: u64,
    /// Codes that are rare among them.
    pub rare_codes: u64,
    /// Those of them that some synthetic record has, the rarest first.
    pub written: Vec<String>,
    /// The fewest patients that share the static codes of a synthetic record, where any does.
    pub smallest_cell: Option<u64>,
    /// Of the synthetic records.
    pub synthetic: Shown,
    /// Of other real records, where there are any.
    pub other: Option<Shown>,
}

/// How often records show what is rare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Records.
    pub records: u64,
    /// Those with the same codes, visit by visit, as one real record and no other. Codes that tell time or
    /// a value do not count.
    pub copies: u64,
    /// Those whose static codes are those of a few patients.
    pub in_small_cells: u64,
    /// Those with a rare code.
    pub with_rare_codes: u64,
    /// Codes with a value.
    pub values: u64,
    /// Those of them of which a few patients have the same code with the same value.
    pub rare_values: u64,
}

impl Shown {
    /// A count as a share of the records.
    pub fn of_records(&self, count: u64) -> f64 {
        count as f64 / self.records.max(1) as f64
    }

    /// The share of values that are rare; none without any value.
    pub fn rare_value_share(&self) -> Option<f64> {
        (self.values > 0).then(|| self.rare_values as f64 / self.values as f64)
    }
}

/// Counts what synthetic records, and other real ones, show that few of the real ones have.
///
/// ```
/// use std::collections::BTreeMap;
/// use consequence_evaluate::{RarityOptions, TimingSample, TimingSamples, rarity};
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 400, 7);
/// let cohort = simulation.cohort();
/// let [train, other] = [0..200, 200..400].map(|range| Selection::all(&cohort).part(range));
/// let sample = |records| TimingSample { records, details: None };
/// // A generator that hands out the records it trained on.
/// let samples = TimingSamples {
///     real: sample(train),
///     synthetic: sample(train),
///     other: Some(sample(other)),
///     vocabulary: simulation.vocabulary(),
///     scales: &BTreeMap::new(),
/// };
/// let found = rarity(&samples, &RarityOptions::default())?;
/// assert!(found.synthetic.copies > 190 && found.other.unwrap().copies < 10);
/// # Ok::<(), consequence_evaluate::BadRecord>(())
/// ```
pub fn rarity(samples: &TimingSamples<'_>, options: &RarityOptions) -> Result<Rarity, BadRecord> {
    for sample in [Some(samples.real), Some(samples.synthetic), samples.other].into_iter().flatten()
    {
        check(sample.records, samples.vocabulary)?;
    }
    let known = Patients::of(&samples.real, samples);
    let synthetic = known.shown(&samples.synthetic, samples, options.below);
    let other =
        samples.other.as_ref().map(|other| known.shown(other, samples, options.below).shown);
    let mut written: Vec<Code> = synthetic.written.into_iter().collect();
    written.sort_unstable_by_key(|code| (known.codes[code.index()], *code));
    let is_rare = |&&patients: &&u32| (1..options.below).contains(&patients);
    Ok(Rarity {
        below: options.below,
        real_records: samples.real.records.len() as u64,
        rare_codes: known.codes.iter().filter(is_rare).count() as u64,
        written: written.iter().map(|&code| samples.vocabulary.name(code).to_owned()).collect(),
        smallest_cell: synthetic.smallest_cell.map(u64::from),
        synthetic: synthetic.shown,
        other,
    })
}

/// How many patients have each code, cell, value and record.
struct Patients<'a> {
    codes: Vec<u32>,
    cells: FxHashMap<&'a [Code], u32>,
    values: FxHashMap<(u32, u32), u32>,
    /// The records, of which only the codes are left that count.
    records: CodesOnly<'a>,
    /// By a digest: which of them have it, each that is different once, and how many are the same.
    digests: FxHashMap<u64, Vec<(usize, u32)>>,
}

/// What one sample shows.
#[derive(Default)]
struct Sample {
    shown: Shown,
    written: FxHashSet<Code>,
    smallest_cell: Option<u32>,
}

impl<'a> Patients<'a> {
    fn of(real: &TimingSample<'a>, samples: &TimingSamples<'a>) -> Self {
        let mut known = Self {
            codes: vec![0; samples.vocabulary.len()],
            cells: FxHashMap::default(),
            values: FxHashMap::default(),
            records: CodesOnly::of(real.records, samples.vocabulary),
            digests: FxHashMap::default(),
        };
        for (record, details) in real.records() {
            for code in distinct(record) {
                known.codes[code.index()] += 1;
            }
            *known.cells.entry(record.visit(0)).or_default() += 1;
            let values: FxHashSet<(u32, u32)> = details.events.iter().filter_map(value).collect();
            for value in values {
                *known.values.entry(value).or_default() += 1;
            }
        }
        let records = known.records.records();
        for (index, record) in records.records().enumerate() {
            let found = known.digests.entry(digest(record)).or_default();
            match found.iter_mut().find(|(one, _)| same(records.record(*one), record)) {
                Some((_, count)) => *count += 1,
                None => found.push((index, 1)),
            }
        }
        known
    }

    fn shown(&self, sample: &TimingSample<'_>, samples: &TimingSamples<'_>, below: u32) -> Sample {
        let is_rare = |patients: u32| (1..below).contains(&patients);
        let mut found = Sample::default();
        for (record, details) in sample.records() {
            let shown = &mut found.shown;
            shown.records += 1;
            let mut rare = distinct(record);
            rare.retain(|code| is_rare(self.codes[code.index()]));
            shown.with_rare_codes += u64::from(!rare.is_empty());
            found.written.extend(rare);
            if let Some(&patients) = self.cells.get(record.visit(0)) {
                shown.in_small_cells += u64::from(is_rare(patients));
                let least = found.smallest_cell.map_or(patients, |least| least.min(patients));
                found.smallest_cell = Some(least);
            }
            for value in details.events.iter().filter_map(value) {
                shown.values += 1;
                let patients = self.values.get(&value).copied().unwrap_or(0);
                shown.rare_values += u64::from(is_rare(patients));
            }
        }
        let codes = CodesOnly::of(sample.records, samples.vocabulary);
        let copies = codes.records().records().filter(|&record| self.is_of_one(record));
        found.shown.copies = copies.count() as u64;
        found
    }

    /// Whether one patient, and no other, has the codes of a record, visit by visit.
    fn is_of_one(&self, record: RecordView<'_>) -> bool {
        let real = self.records.records();
        let known = self.digests.get(&digest(record)).map_or(&[][..], Vec::as_slice);
        known.iter().any(|&(index, count)| count == 1 && same(real.record(index), record))
    }
}

fn same(one: RecordView<'_>, other: RecordView<'_>) -> bool {
    one.visits().eq(other.visits())
}

fn distinct(record: RecordView<'_>) -> Vec<Code> {
    let mut codes: Vec<Code> = record.visits().flatten().copied().collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The code and the bits of the value of an event.
fn value(event: &EventDetail) -> Option<(u32, u32)> {
    // Both zeros are one value.
    Some((event.code.0, (event.value? + 0.0).to_bits()))
}

fn digest(record: RecordView<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    for visit in record.visits() {
        visit.hash(&mut hasher);
    }
    hasher.finish()
}
