//! What a formula can say of a visit beside codes in visits: days, counts, ages and values.
//!
//! A fact is known before any code of the visit is decided: it is about the visits before, about
//! when the visit is, or about what a code would measure if it came.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use consequence_record::Code;

use crate::Window;
use crate::formula::PAST;

/// Days before a visit, both ends in. 0 is the day of the visit itself.
///
/// ```
/// use consequence_rules::Days;
///
/// assert_eq!(Days::last(30).to_string(), "last 30 days");
/// assert_eq!(Days { from: 3, to: 14 }.to_string(), "3 to 14 days ago");
/// assert!(Days::last(90).covers(Days { from: 3, to: 14 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Days {
    /// The nearest day.
    pub from: u32,
    /// The furthest day.
    pub to: u32,
}

impl Days {
    /// The most days that a rule may look back: a hundred years and more.
    pub const MAX: u32 = 50_000;

    /// From the day of the visit to so many days before.
    pub fn last(days: u32) -> Self {
        Self { from: 0, to: days }
    }

    /// Whether so many days ago is among them.
    pub fn holds(self, days: i64) -> bool {
        (i64::from(self.from)..=i64::from(self.to)).contains(&days)
    }

    /// Whether all of the other days are among these.
    pub fn covers(self, other: Self) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

impl fmt::Display for Days {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { from: 0, to } => write!(out, "last {to} days"),
            Self { from, to } if from == to => write!(out, "{from} days ago"),
            Self { from, to } => write!(out, "{from} to {to} days ago"),
        }
    }
}

/// Where a range of values begins or ends.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The number, as values are stored.
    pub number: f32,
    /// Whether the number itself is in the range.
    pub included: bool,
}

impl Limit {
    /// What tells it from others: 0 is 0, whatever its sign.
    fn key(self) -> (u32, bool) {
        ((self.number + 0.0).to_bits(), self.included)
    }
}

impl PartialEq for Limit {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Limit {}

impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Limit {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = (self.number + 0.0).total_cmp(&(other.number + 0.0));
        numbers.then(self.included.cmp(&other.included))
    }
}

impl Hash for Limit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// Values from one limit to another; without end where there is none.
///
/// ```
/// use consequence_rules::ValueRange;
///
/// let high = ValueRange::above(6.5);
/// assert!(high.holds(6.6) && !high.holds(6.5));
/// assert_eq!(high.to_string(), "> 6.5");
/// assert_eq!(ValueRange::between(4.0, 6.0).to_string(), "between 4 and 6");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueRange {
    /// Where it begins.
    pub least: Option<Limit>,
    /// Where it ends.
    pub most: Option<Limit>,
}

impl ValueRange {
    /// Values above a number.
    pub fn above(number: f32) -> Self {
        Self { least: Some(Limit { number, included: false }), most: None }
    }

    /// A number and what is above it.
    pub fn at_least(number: f32) -> Self {
        Self { least: Some(Limit { number, included: true }), most: None }
    }

    /// Values below a number.
    pub fn below(number: f32) -> Self {
        Self { least: None, most: Some(Limit { number, included: false }) }
    }

    /// A number and what is below it.
    pub fn at_most(number: f32) -> Self {
        Self { least: None, most: Some(Limit { number, included: true }) }
    }

    /// Values from one number to another, both in.
    pub fn between(least: f32, most: f32) -> Self {
        let [least, most] = [least, most].map(|number| Some(Limit { number, included: true }));
        Self { least, most }
    }

    /// Whether a value is in the range.
    pub fn holds(self, value: f32) -> bool {
        let above = |limit: Limit| value > limit.number || limit.included && value == limit.number;
        let below = |limit: Limit| value < limit.number || limit.included && value == limit.number;
        self.least.is_none_or(above) && self.most.is_none_or(below)
    }

    /// Values of which each is like all that lie between it and the next: one for every way in which
    /// ranges can be told apart.
    pub(crate) fn samples(ranges: &[Self]) -> Vec<f32> {
        let limits = ranges.iter().flat_map(|range| [range.least, range.most]).flatten();
        let near = |limit: Limit| [limit.number.next_down(), limit.number, limit.number.next_up()];
        limits.flat_map(near).chain([f32::MIN, f32::MAX]).collect()
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |limit: Limit| if limit.included { "=" } else { "" };
        match (self.least, self.most) {
            (Some(least), None) => write!(out, ">{} {}", sign(least), least.number),
            (None, Some(most)) => write!(out, "<{} {}", sign(most), most.number),
            (Some(least), Some(most)) => {
                write!(out, "between {} and {}", least.number, most.number)
            }
            (None, None) => out.write_str(">= -inf"),
        }
    }
}

/// Something that is known of a visit before its codes are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// At least `count` earlier visits have one of the codes. With days, encounters count that began so
    /// many days before this one; the static visit has no day.
    Seen {
        /// The codes, sorted.
        codes: Arc<[Code]>,
        /// When, if that matters.
        days: Option<Days>,
        /// How many visits; at least 1.
        count: u16,
    },
    /// One of `codes` is in an earlier visit after the last earlier one that has one of `mark`; false where none
    /// has.
    Since {
        /// The codes looked for, sorted.
        codes: Arc<[Code]>,
        /// The codes that they come after, sorted.
        mark: Arc<[Code]>,
    },
    /// The visit is the first encounter.
    FirstVisit,
    /// The patient is known to have completed so many years when the visit begins; 0: the age is known.
    Age {
        /// The years.
        least: u16,
    },
    /// The value of the code in this visit is in the range. It counts only together with the code:
    /// where the code is not in the visit, this is what it would measure.
    Value {
        /// The code.
        code: Code,
        /// The values.
        range: ValueRange,
    },
}

impl Fact {
    /// The most visits that a rule may count.
    pub const MAX_COUNT: u16 = 100;

    /// A code in an encounter of so many days ago.
    pub fn within(code: Code, days: Days) -> Self {
        Self::Seen { codes: [code].into(), days: Some(days), count: 1 }
    }

    /// Calls `visit` for every code that the fact names in earlier visits, and in this one for a value, `None` for
    /// now.
    pub(crate) fn for_each_code<'a>(&'a self, visit: &mut dyn FnMut(Code, Option<&'a Window>)) {
        match self {
            Self::Seen { codes, .. } => codes.iter().for_each(|&code| visit(code, Some(&PAST))),
            Self::Since { codes, mark } => {
                codes.iter().chain(&**mark).for_each(|&code| visit(code, Some(&PAST)));
            }
            Self::Value { code, .. } => visit(*code, None),
            Self::FirstVisit | Self::Age { .. } => {}
        }
    }

    /// Whether it depends on when visits are.
    pub fn needs_dates(&self) -> bool {
        matches!(self, Self::Seen { days: Some(_), .. })
    }

    /// Whether it is told by the visits before, rather than by when the visit is or what it measures.
    pub(crate) fn is_settled_before(&self) -> bool {
        matches!(self, Self::Seen { days: None, .. } | Self::Since { .. } | Self::FirstVisit)
    }

    /// Whether the other fact holds wherever this one does.
    pub(crate) fn implies(&self, other: &Self) -> bool {
        let part = |some: &[Code], all: &[Code]| some.iter().all(|code| all.contains(code));
        match (self, other) {
            (Self::Age { least }, Self::Age { least: less }) => least >= less,
            (
                Self::Seen { codes, days, count },
                Self::Seen { codes: more, days: wider, count: fewer },
            ) => {
                let covered = match (days, wider) {
                    (_, None) => true,
                    (Some(days), Some(wider)) => wider.covers(*days),
                    (None, Some(_)) => false,
                };
                covered && count >= fewer && part(codes, more)
            }
            _ => self == other,
        }
    }
}
