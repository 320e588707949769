//! Which of some numbered things were counted.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::counts::Counts;

/// Ranges of numbers, each of which is to be there once. Those that touch become one, so that they stay few.
///
/// ```
/// use consequence_tally::{Counts, Ranges};
///
/// let mut written = Ranges::of(0..10);
/// written.add(Ranges::of(20..30));
/// assert!(!written.are(0..30));
/// written.add(Ranges::of(10..20));
/// assert!(written.are(0..30));
/// written.add(Ranges::of(5..6));
/// assert!(written.twice() && !written.are(0..30));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// By the first number of a range the one after its last.
    ranges: BTreeMap<u64, u64>,
    twice: bool,
}

crate::coded!(Ranges { ranges, twice });

impl Ranges {
    /// The numbers of a range.
    pub fn of(range: Range<u64>) -> Self {
        let ranges = (!range.is_empty()).then_some((range.start, range.end));
        Self { ranges: ranges.into_iter().collect(), twice: false }
    }

    /// Whether they are all numbers of a range, each once, and no other.
    pub fn are(&self, range: Range<u64>) -> bool {
        *self == Self::of(range)
    }

    /// Whether some number is there twice.
    pub fn twice(&self) -> bool {
        self.twice
    }

    fn put(&mut self, mut first: u64, mut last: u64) {
        // What is damaged may say so of any numbers.
        if first >= last {
            return;
        }
        let before = self.ranges.range(..=first).next_back().map(|(&start, &end)| (start, end));
        if let Some((start, end)) = before.filter(|&(_, end)| end >= first) {
            self.twice |= end > first;
            (first, last) = (start, last.max(end));
            self.ranges.remove(&start);
        }
        while let Some((&start, &end)) = self.ranges.range(first..=last).next() {
            self.twice |= start < last;
            last = last.max(end);
            self.ranges.remove(&start);
        }
        self.ranges.insert(first, last);
    }
}

impl Counts for Ranges {
    fn add(&mut self, other: Self) {
        self.twice |= other.twice;
        other.ranges.into_iter().for_each(|(first, last)| self.put(first, last));
    }
}
