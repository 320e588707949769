//! The records of an import, one subject after the other.

use std::io;

use consequence_record::calendar::Date;
use consequence_record::{Code, Details, EventDetail, Record, Split};

use crate::build::{Builder, Draft, DraftCode};
use crate::collector::scratch;
use crate::event::Event;
use crate::summary::{ImportSummary, Reason};
use crate::{Import, ImportError, ImportProblem};

/// A finished record.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRecord {
    /// The identifier of the subject.
    pub id: String,
    /// The split the subject belongs to.
    pub split: Split,
    /// The visits, the static visit first.
    pub record: Record,
    /// What is known of it beside its codes.
    pub details: Details,
}

/// Drafts of records, one subject after the other.
pub(crate) struct Drafts<'i> {
    builder: Builder<'i>,
    import: &'i Import,
    merged: Box<dyn Iterator<Item = io::Result<Event>> + 'i>,
    /// The first event of the next subject.
    ahead: Option<Event>,
    events: Vec<Event>,
    pub summary: ImportSummary,
}

impl<'i> Drafts<'i> {
    pub fn new(import: &'i Import, summary: ImportSummary) -> Self {
        let Import { options, profile, codes, finals, measures, ranks, death, .. } = import;
        let rank = |event: &Event| ranks.get(event.subject as usize).copied();
        Self {
            builder: Builder { options, profile: *profile, codes, finals, measures, death: *death },
            import,
            merged: Box::new(import.runs.merged(rank)),
            ahead: None,
            events: Vec::new(),
            summary,
        }
    }

    /// The next subject that has a record, with its draft.
    pub fn advance(&mut self) -> Result<Option<(u32, Draft)>, ImportError> {
        while self.next_subject()? {
            let Some(subject) = self.events.first().map(|event| event.subject) else { break };
            let draft = self.builder.build(&self.events, &mut self.summary);
            if let Some(draft) = draft.map_err(|problem| self.import.fail(problem))? {
                return Ok(Some((subject, draft)));
            }
        }
        Ok(None)
    }

    /// Leaves out the encounters that have no code that is kept; true if the record is left without any.
    pub fn drop_emptied(&mut self, draft: &mut Draft, is_kept: impl Fn(u32) -> bool) -> bool {
        let finals = &self.import.finals;
        let summary = &mut self.summary;
        let tells = |code: &&DraftCode| !finals.is_time(code.code);
        let stays = |code: &DraftCode| is_kept(code.code) && tells(&code);
        if draft.visits.iter().all(|visit| visit.codes.iter().any(stays)) {
            return false;
        }
        draft.visits.retain(|visit| {
            let kept = visit.codes.iter().any(stays);
            if !kept {
                let rare = visit.codes.iter().filter(tells).count();
                summary.drop_many(Reason::RareOccurrences, rare as u64);
                summary.drop_one(Reason::EmptyVisits);
            }
            kept
        });
        self.builder.renew_gaps(draft);
        if draft.visits.is_empty() {
            summary.drop_one(Reason::NoVisits);
        }
        draft.visits.is_empty()
    }

    /// Gathers the events of the next subject.
    fn next_subject(&mut self) -> Result<bool, ImportError> {
        self.events.clear();
        self.events.extend(self.ahead.take());
        for event in &mut self.merged {
            let event = event.map_err(|error| scratch(&self.import.options, error))?;
            if self.events.first().is_some_and(|first| first.subject != event.subject) {
                self.ahead = Some(event);
                break;
            }
            let limit = self.import.options.limits.subject_events;
            if self.events.len() >= limit {
                return Err(self.import.fail(ImportProblem::TooManyEvents { limit }));
            }
            self.events.push(event);
        }
        Ok(!self.events.is_empty())
    }
}

/// The records of an [`Import`].
pub struct Records<'i> {
    drafts: Drafts<'i>,
    import: &'i Import,
    failed: bool,
}

impl<'i> Records<'i> {
    pub(crate) fn new(import: &'i Import) -> Self {
        Self { drafts: Drafts::new(import, import.summary.clone()), import, failed: false }
    }

    /// What was kept and left out so far; complete once the last record was handed on.
    pub fn summary(&self) -> &ImportSummary {
        &self.drafts.summary
    }

    fn step(&mut self) -> Result<Option<ImportedRecord>, ImportError> {
        while let Some((subject, mut draft)) = self.drafts.advance()? {
            let import = self.import;
            let kept = |code: u32| import.kept[code as usize].is_some();
            if import.options.drop_empty && self.drafts.drop_emptied(&mut draft, kept) {
                continue;
            }
            return Ok(Some(self.finished(subject, draft)));
        }
        Ok(None)
    }

    fn finished(&mut self, subject: u32, draft: Draft) -> ImportedRecord {
        let import = self.import;
        let summary = &mut self.drafts.summary;
        let mut details = Details { birth: draft.birth, ..Details::default() };
        if import.profile.dated {
            let times = draft.visits.iter().map(|visit| visit.time.unwrap_or_default());
            details.times = times.collect();
        }
        if draft.visits.iter().any(|visit| visit.end.is_some()) {
            details.ends = draft.visits.iter().map(|visit| visit.end).collect();
        }
        if draft.visits.iter().any(|visit| visit.age.is_some()) {
            details.ages = draft.visits.iter().map(|visit| visit.age).collect();
        }
        summary.patients += 1;
        summary.visits += draft.visits.len() as u64;
        summary.cut += u64::from(!draft.ended);
        summary.births += u64::from(draft.birth.is_some());
        summary.ends += details.ends.iter().flatten().count() as u64;
        if let (Some(&first), Some(&last)) = (details.times.first(), details.times.last()) {
            let (first, last) = (Date(first).year(), Date(last).year());
            let (from, to) = summary.years.unwrap_or((first, last));
            summary.years = Some((from.min(first), to.max(last)));
        }
        let mut visits = Vec::with_capacity(draft.visits.len() + 1);
        visits.push(import.numbered(&draft.statics, 0, &mut details, summary));
        for (index, visit) in draft.visits.iter().enumerate() {
            let codes = import.numbered(&visit.codes, index + 1, &mut details, summary);
            summary.codes += codes.len() as u64;
            let tells = |code: &&DraftCode| {
                import.kept[code.code as usize].is_some() && !import.finals.is_time(code.code)
            };
            summary.empty_visits += u64::from(!visit.codes.iter().any(|code| tells(&code)));
            visits.push(codes);
        }
        details.events.sort_by_key(|event| (event.visit, event.code));
        let id = import.subjects.id(subject).to_owned();
        let split = import.subjects.split(subject);
        summary.count_split(split);
        let record = Record::new(visits);
        let record = if draft.ended { record } else { record.cut() };
        ImportedRecord { id, split, record, details }
    }
}

impl Import {
    /// The codes of a visit that are kept, with what is known of each put into the details.
    fn numbered(
        &self,
        codes: &[DraftCode],
        visit: usize,
        details: &mut Details,
        summary: &mut ImportSummary,
    ) -> Vec<Code> {
        let mut kept = Vec::with_capacity(codes.len());
        for draft in codes {
            let Some(code) = self.kept[draft.code as usize] else {
                summary.drop_one(Reason::RareOccurrences);
                continue;
            };
            kept.push(code);
            let scaled = self.profile.own || self.finals.scales.contains_key(&draft.code);
            let value = Some(draft.value).filter(|value| scaled && value.is_finite());
            summary.values += u64::from(value.is_some());
            if value.is_some() || draft.time.is_some() {
                let visit = visit as u32;
                details.events.push(EventDetail { visit, code, time: draft.time, value });
            }
        }
        kept
    }
}

impl Iterator for Records<'_> {
    type Item = Result<ImportedRecord, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}
