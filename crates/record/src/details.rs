//! What is known of records beside their codes: births, dates, stays, ages and values.

use std::collections::{BTreeMap, BTreeSet};

use crate::calendar::years_between;
use crate::{AgeBand, Code, Lists};

/// What is known of one record beside its codes. Times are in microseconds since 1970, as clocks
/// on the wall showed them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// When the patient was born.
    pub birth: Option<i64>,
    /// When each encounter began, encounter 1 first and in order; empty where only their order is known.
    pub times: Vec<i64>,
    /// When each encounter ended; empty where that is known of none.
    pub ends: Vec<Option<i64>>,
    /// The age band that the source itself gave at each encounter; empty where it gave none.
    pub ages: Vec<Option<AgeBand>>,
    /// Codes with a value, or with a time that is not that of their visit's beginning: sorted by visit
    /// and code, each once.
    pub events: Vec<EventDetail>,
}

/// What is known of a code of a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventDetail {
    /// The visit; 0 is the static visit.
    pub visit: u32,
    /// The code, which is in the visit.
    pub code: Code,
    /// When it was, if not when the visit began.
    pub time: Option<i64>,
    /// What was measured; a finite number.
    pub value: Option<f32>,
}

impl Details {
    /// The same, borrowed.
    pub fn view(&self) -> DetailsView<'_> {
        DetailsView {
            birth: self.birth,
            times: &self.times,
            ends: &self.ends,
            ages: &self.ages,
            events: &self.events,
        }
    }
}

/// [`Details`] of a record, borrowed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DetailsView<'a> {
    /// When the patient was born.
    pub birth: Option<i64>,
    /// When each encounter began, encounter 1 first; empty where only their order is known.
    pub times: &'a [i64],
    /// When each encounter ended; empty where that is known of none.
    pub ends: &'a [Option<i64>],
    /// The age band that the source itself gave at each encounter; empty where it gave none.
    pub ages: &'a [Option<AgeBand>],
    /// Codes with a value or a time of their own, sorted by visit and code.
    pub events: &'a [EventDetail],
}

impl<'a> DetailsView<'a> {
    /// When an encounter began, counted from 1.
    pub fn time(&self, visit: usize) -> Option<i64> {
        self.times.get(visit.checked_sub(1)?).copied()
    }

    /// When an encounter ended, counted from 1.
    pub fn end(&self, visit: usize) -> Option<i64> {
        self.ends.get(visit.checked_sub(1)?).copied()?
    }

    /// The years that the patient has completed when an encounter begins: those since birth, or else the band that
    /// the source gave there.
    ///
    /// ```
    /// use consequence_record::{AgeBand, Details, calendar::day, calendar::DAY};
    ///
    /// let [birth, time] = [(1990, 5, 2), (2020, 5, 1)].map(|(y, m, d)| day(y, m, d).unwrap() * DAY);
    /// let details = Details { birth: Some(birth), times: vec![time], ..Details::default() };
    /// assert_eq!(details.view().age(1), Some(AgeBand { from: 29, to: Some(30) }));
    /// ```
    pub fn age(&self, visit: usize) -> Option<AgeBand> {
        if let (Some(birth), Some(time)) = (self.birth, self.time(visit)) {
            let years = years_between(birth, time).clamp(0, u16::MAX.into()) as u16;
            return Some(AgeBand { from: years, to: years.checked_add(1) });
        }
        self.ages.get(visit.checked_sub(1)?).copied()?
    }

    /// What is known of the codes of a visit.
    pub fn events_of(&self, visit: usize) -> &'a [EventDetail] {
        let start = self.events.partition_point(|event| (event.visit as usize) < visit);
        let events = &self.events[start..];
        &events[..events.partition_point(|event| event.visit as usize == visit)]
    }

    /// What is known of a code of a visit.
    pub fn event(&self, visit: usize, code: Code) -> Option<&'a EventDetail> {
        let events = self.events_of(visit);
        events.binary_search_by_key(&code, |event| event.code).ok().map(|at| &events[at])
    }

    /// What is left for a record of which only the first encounters remain, and of them only the codes
    /// that `has` says.
    pub fn kept(&self, encounters: usize, has: impl Fn(usize, Code) -> bool) -> Details {
        let left = |event: &&EventDetail| {
            let visit = event.visit as usize;
            visit <= encounters && has(visit, event.code)
        };
        Details {
            birth: self.birth,
            times: self.times[..self.times.len().min(encounters)].to_vec(),
            ends: self.ends[..self.ends.len().min(encounters)].to_vec(),
            ages: self.ages[..self.ages.len().min(encounters)].to_vec(),
            events: self.events.iter().filter(left).copied().collect(),
        }
    }

    /// A copy that owns what it tells.
    pub fn to_details(&self) -> Details {
        self.kept(usize::MAX, |_, _| true)
    }
}

/// [`Details`] of many records, in flat arrays.
///
/// ```
/// use consequence_record::{Code, CohortDetails, Details, EventDetail};
///
/// let measured = EventDetail { visit: 1, code: Code(3), time: None, value: Some(7.2) };
/// let mut details = CohortDetails::default();
/// details.push(Details { times: vec![0], events: vec![measured], ..Details::default() }.view());
/// assert!(details.dated());
/// assert_eq!(details.of(0).event(1, Code(3)).and_then(|event| event.value), Some(7.2));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CohortDetails {
    births: Vec<Option<i64>>,
    times: Lists<i64>,
    ends: Lists<Option<i64>>,
    ages: Lists<Option<AgeBand>>,
    events: Lists<EventDetail>,
}

impl CohortDetails {
    /// Appends those of a record.
    pub fn push(&mut self, details: DetailsView<'_>) {
        self.births.push(details.birth);
        self.times.push(details.times.iter().copied());
        self.ends.push(details.ends.iter().copied());
        self.ages.push(details.ages.iter().copied());
        self.events.push(details.events.iter().copied());
    }

    /// Those of a record.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn of(&self, record: usize) -> DetailsView<'_> {
        DetailsView {
            birth: self.births[record],
            times: self.times.list(record),
            ends: self.ends.list(record),
            ages: self.ages.list(record),
            events: self.events.list(record),
        }
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.births.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.births.is_empty()
    }

    /// Whether the birth of any patient is known.
    pub fn has_births(&self) -> bool {
        self.births.iter().any(Option::is_some)
    }

    /// The age bands that the source itself gave at encounters.
    pub fn age_bands(&self) -> BTreeSet<AgeBand> {
        self.ages.iter().flatten().copied().flatten().collect()
    }

    /// The smallest and the largest value of each code that has any.
    ///
    /// ```
    /// use consequence_record::{Code, CohortDetails, Details, EventDetail};
    ///
    /// let event = |visit, value| EventDetail { visit, code: Code(3), time: None, value: Some(value) };
    /// let mut details = CohortDetails::default();
    /// let events = vec![event(1, 7.2), event(2, 5.5)];
    /// details.push(Details { events, ..Details::default() }.view());
    /// assert_eq!(details.value_spans()[&Code(3)], (5.5, 7.2));
    /// ```
    pub fn value_spans(&self) -> BTreeMap<Code, (f32, f32)> {
        let mut spans: BTreeMap<Code, (f32, f32)> = BTreeMap::new();
        for event in self.events.iter().flatten() {
            if let Some(value) = event.value {
                let (least, most) = spans.entry(event.code).or_insert((value, value));
                (*least, *most) = (least.min(value), most.max(value));
            }
        }
        spans
    }

    /// Whether encounters have dates, rather than an order only: all have, or none.
    pub fn dated(&self) -> bool {
        self.times.iter().any(|times| !times.is_empty())
    }
}

/// What the values of a code are: those of a test, in a unit, from one cut point to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// The test, as the source names it; the code itself where its values are in one part.
    pub test: String,
    /// The unit of its values, where one is known.
    pub unit: Option<String>,
    /// Values are above this; none in the lowest part.
    pub above: Option<f32>,
    /// Values are at most this; none in the highest part.
    pub up_to: Option<f32>,
    /// The values that were put into this part.
    pub count: u64,
}

impl Scale {
    /// Whether a value is in the part.
    pub fn holds(&self, value: f32) -> bool {
        self.above.is_none_or(|above| value > above) && self.up_to.is_none_or(|most| value <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shorter_record_keeps() {
        let event = |visit, code| EventDetail { visit, code: Code(code), time: None, value: None };
        let details = Details {
            birth: Some(1),
            times: vec![10, 20],
            ends: vec![Some(11), None],
            ages: Vec::new(),
            events: vec![event(0, 9), event(1, 1), event(1, 2), event(2, 1)],
        };
        let view = details.view();
        assert_eq!(view.to_details(), details);
        assert_eq!(view.events_of(1).len(), 2);
        assert_eq!(
            (view.time(0), view.time(2), view.end(2), view.time(3)),
            (None, Some(20), None, None)
        );
        assert!(view.event(2, Code(1)).is_some() && view.event(2, Code(2)).is_none());
        let kept = view.kept(1, |_, code| code != Code(1));
        assert_eq!((kept.times, kept.events), (vec![10], vec![event(0, 9), event(1, 2)]));
    }
}
