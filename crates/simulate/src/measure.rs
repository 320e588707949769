//! The figures of a cohort.

use consequence_record::{Cohort, Kind, Vocabulary};

use crate::preset::Figures;

/// Counts what the paper tables of a dataset. Only codes that occur are counted, and `END` is not.
///
/// ```
/// use consequence_simulate::{Preset, Simulation, measure};
///
/// let simulation = Simulation::new(Preset::Outpatient, 500, 7);
/// let figures = measure(&simulation.cohort(), simulation.vocabulary());
/// assert_eq!((figures.records, figures.demographic), (500, 7));
/// ```
pub fn measure(cohort: &Cohort, vocabulary: &Vocabulary) -> Figures {
    let mut used = vec![false; vocabulary.len()];
    let mut codes = 0u64;
    for record in cohort.records() {
        for (number, visit) in record.visits().enumerate() {
            codes += if number == 0 { 0 } else { visit.len() as u64 };
            for code in visit {
                if let Some(used) = used.get_mut(code.index()) {
                    *used = true;
                }
            }
        }
    }
    let count = |kind| {
        vocabulary.codes().filter(|&c| used[c.index()] && vocabulary.kind(c) == kind).count()
    };
    let records = cohort.len();
    let encounters = cohort.visit_count() - records;
    Figures {
        records,
        visits_per_record: encounters as f64 / records.max(1) as f64,
        codes_per_visit: codes as f64 / encounters.max(1) as f64,
        codes: count(Kind::Encounter),
        demographic: count(Kind::Static),
    }
}
