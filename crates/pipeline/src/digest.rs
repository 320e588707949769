//! What records are, in a few letters.

use consequence_record::{Cohort, Kind, Vocabulary};
use sha2::{Digest, Sha256};

/// The digest of some records of a cohort and of the codes they are numbered by. Records in several
/// groups are not those records in one.
pub fn records_digest(cohort: &Cohort, vocabulary: &Vocabulary, groups: &[&[usize]]) -> String {
    let mut hasher = Sha256::new();
    let count = |hasher: &mut Sha256, count: usize| hasher.update((count as u64).to_le_bytes());
    count(&mut hasher, vocabulary.len());
    for code in vocabulary.codes() {
        let name = vocabulary.name(code);
        count(&mut hasher, name.len());
        hasher.update(name);
        hasher.update([u8::from(vocabulary.kind(code) == Kind::Static)]);
    }
    for group in groups {
        count(&mut hasher, group.len());
        for &index in *group {
            let record = cohort.record(index);
            hasher.update([u8::from(record.ended())]);
            count(&mut hasher, record.len());
            for visit in record.visits() {
                count(&mut hasher, visit.len());
                visit.iter().for_each(|code| hasher.update(code.0.to_le_bytes()));
            }
        }
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
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
