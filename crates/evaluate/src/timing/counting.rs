//! The dates, stays, ages and values of records, counted.

use std::collections::BTreeMap;

use consequence_record::calendar::{civil, day_of, weekday};
use consequence_record::{AgeBand, Code, DetailsView, Part, RecordView, Vocabulary};
use consequence_tally::{Repeats, Values, counts};
use rustc_hash::FxHashMap;

use super::TimingSample;
use super::faults::{Faults, Misplaced};
use super::known::triples;
use crate::measured::{BadRecord, check};

/// A day, counted from 1970-01-01.
pub(super) fn day(time: i64) -> i32 {
    // No calendar of a record reaches so far that this would not do.
    day_of(time).clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Numbers of days, each with how often it is there.
pub(super) type Days = FxHashMap<i32, u64>;

/// What is counted of the dates, stays, ages and values of some records. Counts of other records can be added.
///
/// ```
/// use std::collections::BTreeMap;
/// use consequence_evaluate::{Sides, TimingCounts, TimingOptions, TimingSample, followed_codes, timing_of};
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
/// use consequence_tally::Counts;
///
/// let simulation = Simulation::new(Preset::Inpatient, 300, 7).detailed();
/// let (cohort, details) = simulation.cohort();
/// let codes = simulation.vocabulary();
/// let part = |range| TimingSample { records: Selection::all(&cohort).part(range), details: Some(&details) };
/// let options = TimingOptions::default();
/// let after = followed_codes(&part(0..200), codes)?.commonest(codes, options.codes);
/// let mut real = TimingCounts::of(&part(0..90), codes, &after)?;
/// real.add(TimingCounts::of(&part(90..200), codes, &after)?);
/// let synthetic = TimingCounts::of(&part(200..300), codes, &after)?;
/// let sides = Sides { real, synthetic, other: None };
/// let found = timing_of(&sides, &after, codes, &simulation.scales(), &options);
/// assert_eq!((found.records.real, found.records.synthetic), (200, 100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingCounts {
    pub(super) records: u64,
    /// Whether an encounter has a date.
    pub(super) dated: bool,
    /// Days between the dates on which visits begin.
    pub(super) gaps: Days,
    /// The same after a visit with each of the codes asked for.
    pub(super) gaps_after: Vec<Days>,
    /// Days from the first visit to the last.
    pub(super) spans: Days,
    /// Visits that begin on a Monday, a Tuesday and so on.
    pub(super) weekdays: [u64; 7],
    /// Visits that begin in January, in February and so on.
    pub(super) months: [u64; 12],
    /// Days from birth to the date on which a visit begins.
    pub(super) ages: Days,
    /// Visits at which the source itself gave an age band.
    pub(super) age_bands: BTreeMap<AgeBand, u64>,
    /// Days from the beginning of a visit to its end.
    pub(super) stays: Days,
    /// The values of each code.
    pub(super) values: BTreeMap<Code, Values>,
    pub(super) after_death: Misplaced,
    pub(super) before_birth: Misplaced,
    /// Codes with a value and a date, and which.
    pub(super) triples: u64,
    pub(super) known: Repeats,
}

counts!(TimingCounts {
    records,
    dated,
    gaps,
    gaps_after,
    spans,
    weekdays,
    months,
    ages,
    age_bands,
    stays,
    values,
    after_death,
    before_birth,
    triples,
    known,
});

impl TimingCounts {
    /// Counts records; days after a visit are counted apart for each of these codes.
    pub fn of(
        sample: &TimingSample<'_>,
        vocabulary: &Vocabulary,
        after: &[Code],
    ) -> Result<Self, BadRecord> {
        check(sample.records, vocabulary)?;
        let mut counts = Self { gaps_after: vec![Days::default(); after.len()], ..Self::default() };
        let mut faults = Faults::new(vocabulary);
        for (record, details) in sample.records() {
            counts.add_record(record, details, after);
            faults.add(record, details);
        }
        (counts.after_death, counts.before_birth) = (faults.after_death, faults.before_birth);
        for triple in triples(sample) {
            counts.triples += 1;
            counts.known.push(triple);
        }
        Ok(counts)
    }

    fn add_record(&mut self, record: RecordView<'_>, details: DetailsView<'_>, after: &[Code]) {
        self.records += 1;
        self.dated |= !details.times.is_empty();
        let days: Vec<i32> = details.times.iter().map(|&time| day(time)).collect();
        for (visit, pair) in days.windows(2).enumerate() {
            let gap = pair[1].saturating_sub(pair[0]);
            count(&mut self.gaps, gap);
            let before = if visit + 1 < record.len() { record.visit(visit + 1) } else { &[] };
            for (code, gaps) in after.iter().zip(&mut self.gaps_after) {
                if before.binary_search(code).is_ok() {
                    count(gaps, gap);
                }
            }
        }
        if let (Some(first), Some(last)) = (days.first(), days.last()) {
            count(&mut self.spans, last.saturating_sub(*first));
        }
        let birth = details.birth.map(day);
        for (visit, &begin) in days.iter().enumerate() {
            // The first of January 1970 was a Thursday.
            self.weekdays[weekday(begin.into())] += 1;
            self.months[civil(begin.into()).1 as usize - 1] += 1;
            if let Some(birth) = birth {
                count(&mut self.ages, begin.saturating_sub(birth));
            }
            if let Some(end) = details.end(visit + 1).map(day) {
                count(&mut self.stays, end.saturating_sub(begin));
            }
        }
        for &band in details.ages.iter().flatten() {
            *self.age_bands.entry(band).or_default() += 1;
        }
        for event in details.events {
            if let Some(value) = event.value {
                self.values.entry(event.code).or_default().push(value);
            }
        }
    }
}

fn count(days: &mut Days, number: i32) {
    *days.entry(number).or_default() += 1;
}

/// Dated visits which another follows, by the codes that they have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedCodes {
    visits: Vec<u64>,
}

counts!(FollowedCodes { visits });

impl FollowedCodes {
    /// The codes that are most frequent in them; of equal ones, the first first.
    pub fn commonest(&self, vocabulary: &Vocabulary, limit: usize) -> Vec<Code> {
        let visits = |code: &Code| self.visits[code.index()];
        let fits = |code: &Code| visits(code) > 0 && vocabulary.part(*code) == Part::Codes;
        let mut codes: Vec<Code> = vocabulary.codes().filter(fits).collect();
        codes.sort_by_key(|code| std::cmp::Reverse(visits(code)));
        codes.truncate(limit);
        codes
    }
}

/// Counts the codes of dated visits which another follows.
pub fn followed_codes(
    sample: &TimingSample<'_>,
    vocabulary: &Vocabulary,
) -> Result<FollowedCodes, BadRecord> {
    check(sample.records, vocabulary)?;
    let mut visits = vec![0u64; vocabulary.len()];
    for (record, details) in sample.records() {
        let followed = details.times.len().min(record.len() - 1).saturating_sub(1);
        for visit in 1..=followed {
            record.visit(visit).iter().for_each(|code| visits[code.index()] += 1);
        }
    }
    Ok(FollowedCodes { visits })
}
