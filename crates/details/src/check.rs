//! Whether what is told of a record agrees with its codes.

use std::collections::BTreeMap;

use consequence_record::calendar::{day_of, years_between};
use consequence_record::{
    AgeBand, Code, DayBand, DetailsView, Record, Scale, Vocabulary, stands_at_end,
};

use crate::draw::LAST_DAY;

/// Finds what is wrong with the details of records. Nothing is taken over from where they were drawn: days are
/// counted from dates, and bands are read from the names of codes.
///
/// ```
/// use consequence_details::Checker;
/// use consequence_record::{Details, Kind, Record, Vocabulary};
///
/// let vocabulary = Vocabulary::new([("GAP//7-14d", Kind::Encounter)])?;
/// let gap = vocabulary.code("GAP//7-14d").unwrap();
/// let record = Record::new(vec![vec![], vec![], vec![gap]]);
/// let after = |days: i64| Details { times: vec![0, days * 86_400_000_000], ..Details::default() };
/// let checker = Checker::new(&vocabulary, Default::default());
/// assert_eq!(checker.disagreement(&record, after(8).view()), None);
/// let found = checker.disagreement(&record, after(14).view());
/// assert_eq!(found, Some("the days between two encounters are not those of the gap"));
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
#[derive(Debug)]
pub struct Checker {
    /// By code: what its name says.
    codes: Vec<Told>,
    ages: BTreeMap<Code, AgeBand>,
    scales: BTreeMap<Code, Scale>,
}

/// What the name of a code says.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    gap: Option<DayBand>,
    stay: Option<DayBand>,
    at_end: bool,
}

impl Checker {
    /// For records over a vocabulary whose codes have these values.
    pub fn new(vocabulary: &Vocabulary, scales: BTreeMap<Code, Scale>) -> Self {
        let told = |code: Code| {
            let name = vocabulary.name(code);
            Told {
                gap: DayBand::of_gap(name),
                stay: DayBand::of_stay(name),
                at_end: stands_at_end(name),
            }
        };
        let codes = vocabulary.codes().map(told).collect();
        Self { codes, ages: AgeBand::of_statics(vocabulary), scales }
    }

    /// What the values of codes are.
    pub fn scales(&self) -> &BTreeMap<Code, Scale> {
        &self.scales
    }

    /// What is wrong with the details of a record, or nothing.
    pub fn disagreement(&self, record: &Record, details: DetailsView<'_>) -> Option<&'static str> {
        self.disagreement_after(record, details, 0)
    }

    /// The same for a record whose first encounters, so many, are given with their details: these are as they are.
    pub fn disagreement_after(
        &self,
        record: &Record,
        details: DetailsView<'_>,
        given: usize,
    ) -> Option<&'static str> {
        let visits = given + 1..record.visits.len();
        let begun = |_: &&str| given == 0;
        let wrong = shape(record, details)
            .or_else(|| self.age(record, details).filter(begun))
            .or_else(|| visits.into_iter().find_map(|visit| self.visit(record, details, visit)));
        wrong.or_else(|| {
            let events = details.events.iter();
            events.filter(|event| given == 0 || event.visit as usize > given).find_map(|event| {
                let visit = record.visits.get(event.visit as usize);
                if visit.is_none_or(|codes| codes.binary_search(&event.code).is_err()) {
                    return Some("a code has a value or a time and is not in its visit");
                }
                let begin = details.time(event.visit as usize);
                if event.time.zip(begin).is_some_and(|(time, begin)| time < begin) {
                    return Some("something happens before its encounter begins");
                }
                let scale = self.scales.get(&event.code);
                let odd = |value: f32| {
                    !value.is_finite() || scale.is_some_and(|scale| !scale.holds(value))
                };
                event.value.is_some_and(odd).then_some("a value is not in its part")
            })
        })
    }

    fn age(&self, record: &Record, details: DetailsView<'_>) -> Option<&'static str> {
        let years = years_between(details.birth?, *details.times.first()?);
        let bands = record.visits.first()?.iter().filter_map(|code| self.ages.get(code));
        let wrong = "the age at the first encounter is not in its band";
        none_holds(bands.map(|band| band.holds(years))).then_some(wrong)
    }

    fn visit(
        &self,
        record: &Record,
        details: DetailsView<'_>,
        visit: usize,
    ) -> Option<&'static str> {
        let codes = &record.visits[visit];
        let (begin, end) = (details.time(visit)?, details.end(visit));
        if end.is_some_and(|end| end < begin) {
            return Some("an encounter ends before it begins");
        }
        let told = || codes.iter().map(|code| self.codes[code.index()]);
        let outside = |band: fn(Told) -> Option<DayBand>, days: i64| {
            none_holds(told().filter_map(band).map(|band| band.holds(days)))
        };
        let gap = details.time(visit - 1).map(|before| day_of(begin) - day_of(before));
        let gap = gap.filter(|_| day_of(begin) < LAST_DAY);
        if gap.is_some_and(|days| outside(|told| told.gap, days)) {
            return Some("the days between two encounters are not those of the gap");
        }
        let end = end?;
        if outside(|told| told.stay, day_of(end) - day_of(begin)) {
            return Some("a stay does not take as long as its code says");
        }
        let said = |code: Code| details.event(visit, code).and_then(|event| event.time);
        let early =
            |code: &Code| self.codes[code.index()].at_end && said(*code).unwrap_or(begin) < end;
        codes.iter().any(early).then_some("what is said at the end of a stay is said before it")
    }
}

/// What is wrong with the dates of a record, whatever its codes are.
fn shape(record: &Record, details: DetailsView<'_>) -> Option<&'static str> {
    let encounters = record.visits.len().saturating_sub(1);
    let as_many = |count: usize| count == 0 || count == encounters;
    if !as_many(details.times.len()) || !as_many(details.ends.len()) {
        return Some("there are not as many dates as encounters");
    }
    if !details.times.is_sorted() {
        return Some("an encounter is before the one that it follows");
    }
    let born_late =
        details.birth.zip(details.times.first()).is_some_and(|(birth, &first)| birth > first);
    born_late.then_some("the patient is born after the first encounter")
}

/// Whether there are bands and none of them is right. Without rules an encounter may have several codes of days:
/// one of them is told.
fn none_holds(bands: impl Iterator<Item = bool>) -> bool {
    bands.reduce(|one, other| one || other) == Some(false)
}
