//! How many records have each code, counted before the vocabulary is fixed.

use rustc_hash::FxHashMap;

use crate::build::Draft;
use crate::finals::Finals;
use crate::records::Drafts;
use crate::summary::ImportSummary;
use crate::{Import, ImportError};

/// What was counted over all records.
pub(crate) struct Tally {
    pub records: u64,
    /// The records that have each code.
    pub patients: Vec<u64>,
    /// The values that each code has.
    pub values: FxHashMap<u32, u64>,
    pub habits: Habits,
    /// The number of the last record that had each code.
    last: Vec<u64>,
}

/// What records have in common that rules can say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// No first encounter has a code of the days since the one before, and every other has one.
    pub gaps: bool,
    /// No encounter has two codes of how long it took.
    pub one_stay: bool,
    /// Every encounter has one.
    pub all_stay: bool,
}

impl Tally {
    /// Counts the records of an import, and what was left out of them. With `rare`, encounters that
    /// have rare codes alone are left out.
    pub fn of(
        import: &Import,
        rare: Option<&[bool]>,
    ) -> Result<(Self, ImportSummary), ImportError> {
        let codes = import.finals.names.len();
        let mut tally = Self {
            records: 0,
            patients: vec![0; codes],
            values: FxHashMap::default(),
            habits: Habits { gaps: true, one_stay: true, all_stay: true },
            last: vec![0; codes],
        };
        let mut drafts = Drafts::new(import, ImportSummary::default());
        while let Some((_, mut draft)) = drafts.advance()? {
            let emptied = rare
                .is_some_and(|rare| drafts.drop_emptied(&mut draft, |code| !rare[code as usize]));
            if !emptied {
                tally.see(&draft, &import.finals);
            }
        }
        Ok((tally, drafts.summary))
    }

    fn see(&mut self, draft: &Draft, finals: &Finals) {
        self.records += 1;
        self.habits.see(draft, finals);
        let encounter = draft.visits.iter().flat_map(|visit| &visit.codes);
        for code in draft.statics.iter().chain(encounter) {
            let number = code.code as usize;
            if self.last[number] != self.records {
                self.last[number] = self.records;
                self.patients[number] += 1;
            }
            if !code.value.is_nan() {
                *self.values.entry(code.code).or_default() += u64::from(code.rows);
            }
        }
    }
}

impl Habits {
    fn see(&mut self, draft: &Draft, finals: &Finals) {
        for (index, visit) in draft.visits.iter().enumerate() {
            let (mut gaps, mut stays) = (0, 0);
            for code in &visit.codes {
                gaps += u32::from(finals.is_gap(code.code));
                stays += u32::from(finals.is_stay(code.code));
            }
            self.gaps &= gaps == u32::from(index > 0);
            self.one_stay &= stays <= 1;
            self.all_stay &= stays == 1;
        }
    }
}
