//! Whether what is told of a record agrees with its codes.

use std::collections::BTreeMap;

use consequence_record::calendar::{DAY, years_between};
use consequence_record::{Code, DayBand, DetailsView, Record, Scale, Vocabulary};

use crate::draw::{LAST_DAY, stands_at_end};
use crate::fit::age_band;

/// What is wrong with the details of a record, or nothing. Nothing is taken over from where they were drawn:
/// days are counted from dates, and bands are read from the names of codes.
///
/// ```
/// use consequence_details::disagreement;
/// use consequence_record::{Details, Kind, Record, Vocabulary};
///
/// let vocabulary = Vocabulary::new([("GAP//7-14d", Kind::Encounter)])?;
/// let gap = vocabulary.code("GAP//7-14d").unwrap();
/// let record = Record::new(vec![vec![], vec![], vec![gap]]);
/// let after = |days: i64| Details { times: vec![0, days * 86_400_000_000], ..Details::default() };
/// let found = |details: &Details| disagreement(&record, details.view(), &vocabulary, &Default::default());
/// assert_eq!(found(&after(8)), None);
/// assert_eq!(found(&after(14)), Some("the days between two encounters are not those of the gap"));
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
pub fn disagreement(
    record: &Record,
    details: DetailsView<'_>,
    vocabulary: &Vocabulary,
    scales: &BTreeMap<Code, Scale>,
) -> Option<&'static str> {
    let encounters = record.visits.len().saturating_sub(1);
    let day = |time: i64| time.div_euclid(DAY);
    let as_many = |count: usize| count == 0 || count == encounters;
    if !as_many(details.times.len()) || !as_many(details.ends.len()) {
        return Some("there are not as many dates as encounters");
    }
    if !details.times.is_sorted() {
        return Some("an encounter is before the one that it follows");
    }
    let first = details.times.first();
    if details.birth.zip(first).is_some_and(|(birth, &first)| birth > first) {
        return Some("the patient is born after the first encounter");
    }
    if let Some((birth, &first)) = details.birth.zip(first) {
        let years = years_between(birth, first);
        let bands = record.visits[0].iter().filter_map(|&code| age_band(vocabulary.name(code)));
        if !bands.map(|band| band.holds(years)).reduce(|one, other| one || other).unwrap_or(true) {
            return Some("the age at the first encounter is not in its band");
        }
    }
    for (visit, codes) in record.visits.iter().enumerate().skip(1) {
        let (begin, end) = (details.time(visit), details.end(visit));
        if begin.zip(end).is_some_and(|(begin, end)| end < begin) {
            return Some("an encounter ends before it begins");
        }
        let gap = details.time(visit - 1).zip(begin).map(|(before, now)| day(now) - day(before));
        let stay = begin.zip(end).map(|(begin, end)| day(end) - day(begin));
        // Without rules an encounter may have several codes of days: one of them is right.
        let outside = |of: fn(&str) -> Option<DayBand>, days: i64| {
            let bands = codes.iter().filter_map(|&code| of(vocabulary.name(code)));
            let right = bands.map(|band| band.holds(days));
            right.reduce(|one, other| one || other) == Some(false)
        };
        let before_the_last = begin.is_some_and(|begin| day(begin) < LAST_DAY);
        if before_the_last && gap.is_some_and(|days| outside(DayBand::of_gap, days)) {
            return Some("the days between two encounters are not those of the gap");
        }
        if stay.is_some_and(|days| outside(DayBand::of_stay, days)) {
            return Some("a stay does not take as long as its code says");
        }
        for &code in codes {
            let name = vocabulary.name(code);
            if stands_at_end(name) && begin.is_some() {
                let said = details.event(visit, code).and_then(|event| event.time).or(begin);
                if said.zip(end).is_some_and(|(said, end)| said < end) {
                    return Some("what is said at the end of a stay is said before it");
                }
            }
        }
    }
    for event in details.events {
        let visit = record.visits.get(event.visit as usize);
        if visit.is_none_or(|codes| codes.binary_search(&event.code).is_err()) {
            return Some("a code has a value or a time and is not in its visit");
        }
        let begin = details.time(event.visit as usize);
        if event.time.zip(begin).is_some_and(|(time, begin)| time < begin) {
            return Some("something happens before its encounter begins");
        }
        let odd = |value: f32| {
            !value.is_finite() || scales.get(&event.code).is_some_and(|scale| !scale.holds(value))
        };
        if event.value.is_some_and(odd) {
            return Some("a value is not in its part");
        }
    }
    None
}
