//! The records of an import, one subject after the other.

use std::io;

use consequence_record::{Details, Record, Split};

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
        let rank = |event: &Event| import.ranks.get(event.subject as usize).copied();
        Self {
            builder: import.known.builder(),
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
        let finals = &self.import.known.finals;
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
            let event = event.map_err(|error| scratch(&self.import.known.options, error))?;
            if self.events.first().is_some_and(|first| first.subject != event.subject) {
                self.ahead = Some(event);
                break;
            }
            let limit = self.import.known.options.limits.subject_events;
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
            let known = &self.import.known;
            let kept = |code: u32| known.kept[code as usize].is_some();
            if known.options.drop_empty && self.drafts.drop_emptied(&mut draft, kept) {
                continue;
            }
            return Ok(Some(self.finished(subject, &draft)));
        }
        Ok(None)
    }

    fn finished(&mut self, subject: u32, draft: &Draft) -> ImportedRecord {
        let Import { known, subjects, .. } = self.import;
        let summary = &mut self.drafts.summary;
        let (record, details) = known.record(draft, summary);
        let (id, split) = (subjects.id(subject).to_owned(), subjects.split(subject));
        summary.count_split(split);
        ImportedRecord { id, split, record, details }
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
