//! From the events of one subject to a record.

use consequence_record::calendar::{DAY, day_of, years_between};
use consequence_record::{AgeBand, EXPIRED, stands_at_end};

use crate::codes::{Codes, Role};
use crate::event::{Event, Fact, VisitKey};
use crate::finals::Finals;
use crate::summary::{ImportSummary, Reason};
use crate::units::Measures;
use crate::{ImportOptions, ImportProblem};

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
const HIDDEN_AGE: i64 = 150;

/// The age that hidden ones count as.
const OLD_AGE: i64 = 90;

/// The last second of a day.
const LAST_SECOND: i64 = DAY - 1_000_000;

/// A record whose codes are numbered by [`Finals`].
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub birth: Option<i64>,
    pub statics: Vec<DraftCode>,
    pub visits: Vec<DraftVisit>,
    pub ended: bool,
}

/// An encounter of a [`Draft`].
#[derive(Debug, Default)]
pub(crate) struct DraftVisit {
    pub time: Option<i64>,
    pub end: Option<i64>,
    pub age: Option<AgeBand>,
    pub codes: Vec<DraftCode>,
}

/// A code of a visit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DraftCode {
    pub code: u32,
    /// When it was, if not when the encounter began.
    pub time: Option<i64>,
    /// What was measured; not a number where nothing was.
    pub value: f32,
    /// The rows that say so.
    pub rows: u32,
}

impl DraftCode {
    fn new(code: u32, time: Option<i64>, value: f32) -> Self {
        Self { code, time, value, rows: 1 }
    }
}

/// Makes records of events.
pub(crate) struct Builder<'a> {
    pub options: &'a ImportOptions,
    pub profile: Profile,
    pub codes: &'a Codes,
    pub finals: &'a Finals,
    pub measures: &'a Measures,
    /// The code of death, where it was told of any subject.
    pub death: Option<usize>,
}

/// The events of one encounter.
#[derive(Debug)]
struct Group {
    key: VisitKey,
    /// Where its first event came among those of the subject.
    arrival: usize,
    time: Option<i64>,
    end: Option<i64>,
    /// When the subject died in it.
    death: Option<i64>,
    listed: bool,
    events: Vec<usize>,
}

impl Builder<'_> {
    /// The record of a subject, or none, with the reason counted.
    pub fn build(
        &self,
        events: &[Event],
        summary: &mut ImportSummary,
    ) -> Result<Option<Draft>, ImportProblem> {
        let mut groups = self.visits(events, summary);
        let told = events.iter().filter(|event| event.fact == Fact::BIRTH).find_map(Event::time);
        if let Some(birth) = told.filter(|_| self.profile.listed && !self.profile.own) {
            drop_unborn(&mut groups, birth, summary);
        }
        if groups.is_empty() {
            summary.drop_one(Reason::NoVisits);
            return Ok(None);
        }
        if let Some(death) = death(events) {
            let expired = self.codes.find(EXPIRED);
            let died_in = |group: &Group| {
                expired.is_some() && group.events.iter().any(|&at| Some(events[at].fact) == expired)
            };
            put_death(&mut groups, death, died_in);
            summary.told_late += join_late_days(&mut groups, death);
            let after = |group: &&Group| day(group.time) > Some(day_of(death));
            summary.after_death += groups.iter().filter(after).count() as u64;
        }
        let birth = self.birth(told, &groups, summary);
        let mut statics = self.static_codes(events, &groups, summary);
        let is = |system: &'static str| {
            move |code: &DraftCode| self.finals.names[code.code as usize].starts_with(system)
        };
        if self.profile.sex && self.options.sex && !statics.iter().any(is("SEX//")) {
            summary.drop_one(Reason::UnknownSex);
            return Ok(None);
        }
        if (self.profile.age || self.profile.births) && !statics.iter().any(is("AGE//")) {
            let age = age(told, events, &groups);
            match age.and_then(|years| self.finals.age(years)) {
                Some(code) => statics.push(DraftCode::new(code, None, f32::NAN)),
                None if self.profile.age && self.finals.ages().next().is_some() => {
                    summary.drop_one(Reason::UnknownAge);
                    return Ok(None);
                }
                None => {}
            }
        }
        statics.sort_by_key(|code| code.code);
        let visits = groups.iter().map(|group| self.visit(group, events, summary)).collect();
        let ended = !events.iter().any(|event| event.fact == Fact::CUT);
        let mut draft = Draft { birth, statics, visits, ended };
        let dropped = self.drop_empty(&mut draft, summary);
        if draft.visits.is_empty() {
            summary.drop_one(Reason::NoVisits);
            return Ok(None);
        }
        if let Some(most) = self.options.max_visits.filter(|most| *most < draft.visits.len()) {
            summary.drop_many(Reason::CutVisits, (draft.visits.len() - most) as u64);
            draft.visits.truncate(most);
            draft.ended = false;
        }
        let limit = self.options.limits.visits;
        if draft.visits.len() > limit {
            return Err(ImportProblem::TooManyVisits { limit });
        }
        if self.profile.gaps {
            self.add_gaps(&mut draft);
        } else if dropped {
            self.renew_gaps(&mut draft);
        }
        self.add_stays(&mut draft);
        Ok(Some(draft))
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
        if self.profile.dated {
            if !self.profile.own {
                join_days(&mut groups);
            }
            groups.retain(|group| {
                if group.time.is_none() {
                    let is_row = |fact: Fact| fact != Fact::VISIT && fact != Fact::ENDED;
                    let rows = group.events.iter().filter(|&&at| is_row(events[at].fact));
                    let unknown = self.profile.listed && !group.listed;
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
        if end.is_none() && self.profile.last_ends && group.key.as_day().is_none() {
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
        if self.profile.own {
            return Some(birth);
        }
        if day(Some(birth)) > day(Some(first)) {
            summary.drop_one(Reason::BirthAfterVisit);
            return None;
        }
        (years_between(birth, first) <= HIDDEN_AGE).then_some(birth.min(first))
    }

    /// The static codes of a subject: of those that exclude each other, the first.
    fn static_codes(
        &self,
        events: &[Event],
        groups: &[Group],
        summary: &mut ImportSummary,
    ) -> Vec<DraftCode> {
        let mut found: Vec<DraftCode> = Vec::new();
        let mut systems: Vec<&str> = Vec::new();
        let outside = (0..events.len()).filter(|&at| events[at].visit == VisitKey::STATIC);
        let inside = groups.iter().flat_map(|group| group.events.iter().copied());
        for event in outside.chain(inside).filter_map(|at| events.get(at)) {
            let Some(raw) = event.fact.code() else { continue };
            let Some(code) = self.codes.entries().get(raw) else { continue };
            let has = |found: &[DraftCode], code: u32| found.iter().any(|one| one.code == code);
            if code.is(Role::Exclusive) {
                let system = code.name.split_once("//").map_or(&*code.name, |(system, _)| system);
                match self.finals.of(raw, f32::NAN) {
                    Ok(targets) if !systems.contains(&system) => {
                        systems.push(system);
                        let codes = targets.iter();
                        found.extend(codes.map(|&code| DraftCode::new(code, None, f32::NAN)));
                    }
                    Ok(targets) if targets.iter().any(|&target| !has(&found, target)) => {
                        summary.drop_one(Reason::LaterStatic);
                    }
                    _ => {}
                }
            } else if event.visit == VisitKey::STATIC {
                if code.is(Role::Encounter) {
                    summary.drop_one(Reason::NoDate);
                    continue;
                }
                let value = match self.measures.value(event.fact.0, event.unit, event.value) {
                    Ok(value) => value,
                    Err(reason) => {
                        summary.drop_one(reason);
                        continue;
                    }
                };
                for &target in self.finals.of(raw, value).unwrap_or_default() {
                    if has(&found, target) {
                        summary.drop_one(Reason::Repeated);
                    } else {
                        found.push(DraftCode::new(target, None, value));
                    }
                }
            }
        }
        found
    }

    /// The codes of an encounter.
    fn visit(&self, group: &Group, events: &[Event], summary: &mut ImportSummary) -> DraftVisit {
        let mut codes = Vec::new();
        let mut age = None;
        for event in group.events.iter().filter_map(|&at| events.get(at)) {
            age = age.or(event.age());
            let Some(raw) = event.fact.code() else { continue };
            if self.codes.entries().get(raw).is_none_or(|code| code.is(Role::Exclusive)) {
                continue;
            }
            let targets = self
                .measures
                .value(event.fact.0, event.unit, event.value)
                .and_then(|value| Ok((self.finals.of(raw, value)?, value)));
            match targets {
                Ok((targets, value)) => {
                    let time = self.own_time(group, event, summary);
                    let code = |&code| self.at_end(DraftCode::new(code, time, value), group);
                    codes.extend(targets.iter().map(code));
                }
                Err(reason) => summary.drop_one(reason),
            }
        }
        if let (Some(time), Some(death)) = (group.death, self.death) {
            let time = Some(time).filter(|_| group.time != Some(time));
            let targets = self.finals.of(death, f32::NAN).unwrap_or_default();
            codes.extend(targets.iter().map(|&code| DraftCode::new(code, time, f32::NAN)));
        }
        let before = codes.len();
        codes.sort_by_key(|code| code.code);
        codes.dedup_by(|later, kept| later.code == kept.code && join(kept, later, group.time));
        summary.drop_many(Reason::Repeated, (before - codes.len()) as u64);
        DraftVisit { time: group.time, end: group.end, age, codes }
    }

    /// When something was, if not when its encounter began; nothing was before.
    fn own_time(&self, group: &Group, event: &Event, summary: &mut ImportSummary) -> Option<i64> {
        let (begin, time) = group.time.filter(|_| self.profile.dated).zip(event.time())?;
        if time > begin || self.profile.own && time != begin {
            return Some(time);
        }
        let only_date = is_date(time) && day(Some(time)) == day(Some(begin));
        if time < begin && !only_date {
            summary.drop_one(Reason::EarlyTime);
        }
        None
    }

    /// What tells how an encounter ended stands at its end.
    fn at_end(&self, code: DraftCode, group: &Group) -> DraftCode {
        let tells_end = || stands_at_end(&self.finals.names[code.code as usize]);
        match group.end.filter(|&end| group.time != Some(end)) {
            Some(end) if code.time.is_none() && !self.profile.own && tells_end() => {
                DraftCode { time: Some(end), ..code }
            }
            _ => code,
        }
    }

    /// Gives each encounter after the first the code of the days since the one before.
    fn add_gaps(&self, draft: &mut Draft) {
        let mut before = None;
        for visit in &mut draft.visits {
            if let Some((before, now)) = before.zip(day(visit.time)) {
                let gap = self.finals.gap(now - before);
                visit.codes.extend(gap.map(|code| DraftCode::new(code, None, f32::NAN)));
            }
            before = day(visit.time);
        }
    }

    /// The same once encounters were left out. Without dates the codes stay as they are.
    pub fn renew_gaps(&self, draft: &mut Draft) {
        if self.profile.dated {
            for visit in &mut draft.visits {
                visit.codes.retain(|code| !self.finals.is_gap(code.code));
            }
            self.add_gaps(draft);
        }
    }

    /// Gives each encounter whose end is known the code of the days it took.
    fn add_stays(&self, draft: &mut Draft) {
        for visit in draft.visits.iter_mut().filter(|_| self.profile.stays) {
            if let Some((begin, end)) = day(visit.time).zip(day(visit.end)) {
                let stay = self.finals.stay(end - begin);
                visit.codes.extend(stay.map(|code| DraftCode::new(code, None, f32::NAN)));
            }
        }
    }

    /// Leaves out encounters without codes, if that is asked for; true if there were any.
    fn drop_empty(&self, draft: &mut Draft, summary: &mut ImportSummary) -> bool {
        let before = draft.visits.len();
        if self.options.drop_empty {
            let tells = |code: &DraftCode| !self.finals.is_time(code.code);
            draft.visits.retain(|visit| visit.codes.iter().any(tells));
            summary.drop_many(Reason::EmptyVisits, (before - draft.visits.len()) as u64);
        }
        draft.visits.len() < before
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

/// Two rows of one code in an encounter: of values the last, and else the first time.
fn join(kept: &mut DraftCode, later: &DraftCode, begin: Option<i64>) -> bool {
    let when = |code: &DraftCode| code.time.or(begin);
    let rows = kept.rows + later.rows;
    let replaces = match (kept.value.is_nan(), later.value.is_nan()) {
        (true, false) => true,
        (false, true) => false,
        (false, false) => when(later) >= when(kept),
        (true, true) => when(later) < when(kept),
    };
    if replaces {
        *kept = *later;
    }
    kept.rows = rows;
    true
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

/// The age of a subject at the first encounter, in full years.
fn age(birth: Option<i64>, events: &[Event], groups: &[Group]) -> Option<i64> {
    let of_visits = groups.iter().flat_map(|group| &group.events).map(|&at| &events[at]);
    if let Some(told) = of_visits.filter_map(Event::age).next() {
        return Some(told.from.into());
    }
    let years = years_between(birth?, groups.first()?.time?);
    Some(if years > HIDDEN_AGE { OLD_AGE } else { years })
}
