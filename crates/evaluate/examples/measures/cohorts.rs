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
    for place in 0..good.len() {
        let from = if place < COPIES { real } else { good };
        let mut record = from.record(place).to_record();
        if place >= COPIES {
            spoil(&mut record, place, &statics);
        }
        let ended = record.ended;
        let visits = record.visits;
        cohort.push(&format!("bad-{place}"), &Record { ended, ..Record::new(visits) });
    }
    cohort
}

fn spoil(record: &mut Record, place: usize, statics: &[Code]) {
    if place.is_multiple_of(7) {
        record.visits[0].push(statics[place % statics.len()]);
    }
    for (number, visit) in record.visits.iter_mut().enumerate().skip(1) {
        if (place + number).is_multiple_of(4) && visit.len() > 1 {
            visit.remove(place % visit.len());
        }
    }
    record.ended = !place.is_multiple_of(11);
}
