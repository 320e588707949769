//! Files that were cut or changed: an error, and never a panic.

use std::fs;
use std::sync::Arc;

use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};
use consequence_tables::{Dataset, meds};

#[test]
fn every_cut_is_refused_and_no_changed_bit_panics() {
    let vocabulary = Vocabulary::new([("A", Kind::Encounter), ("B", Kind::Encounter)]).unwrap();
    let mut cohort = Cohort::default();
    for id in 0..20 {
        let visits = vec![vec![], vec![Code(id % 2)], vec![Code(0), Code(1)]];
        cohort.push(&id.to_string(), &Record::new(visits));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cohort");
    meds::write(&path, &Dataset::new(cohort, Arc::new(vocabulary))).unwrap();
    // The decoder may give up in a panic, which the reader turns into an error; what it says then
    // would go past the test to the screen.
    std::panic::set_hook(Box::new(|_| {}));
    for file in ["data/000000.parquet", "metadata/codes.parquet"] {
        let file = path.join(file);
        let whole = fs::read(&file).unwrap();
        for end in (0..whole.len()).step_by(3) {
            fs::write(&file, &whole[..end]).unwrap();
            let said = Dataset::open(&path).unwrap_err().to_string();
            assert!(said.starts_with("the Parquet file is damaged or cut short"), "{end}: {said}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&file, &bytes).unwrap();
            // Some changes go unnoticed, as the file has no sum over all of it.
            let _ = Dataset::open(&path);
        }
        fs::write(&file, &whole).unwrap();
    }
    drop(std::panic::take_hook());
    assert!(Dataset::open(&path).is_ok());
}
