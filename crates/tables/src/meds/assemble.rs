//! Events into records.

use consequence_record::calendar::DAY;
use consequence_record::{AgeBand, Code, Cohort, CohortDetails, DetailsView, EventDetail};
use rustc_hash::{FxHashMap, FxHashSet};

use super::MedsProblem;
use super::codebook::Meaning;
use crate::{Limits, Problem};

/// The records of one data file.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub cohort: Cohort,
    /// The number of each record's subject, and the row of its first event.
    pub subjects: Vec<(i64, u64)>,
    pub details: CohortDetails,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub subject: i64,
    /// None for a static event.
    pub time: Option<i64>,
    /// The visit or admission it is said to belong to.
    pub visit: Option<i64>,
    /// What was measured.
    pub value: Option<f32>,
}

/// How records are put together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeping {
    /// Whether dates, stays, births and values are kept.
    pub details: bool,
    /// Whether stays, bands of age and values are among these.
    pub values: bool,
    /// Whether times are real, and not only an order.
    pub dated: bool,
    /// The code of a death that may come without the visit or admission that it belongs to.
    pub death: Option<Code>,
}

/// What tells the encounters of a subject apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Numbered(i64),
    Day(i64),
}

/// An encounter.
#[derive(Clone, Copy, Debug)]
struct Visit {
    /// When it began: at its mark if it has one, and else at its first event.
    begin: i64,
    /// Its number among the encounters with a mark.
    mark: Option<u32>,
    /// When its last event was.
    last: i64,
    end: Option<i64>,
    age: Option<AgeBand>,
}

/// Puts records together from the events of a file, in their order.
pub(crate) struct Assembler {
    limits: Limits,
    keeping: Keeping,
    part: Part,
    finished: FxHashSet<i64>,
    subject: Option<(i64, u64)>,
    /// The id of the open subject, where that is not its number.
    id: Option<Box<str>>,
    cut: bool,
    birth: Option<i64>,
    last_time: i64,
    last: Option<(Key, u32)>,
    numbers: FxHashMap<Key, u32>,
    visits: Vec<Visit>,
    marks: u32,
    /// Deaths that belong to no visit yet.
    deaths: Vec<(i64, Option<f32>)>,
    /// Whether encounters were met in another order than they began.
    disordered: bool,
    /// The codes of the subject with the visit each is in.
    events: Vec<(u32, Code)>,
    /// What is told of each event, where details are kept.
    told: Vec<EventDetail>,
    codes: Vec<Code>,
    ends: Vec<usize>,
    details: Buffers,
}

/// What is known of a record beside its codes, before it is appended to the others.
#[derive(Default)]
struct Buffers {
    times: Vec<i64>,
    ends: Vec<Option<i64>>,
    ages: Vec<Option<AgeBand>>,
    events: Vec<EventDetail>,
}

impl Assembler {
    pub fn new(limits: Limits, keeping: Keeping) -> Self {
        Self {
            limits,
            keeping,
            part: Part::default(),
            finished: FxHashSet::default(),
            subject: None,
            id: None,
            cut: false,
            birth: None,
            last_time: i64::MIN,
            last: None,
            numbers: FxHashMap::default(),
            visits: Vec::new(),
            marks: 0,
            deaths: Vec::new(),
            disordered: false,
            events: Vec::new(),
            told: Vec::new(),
            codes: Vec::new(),
            ends: Vec::new(),
            details: Buffers::default(),
        }
    }

    /// Whether dates, stays, births and values are kept.
    pub fn keeps_values(&self) -> bool {
        self.keeping.details && self.keeping.values
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
        let Some(time) = event.time else {
            if let Meaning::Code(code) = meaning {
                self.put(0, code, None, event.value);
            }
            return Ok(());
        };
        if time < self.last_time {
            return Err(MedsProblem::Unsorted.into());
        }
        self.last_time = time;
        match meaning {
            Meaning::Birth => {
                self.birth.get_or_insert(time);
                return Ok(());
            }
            Meaning::Code(code) if event.visit.is_none() && self.keeping.death == Some(code) => {
                // Each may become an encounter.
                if self.numbers.len() + self.deaths.len() >= self.limits.visits {
                    return Err(Problem::TooManyVisits { limit: self.limits.visits });
                }
                self.deaths.push((time, event.value));
                return Ok(());
            }
            _ => {}
        }
        let key = match event.visit {
            Some(number) => Key::Numbered(number),
            None => Key::Day(time.div_euclid(DAY)),
        };
        let number = match self.last {
            Some((last, number)) if last == key => number,
            _ => self.visit_of(key, time)?,
        };
        let visit = &mut self.visits[number as usize - 1];
        visit.last = time;
        match meaning {
            Meaning::Code(code) => self.put(number, code, Some(time), event.value),
            Meaning::Cut => self.cut = true,
            Meaning::End => visit.end = Some(time),
            Meaning::Age(band) => visit.age = Some(band),
            Meaning::Visit if visit.mark.is_none() => {
                self.marks += 1;
                visit.mark = Some(self.marks);
                self.disordered |= self.marks != number || visit.begin != time;
                visit.begin = time;
            }
            Meaning::Visit | Meaning::Birth | Meaning::Nothing => {}
        }
        Ok(())
    }

    /// Says what the id of the open subject is, if not its number.
    pub fn name(&mut self, id: &str) {
        self.id = Some(id.into());
    }

    #[inline]
    fn put(&mut self, visit: u32, code: Code, time: Option<i64>, value: Option<f32>) {
        self.events.push((visit, code));
        if self.keeps_values() {
            self.told.push(EventDetail { visit, code, time, value });
        }
    }

    /// The encounter of a key, counted from 1 in the order in which they are met.
    fn visit_of(&mut self, key: Key, time: i64) -> Result<u32, Problem> {
        let next = self.visits.len() as u32 + 1;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            if self.numbers.len() > self.limits.visits {
                return Err(Problem::TooManyVisits { limit: self.limits.visits });
            }
            self.visits.push(Visit { begin: time, mark: None, last: time, end: None, age: None });
        }
        self.last = Some((key, number));
        Ok(number)
    }

    fn finish_subject(&mut self) {
        let Some((subject, row)) = self.subject.take() else { return };
        self.finished.insert(subject);
        self.place_deaths();
        if self.disordered {
            self.put_in_order();
        }
        if !self.events.is_sorted_by(|left, right| left < right) {
            self.events.sort_unstable();
            self.events.dedup();
        }
        // A subject without an encounter is left out.
        if !self.visits.is_empty() {
            self.push_record(subject, row);
        }
        self.id = None;
        self.cut = false;
        self.birth = None;
        self.last_time = i64::MIN;
        self.last = None;
        self.marks = 0;
        self.disordered = false;
        self.numbers.clear();
        self.visits.clear();
        self.events.clear();
        self.told.clear();
    }

    /// Puts deaths into the last encounter that goes on on their day, or into one of their own.
    fn place_deaths(&mut self) {
        let Some(death) = self.keeping.death else { return };
        for index in 0..self.deaths.len() {
            let (time, value) = self.deaths[index];
            let day = time.div_euclid(DAY);
            let covers = |visit: &Visit| {
                visit.begin.div_euclid(DAY) <= day && day <= visit.last.div_euclid(DAY)
            };
            let number = self.visits.iter().rposition(covers).unwrap_or_else(|| {
                self.disordered = true;
                let (mark, end, age) = (None, None, None);
                self.visits.push(Visit { begin: time, mark, last: time, end, age });
                self.visits.len() - 1
            });
            self.put(number as u32 + 1, death, Some(time), value);
        }
        self.deaths.clear();
    }

    /// Numbers encounters in the order in which they began.
    fn put_in_order(&mut self) {
        let mut order: Vec<usize> = (0..self.visits.len()).collect();
        // Encounters without a mark come after those that began with them.
        let place = |visit: &Visit| (visit.begin, visit.mark.unwrap_or(u32::MAX));
        order.sort_by_key(|&index| place(&self.visits[index]));
        let mut numbers = vec![0; order.len() + 1];
        for (index, &before) in order.iter().enumerate() {
            numbers[before + 1] = index as u32 + 1;
        }
        self.visits = order.iter().map(|&before| self.visits[before]).collect();
        self.events.iter_mut().for_each(|(visit, _)| *visit = numbers[*visit as usize]);
        self.told.iter_mut().for_each(|told| told.visit = numbers[told.visit as usize]);
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
        while self.ends.len() <= self.visits.len() {
            self.ends.push(self.codes.len());
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let visits = starts.zip(&self.ends).map(|(start, &end)| &self.codes[start..end]);
        let cohort = &mut self.part.cohort;
        match &self.id {
            Some(id) => cohort.push_visits(id, visits, !self.cut),
            None => cohort.push_visits(&subject.to_string(), visits, !self.cut),
        }
        self.part.subjects.push((subject, row));
        if self.keeping.details {
            self.push_details();
        }
    }

    fn push_details(&mut self) {
        let Buffers { times, ends, ages, events } = &mut self.details;
        times.clear();
        ends.clear();
        ages.clear();
        events.clear();
        if self.keeping.dated {
            times.extend(self.visits.iter().map(|visit| visit.begin));
            if self.keeping.values && self.visits.iter().any(|visit| visit.end.is_some()) {
                ends.extend(self.visits.iter().map(|visit| visit.end));
            }
        }
        if self.keeping.values && self.visits.iter().any(|visit| visit.age.is_some()) {
            ages.extend(self.visits.iter().map(|visit| visit.age));
        }
        // Those of one code in a visit stay in the order of their times.
        let place = |told: &EventDetail| (told.visit, told.code);
        if !self.told.is_sorted_by_key(place) {
            self.told.sort_by_key(place);
        }
        for told in &mut self.told {
            let begin = told.visit.checked_sub(1).and_then(|index| times.get(index as usize));
            told.time = told.time.filter(|time| begin.is_some_and(|begin| begin != time));
        }
        for same in self.told.chunk_by(|left, right| place(left) == place(right)) {
            let kept = same.iter().rev().find(|told| told.value.is_some()).unwrap_or(&same[0]);
            if kept.value.is_some() || kept.time.is_some() {
                events.push(*kept);
            }
        }
        self.part.details.push(DetailsView { birth: self.birth, times, ends, ages, events });
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
