//! The records of an import, one subject after the other.

use std::io;

use consequence_record::{Code, Details, Record, Split};

use crate::build::{Builder, Draft};
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
        let Import { options, profile, codes, finals, cuts, ranks, .. } = import;
        let rank = |event: &Event| ranks.get(event.subject as usize).copied();
        Self {
            builder: Builder { options, profile: *profile, codes, finals, cuts },
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
            if let Some(mut draft) = draft.map_err(|problem| self.import.fail(problem))? {
                self.builder.add_gaps(&mut draft);
                return Ok(Some((subject, draft)));
            }
        }
        Ok(None)
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
            if self.import.options.drop_empty && self.drop_emptied(&mut draft) {
                continue;
            }
            return Ok(Some(self.finished(subject, draft)));
        }
        Ok(None)
    }

    /// Leaves out the encounters that had rare codes only; true if the record is left without any.
    fn drop_emptied(&mut self, draft: &mut Draft) -> bool {
        let import = self.import;
        let gap = |code: u32| import.finals.names[code as usize].starts_with("GAP//");
        let stays = |code: &u32| import.kept[*code as usize].is_some() && !gap(*code);
        let summary = &mut self.drafts.summary;
        if draft.visits.iter().all(|visit| visit.codes.iter().any(stays)) {
            return false;
        }
        draft.visits.retain(|visit| {
            let kept = visit.codes.iter().any(stays);
            if !kept {
                let rare = visit.codes.iter().filter(|code| !gap(**code)).count();
                summary.drop_many(Reason::RareOccurrences, rare as u64);
                summary.drop_one(Reason::EmptyVisits);
            }
            kept
        });
        for visit in &mut draft.visits {
            visit.codes.retain(|code| !gap(*code));
        }
        self.drafts.builder.add_gaps(draft);
        if draft.visits.is_empty() {
            summary.drop_one(Reason::NoVisits);
        }
        draft.visits.is_empty()
    }

    fn finished(&mut self, subject: u32, draft: Draft) -> ImportedRecord {
        let import = self.import;
        let summary = &mut self.drafts.summary;
        let times = match import.profile.dated {
            true => draft.visits.iter().map(|visit| visit.time.unwrap_or_default()).collect(),
            false => Vec::new(),
        };
        summary.patients += 1;
        summary.visits += draft.visits.len() as u64;
        summary.cut += u64::from(!draft.ended);
        let numbered = |codes: &[u32], summary: &mut ImportSummary| {
            let kept: Vec<Code> =
                codes.iter().filter_map(|&code| import.kept[code as usize]).collect();
            summary.drop_many(Reason::RareOccurrences, (codes.len() - kept.len()) as u64);
            kept
        };
        let mut visits = vec![numbered(&draft.statics, summary)];
        for visit in &draft.visits {
            let codes = numbered(&visit.codes, summary);
            summary.codes += codes.len() as u64;
            summary.empty_visits += u64::from(codes.is_empty());
            visits.push(codes);
        }
        let id = import.subjects.id(subject).to_owned();
        let split = import.subjects.split(subject);
        summary.count_split(split);
        let record = Record::new(visits);
        let record = if draft.ended { record } else { record.cut() };
        ImportedRecord { id, split, record, details: Details { times, ..Details::default() } }
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
