//! How many records have each code, counted before the vocabulary is fixed.

use std::collections::BTreeMap;

use consequence_record::DayBand;
use consequence_tally::{Coded, Counts, Damaged, Reader, Writer, counts};
use rustc_hash::FxHashMap;

use crate::build::{Draft, DraftCode};
use crate::encounters::day;
use crate::finals::Finals;
use crate::records::Drafts;
use crate::summary::ImportSummary;
use crate::{Import, ImportError};

/// What was counted of some records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub records: u64,
    /// The records that have each code.
    pub patients: Vec<u64>,
    /// The values that each code has.
    pub values: BTreeMap<u32, u64>,
    pub habits: Habits,
    /// By the days between two encounters: how often, and in how many records.
    days: BTreeMap<i64, [u64; 2]>,
}

counts!(Counted { records, patients, values, habits, days });

/// Counts records one after the other.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub counted: Counted,
    /// The number of the last record that had each code, and each number of days.
    last: Vec<u64>,
    last_days: FxHashMap<i64, u64>,
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// No first encounter has a code of the days since the one before, and every other has one.
    pub gaps: bool,
    /// No encounter has two codes of how long it took.
    pub one_stay: bool,
    /// Every encounter has one.
    pub all_stay: bool,
    /// No encounter is coded in two editions of a classification.
    pub one_edition: bool,
    /// None is coded in an older edition than one before it.
    pub newer_editions: bool,
}

impl Default for Habits {
    /// What holds of no record.
    fn default() -> Self {
        Self { gaps: true, one_stay: true, all_stay: true, one_edition: true, newer_editions: true }
    }
}

impl Coded for Habits {
    fn write(&self, out: &mut Writer) {
        let Self { gaps, one_stay, all_stay, one_edition, newer_editions } = *self;
        [gaps, one_stay, all_stay, one_edition, newer_editions].write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let [gaps, one_stay, all_stay, one_edition, newer_editions] = Coded::read(from)?;
        Ok(Self { gaps, one_stay, all_stay, one_edition, newer_editions })
    }
}

impl Counts for Habits {
    fn add(&mut self, other: Self) {
        self.gaps &= other.gaps;
        self.one_stay &= other.one_stay;
        self.all_stay &= other.all_stay;
        self.one_edition &= other.one_edition;
        self.newer_editions &= other.newer_editions;
    }
}

impl Tally {
    /// Counts the records of an import, and what was left out of them. With `rare`, encounters that
    /// have rare codes alone are left out.
    pub fn of(
        import: &Import,
        rare: Option<&[bool]>,
    ) -> Result<(Counted, ImportSummary), ImportError> {
        let finals = &import.known.finals;
        let mut tally = Self::new(finals);
        let mut drafts = Drafts::new(import, ImportSummary::default());
        while let Some((_, mut draft)) = drafts.advance()? {
            let emptied = rare
                .is_some_and(|rare| drafts.drop_emptied(&mut draft, |code| !rare[code as usize]));
            if !emptied {
                tally.see(&draft, finals);
            }
        }
        Ok((tally.counted, drafts.summary))
    }

    /// No record counted.
    pub fn new(finals: &Finals) -> Self {
        let patients = vec![0; finals.names.len()];
        Self {
            last: patients.clone(),
            counted: Counted { patients, ..Counted::default() },
            last_days: FxHashMap::default(),
        }
    }

    /// Counts a record.
    pub fn see(&mut self, draft: &Draft, finals: &Finals) {
        let counted = &mut self.counted;
        counted.records += 1;
        counted.habits.see(draft, finals);
        let days = draft.visits.iter().filter_map(|visit| day(visit.time)).collect::<Vec<i64>>();
        for pair in days.windows(2) {
            let days = pair[1] - pair[0];
            let [times, records] = counted.days.entry(days).or_default();
            *times += 1;
            let last = self.last_days.insert(days, counted.records);
            *records += u64::from(last != Some(counted.records));
        }
        let encounter = draft.visits.iter().flat_map(|visit| &visit.codes);
        for code in draft.statics.iter().chain(encounter) {
            let number = code.code as usize;
            if self.last[number] != counted.records {
                self.last[number] = counted.records;
                counted.patients[number] += 1;
            }
            if !code.value.is_nan() {
                *counted.values.entry(code.code).or_default() += u64::from(code.rows);
            }
        }
    }
}

impl Counted {
    /// The days between encounters that stand out, as appointments do: four weeks to the day.
    pub fn days_of_their_own(&self) -> Vec<u32> {
        let total: u64 = self.days.values().map(|[times, _]| times).sum();
        let mut found: Vec<(u64, u32)> = Vec::new();
        for band in DayBand::gaps() {
            let Some(to) = band.to.filter(|to| *to > band.from + 1) else { continue };
            let met = |day: u32| self.days.get(&i64::from(day)).copied().unwrap_or_default();
            let count = |day: u32| met(day)[0];
            let in_band: u64 = (band.from..to).map(count).sum();
            for day in band.from..to {
                let others = (in_band - count(day)) / u64::from(to - band.from - 1);
                if met(day)[1] >= FEWEST_RECORDS
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
        for (&days, [_, records]) in &self.days {
            if let Some(code) = finals.gap(days) {
                self.patients[code as usize] += records;
            }
        }
    }
}

impl Habits {
    fn see(&mut self, draft: &Draft, finals: &Finals) {
        let order: Vec<u32> = finals.editions().collect();
        let mut newest = 0;
        for (index, visit) in draft.visits.iter().enumerate() {
            let (mut gaps, mut stays) = (0, 0);
            let place = |code: &DraftCode| order.iter().position(|&edition| edition == code.code);
            let editions: Vec<usize> = visit.codes.iter().filter_map(place).collect();
            self.one_edition &= editions.len() <= 1;
            self.newer_editions &= editions.iter().all(|&edition| edition >= newest);
            newest = editions.into_iter().chain([newest]).max().unwrap_or(newest);
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
