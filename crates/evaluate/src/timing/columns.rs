//! The dates, stays, ages and values of records, column by column.

use std::collections::BTreeMap;

use consequence_record::calendar::{civil, day_of, weekday};
use consequence_record::{AgeBand, Code, DetailsView, Part, RecordView, Vocabulary};
use rustc_hash::FxHashMap;

use super::TimingSample;
use super::distance::sorted;
use super::faults::{Faults, Misplaced};

/// A day, counted from 1970-01-01.
pub(super) fn day(time: i64) -> i32 {
    // No calendar of a record reaches so far that this would not do.
    day_of(time).clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// The columns of some records; lists of numbers are sorted.
#[derive(Default)]
pub(super) struct Columns {
    /// Days between the dates on which visits begin.
    pub gaps: Vec<i32>,
    /// The same after a visit with each of the codes asked for.
    pub gaps_after: Vec<Vec<i32>>,
    /// Days from the first visit to the last.
    pub spans: Vec<i32>,
    /// Visits that begin on a Monday, a Tuesday and so on.
    pub weekdays: [u64; 7],
    /// Visits that begin in January, in February and so on.
    pub months: [u64; 12],
    /// Days from birth to the date on which a visit begins.
    pub ages: Vec<i32>,
    /// Visits at which the source itself gave an age band.
    pub age_bands: BTreeMap<AgeBand, u64>,
    /// Days from the beginning of a visit to its end.
    pub stays: Vec<i32>,
    /// The values of each test.
    pub values: FxHashMap<u32, Vec<f32>>,
    pub after_death: Misplaced,
    pub before_birth: Misplaced,
}

impl Columns {
    /// Gathers them; `tests` has the test of each code that may have a value.
    pub fn of(
        sample: &TimingSample<'_>,
        vocabulary: &Vocabulary,
        tests: &FxHashMap<Code, u32>,
        after: &[Code],
    ) -> Self {
        let mut columns = Self { gaps_after: vec![Vec::new(); after.len()], ..Self::default() };
        let mut faults = Faults::new(vocabulary);
        for (record, details) in sample.records() {
            columns.add(record, details, tests, after);
            faults.add(record, details);
        }
        (columns.after_death, columns.before_birth) = (faults.after_death, faults.before_birth);
        let sort = |numbers: &mut Vec<i32>| numbers.sort_unstable();
        [&mut columns.gaps, &mut columns.spans, &mut columns.ages, &mut columns.stays]
            .into_iter()
            .chain(&mut columns.gaps_after)
            .for_each(sort);
        columns.values.values_mut().for_each(|values| *values = sorted(std::mem::take(values)));
        columns
    }

    fn add(
        &mut self,
        record: RecordView<'_>,
        details: DetailsView<'_>,
        tests: &FxHashMap<Code, u32>,
        after: &[Code],
    ) {
        let days: Vec<i32> = details.times.iter().map(|&time| day(time)).collect();
        for (visit, pair) in days.windows(2).enumerate() {
            let gap = pair[1].saturating_sub(pair[0]);
            self.gaps.push(gap);
            let before = if visit + 1 < record.len() { record.visit(visit + 1) } else { &[] };
            for (code, gaps) in after.iter().zip(&mut self.gaps_after) {
                if before.binary_search(code).is_ok() {
                    gaps.push(gap);
                }
            }
        }
        if let (Some(first), Some(last)) = (days.first(), days.last()) {
            self.spans.push(last.saturating_sub(*first));
        }
        let birth = details.birth.map(day);
        for (visit, &begin) in days.iter().enumerate() {
            // The first of January 1970 was a Thursday.
            self.weekdays[weekday(begin.into())] += 1;
            self.months[civil(begin.into()).1 as usize - 1] += 1;
            self.ages.extend(birth.map(|birth| begin.saturating_sub(birth)));
            let end = details.end(visit + 1).map(day);
            self.stays.extend(end.map(|end| end.saturating_sub(begin)));
        }
        for &band in details.ages.iter().flatten() {
            *self.age_bands.entry(band).or_default() += 1;
        }
        for event in details.events {
            if let (Some(value), Some(&test)) = (event.value, tests.get(&event.code)) {
                self.values.entry(test).or_default().push(value);
            }
        }
    }
}

/// The codes that are most frequent in dated visits which another follows; of equal ones, the first
/// first.
pub(super) fn commonest_before(
    sample: &TimingSample<'_>,
    vocabulary: &Vocabulary,
    limit: usize,
) -> Vec<Code> {
    let mut counts = vec![0u64; vocabulary.len()];
    for (record, details) in sample.records() {
        let followed = details.times.len().min(record.len() - 1).saturating_sub(1);
        for visit in 1..=followed {
            record.visit(visit).iter().for_each(|code| counts[code.index()] += 1);
        }
    }
    let fits = |code: &Code| counts[code.index()] > 0 && vocabulary.part(*code) == Part::Codes;
    let mut codes: Vec<Code> = vocabulary.codes().filter(fits).collect();
    codes.sort_by_key(|code| std::cmp::Reverse(counts[code.index()]));
    codes.truncate(limit);
    codes
}
