//! Which encounter each event of a subject belongs to, when encounters begin and end, and in which the subject died.

use consequence_record::calendar::{DAY, day_of, years_between};

use crate::event::{Event, Fact, VisitKey};
use crate::summary::{ImportSummary, Reason};

/// What can be said of all records of a source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Profile {
    /// Whether encounters have dates, rather than an order only.
    pub dated: bool,
    /// Whether the source has a table of encounters.
    pub listed: bool,
    /// Whether the source tells the sex of subjects.
    pub sex: bool,
    /// Whether the source tells the age of subjects.
    pub age: bool,
    /// Whether it tells the births of some.
    pub births: bool,
    /// Whether an encounter that has a number ends with its last event, if nothing else ends it.
    pub last_ends: bool,
    /// Whether it is a cohort of ours, whose codes of dates and values stay as they are.
    pub own: bool,
    /// Whether encounters are given codes of the days since the one before.
    pub gaps: bool,
    /// Whether encounters are given codes of how long they took.
    pub stays: bool,
}

/// An age beyond which a date of birth was moved to hide it; the real ages are 90 and more.
pub(crate) const HIDDEN_AGE: i64 = 150;

/// The last second of a day.
const LAST_SECOND: i64 = DAY - 1_000_000;

/// The events of one encounter.
#[derive(Debug)]
pub(crate) struct Group {
    pub key: VisitKey,
    /// Where its first event came among those of the subject.
    arrival: usize,
    pub time: Option<i64>,
    pub end: Option<i64>,
    /// When the subject died in it.
    pub death: Option<i64>,
    listed: bool,
    pub events: Vec<usize>,
}

/// The encounters of a subject.
#[derive(Debug)]
pub(crate) struct Encounters {
    /// In order; not empty.
    pub groups: Vec<Group>,
    /// The birth as it is told.
    pub told_birth: Option<i64>,
    /// The birth, unless it was moved to hide an age or cannot be.
    pub birth: Option<i64>,
}

impl Profile {
    /// The encounters of a subject, or none, with the reason counted. `expired` is what says that an encounter ended in death.
    pub fn encounters(
        &self,
        events: &[Event],
        expired: Option<Fact>,
        summary: &mut ImportSummary,
    ) -> Option<Encounters> {
        let mut groups = self.visits(events, summary);
        let told_birth =
            events.iter().filter(|event| event.fact == Fact::BIRTH).find_map(Event::time);
        if let Some(birth) = told_birth.filter(|_| self.listed && !self.own) {
            drop_unborn(&mut groups, birth, summary);
        }
        if groups.is_empty() {
            summary.drop_one(Reason::NoVisits);
            return None;
        }
        if let Some(death) = death(events) {
            let died_in = |group: &Group| {
                expired.is_some() && group.events.iter().any(|&at| Some(events[at].fact) == expired)
            };
            put_death(&mut groups, death, died_in);
            summary.told_late += join_late_days(&mut groups, death);
            let after = |group: &&Group| day(group.time) > Some(day_of(death));
            summary.after_death += groups.iter().filter(after).count() as u64;
        }
        let birth = self.birth(told_birth, &groups, summary);
        Some(Encounters { groups, told_birth, birth })
    }

    /// The encounters of a subject in order.
    fn visits(&self, events: &[Event], summary: &mut ImportSummary) -> Vec<Group> {
        let mut order: Vec<usize> =
            (0..events.len()).filter(|&at| events[at].visit != VisitKey::STATIC).collect();
        order.sort_by_key(|&at| events[at].visit);
        let mut groups: Vec<Group> = order
            .chunk_by(|&one, &other| events[one].visit == events[other].visit)
            .map(|chunk| group(chunk, events))
            .collect();
        if self.dated {
            if !self.own {
                join_days(&mut groups);
            }
            groups.retain(|group| {
                if group.time.is_none() {
                    let is_row = |fact: Fact| fact != Fact::VISIT && fact != Fact::ENDED;
                    let rows = group.events.iter().filter(|&&at| is_row(events[at].fact));
                    let unknown = self.listed && !group.listed;
                    let reason = if unknown { Reason::UnknownVisit } else { Reason::NoDate };
                    summary.drop_many(reason, rows.count().max(1) as u64);
                }
                group.time.is_some()
            });
            groups.sort_by_key(|group| (group.time, group.key));
            for group in &mut groups {
                self.end_visit(group, events, summary);
            }
        } else if groups.iter().all(|group| group.key.as_number().is_some()) {
            groups.sort_by_key(|group| group.key);
        } else {
            groups.sort_by_key(|group| group.arrival);
        }
        groups
    }

    /// Finds when an encounter ended, if that is known.
    fn end_visit(&self, group: &mut Group, events: &[Event], summary: &mut ImportSummary) {
        let times = |ends: bool| {
            let events = group.events.iter().map(|&at| &events[at]);
            events.filter(move |event| !ends || event.fact == Fact::ENDED).filter_map(Event::time)
        };
        let mut end = times(true).max();
        if end.is_none() && self.last_ends && group.key.as_day().is_none() {
            end = times(false).max();
        }
        group.end = match (group.time, end) {
            (Some(begin), Some(end)) if end >= begin => Some(end),
            // A date alone says the day.
            (Some(begin), Some(end)) if is_date(end) && day(Some(end)) == day(Some(begin)) => {
                Some(begin)
            }
            (_, Some(_)) => {
                summary.drop_one(Reason::EndBeforeBegin);
                None
            }
            (_, None) => None,
        };
    }

    /// The birth of a subject, unless it was moved to hide an age or cannot be.
    fn birth(
        &self,
        told: Option<i64>,
        groups: &[Group],
        summary: &mut ImportSummary,
    ) -> Option<i64> {
        let birth = told?;
        let Some(first) = groups.iter().filter_map(|group| group.time).min() else {
            return Some(birth);
        };
        if self.own {
            return Some(birth);
        }
        if day(Some(birth)) > day(Some(first)) {
            summary.drop_one(Reason::BirthAfterVisit);
            return None;
        }
        (years_between(birth, first) <= HIDDEN_AGE).then_some(birth.min(first))
    }

    /// When something was, if not when its encounter began; nothing was before.
    pub fn own_time(
        &self,
        group: &Group,
        event: &Event,
        summary: &mut ImportSummary,
    ) -> Option<i64> {
        let (begin, time) = group.time.filter(|_| self.dated).zip(event.time())?;
        if time > begin || self.own && time != begin {
            return Some(time);
        }
        let only_date = is_date(time) && day(Some(time)) == day(Some(begin));
        if time < begin && !only_date {
            summary.drop_one(Reason::EarlyTime);
        }
        None
    }
}

/// The days from 1970 to the date of a time.
pub(crate) fn day(time: Option<i64>) -> Option<i64> {
    time.map(day_of)
}

/// Whether a time is that of a date alone.
fn is_date(time: i64) -> bool {
    time.rem_euclid(DAY) == 0
}

/// The events of one encounter, in the order they came.
fn group(chunk: &[usize], events: &[Event]) -> Group {
    let of_chunk = || chunk.iter().map(|&at| &events[at]);
    let is_listed = |event: &&Event| event.fact == Fact::VISIT;
    let listed_time = of_chunk().filter(is_listed).filter_map(Event::time).min();
    let happened = |event: &&Event| event.fact != Fact::ENDED;
    let earliest = || of_chunk().filter(happened).filter_map(Event::time).min();
    Group {
        key: events[chunk[0]].visit,
        arrival: chunk[0],
        time: listed_time.or_else(earliest),
        end: None,
        death: None,
        listed: of_chunk().any(|event| is_listed(&event)),
        events: chunk.to_vec(),
    }
}

/// What happened on a day outside any encounter belongs to the first encounter that began that
/// day, where there is one.
fn join_days(groups: &mut Vec<Group>) {
    let (mut days, mut named): (Vec<Group>, Vec<Group>) =
        groups.drain(..).partition(|group| group.key.as_day().is_some());
    if !days.is_empty() {
        named.sort_by_key(|group| (group.time, group.key));
        days.retain_mut(|alone| {
            let started = named.partition_point(|group| day(group.time) < alone.key.as_day());
            match named.get_mut(started).filter(|group| day(group.time) == alone.key.as_day()) {
                Some(visit) => {
                    visit.events.append(&mut alone.events);
                    false
                }
                None => true,
            }
        });
    }
    groups.append(&mut named);
    groups.append(&mut days);
}

/// Leaves out what happened outside any encounter before the subject was born: where a source lists its
/// encounters, such a row is wrong rather than the birth.
fn drop_unborn(groups: &mut Vec<Group>, birth: i64, summary: &mut ImportSummary) {
    groups.retain(|group| {
        let unborn = group.key.as_day().is_some() && day(group.time) < day(Some(birth));
        if unborn {
            summary.drop_many(Reason::BeforeBirth, group.events.len() as u64);
        }
        !unborn
    });
}

/// The days by which a death, or what belongs to it, may be told too late.
const LATE: i64 = 7;

/// When a subject died: a time goes before a date.
fn death(events: &[Event]) -> Option<i64> {
    let deaths = events.iter().filter(|event| event.fact == Fact::DIED).filter_map(Event::time);
    deaths.min_by_key(|&time| (is_date(time), time))
}

/// What is told on the days after a death and belongs to no encounter, as that an infusion ended, belongs to the
/// encounter of the death; how many days that were.
fn join_late_days(groups: &mut Vec<Group>, death: i64) -> u64 {
    let late = |group: &Group| {
        let day = group.key.as_day().filter(|_| group.death.is_none());
        day.is_some_and(|day| (1..=LATE).contains(&(day - day_of(death))))
    };
    let (days, others): (Vec<Group>, Vec<Group>) = groups.drain(..).partition(late);
    *groups = others;
    let count = days.len() as u64;
    if let Some(last) = groups.iter_mut().find(|group| group.death.is_some()) {
        last.events.extend(days.into_iter().flat_map(|day| day.events));
    }
    count
}

/// Puts a death into the last encounter whose days hold it, else into the last one, if it says that it ended in
/// death a few days before, or into one of its own. A date without a
/// time is the end of the encounter, or of the day, so that nothing of the day comes after.
fn put_death(groups: &mut Vec<Group>, death: i64, died_in: impl Fn(&Group) -> bool) {
    let date = day_of(death);
    let holds = |group: &&mut Group| {
        let (begin, end) = (day(group.time), day(group.end.or(group.time)));
        begin <= Some(date) && Some(date) <= end
    };
    if let Some(group) = groups.iter_mut().rev().find(holds) {
        let end = group.end.filter(|&end| day(Some(end)) == Some(date));
        let time = if is_date(death) { end.unwrap_or(death + LAST_SECOND) } else { death };
        group.death = Some(group.time.map_or(time, |begin| time.max(begin)));
        return;
    }
    let at = groups.partition_point(|group| group.time <= Some(death));
    if let Some(last) = groups.last_mut().filter(|last| died_in(last)) {
        let end = last.end.or(last.time);
        if end.is_some_and(|end| (0..=LATE * DAY).contains(&(death - end))) {
            last.death = end;
            return;
        }
    }
    let alone = Group {
        key: VisitKey::day(death),
        arrival: usize::MAX,
        time: Some(death),
        end: None,
        death: Some(death),
        listed: true,
        events: Vec::new(),
    };
    groups.insert(at, alone);
}
