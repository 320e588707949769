//! From the events of one subject to a record.

use consequence_record::calendar::years_between;
use consequence_record::{AgeBand, EXPIRED, stands_at_end};

use crate::codes::{Codes, Role};
use crate::encounters::{Encounters, Group, HIDDEN_AGE, Profile, day};
use crate::event::{Event, Fact, VisitKey};
use crate::finals::Finals;
use crate::summary::{ImportSummary, Reason};
use crate::units::Measures;
use crate::{ImportOptions, ImportProblem};

/// The age that hidden ones count as.
const OLD_AGE: i64 = 90;

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

impl Builder<'_> {
    /// The record of a subject, or none, with the reason counted.
    pub fn build(
        &self,
        events: &[Event],
        summary: &mut ImportSummary,
    ) -> Result<Option<Draft>, ImportProblem> {
        let expired = self.codes.find(EXPIRED);
        let Some(found) = self.profile.encounters(events, expired, summary) else {
            return Ok(None);
        };
        let Encounters { groups, told_birth, birth } = found;
        let mut statics = self.static_codes(events, &groups, summary);
        let is = |system: &'static str| {
            move |code: &DraftCode| self.finals.names[code.code as usize].starts_with(system)
        };
        if self.profile.sex && self.options.sex && !statics.iter().any(is("SEX//")) {
            summary.drop_one(Reason::UnknownSex);
            return Ok(None);
        }
        if (self.profile.age || self.profile.births) && !statics.iter().any(is("AGE//")) {
            let age = age(told_birth, events, &groups);
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
                    let time = self.profile.own_time(group, event, summary);
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
        let mut editions: Vec<u32> =
            codes.iter().filter_map(|code| self.finals.edition(code.code)).collect();
        editions.sort_unstable();
        editions.dedup();
        codes.extend(editions.into_iter().map(|code| DraftCode::new(code, None, f32::NAN)));
        DraftVisit { time: group.time, end: group.end, age, codes }
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

/// The age of a subject at the first encounter, in full years.
fn age(birth: Option<i64>, events: &[Event], groups: &[Group]) -> Option<i64> {
    let of_visits = groups.iter().flat_map(|group| &group.events).map(|&at| &events[at]);
    if let Some(told) = of_visits.filter_map(Event::age).next() {
        return Some(told.from.into());
    }
    let years = years_between(birth?, groups.first()?.time?);
    Some(if years > HIDDEN_AGE { OLD_AGE } else { years })
}
