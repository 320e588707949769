//! A cohort as a poor generator would write it.

use consequence_record::{Code, Cohort, Kind, Record, Vocabulary};

/// Records that are copied from the real cohort.
const COPIES: usize = 80;

/// Records of a good cohort with copies of real ones among them, codes dropped that rules ask for,
/// second static codes, and missing ends.
pub fn spoilt(good: &Cohort, real: &Cohort, vocabulary: &Vocabulary) -> Cohort {
    let statics: Vec<Code> =
        vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static).collect();
    let mut cohort = Cohort::default();
    for index in 0..good.len() {
        let from = if index < COPIES { real } else { good };
        let mut record = from.record(index).to_record();
        if index >= COPIES {
            spoil(&mut record, index, &statics);
        }
        let ended = record.ended;
        let visits = record.visits;
        cohort.push(&format!("bad-{index}"), &Record { ended, ..Record::new(visits) });
    }
    cohort
}

fn spoil(record: &mut Record, index: usize, statics: &[Code]) {
    if index.is_multiple_of(7) {
        record.visits[0].push(statics[index % statics.len()]);
    }
    for (number, visit) in record.visits.iter_mut().enumerate().skip(1) {
        if (index + number).is_multiple_of(4) && visit.len() > 1 {
            visit.remove(index % visit.len());
        }
    }
    record.ended = !index.is_multiple_of(11);
}
