//! What records are, in a few letters.

use consequence_record::{Cohort, Kind, RecordView, Selection, Vocabulary};
use consequence_tally::{Counts, coded};
use sha2::{Digest, Sha256};

/// The digest of some records of a cohort and of the codes they are numbered by. Records in several
/// groups are not those records in one.
pub fn records_digest(cohort: &Cohort, vocabulary: &Vocabulary, groups: &[&[usize]]) -> String {
    let mut hasher = Sha256::new();
    add_codes(&mut hasher, vocabulary);
    for group in groups {
        add_count(&mut hasher, group.len());
        group.iter().for_each(|&index| add_record(&mut hasher, cohort.record(index)));
    }
    letters(hasher)
}

fn add_count(hasher: &mut Sha256, count: usize) {
    hasher.update((count as u64).to_le_bytes());
}

fn add_codes(hasher: &mut Sha256, vocabulary: &Vocabulary) {
    add_count(hasher, vocabulary.len());
    for code in vocabulary.codes() {
        let name = vocabulary.name(code);
        add_count(hasher, name.len());
        hasher.update(name);
        hasher.update([u8::from(vocabulary.kind(code) == Kind::Static)]);
    }
}

fn add_record(hasher: &mut Sha256, record: RecordView<'_>) {
    hasher.update([u8::from(record.ended())]);
    add_count(hasher, record.len());
    for visit in record.visits() {
        add_count(hasher, visit.len());
        visit.iter().for_each(|code| hasher.update(code.0.to_le_bytes()));
    }
}

fn letters(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of records in whatever order, to which that of other records can be added.
///
/// ```
/// use consequence_pipeline::RecordsDigest;
/// use consequence_record::{Cohort, Kind, Record, Selection, Vocabulary};
/// use consequence_tally::Counts;
///
/// let vocabulary = Vocabulary::new([("A", Kind::Encounter)])?;
/// let mut cohort = Cohort::default();
/// cohort.push("1", &Record::new(vec![vec![], vec![]]));
/// cohort.push("2", &Record::new(vec![vec![], vec![vocabulary.code("A").unwrap()]]));
/// let of = |records: &[usize]| RecordsDigest::of(Selection::new(&cohort, records));
/// let mut sum = of(&[1]);
/// sum.add(of(&[0]));
/// assert_eq!(sum, of(&[0, 1]));
/// assert_ne!(sum.finish(&vocabulary), of(&[0]).finish(&vocabulary));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordsDigest {
    records: u64,
    /// The sum of the digests of all records, the lowest part first.
    sum: [u64; 4],
}

coded!(RecordsDigest { records, sum });

impl RecordsDigest {
    /// Of some records.
    pub fn of(records: Selection<'_>) -> Self {
        let mut digest = Self::default();
        for record in records.records() {
            let mut hasher = Sha256::new();
            add_record(&mut hasher, record);
            let bytes = hasher.finalize();
            let mut own = Self { records: 1, sum: [0; 4] };
            for (part, bytes) in own.sum.iter_mut().zip(bytes.chunks_exact(8)) {
                *part = bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            }
            digest.add(own);
        }
        digest
    }

    /// In letters, with the codes that the records are numbered by.
    pub fn finish(&self, vocabulary: &Vocabulary) -> String {
        let mut hasher = Sha256::new();
        add_codes(&mut hasher, vocabulary);
        hasher.update(self.records.to_le_bytes());
        self.sum.iter().for_each(|part| hasher.update(part.to_le_bytes()));
        letters(hasher)
    }
}

impl Counts for RecordsDigest {
    fn add(&mut self, other: Self) {
        self.records += other.records;
        let mut carry = 0;
        for (part, more) in self.sum.iter_mut().zip(other.sum) {
            let sum = u128::from(*part) + u128::from(more) + carry;
            (*part, carry) = (sum as u64, sum >> 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};

    use super::records_digest as records;

    #[test]
    fn what_differs_has_another_digest() {
        let codes = |kind| Vocabulary::new([("A", kind), ("B", Kind::Encounter)]).unwrap();
        let [codes, others] = [Kind::Encounter, Kind::Static].map(codes);
        let mut cohort = Cohort::default();
        cohort.push("1", &Record::new(vec![vec![], vec![Code(0)], vec![Code(1)]]));
        cohort.push("2", &Record::new(vec![vec![], vec![Code(0)], vec![Code(1)]]));
        cohort.push("3", &Record::new(vec![vec![], vec![Code(0), Code(1)]]));
        cohort.push("4", &Record::new(vec![vec![], vec![Code(0)], vec![Code(1)]]).cut());
        let of = |groups: &[&[usize]]| records(&cohort, &codes, groups);
        assert_eq!(of(&[&[0], &[2]]), of(&[&[1], &[2]]));
        let all = [of(&[&[0]]), of(&[&[2]]), of(&[&[3]]), of(&[&[0, 2]]), of(&[&[0], &[2]])];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one));
        }
        assert_ne!(records(&cohort, &others, &[&[0]]), all[0]);
    }
}
