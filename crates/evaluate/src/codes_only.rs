//! Records without the codes that tell when something was, or what was measured.
//!
//! Frequencies, utility, privacy and perplexity are over what records were before those codes came:
//! static codes, codes of encounters and `END`. So figures of one cohort compare, whether its dates and
//! values were taken in or not.

use std::borrow::Cow;

use consequence_record::{Code, Cohort, Part, Selection, Vocabulary};

/// Whether measures of codes count a code: `GAP//7-14d`, `STAY//2d` and `LAB//50912//q4` they do not.
pub(crate) fn counts(vocabulary: &Vocabulary, code: Code) -> bool {
    !matches!(vocabulary.part(code), Part::Time | Part::Values)
}

/// Records of which only the codes are left that measures count: the records themselves where that
/// is all of them.
pub(crate) enum CodesOnly<'a> {
    All(Selection<'a>),
    Fewer(Cohort),
}

impl<'a> CodesOnly<'a> {
    /// Of records whose codes are of the vocabulary.
    pub fn of(records: Selection<'a>, vocabulary: &Vocabulary) -> Self {
        if vocabulary.codes().all(|code| counts(vocabulary, code)) {
            return Self::All(records);
        }
        let mut fewer = Cohort::default();
        for index in records.indices() {
            let record = records.cohort().record(index);
            let visits: Vec<Cow<'_, [Code]>> = record
                .visits()
                .map(|visit| match visit.iter().all(|&code| counts(vocabulary, code)) {
                    true => Cow::Borrowed(visit),
                    false => {
                        visit.iter().copied().filter(|&code| counts(vocabulary, code)).collect()
                    }
                })
                .collect();
            let visits = visits.iter().map(|visit| &**visit);
            fewer.push_visits(records.cohort().id(index), visits, record.ended());
        }
        Self::Fewer(fewer)
    }

    /// The records, in the order of the selection.
    pub fn records(&self) -> Selection<'_> {
        match self {
            Self::All(records) => *records,
            Self::Fewer(cohort) => Selection::all(cohort),
        }
    }
}
