//! All there is over a small vocabulary.

use std::sync::Arc;

use consequence_record::{Code, Kind, Record, Vocabulary};

/// So many static codes, `S0` and on, and codes of encounters, `E0` and on.
pub fn vocabulary(statics: usize, encounters: usize) -> Arc<Vocabulary> {
    let statics = (0..statics).map(|code| (format!("S{code}"), Kind::Static));
    let encounters = (0..encounters).map(|code| (format!("E{code}"), Kind::Encounter));
    Arc::new(Vocabulary::new(statics.chain(encounters)).expect("the names differ"))
}

/// Every set of codes that a visit could hold.
pub fn visits(vocabulary: &Vocabulary, visit: usize) -> impl Iterator<Item = Vec<Code>> + use<> {
    let kind = Kind::of_visit(visit);
    let codes: Vec<Code> = vocabulary
        .codes()
        .filter(|&code| code != vocabulary.end() && vocabulary.kind(code) == kind)
        .collect();
    (0..1u32 << codes.len()).map(move |set| {
        let chosen = codes.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
        chosen.map(|(_, &code)| code).collect()
    })
}

/// Every record of up to so many encounters that ended, the shortest first.
///
/// ```
/// use consequence_testing::every::{records, vocabulary};
///
/// let records = records(&vocabulary(1, 2), 2);
/// assert_eq!(records.len(), 2 * (4 + 16));
/// ```
pub fn records(vocabulary: &Vocabulary, max_visits: usize) -> Vec<Record> {
    let mut all = Vec::new();
    let mut open: Vec<Vec<Vec<Code>>> = visits(vocabulary, 0).map(|codes| vec![codes]).collect();
    for visit in 1..=max_visits {
        let longer = open.iter().flat_map(|before| {
            visits(vocabulary, visit).map(|codes| [before.as_slice(), &[codes]].concat())
        });
        open = longer.collect();
        all.extend(open.iter().cloned().map(Record::new));
    }
    all
}
