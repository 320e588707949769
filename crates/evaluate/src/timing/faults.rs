//! What cannot be: events after death, and before birth.

use consequence_record::calendar::DAY;
use consequence_record::{Code, DetailsView, Part, RecordView, Vocabulary, says_dead};
use consequence_tally::counts;
use serde::Serialize;

use super::counting::day;

/// What is at a time at which it cannot be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Misplaced {
    /// Records with such a visit or event.
    pub records: u64,
    /// Encounters that begin at such a time.
    pub visits: u64,
    /// Codes at such a time; none that tells time.
    pub events: u64,
}

counts!(Misplaced { records, visits, events });

impl Misplaced {
    /// Counts the visits and events of a record that are misplaced.
    fn add(
        &mut self,
        record: RecordView<'_>,
        vocabulary: &Vocabulary,
        visits: impl Fn(usize) -> bool,
        events: impl Fn(usize, Code) -> bool,
    ) {
        let before = (self.visits, self.events);
        for visit in 0..record.len() {
            self.visits += u64::from(visit > 0 && visits(visit));
            let codes = record.visit(visit).iter();
            let codes = codes.filter(|&&code| vocabulary.part(code) != Part::Time);
            self.events += codes.filter(|&&code| events(visit, code)).count() as u64;
        }
        self.records += u64::from(before != (self.visits, self.events));
    }
}

/// What cannot be in some records.
pub(super) struct Faults<'v> {
    vocabulary: &'v Vocabulary,
    /// Codes of encounters that say that a patient died.
    deaths: Vec<Code>,
    pub after_death: Misplaced,
    pub before_birth: Misplaced,
}

impl<'v> Faults<'v> {
    pub fn new(vocabulary: &'v Vocabulary) -> Self {
        let deaths = vocabulary.codes().filter(|&code| says_dead(vocabulary.name(code))).collect();
        let (after_death, before_birth) = (Misplaced::default(), Misplaced::default());
        Self { vocabulary, deaths, after_death, before_birth }
    }

    pub fn add(&mut self, record: RecordView<'_>, details: DetailsView<'_>) {
        let vocabulary = self.vocabulary;
        let time = |visit: usize, code: Code| {
            let own = details.event(visit, code).and_then(|event| event.time);
            own.or_else(|| details.time(visit))
        };
        let deaths = self.deaths.iter().copied();
        let deaths: Vec<(usize, Code)> = deaths
            .flat_map(|code| {
                let died = move |visit: &usize| record.visit(*visit).binary_search(&code).is_ok();
                (1..record.len()).filter(died).map(move |visit| (visit, code))
            })
            .collect();
        if details.times.is_empty() {
            // Without dates the order of visits tells it.
            if let Some(&(last, _)) = deaths.iter().min_by_key(|(visit, _)| *visit) {
                let after = |visit: usize| visit > last;
                self.after_death.add(record, vocabulary, after, |visit, _| after(visit));
            }
            return;
        }
        // Midnight is a date without a time of day: whoever died on it may have lived until its end.
        let whole = |time: i64| if time.rem_euclid(DAY) == 0 { time + DAY - 1 } else { time };
        let died = deaths.iter().filter_map(|&(visit, code)| time(visit, code)).map(whole).min();
        if let Some(died) = died {
            let after = |time: Option<i64>| time.is_some_and(|time| time > died);
            let visit = |visit| after(details.time(visit));
            self.after_death.add(record, vocabulary, visit, |visit, code| after(time(visit, code)));
        }
        if let Some(birth) = details.birth.map(day) {
            let before = |time: Option<i64>| time.is_some_and(|time| day(time) < birth);
            let visit = |visit| before(details.time(visit));
            let event = |visit, code| before(time(visit, code));
            self.before_birth.add(record, vocabulary, visit, event);
        }
    }
}
