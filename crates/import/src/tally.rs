//! How many records have each code, counted before the vocabulary is fixed.

use consequence_record::DayBand;
use rustc_hash::FxHashMap;

use crate::build::{Draft, day};
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
    /// By the days between two encounters: how often, and in how many records.
    days: FxHashMap<i64, Days>,
    /// The number of the last record that had each code.
    last: Vec<u64>,
}

#[derive(Default)]
struct Days {
    count: u64,
    records: u64,
    last: u64,
}

/// Records that must have a number of days before it has a band of its own, and what part of all days
/// between encounters it must be.
const FEWEST_RECORDS: u64 = 10;
const LEAST_SHARE: u64 = 200;
/// How much more frequent it must be than the other days of its band are on average.
const STANDS_OUT: u64 = 3;
/// The most bands of one day.
const MOST_OWN: usize = 24;

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
            days: FxHashMap::default(),
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
        let days = draft.visits.iter().filter_map(|visit| day(visit.time)).collect::<Vec<i64>>();
        for pair in days.windows(2) {
            let met = self.days.entry(pair[1] - pair[0]).or_default();
            met.count += 1;
            met.records += u64::from(met.last != self.records);
            met.last = self.records;
        }
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

impl Tally {
    /// The days between encounters that stand out, as appointments do: four weeks to the day.
    pub fn days_of_their_own(&self) -> Vec<u32> {
        let total: u64 = self.days.values().map(|days| days.count).sum();
        let mut found: Vec<(u64, u32)> = Vec::new();
        for band in DayBand::gaps() {
            let Some(to) = band.to.filter(|to| *to > band.from + 1) else { continue };
            let met = |day: u32| self.days.get(&i64::from(day));
            let count = |day: u32| met(day).map_or(0, |days| days.count);
            let in_band: u64 = (band.from..to).map(count).sum();
            for day in band.from..to {
                let others = (in_band - count(day)) / u64::from(to - band.from - 1);
                if met(day).is_some_and(|days| days.records >= FEWEST_RECORDS)
                    && count(day) * LEAST_SHARE >= total
                    && count(day) >= STANDS_OUT * others
                {
                    found.push((count(day), day));
                }
            }
        }
        found.sort_unstable_by_key(|&(count, day)| (std::cmp::Reverse(count), day));
        found.into_iter().take(MOST_OWN).map(|(_, day)| day).collect()
    }

    /// Takes over new bands of days: what records have of them is known from the days.
    pub fn renew_gaps(&mut self, old: &[u32], finals: &Finals) {
        self.patients.resize(finals.names.len(), 0);
        old.iter().for_each(|&code| self.patients[code as usize] = 0);
        for (&days, met) in &self.days {
            if let Some(code) = finals.gap(days) {
                self.patients[code as usize] += met.records;
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
