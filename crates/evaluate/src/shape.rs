//! How long records are, how full visits, and how frequent static codes.

use std::fmt::{self, Display, Formatter};

use consequence_record::{Selection, Vocabulary};
use serde::Serialize;

use crate::words::count;

/// How often a static code occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StaticCode {
    /// Its name.
    pub code: String,
    /// The records that hold it.
    pub records: u64,
}

/// The lengths of records and visits, and the static codes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CohortShape {
    /// Records.
    pub records: u64,
    /// Encounters of all records.
    pub encounters: u64,
    /// Codes of all encounters.
    pub codes: u64,
    /// At index `n`, the records with `n` encounters.
    pub visits_per_record: Vec<u64>,
    /// At index `n`, the encounters with `n` codes.
    pub codes_per_visit: Vec<u64>,
    /// All static codes of the vocabulary, in its order.
    pub static_codes: Vec<StaticCode>,
}

impl CohortShape {
    /// Counts some records of a cohort, whose codes are of the vocabulary.
    pub(crate) fn new(records: Selection<'_>, vocabulary: &Vocabulary) -> Self {
        let mut shape = Self { records: records.len() as u64, ..Self::default() };
        let mut statics = vec![0u64; vocabulary.len()];
        for record in records.records() {
            shape.encounters += record.len() as u64 - 1;
            bump(&mut shape.visits_per_record, record.len() - 1);
            record.visit(0).iter().for_each(|code| statics[code.index()] += 1);
            for visit in record.visits().skip(1) {
                shape.codes += visit.len() as u64;
                bump(&mut shape.codes_per_visit, visit.len());
            }
        }
        shape.static_codes = vocabulary
            .statics()
            .map(|code| StaticCode {
                code: vocabulary.name(code).to_owned(),
                records: statics[code.index()],
            })
            .collect();
        shape
    }

    /// Encounters a record.
    pub fn mean_visits(&self) -> f64 {
        self.encounters as f64 / self.records.max(1) as f64
    }

    /// Codes an encounter.
    pub fn mean_codes(&self) -> f64 {
        self.codes as f64 / self.encounters.max(1) as f64
    }
}

fn bump(counts: &mut Vec<u64>, index: usize) {
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    counts[index] += 1;
}

impl Display for CohortShape {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}, {:.3} encounters a record, {:.3} codes an encounter",
            count(self.records, "record"),
            self.mean_visits(),
            self.mean_codes()
        )
    }
}
