//! How a record is read: its visits however they are kept, whether a formula is true at one of
//! them, and what makes them no record at all.

use std::collections::BTreeMap;
use std::fmt;

use consequence_record::calendar::DAY;
use consequence_record::{AgeBand, Code, DetailsView, Kind, Record, RecordView, Vocabulary};
use consequence_rules::{Days, Fact, Formula, ValueRange, Window};

/// Visits that can be judged.
pub trait Visits {
    /// The number of visits, the static visit included.
    fn visit_count(&self) -> usize;

    /// The codes stored in a visit; none where there is no such visit.
    fn codes(&self, visit: usize) -> &[Code];

    /// Whether the record has an end, rather than having been cut.
    fn has_ended(&self) -> bool;

    /// When its encounters were, when the patient was born, and what was measured; nothing, unless more is
    /// known.
    fn details(&self) -> DetailsView<'_> {
        DetailsView::default()
    }
}

/// Visits with what is known of them beside their codes.
///
/// ```
/// use consequence_record::calendar::DAY;
/// use consequence_record::{Details, Kind, Record, Vocabulary};
/// use consequence_referee::{Detailed, Referee, Violation};
/// use consequence_rules::RuleSet;
///
/// let rules = RuleSet::parse("rule not-twice-a-month: SCAN in last 30 days => not SCAN", None)?;
/// let scan = rules.vocabulary().code("SCAN").unwrap();
/// let record = Record::new(vec![vec![], vec![scan], vec![scan], vec![scan]]);
/// let details = Details { times: vec![0, 31 * DAY, 61 * DAY], ..Details::default() };
/// let detailed = Detailed { record: &record, details: details.view() };
/// let referee = Referee::new(&rules);
/// assert_eq!(referee.violations(&detailed), [Violation { rule: 0, visit: 3 }]);
/// assert!(referee.is_valid(&record), "without dates nothing was in the last days");
/// # Ok::<(), consequence_rules::Diagnostics>(())
/// ```
#[derive(Debug)]
pub struct Detailed<'a, V: ?Sized> {
    /// The visits.
    pub record: &'a V,
    /// What is known of them.
    pub details: DetailsView<'a>,
}

impl<V: Visits + ?Sized> Visits for Detailed<'_, V> {
    fn visit_count(&self) -> usize {
        self.record.visit_count()
    }

    fn codes(&self, visit: usize) -> &[Code] {
        self.record.codes(visit)
    }

    fn has_ended(&self) -> bool {
        self.record.has_ended()
    }

    fn details(&self) -> DetailsView<'_> {
        self.details
    }
}

impl Visits for Record {
    fn visit_count(&self) -> usize {
        self.visits.len()
    }

    fn codes(&self, visit: usize) -> &[Code] {
        self.visits.get(visit).map_or(&[], Vec::as_slice)
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}

impl Visits for RecordView<'_> {
    fn visit_count(&self) -> usize {
        self.len()
    }

    fn codes(&self, visit: usize) -> &[Code] {
        if visit < self.len() { self.visit(visit) } else { &[] }
    }

    fn has_ended(&self) -> bool {
        self.ended()
    }

    fn details(&self) -> DetailsView<'_> {
        RecordView::details(self)
    }
}

/// One visit of one record, as a formula sees it.
pub(crate) struct Moment<'a, V: ?Sized> {
    pub vocabulary: &'a Vocabulary,
    /// The bands of static codes of age.
    pub ages: &'a BTreeMap<Code, AgeBand>,
    pub record: &'a V,
    pub now: usize,
}

impl<V: Visits + ?Sized> Moment<'_, V> {
    /// Whether the formula is true here.
    pub fn satisfies(&self, formula: &Formula) -> bool {
        match formula {
            Formula::Constant(truth) => *truth,
            Formula::Now(code) => self.present(*code, self.now),
            Formula::In(code, window) => {
                self.any_selected(window, |then| self.present(*code, then))
            }
            Formula::Fact(fact) => self.is_fact(fact),
            Formula::Not(inner) => !self.satisfies(inner),
            Formula::And(parts) => parts.iter().all(|part| self.satisfies(part)),
            Formula::Or(parts) => parts.iter().any(|part| self.satisfies(part)),
            Formula::Implies(left, right) => !self.satisfies(left) || self.satisfies(right),
            Formula::Iff(left, right) => self.satisfies(left) == self.satisfies(right),
            Formula::AtMostOne(parts) => self.count(parts) <= 1,
            Formula::ExactlyOne(parts) => self.count(parts) == 1,
        }
    }

    /// Whether a fact is one here. Kept apart, so that walking formulas without facts stays as quick as it was.
    #[inline(never)]
    fn is_fact(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Seen { codes, days, count } => {
                let counts = |&then: &usize| {
                    self.any_present(codes, then)
                        && days.is_none_or(|days| self.is_days_ago(days, then))
                };
                (0..self.now).filter(counts).count() >= usize::from(*count)
            }
            Fact::Since { codes, mark } => {
                let last = (0..self.now).rev().find(|&then| self.any_present(mark, then));
                last.is_some_and(|last| {
                    (last + 1..self.now).any(|then| self.any_present(codes, then))
                })
            }
            Fact::FirstVisit => self.now == 1,
            Fact::Age { least } => self.age().is_some_and(|age| age.from >= *least),
            Fact::Value { code, range } => {
                let event = self.record.details().event(self.now, *code);
                let value = event.and_then(|event| event.value);
                self.now > 0
                    && self.present(*code, self.now)
                    && value.is_some_and(|value| is_within(value, *range))
            }
        }
    }

    fn any_present(&self, codes: &[Code], visit: usize) -> bool {
        codes.iter().any(|&code| self.present(code, visit))
    }

    /// Whether an earlier encounter was so many days before: whole days between the days of the calendar.
    fn is_days_ago(&self, days: Days, then: usize) -> bool {
        let details = self.record.details();
        let day = |visit: usize| details.time(visit).map(|time| time.div_euclid(DAY));
        match (day(then), day(self.now)) {
            (Some(then), Some(now)) => {
                now - then >= i64::from(days.from) && now - then <= i64::from(days.to)
            }
            _ => false,
        }
    }

    /// How old the patient is at this encounter: what dates or the source tell, or else a static code.
    fn age(&self) -> Option<AgeBand> {
        if self.now == 0 {
            return None;
        }
        let told = || {
            let statics = self.record.codes(0).iter();
            statics.filter(|&&code| self.present(code, 0)).find_map(|code| self.ages.get(code))
        };
        self.record.details().age(self.now).or_else(|| told().copied())
    }

    fn count(&self, parts: &[Formula]) -> usize {
        parts.iter().filter(|part| self.satisfies(part)).count()
    }

    /// Whether a visit holds a code.
    fn present(&self, code: Code, visit: usize) -> bool {
        if code == self.vocabulary.end() {
            let last = visit + 1 == self.record.visit_count();
            return visit > 0 && last && self.record.has_ended();
        }
        lives_in(self.vocabulary, code, visit) && self.record.codes(visit).contains(&code)
    }

    /// Whether a condition holds of a visit that a window selects, seen from here.
    fn any_selected(&self, window: &Window, is_so: impl Fn(usize) -> bool) -> bool {
        if window.is_past() {
            return (0..self.now).any(is_so);
        }
        let by_number = window.visits().iter().map(|&visit| usize::from(visit));
        let by_distance =
            window.distances().iter().filter_map(|&back| self.now.checked_sub(usize::from(back)));
        by_number.chain(by_distance).any(|visit| visit < self.now && is_so(visit))
    }
}

/// Whether a value is in a range.
fn is_within(value: f32, range: ValueRange) -> bool {
    let too_small = range.least.is_some_and(|least| match least.included {
        true => value < least.number,
        false => value <= least.number,
    });
    let too_large = range.most.is_some_and(|most| match most.included {
        true => value > most.number,
        false => value >= most.number,
    });
    !too_small && !too_large
}

/// Whether this code may stand in that visit. A code of no vocabulary lives nowhere.
pub(crate) fn lives_in(vocabulary: &Vocabulary, code: Code, visit: usize) -> bool {
    let home = (code.index() < vocabulary.len()).then(|| vocabulary.kind(code));
    match home {
        Some(Kind::Static) => visit == 0,
        Some(Kind::Encounter) => visit > 0,
        None => false,
    }
}

/// A way in which visits fail to be a record, whatever the rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A static code in an encounter or the reverse, `END` stored, or a number that is no code of
    /// the vocabulary.
    Misplaced {
        /// The visit that holds it.
        visit: usize,
        /// The code.
        code: Code,
    },
    /// The codes of a visit are not in ascending order, or one is repeated.
    Unordered {
        /// The visit.
        visit: usize,
    },
    /// There is no encounter: a record has at least one.
    NoEncounter,
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misplaced { visit, code } => {
                write!(out, "code number {} cannot be stored in visit {visit}", code.0)
            }
            Self::Unordered { visit } => {
                write!(out, "the codes of visit {visit} are not an ascending set")
            }
            Self::NoEncounter => out.write_str("there is no encounter"),
        }
    }
}

/// Everything that makes these visits no record.
pub(crate) fn defects<V: Visits + ?Sized>(vocabulary: &Vocabulary, record: &V) -> Vec<Defect> {
    let mut found = Vec::new();
    if record.visit_count() < 2 {
        found.push(Defect::NoEncounter);
    }
    for visit in 0..record.visit_count() {
        let codes = record.codes(visit);
        for &code in codes {
            if code == vocabulary.end() || !lives_in(vocabulary, code, visit) {
                found.push(Defect::Misplaced { visit, code });
            }
        }
        if codes.windows(2).any(|pair| pair[0] >= pair[1]) {
            found.push(Defect::Unordered { visit });
        }
    }
    found
}
