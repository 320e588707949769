//! From the events of one subject to a record.

use crate::codes::{Codes, Role};
use crate::event::{Event, Fact, VisitKey};
use crate::finals::Cuts;
use crate::finals::Finals;
use crate::summary::{ImportSummary, Reason};
use crate::{ImportOptions, ImportProblem};
use consequence_record::calendar::{DAY, years_between};

/// What can be said of all records of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    /// Whether encounters have dates, rather than an order only.
    pub dated: bool,
    /// Whether the source has a table of encounters.
    pub listed: bool,
    /// Whether the source tells the sex of subjects.
    pub sex: bool,
    /// Whether the source tells the age of subjects.
    pub age: bool,
}

/// An age beyond which a date of birth was moved to hide it; the real ages are 90 and more.
const HIDDEN_AGE: i64 = 150;

/// A record whose codes are numbered by [`Finals`].
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub statics: Vec<u32>,
    pub visits: Vec<DraftVisit>,
    pub ended: bool,
}

/// An encounter of a [`Draft`].
#[derive(Debug, Default)]
pub(crate) struct DraftVisit {
    pub time: Option<i64>,
    pub codes: Vec<u32>,
}

/// Makes records of events.
pub(crate) struct Builder<'a> {
    pub options: &'a ImportOptions,
    pub profile: Profile,
    pub codes: &'a Codes,
    pub finals: &'a Finals,
    pub cuts: &'a Cuts,
}

/// The events of one encounter.
#[derive(Debug)]
struct Group {
    key: VisitKey,
    /// Where its first event came among those of the subject.
    arrival: usize,
    time: Option<i64>,
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
        let groups = self.visits(events, summary);
        if groups.is_empty() {
            summary.drop_one(Reason::NoVisits);
            return Ok(None);
        }
        let mut statics = self.static_codes(events, &groups, summary);
        let is_sex = |&code: &u32| self.finals.names[code as usize].starts_with("SEX//");
        if self.profile.sex && self.options.sex && !statics.iter().any(is_sex) {
            summary.drop_one(Reason::UnknownSex);
            return Ok(None);
        }
        if self.profile.age && !self.options.age_bands.is_empty() {
            let age = age(events, &groups);
            match age.and_then(|years| self.finals.age(years, &self.options.age_bands)) {
                Some(code) => statics.push(code),
                None => {
                    summary.drop_one(Reason::UnknownAge);
                    return Ok(None);
                }
            }
        }
        statics.sort_unstable();
        statics.dedup();
        let visits = groups.iter().map(|group| self.visit(group, events, summary)).collect();
        let ended = !events.iter().any(|event| event.fact == Fact::CUT);
        let mut draft = Draft { statics, visits, ended };
        draft.drop_empty(self.options, summary);
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
            join_days(&mut groups);
            groups.retain(|group| {
                if group.time.is_none() {
                    let rows = group.events.iter().filter(|&&at| events[at].fact != Fact::VISIT);
                    let unknown = self.profile.listed && !group.listed;
                    let reason = if unknown { Reason::UnknownVisit } else { Reason::NoDate };
                    summary.drop_many(reason, rows.count().max(1) as u64);
                }
                group.time.is_some()
            });
            groups.sort_by_key(|group| (group.time, group.key));
        } else if groups.iter().all(|group| group.key.as_number().is_some()) {
            groups.sort_by_key(|group| group.key);
        } else {
            groups.sort_by_key(|group| group.arrival);
        }
        groups
    }

    /// The static codes of a subject: of those that exclude each other, the first.
    fn static_codes(
        &self,
        events: &[Event],
        groups: &[Group],
        summary: &mut ImportSummary,
    ) -> Vec<u32> {
        let mut found = Vec::new();
        let mut systems: Vec<&str> = Vec::new();
        let outside = (0..events.len()).filter(|&at| events[at].visit == VisitKey::STATIC);
        let inside = groups.iter().flat_map(|group| group.events.iter().copied());
        for event in outside.chain(inside).filter_map(|at| events.get(at)) {
            let Some(raw) = event.fact.code() else { continue };
            let Some(code) = self.codes.entries().get(raw) else { continue };
            if code.is(Role::Exclusive) {
                let system = code.name.split_once("//").map_or(&*code.name, |(system, _)| system);
                match self.finals.of(raw, f32::NAN, self.cuts) {
                    Ok(targets) if !systems.contains(&system) => {
                        systems.push(system);
                        found.extend_from_slice(targets);
                    }
                    Ok(targets) if targets.iter().any(|target| !found.contains(target)) => {
                        summary.drop_one(Reason::LaterStatic);
                    }
                    _ => {}
                }
            } else if event.visit == VisitKey::STATIC {
                if code.is(Role::Encounter) {
                    summary.drop_one(Reason::NoDate);
                    continue;
                }
                for target in self.finals.of(raw, event.value, self.cuts).unwrap_or_default() {
                    if found.contains(target) {
                        summary.drop_one(Reason::Repeated);
                    } else {
                        found.push(*target);
                    }
                }
            }
        }
        found
    }

    /// The codes of an encounter.
    fn visit(&self, group: &Group, events: &[Event], summary: &mut ImportSummary) -> DraftVisit {
        let mut codes = Vec::new();
        for event in group.events.iter().filter_map(|&at| events.get(at)) {
            let Some(raw) = event.fact.code() else { continue };
            if self.codes.entries().get(raw).is_none_or(|code| code.is(Role::Exclusive)) {
                continue;
            }
            match self.finals.of(raw, event.value, self.cuts) {
                Ok(targets) => codes.extend_from_slice(targets),
                Err(reason) => summary.drop_one(reason),
            }
        }
        let before = codes.len();
        codes.sort_unstable();
        codes.dedup();
        summary.drop_many(Reason::Repeated, (before - codes.len()) as u64);
        DraftVisit { time: group.time, codes }
    }

    /// Gives each encounter after the first the code of the time since the one before.
    pub fn add_gaps(&self, draft: &mut Draft) {
        if !self.options.gaps {
            return;
        }
        let mut before = None;
        for visit in &mut draft.visits {
            if let Some((before, now)) = before.zip(visit.time) {
                visit.codes.extend(self.finals.gap(now.saturating_sub(before) / DAY));
            }
            before = visit.time;
        }
    }
}

impl Draft {
    /// Leaves out encounters without codes, if that is asked for.
    pub fn drop_empty(&mut self, options: &ImportOptions, summary: &mut ImportSummary) {
        if options.drop_empty {
            let before = self.visits.len();
            self.visits.retain(|visit| !visit.codes.is_empty());
            summary.drop_many(Reason::EmptyVisits, (before - self.visits.len()) as u64);
        }
    }
}

/// The events of one encounter, in the order they came.
fn group(chunk: &[usize], events: &[Event]) -> Group {
    let of_chunk = || chunk.iter().map(|&at| &events[at]);
    let is_listed = |event: &&Event| event.fact == Fact::VISIT;
    let listed_time = of_chunk().filter(is_listed).filter_map(Event::time).min();
    let earliest = || of_chunk().filter_map(Event::time).min();
    Group {
        key: events[chunk[0]].visit,
        arrival: chunk[0],
        time: listed_time.or_else(earliest),
        listed: of_chunk().any(|event| is_listed(&event)),
        events: chunk.to_vec(),
    }
}

/// What happened on a day outside any encounter belongs to the first encounter that began that
/// day, where there is one.
fn join_days(groups: &mut Vec<Group>) {
    let day = |group: &Group| group.time.map(|time| time.div_euclid(DAY));
    let (mut days, mut named): (Vec<Group>, Vec<Group>) =
        groups.drain(..).partition(|group| group.key.as_day().is_some());
    if !days.is_empty() {
        named.sort_by_key(|group| (group.time, group.key));
        days.retain_mut(|alone| {
            let started = named.partition_point(|group| day(group) < alone.key.as_day());
            match named.get_mut(started).filter(|group| day(group) == alone.key.as_day()) {
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

/// The age of a subject at the first encounter, in full years.
fn age(events: &[Event], groups: &[Group]) -> Option<i64> {
    let told = groups
        .iter()
        .flat_map(|group| &group.events)
        .map(|&at| &events[at])
        .find(|event| event.fact == Fact::AGE);
    if let Some(event) = told {
        return Some(event.value as i64);
    }
    let birth = events.iter().filter(|event| event.fact == Fact::BIRTH).find_map(Event::time)?;
    let years = years_between(birth, groups.first()?.time?);
    Some(if years > HIDDEN_AGE { 90 } else { years })
}
