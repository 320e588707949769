//! When records end, by how long they have gone on.
//!
//! A network sees visits and the codes of days between them, and keeps no sum of these. Where a cohort is a
//! window of the calendar, such as claims of two years, records end because the window does. So the logit
//! of `END` is moved by the days since the first encounter. These are counted from codes alone, each
//! code of a gap standing for the days that it means on average: what a record costs depends on its codes, and its
//! probabilities still add up to one.

use std::collections::BTreeMap;

use consequence_rules::Order;
use serde::{Deserialize, Serialize};

use crate::{Decide, LookAhead};

/// The most that a logit is moved, either way.
const MOST: f64 = 8.0;

/// The farthest that a number of it may be from zero.
const FARTHEST: f64 = 1e6;

/// Days that are added to those that a record has gone on for, so that the first encounters have a pace.
const FIRST_DAYS: f64 = 7.0;

/// How the logit of `END` moves with the days since the first encounter.
///
/// ```
/// use std::collections::BTreeMap;
/// use consequence_model::{Elapsed, EndCell, EndsByDays};
///
/// let days = BTreeMap::from([("GAP//30-60d".to_owned(), 42.0)]);
/// let cell = |from_days, level| EndCell { from_days, level, by_pace: 0.0 };
/// let ends = EndsByDays::new(days, vec![cell(0, -1.0), cell(700, 2.0)]).unwrap();
/// let at = |days| ends.shift(Elapsed { days, encounters: 3 });
/// assert_eq!((at(0.0), at(699.9), at(700.0)), (-1.0, -1.0, 2.0));
/// assert_eq!(EndsByDays::new(BTreeMap::new(), vec![cell(700, 2.0)]), None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct EndsByDays {
    days: BTreeMap<String, f64>,
    cells: Vec<EndCell>,
}

/// How the logit of `END` moves where a record has gone on for so many days.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndCell {
    /// The fewest days since the first encounter; the cell ends where the next begins.
    pub from_days: u32,
    /// What is added to the logit.
    pub level: f64,
    /// What is added to it for each unit of the [pace](Elapsed::pace).
    pub by_pace: f64,
}

/// How long a record has gone on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Elapsed {
    /// Days since the first encounter, as codes tell them.
    pub days: f64,
    /// Encounters before the one at hand.
    pub encounters: u32,
}

impl Elapsed {
    /// The logarithm of the days from one encounter to the next.
    pub fn pace(self) -> f64 {
        ((self.days + FIRST_DAYS) / (f64::from(self.encounters) + 1.0)).ln()
    }
}

/// What is written.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    days: BTreeMap<String, f64>,
    cells: Vec<EndCell>,
}

impl From<EndsByDays> for Written {
    fn from(EndsByDays { days, cells }: EndsByDays) -> Self {
        Self { days, cells }
    }
}

impl TryFrom<Written> for EndsByDays {
    type Error = &'static str;

    fn try_from(Written { days, cells }: Written) -> Result<Self, &'static str> {
        Self::new(days, cells).ok_or("the cells of days are not in order, or not of numbers")
    }
}

impl EndsByDays {
    /// The days that each code of a gap stands for, and cells in order, the first from 0 days; none where they are
    /// otherwise or a number is out of reach.
    pub fn new(days: BTreeMap<String, f64>, cells: Vec<EndCell>) -> Option<Self> {
        let near = |number: f64| number.abs() <= FARTHEST;
        let first = cells.first().is_some_and(|cell| cell.from_days == 0);
        let sorted = cells.windows(2).all(|pair| pair[0].from_days < pair[1].from_days);
        let sound = cells.iter().all(|cell| near(cell.level) && near(cell.by_pace))
            && days.values().all(|&days| near(days) && days >= 0.0);
        (first && sorted && sound).then_some(Self { days, cells })
    }

    /// The days that each code of a gap stands for, by its name.
    pub fn days(&self) -> &BTreeMap<String, f64> {
        &self.days
    }

    /// The cells, from the fewest days.
    pub fn cells(&self) -> &[EndCell] {
        &self.cells
    }

    /// What is added to the logit of `END`.
    pub fn shift(&self, elapsed: Elapsed) -> f64 {
        let after = self.cells.partition_point(|cell| f64::from(cell.from_days) <= elapsed.days);
        let cell = self.cells[after.saturating_sub(1)];
        (cell.level + cell.by_pace * elapsed.pace()).clamp(-MOST, MOST)
    }
}

/// The days that codes stand for, by their positions: how long a record has gone on.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use consequence_model::{DayCounter, Elapsed};
/// use consequence_record::{Kind, Vocabulary};
/// use consequence_rules::Order;
///
/// let vocabulary = Vocabulary::new([("GAP//7-14d", Kind::Encounter), ("A", Kind::Encounter)])?;
/// let codes = Order::natural(Arc::new(vocabulary));
/// let days = DayCounter::new(&codes, &BTreeMap::from([("GAP//7-14d".to_owned(), 9.5)]));
/// // The static visit, one encounter, and one after a gap.
/// let before = days.after(days.after(None, &[]), &[1]);
/// assert_eq!(days.at_end(before, &[0, 1, 2]), Elapsed { days: 9.5, encounters: 1 });
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DayCounter {
    days: Vec<Option<f64>>,
    end: u32,
}

impl DayCounter {
    /// Over codes in the order that they are decided.
    pub fn new(codes: &Order, days: &BTreeMap<String, f64>) -> Self {
        let of = |&code| days.get(codes.vocabulary().name(code)).copied();
        Self { days: codes.codes().iter().map(of).collect(), end: codes.end() }
    }

    /// What has passed before the next visit: `before` is what had before this one, none if this is the
    /// static visit; the visit is told as ascending positions.
    pub fn after(&self, before: Option<Elapsed>, visit: &[u32]) -> Option<Elapsed> {
        let Some(Elapsed { days, encounters }) = before else { return Some(Elapsed::default()) };
        let more = visit.iter().find_map(|&position| self.days[position as usize]);
        Some(Elapsed { days: days + more.unwrap_or(0.0), encounters: encounters + 1 })
    }

    /// What has passed when `END` is decided in a visit: codes that come after it in the order are not
    /// known by then.
    pub fn at_end(&self, before: Option<Elapsed>, visit: &[u32]) -> Elapsed {
        let decided = visit.iter().take_while(|&&position| position < self.end);
        let gap = decided.copied().find_map(|position| self.days[position as usize]);
        with_gap(before.unwrap_or_default(), gap)
    }
}

fn with_gap(before: Elapsed, gap: Option<f64>) -> Elapsed {
    Elapsed { days: before.days + gap.unwrap_or(0.0), ..before }
}

/// When records of a network end, over its codes.
#[derive(Debug)]
pub(crate) struct EndClock {
    ends: EndsByDays,
    pub days: DayCounter,
}

impl EndClock {
    pub fn new(codes: &Order, ends: &EndsByDays) -> Self {
        Self { days: DayCounter::new(codes, &ends.days), ends: ends.clone() }
    }

    /// Who is told of `END` as the days make it.
    pub fn timed<'a>(&'a self, before: Option<Elapsed>, decider: &'a mut dyn Decide) -> Timed<'a> {
        Timed { clock: self, before: before.unwrap_or_default(), gap: None, decider }
    }

    fn moved(&self, probability: f64, elapsed: Elapsed) -> f64 {
        let odds = self.ends.shift(elapsed).exp();
        probability * odds / (1.0 - probability + probability * odds)
    }
}

/// Passes probabilities on to who decides, that of `END` as the days make it.
pub(crate) struct Timed<'a> {
    clock: &'a EndClock,
    before: Elapsed,
    /// The days of the visit's first gap, once that is decided.
    gap: Option<f64>,
    decider: &'a mut dyn Decide,
}

impl Decide for Timed<'_> {
    fn decide(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool {
        let (clock, before, gap) = (self.clock, self.before, self.gap);
        let end = clock.days.end;
        let own = clock.days.days[position as usize];
        let probability = match position == end {
            true => clock.moved(probability, with_gap(before, gap)),
            false => probability,
        };
        let present = self.decider.decide(position, probability, &mut |present, later, into| {
            ahead(present, later, into);
            let gap = gap.or(own.filter(|_| present));
            for (_, into) in later.iter().zip(into).filter(|(later, _)| **later == end) {
                *into = clock.moved(*into, with_gap(before, gap));
            }
        });
        if present && position < end {
            self.gap = gap.or(own);
        }
        present
    }

    fn open(&mut self, side: &[f32]) {
        self.decider.open(side);
    }
}
