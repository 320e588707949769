//! Events into records.

use consequence_record::calendar::DAY;
use consequence_record::{Code, Cohort, CohortDetails, DetailsView};
use rustc_hash::{FxHashMap, FxHashSet};

use super::MedsProblem;
use super::codebook::Meaning;
use crate::{Limits, Problem};

/// The records of one data file.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub cohort: Cohort,
    /// The number of each record's subject, and the row of its first event.
    pub subjects: Vec<(i64, u64)>,
    pub details: CohortDetails,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub subject: i64,
    /// None for a static event.
    pub time: Option<i64>,
    /// The visit or admission it is said to belong to.
    pub visit: Option<i64>,
}

/// What tells the encounters of a subject apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Numbered(i64),
    Day(i64),
}

/// Puts records together from the events of a file, in their order.
pub(super) struct Assembler<'a> {
    /// The ids of subjects that are not their number.
    ids: &'a FxHashMap<i64, Box<str>>,
    limits: &'a Limits,
    keep_times: bool,
    part: Part,
    finished: FxHashSet<i64>,
    subject: Option<(i64, u64)>,
    cut: bool,
    last_time: i64,
    last: Option<(Key, u32)>,
    visits: FxHashMap<Key, u32>,
    times: Vec<i64>,
    /// The codes of the subject with the visit each is in.
    events: Vec<(u32, Code)>,
    codes: Vec<Code>,
    ends: Vec<usize>,
}

impl<'a> Assembler<'a> {
    pub fn new(ids: &'a FxHashMap<i64, Box<str>>, limits: &'a Limits, keep_times: bool) -> Self {
        Self {
            ids,
            limits,
            keep_times,
            part: Part::default(),
            finished: FxHashSet::default(),
            subject: None,
            cut: false,
            last_time: i64::MIN,
            last: None,
            visits: FxHashMap::default(),
            times: Vec::new(),
            events: Vec::new(),
            codes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Takes in the event of a row. `meaning` is what its code means there, and not nothing.
    #[inline]
    pub fn take(&mut self, event: Event, meaning: Meaning, row: u64) -> Result<(), Problem> {
        if self.subject.is_none_or(|(subject, _)| subject != event.subject) {
            self.finish_subject();
            if self.finished.contains(&event.subject) {
                return Err(MedsProblem::ScatteredSubject.into());
            }
            self.subject = Some((event.subject, row));
        }
        let visit = match event.time {
            None => 0,
            Some(time) => {
                if time < self.last_time {
                    return Err(MedsProblem::Unsorted.into());
                }
                self.last_time = time;
                let key = match event.visit {
                    Some(number) => Key::Numbered(number),
                    None => Key::Day(time.div_euclid(DAY)),
                };
                match self.last {
                    Some((last, visit)) if last == key => visit,
                    _ => self.visit_of(key, time)?,
                }
            }
        };
        match meaning {
            Meaning::Code(code) => self.events.push((visit, code)),
            Meaning::Cut => self.cut = true,
            Meaning::Visit | Meaning::Nothing => {}
        }
        Ok(())
    }

    /// The encounter of a key, counted from 1 in the order in which they begin.
    fn visit_of(&mut self, key: Key, time: i64) -> Result<u32, Problem> {
        let next = self.visits.len() as u32 + 1;
        let visit = *self.visits.entry(key).or_insert(next);
        if visit == next {
            if self.visits.len() > self.limits.visits {
                return Err(Problem::TooManyVisits { limit: self.limits.visits });
            }
            self.times.push(time);
        }
        self.last = Some((key, visit));
        Ok(visit)
    }

    fn finish_subject(&mut self) {
        let Some((subject, row)) = self.subject.take() else { return };
        self.finished.insert(subject);
        if !self.events.is_sorted_by(|left, right| left < right) {
            self.events.sort_unstable();
            self.events.dedup();
        }
        // A subject without an encounter is left out.
        if !self.times.is_empty() {
            self.push_record(subject, row);
        }
        self.cut = false;
        self.last_time = i64::MIN;
        self.last = None;
        self.visits.clear();
        self.times.clear();
        self.events.clear();
    }

    fn push_record(&mut self, subject: i64, row: u64) {
        self.codes.clear();
        self.ends.clear();
        for &(visit, code) in &self.events {
            while self.ends.len() < visit as usize {
                self.ends.push(self.codes.len());
            }
            self.codes.push(code);
        }
        while self.ends.len() <= self.times.len() {
            self.ends.push(self.codes.len());
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let visits = starts.zip(&self.ends).map(|(start, &end)| &self.codes[start..end]);
        let cohort = &mut self.part.cohort;
        match self.ids.get(&subject) {
            Some(id) => cohort.push_visits(id, visits, !self.cut),
            None => cohort.push_visits(&subject.to_string(), visits, !self.cut),
        }
        self.part.subjects.push((subject, row));
        if self.keep_times {
            let details = DetailsView { times: &self.times, ..DetailsView::default() };
            self.part.details.push(details);
        }
    }

    /// The records that are whole by now.
    pub fn drain(&mut self) -> Part {
        std::mem::take(&mut self.part)
    }

    /// The records, once all events are in.
    pub fn finish(mut self) -> Part {
        self.finish_subject();
        self.part
    }
}
